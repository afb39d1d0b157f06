//! Verdicts that are known to a scorer, by who gave them and what they were asked as.

mod asking;
mod keeping;
mod scoring;

use std::collections::{BTreeMap, HashMap, HashSet};

use regatta_backends::Ledger;
use regatta_benchmarks::Verdicts;
use regatta_catalog::Sweep;
use regatta_proto::{Answerer, Digest, Judge, ModelRef, Question, Verdict};

pub(crate) use self::asking::{Asking, Open, Put, askings, enter, puts};
pub use self::keeping::Bill;
pub(crate) use self::scoring::{LOOKS_MAX, Subject, score_all};
use crate::scorer::{Scorer, ScorerError};

/// Identity of `judge` in `sweep`.
///
/// # Errors
/// When the sweep has no such endpoint.
pub(crate) fn answerer(sweep: &Sweep, judge: &ModelRef) -> Result<Answerer, ScorerError> {
    let unknown = || ScorerError::UnknownJudge { sweep: sweep.id.clone(), judge: judge.clone() };
    sweep.answerer(judge).ok_or_else(unknown)
}

/// Verdicts by who gave them and what they were asked as.
#[derive(Debug, Default)]
pub(crate) struct Known {
    verdicts: HashMap<Put, Verdict>,
    /// Questions that were looked up in the ledger, found or not.
    looked_up: HashSet<Put>,
}

impl Known {
    /// Reads what the ledger has of `wanted` and was not asked for before; whether there was any.
    pub(crate) async fn look_up(
        &mut self,
        scorer: &Scorer,
        sweep: &Sweep,
        wanted: impl IntoIterator<Item = Put>,
    ) -> Result<bool, ScorerError> {
        self.look_up_in(&scorer.ledger, |judge| answerer(sweep, judge), wanted).await
    }

    /// The same in `ledger`, where judges are known by what `answerer` says.
    pub(crate) async fn look_up_in(
        &mut self,
        ledger: &Ledger,
        answerer: impl Fn(&ModelRef) -> Result<Answerer, ScorerError>,
        wanted: impl IntoIterator<Item = Put>,
    ) -> Result<bool, ScorerError> {
        let mut found = false;
        for (judge, digests) in self.not_looked_up(wanted) {
            for (digest, verdict) in ledger.verdicts(answerer(&judge)?, &digests).await? {
                found = true;
                self.verdicts.insert(Put { to: judge.clone(), digest }, verdict);
            }
        }
        Ok(found)
    }

    /// Questions of `wanted` that were not looked up before, by judge. They count as looked up from now on.
    pub(crate) fn not_looked_up(&mut self, wanted: impl IntoIterator<Item = Put>) -> BTreeMap<ModelRef, Vec<Digest>> {
        let mut by_judge: BTreeMap<ModelRef, Vec<Digest>> = BTreeMap::new();
        for put in wanted {
            if self.looked_up.insert(put.clone()) {
                by_judge.entry(put.to).or_default().push(put.digest);
            }
        }
        by_judge
    }

    /// The answer to `put`, where it is known.
    pub(crate) fn get(&self, put: &Put) -> Option<&Verdict> {
        self.verdicts.get(put)
    }

    /// True if the answer to `put` is known.
    pub(crate) fn holds(&self, put: &Put) -> bool {
        self.verdicts.contains_key(put)
    }

    /// Adds a verdict that was found elsewhere.
    pub(crate) fn insert(&mut self, put: Put, verdict: Verdict) {
        self.verdicts.insert(put, verdict);
    }

    /// Verdicts that are known.
    pub(crate) fn len(&self) -> usize {
        self.verdicts.len()
    }

    /// The verdicts of `judge`.
    pub(crate) const fn of<'k>(&'k self, judge: Option<&'k Judge>) -> KnownOf<'k> {
        KnownOf { known: self, judge, repeat: None }
    }

    /// The verdicts that `judge` would have given if its panel had asked once: those of the repeat `repeat`, from 0.
    pub(crate) const fn of_repeat<'k>(&'k self, judge: &'k Judge, repeat: u8) -> KnownOf<'k> {
        KnownOf { known: self, judge: Some(judge), repeat: Some(repeat) }
    }
}

/// The known verdicts of one judge.
pub(crate) struct KnownOf<'k> {
    known: &'k Known,
    judge: Option<&'k Judge>,
    /// The only repeat whose replies count; all of them without.
    repeat: Option<u8>,
}

impl Verdicts for KnownOf<'_> {
    fn answer(&self, question: &Question) -> Option<Verdict> {
        // Hashing the texts is not free, and most scoring begins with nothing known.
        if self.known.verdicts.is_empty() {
            return None;
        }
        let judge = self.judge?;
        let is_repeated = matches!(question, Question::Judgement { .. });
        let counts = |asking: &Asking| !is_repeated || self.repeat.is_none_or(|repeat| repeat == asking.repeat);
        let counted = askings(judge, question).into_iter().filter(counts);
        let mut verdicts = counted.map(|asking| self.known.verdicts.get(&asking.put));
        match (judge.rule(), question) {
            (Some(rule), Question::Judgement { .. }) => {
                let replies = verdicts.map(|verdict| match verdict? {
                    Verdict::Replies { replies } => Some(replies.clone()),
                    _ => None,
                });
                Some(Verdict::Panel { rule, members: replies.collect::<Option<_>>()? })
            }
            _ => verdicts.next()?.cloned(),
        }
    }
}

#[cfg(test)]
mod tests;
