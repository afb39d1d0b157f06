//! The sessions of one sweep scored again as those of another, which differs in evaluators or judges alone. Nothing here asks anybody.

use std::collections::HashMap;

use futures::future::BoxFuture;
use regatta_backends::Ledger;
use regatta_benchmarks::Scoring;
use regatta_catalog::Sweep;
use regatta_proto::{
    Answerer, AskedQuestion, Cell, ItemIndex, Judge, ModelRef, Question, SessionOutcome, Transcript, Verdict,
};

use crate::scorer::{Scorer, ScorerError};
use crate::verdicts::{Bill, Known, LOOKS_MAX, Open, Put, Subject, enter, puts};

/// Needs of sessions that are scored again: verdicts that its ledger has, and questions that nobody has answered.
pub struct Rescoring<'a> {
    from: &'a Ledger,
    old: &'a Sweep,
    new: &'a Sweep,
    known: Known,
    /// Similarities in millionths of pairs of texts, by who computed them: they do not depend on what else was asked with them.
    similarities: HashMap<ModelRef, HashMap<[String; 2], i32>>,
    open: Open,
}

impl<'a> Rescoring<'a> {
    /// The sessions of `old`, whose verdicts are in `from`, are to be scored as those of `new`.
    #[must_use]
    pub fn new(from: &'a Ledger, old: &'a Sweep, new: &'a Sweep) -> Self {
        Self { from, old, new, known: Known::default(), similarities: HashMap::new(), open: Open::new() }
    }

    /// Adds a session of `cell`, which is one of the new sweep: looks up the verdicts that it needs, and keeps the questions that are left.
    ///
    /// # Errors
    /// When the ledger fails, or the new sweep has a judge at an endpoint that it does not list.
    pub fn add<'b>(
        &'b mut self,
        cell: &'b Cell,
        item: ItemIndex,
        transcript: &'b Transcript,
    ) -> BoxFuture<'b, Result<(), ScorerError>> {
        Box::pin(async move {
            let subject = Subject { cell, item, transcript };
            let mut judges = subject.judges(self.new).peekable();
            if judges.peek().is_some() {
                self.learn(cell, item, transcript).await?;
            }
            for judge in judges {
                self.add_by(judge, subject).await?;
            }
            Ok(())
        })
    }

    /// Looks up the verdicts of `judge` that `subject` needs, and keeps the questions that are left.
    async fn add_by(&mut self, judge: &Judge, subject: Subject<'_>) -> Result<(), ScorerError> {
        for _ in 0..LOOKS_MAX {
            let scoring = subject.score_by(Some(judge), self.new, &self.known);
            let Some(Scoring::Needs(questions)) = scoring else { return Ok(()) };
            let wanted: Vec<_> = questions.iter().flat_map(|question| puts(judge, question)).collect();
            let (old, new) = (self.old, self.new);
            let found = self.known.look_up_in(self.from, |judge| answerer_then(old, new, judge), wanted).await?;
            if !self.put_together(judge, &questions) && !found {
                enter(&mut self.open, judge, &questions, &self.known);
                return Ok(());
            }
        }
        Ok(())
    }

    /// Remembers the similarities that the session has from the old sweep, where the same judges are asked.
    async fn learn(&mut self, cell: &Cell, item: ItemIndex, transcript: &Transcript) -> Result<(), ScorerError> {
        let judge = self.old.benchmark(cell).and_then(|benchmark| benchmark.judge.as_ref());
        let asked = Subject { cell, item, transcript }.score(self.old, &Known::default());
        let (Some(judge), Some(Scoring::Needs(questions))) = (judge, asked) else { return Ok(()) };
        for question in &questions {
            let Question::Similarity { left, right } = question else { continue };
            for Put { to, digest } in puts(judge, question) {
                let answerer = crate::verdicts::answerer(self.old, &to)?;
                if answerer_then(self.old, self.new, &to).ok() != Some(answerer) {
                    continue;
                }
                let known = self.from.verdicts(answerer, &[digest]).await?;
                let Some(Verdict::Similarity { micro }) = known.get(&digest) else { continue };
                let of_judge = self.similarities.entry(to).or_default();
                for (one, row) in left.iter().zip(micro) {
                    let pairs = right.iter().zip(row).map(|(other, micro)| ([one.clone(), other.clone()], *micro));
                    of_judge.extend(pairs);
                }
            }
        }
        Ok(())
    }

    /// Answers those of `questions` whose pairs of texts are all known. Whether there were any that had no answer before.
    fn put_together(&mut self, judge: &Judge, questions: &[Question]) -> bool {
        let mut any = false;
        for question in questions {
            let Question::Similarity { left, right } = question else { continue };
            for put in puts(judge, question).into_iter().filter(|put| !self.known.holds(put)).collect::<Vec<_>>() {
                let Some(pairs) = self.similarities.get(&put.to) else { continue };
                let of = |one: &String| -> Option<Vec<i32>> {
                    right.iter().map(|other| pairs.get(&[one.clone(), other.clone()]).copied()).collect()
                };
                if let Some(micro) = left.iter().map(of).collect::<Option<Vec<_>>>() {
                    self.known.insert(put, Verdict::Similarity { micro });
                    any = true;
                }
            }
        }
        any
    }

    /// Open questions by judge, once each. Answers may lead to further questions.
    pub fn questions(&self) -> impl Iterator<Item = (&ModelRef, &AskedQuestion)> {
        self.open.iter().flat_map(|(judge, asked)| asked.values().map(move |asked| (judge, asked)))
    }

    /// Verdicts that the old sweep has.
    #[must_use]
    pub fn verdicts(&self) -> usize {
        self.known.len()
    }

    /// Writes the known verdicts `into` the ledger of the new sweep, as of the judges that gave them, whose `bill` is another one.
    ///
    /// # Errors
    /// When the ledger fails.
    pub fn carry_over<'b>(&'b self, into: &'b Ledger, bill: Bill) -> BoxFuture<'b, Result<(), ScorerError>> {
        Box::pin(self.known.keep(self.new, into, bill))
    }
}

/// Identity that `judge` of the new sweep had in the old one, where it was served in the same way.
fn answerer_then(old: &Sweep, new: &Sweep, judge: &ModelRef) -> Result<Answerer, ScorerError> {
    let endpoint = new.lock.endpoints.get(&judge.endpoint);
    let endpoint = endpoint.ok_or_else(|| ScorerError::UnknownJudge { sweep: new.id.clone(), judge: judge.clone() })?;
    Ok(Answerer::new(endpoint, &judge.model, &old.id))
}

impl Scorer {
    /// Records `outcomes` of `sweep` as if workers had reported them, and sends the questions that they need. Repeating it changes nothing.
    ///
    /// # Errors
    /// When a store fails, or an outcome is of no session of the sweep.
    pub fn take_over<'a>(
        &'a self,
        sweep: &'a Sweep,
        outcomes: &'a [SessionOutcome],
    ) -> BoxFuture<'a, Result<(), ScorerError>> {
        Box::pin(self.record(sweep, outcomes))
    }
}
