//! Money and time of the sessions of two runs.

use std::collections::{BTreeMap, BTreeSet};

use regatta_proto::{ItemId, Level};
use regatta_report::{Difference, mean_difference};
use serde::Serialize;

use crate::ended_run::{Answers, Took};
use crate::results::CutOff;

/// Spending of sessions whose items are independent draws of it, so that a difference of two runs can be tested. Time is none: see [`Times`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// Money.
    Dollars,
    /// Tokens that models answered.
    OutputTokens,
}

impl Quantity {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Dollars => "dollars",
            Self::OutputTokens => "output_tokens",
        }
    }
}

/// Seconds in model calls of the sessions of each run. There is no difference to test: sessions that run at the same time share an endpoint's
/// load, so that a run, however many items it has, is a single draw of it, and tells nothing of how fast its model is. That the endpoint was
/// faster in one run than in the other is tested by [`super::Pace`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Times {
    pub(crate) a: Observations,
    pub(crate) b: Observations,
}

/// A quantity of the sessions of one run that have a score.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Observations {
    /// Over the sessions that have it; absent where none has, or one does not know it.
    #[serde(flatten)]
    pub(crate) of: Option<Distribution>,
    /// Sessions of which answers came from the response cache: it is not theirs, and they are left out.
    pub(crate) cached: usize,
    /// Sessions that ended before any call was answered, and are left out of what only an answer has.
    pub(crate) unanswered: usize,
    /// Sessions that were cut off, which are left out.
    #[serde(flatten)]
    pub(crate) cut_off: CutOffs,
    /// All of them.
    pub(crate) scored: usize,
}

/// Sessions that were cut off, by the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct CutOffs {
    /// Ended by the provider's filter.
    pub(crate) filtered: usize,
    /// Ended by the length of the context.
    pub(crate) context_length: usize,
    /// Ended by a refusal of the model.
    pub(crate) refused: usize,
}

impl CutOffs {
    pub(crate) const fn all(&self) -> usize {
        let Self { filtered, context_length, refused } = self;
        *filtered + *context_length + *refused
    }

    const fn by(&self, reason: CutOff) -> usize {
        match reason {
            CutOff::Filter => self.filtered,
            CutOff::ContextLength => self.context_length,
            CutOff::Refusal => self.refused,
        }
    }
}

impl Observations {
    /// `12 of 50 sessions have answers of the response cache`; `None` where none has.
    pub(crate) fn cached_note(&self) -> Option<String> {
        let Self { cached, scored, .. } = self;
        let have = if *scored == 1 { "session has" } else { "sessions have" };
        (*cached > 0).then(|| format!("{cached} of {scored} {have} answers of the response cache"))
    }

    /// `12 of 50 sessions ended before any call was answered`; `None` where none did.
    pub(crate) fn unanswered_note(&self) -> Option<String> {
        let Self { unanswered, scored, .. } = self;
        let sessions = if *scored == 1 { "session" } else { "sessions" };
        (*unanswered > 0).then(|| format!("{unanswered} of {scored} {sessions} ended before any call was answered"))
    }

    /// `12 of 50 sessions were ended by a filter (9) or a refusal of the model (3)`; `None` where none was cut off.
    pub(crate) fn cut_off_note(&self) -> Option<String> {
        let Self { cut_off, scored, .. } = self;
        let all = cut_off.all();
        let sessions = if *scored == 1 { "session" } else { "sessions" };
        let were = if all == 1 { "was" } else { "were" };
        let by = CutOff::ALL.into_iter().map(|by| (by.as_str(), cut_off.by(by))).filter(|(_, count)| *count > 0);
        let by: Vec<(&str, usize)> = by.collect();
        let counted = |(name, count): &(&str, usize)| format!("{name} ({count})");
        let by = match &by[..] {
            [] => return None,
            [(name, _)] => (*name).to_owned(),
            [first @ .., last] => {
                format!("{} or {}", first.iter().map(counted).collect::<Vec<_>>().join(", "), counted(last))
            }
        };
        Some(format!("{all} of {scored} {sessions} {were} ended by {by}"))
    }

    /// `true` where no session was asked and answered in the run: nothing is known, whatever calls cost.
    pub(crate) fn has_no_answers(&self) -> bool {
        self.cached + self.unanswered + self.cut_off.all() == self.scored
    }

    /// Part of the sessions with answers that were asked for in this run, 0..=1.
    pub(crate) fn asked(&self) -> f64 {
        let with_answers = self.scored - self.unanswered - self.cut_off.all();
        if with_answers == 0 { 0.0 } else { (with_answers - self.cached) as f64 / with_answers as f64 }
    }
}

/// A quantity over the sessions that have it in both runs, and its paired difference.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Numbers {
    pub(crate) a: Distribution,
    pub(crate) b: Distribution,
    /// Mean difference over the items and trials that have a score in both.
    pub(crate) difference: Difference,
    /// P-value, corrected (Holm) over all differences of the quantity that are compared.
    pub(crate) p_holm: f64,
}

/// Distribution of a number over single sessions with a score.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Distribution {
    pub(crate) mean: f64,
    /// Half of the sessions took no more.
    pub(crate) p50: f64,
    /// Nineteen of twenty took no more.
    pub(crate) p95: f64,
    /// Number of sessions.
    pub(crate) sessions: usize,
}

impl Numbers {
    /// `None` where a session of either run does not know the quantity, or there is none in both. Sessions that do not have it are left out.
    pub(crate) fn new(
        quantity: Quantity,
        groups: &BTreeMap<ItemId, String>,
        a: &BTreeMap<(ItemId, u16), Took>,
        b: &BTreeMap<(ItemId, u16), Took>,
        seed: u64,
        level: Level,
    ) -> Option<Self> {
        let (mut a, mut b) = (known(quantity, a)?, known(quantity, b)?);
        a.retain(|session, _| b.contains_key(session));
        b.retain(|session, _| a.contains_key(session));
        let difference = mean_difference(groups, &b, &a, seed, level)?;
        let of = |sessions: BTreeMap<(ItemId, u16), f64>| distribution(sessions.into_values().collect());
        Some(Self { a: of(a)?, b: of(b)?, difference, p_holm: 1.0 })
    }
}

impl Numbers {
    /// The same of so many sessions together.
    pub(crate) fn times(&self, count: f64) -> Self {
        let of = |one: Distribution| Distribution {
            mean: one.mean * count,
            p50: one.p50 * count,
            p95: one.p95 * count,
            sessions: one.sessions,
        };
        let difference = Difference {
            value: self.difference.value * count,
            low: self.difference.low.map(|low| low * count),
            high: self.difference.high.map(|high| high * count),
            ..self.difference
        };
        Self { a: of(self.a), b: of(self.b), difference, p_holm: self.p_holm }
    }
}

/// `quantity` in the sessions of one run.
pub(super) fn spent(quantity: Quantity, took: &BTreeMap<(ItemId, u16), Took>) -> Observations {
    let of = known(quantity, took).and_then(|known| distribution(known.into_values().collect()));
    Observations { of, ..counted(took) }
}

/// Seconds in model calls in the sessions of one run.
pub(super) fn seconds(took: &BTreeMap<(ItemId, u16), Took>) -> Observations {
    let own = took.values().filter(|took| took.answers == Answers::Own);
    Observations { of: distribution(own.map(|took| took.seconds).collect()), ..counted(took) }
}

/// `true` for a session with answers, be they its own or of the response cache.
const fn has_answers(took: &Took) -> bool {
    match took.answers {
        Answers::Own | Answers::Cached => true,
        Answers::Nothing | Answers::CutOff(_) => false,
    }
}

/// Sessions of both runs that have answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Answered {
    /// With answers of their own in both runs.
    pub(crate) both: usize,
    /// With answers in either run.
    pub(crate) either: usize,
}

impl Answered {
    /// Of the sessions that are `planned` in both runs.
    pub(super) fn of(took: &[BTreeMap<(ItemId, u16), Took>; 2], planned: &BTreeSet<(ItemId, u16)>) -> Self {
        let count = |is_in: &dyn Fn(&(ItemId, u16)) -> bool| planned.iter().filter(|session| is_in(session)).count();
        let own = |run: &BTreeMap<(ItemId, u16), Took>, session: &(ItemId, u16)| {
            run.get(session).is_some_and(|took| took.answers == Answers::Own)
        };
        Self {
            both: count(&|session| took.iter().all(|run| own(run, session))),
            either: count(&|session| took.iter().any(|run| run.get(session).is_some_and(has_answers))),
        }
    }

    /// Part of the sessions with answers that an increase is told of, 0..=1; 0 of none.
    pub(crate) fn share(self) -> f64 {
        if self.either == 0 { 0.0 } else { self.both as f64 / self.either as f64 }
    }
}

/// Observations that `of` makes of each run over the sessions that both runs have answers of their own of: a run of fewer sessions, or of
/// other ones, is neither dearer nor slower for that. Counts of left-out sessions are of each run by itself.
pub(super) fn in_both(
    took: &[BTreeMap<(ItemId, u16), Took>; 2],
    of: impl Fn(&BTreeMap<(ItemId, u16), Took>) -> Observations,
) -> [Observations; 2] {
    let has = |run: &BTreeMap<(ItemId, u16), Took>, session| {
        run.get(session).is_some_and(|took: &Took| took.answers == Answers::Own)
    };
    took.each_ref().map(|run| {
        let shared = run.iter().filter(|(session, _)| took.iter().all(|run| has(run, session)));
        let shared = shared.map(|(session, took)| (session.clone(), *took)).collect();
        Observations { of: of(&shared).of, ..counted(run) }
    })
}

fn counted(took: &BTreeMap<(ItemId, u16), Took>) -> Observations {
    let count = |of: Answers| took.values().filter(|took| took.answers == of).count();
    Observations {
        of: None,
        cached: count(Answers::Cached),
        unanswered: count(Answers::Nothing),
        cut_off: CutOffs {
            filtered: count(Answers::CutOff(CutOff::Filter)),
            context_length: count(Answers::CutOff(CutOff::ContextLength)),
            refused: count(Answers::CutOff(CutOff::Refusal)),
        },
        scored: took.len(),
    }
}

/// By session that has it. `None` where one of these does not know it: a mean over the others would be too low.
fn known(quantity: Quantity, took: &BTreeMap<(ItemId, u16), Took>) -> Option<BTreeMap<(ItemId, u16), f64>> {
    let has = |took: &Took| match (took.answers, quantity) {
        (Answers::Own, _) => true,
        (Answers::Cached | Answers::CutOff(_), _) => false,
        // It was nothing that it cost.
        (Answers::Nothing, Quantity::Dollars) => true,
        (Answers::Nothing, Quantity::OutputTokens) => false,
    };
    let of = |(session, took): (&(ItemId, u16), &Took)| {
        let value = match quantity {
            Quantity::Dollars => took.dollars?,
            Quantity::OutputTokens => took.output_tokens?,
        };
        Some((session.clone(), value))
    };
    took.iter().filter(|(_, took)| has(took)).map(of).collect()
}

fn distribution(mut values: Vec<f64>) -> Option<Distribution> {
    values.sort_by(f64::total_cmp);
    let at_least = |share: f64| values.get(((values.len() as f64 * share).ceil() as usize).max(1) - 1).copied();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    Some(Distribution { mean, p50: at_least(0.5)?, p95: at_least(0.95)?, sessions: values.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn took(amounts: &[f64]) -> BTreeMap<(ItemId, u16), Took> {
        let of = |(at, amount): (usize, &f64)| {
            let answers = Answers::Own;
            let took = Took { answers, calls: 1, dollars: None, seconds: *amount, output_tokens: Some(*amount) };
            ((format!("i{at:02}").parse().unwrap(), 0), took)
        };
        amounts.iter().enumerate().map(of).collect()
    }

    #[test]
    fn percentiles_are_of_sessions_and_the_difference_is_paired() {
        let more: Vec<f64> = (1..=20).map(f64::from).collect();
        let less: Vec<f64> = more.iter().map(|tokens| tokens - 0.5).collect();
        let (more, less) = (took(&more), took(&less));
        let found = Numbers::new(Quantity::OutputTokens, &BTreeMap::new(), &more, &less, 1, Level::USUAL).unwrap();
        assert_eq!(found.a, Distribution { mean: 10.5, p50: 10.0, p95: 19.0, sessions: 20 });
        assert!((found.difference.value + 0.5).abs() < 1e-12 && found.difference.n == 20);
    }

    #[test]
    fn times_are_of_the_sessions_that_were_asked_and_answered_in_the_run() {
        let mut all = took(&[1.0, 2.0, 9.0, 0.0, 0.0]);
        all.values_mut().nth(3).unwrap().answers = Answers::Nothing;
        all.values_mut().nth(4).unwrap().answers = Answers::Cached;
        let found = seconds(&all);
        let of = found.of.unwrap();
        assert_eq!((of.p50, of.sessions), (2.0, 3));
        assert_eq!((found.cached, found.unanswered, found.scored, found.asked()), (1, 1, 5, 0.75));
        assert_eq!(seconds(&took(&[])).of, None);
    }

    #[test]
    fn what_the_cache_answered_took_no_tokens_and_what_was_refused_answered_none() {
        let mut all = took(&[1.0, 2.0, 9.0, 0.0, 0.0, 0.5]);
        all.values_mut().for_each(|took| took.dollars = took.output_tokens);
        all.values_mut().nth(5).unwrap().answers = Answers::CutOff(CutOff::Refusal);
        all.values_mut().nth(3).unwrap().answers = Answers::Nothing;
        all.values_mut().nth(4).unwrap().answers = Answers::Cached;
        let mean = |quantity| spent(quantity, &all).of.map(|of| (of.mean, of.sessions)).unwrap();
        assert_eq!((mean(Quantity::OutputTokens), mean(Quantity::Dollars)), ((4.0, 3), (3.0, 4)));
    }

    #[test]
    fn an_unknown_price_makes_the_money_unknown() {
        assert!(
            Numbers::new(Quantity::Dollars, &BTreeMap::new(), &took(&[1.0]), &took(&[1.0]), 1, Level::USUAL).is_none()
        );
    }
}
