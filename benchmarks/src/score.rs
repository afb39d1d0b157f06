//! Scores of sessions, and questions that they need verdicts on.

use std::collections::BTreeMap;

use regatta_proto::{BenchmarkFailed, Evaluator, ItemIndex, Question, Verdict};
use serde::{Deserialize, Serialize};

/// A source of verdicts.
pub trait Verdicts {
    /// Returns the verdict on `question`, if it is known.
    fn answer(&self, question: &Question) -> Option<Verdict>;
}

/// Verdicts where none is known.
#[derive(Debug, Clone, Copy)]
pub struct NoVerdicts;

impl Verdicts for NoVerdicts {
    fn answer(&self, _: &Question) -> Option<Verdict> {
        None
    }
}

/// The scores of one session, by evaluator.
pub type Scores = BTreeMap<Evaluator, Score>;

/// Scores of one session by one evaluator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Flat values that metrics are computed from, by name, such as `f1_chain`; all finite.
    pub values: BTreeMap<String, f64>,
    /// The item's entry in the shape of the golden files (`items[id]`).
    pub detail: serde_json::Value,
}

/// Returns the flat value `name`, for evaluators whose scores always have it.
///
/// # Panics
/// When the value is absent: replacing it by 0 would distort every average that includes it.
#[must_use]
#[expect(clippy::panic, reason = "only another version of the evaluator, or nobody, writes scores without it")]
pub fn flat_value(values: &BTreeMap<String, f64>, name: &str) -> f64 {
    let found = values.get(name).copied();
    found.unwrap_or_else(|| {
        let known: Vec<&str> = values.keys().map(String::as_str).collect();
        panic!("a score has no value {name} (it has {known:?}): another version wrote it; rescore the run")
    })
}

/// Result of scoring a session.
#[derive(Debug, Clone, PartialEq)]
pub enum Scoring {
    /// The scores.
    Scored(Scores),
    /// Questions whose verdicts are missing; score again with them.
    Needs(Vec<Question>),
    /// The transcript is not a complete session of this benchmark, as in [`Step::Unfit`](crate::Step::Unfit), with the reason.
    Unfit(String),
    /// The benchmark's own program failed to score it.
    Failed(BenchmarkFailed),
}

impl Scoring {
    /// Result for an item that [`Dataset::select`](crate::Dataset::select) never returns.
    #[must_use]
    pub fn not_selected(item: ItemIndex) -> Self {
        Self::Unfit(format!("item {item} is none of this data set"))
    }
}

/// A score that a judge gives to a session, and people too.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RatedScore {
    /// Name of the flat value, such as `progress`.
    pub name: &'static str,
    /// The question that a rating answers, as a phrase such as "share of the user's goals that were reached".
    pub meaning: &'static str,
    /// Least and greatest rating.
    pub range: (f64, f64),
}
