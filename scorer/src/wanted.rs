//! Verdicts that the sessions of a sweep rest on, which are fetched from where they were given: round by round, because answers lead to further
//! questions.

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use regatta_backends::Ledger;
use regatta_benchmarks::Scoring;
use regatta_catalog::Sweep;
use regatta_proto::{Cell, Digest, ItemIndex, ModelRef, Transcript, Verdict};

use crate::scorer::ScorerError;
use crate::verdicts::{Bill, Known, Put, Subject, puts};

/// Verdicts of a sweep's judges, as far as they have been fetched.
pub struct WantedVerdicts<'s> {
    sweep: &'s Sweep,
    known: Known,
}

impl<'s> WantedVerdicts<'s> {
    /// None of the judges of `sweep` are known yet.
    #[must_use]
    pub fn new(sweep: &'s Sweep) -> Self {
        Self { sweep, known: Known::default() }
    }

    /// Questions, by whom they were put to, that `sessions` need the answers of and that were not returned before. None when nothing is left
    /// to be fetched for them.
    pub fn of<'t>(
        &mut self,
        sessions: impl IntoIterator<Item = (&'t Cell, ItemIndex, &'t Transcript)>,
    ) -> BTreeMap<ModelRef, Vec<Digest>> {
        let mut wanted = Vec::new();
        for (cell, item, transcript) in sessions {
            let subject = Subject { cell, item, transcript };
            for judge in subject.judges(self.sweep) {
                if let Some(Scoring::Needs(questions)) = subject.score_by(Some(judge), self.sweep, &self.known) {
                    wanted.extend(questions.iter().flat_map(|question| puts(judge, question)));
                }
            }
        }
        self.known.not_looked_up(wanted)
    }

    /// Enters verdicts of `judge`.
    pub fn learn(&mut self, judge: &ModelRef, verdicts: impl IntoIterator<Item = (Digest, Verdict)>) {
        for (digest, verdict) in verdicts {
            self.known.insert(Put { to: judge.clone(), digest }, verdict);
        }
    }

    /// Number of verdicts that are known.
    #[must_use]
    pub fn count(&self) -> usize {
        self.known.len()
    }

    /// Writes all that are known `into` a ledger that has the sweep. They cost nothing there.
    ///
    /// # Errors
    /// When the ledger fails.
    pub fn keep<'b>(&'b self, into: &'b Ledger) -> BoxFuture<'b, Result<(), ScorerError>> {
        Box::pin(self.known.keep(self.sweep, into, Bill::Carried))
    }
}
