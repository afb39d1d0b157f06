//! Counts of an executed item that enter sums, and its flat values.

use regatta_benchmarks::flat_value;
use std::collections::BTreeMap;

use super::counts::Counts;
use super::world::Executed;
use crate::data::Entry;
use crate::official::counters::{to_counter, to_value};

/// Counts over the calls of one item: the calls of a plan, or calls that were made step by step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Executed calls that are true ones, each counted as often as it is true.
    pub(crate) hit: usize,
    /// Executed calls.
    pub(crate) pred: usize,
    /// True calls.
    pub(crate) gold: usize,
    /// True if there was no error, and the executed calls are the true ones.
    pub(crate) success: bool,
    /// True if some call was not executed.
    pub(crate) has_error: bool,
    /// Number of steps that the calls take when independent ones run at the same time; none where the model failed, so that nothing was executed.
    pub(crate) makespan: Option<usize>,
}

impl Outcome {
    /// Counts of calls that were made in `rounds` steps, some of them perhaps refused.
    pub(crate) fn of_steps(entry: &Entry, executed: &[Executed], is_refused: bool, rounds: usize) -> Self {
        let counts = Counts::of(executed.iter(), &entry.gold);
        let success = !is_refused && counts.all_hit();
        let Counts { hit, pred, gold } = counts;
        Self { hit, pred, gold, success, has_error: is_refused, makespan: Some(rounds) }
    }

    /// Flat values from which means and ratios of sums are made.
    pub(crate) fn to_values(self) -> BTreeMap<String, f64> {
        let values = [
            ("exec_success", u64::from(self.success)),
            ("exec_error", u64::from(self.has_error)),
            ("call_hit", self.hit as u64),
            ("call_pred", self.pred as u64),
            ("call_gold", self.gold as u64),
        ];
        let makespan = self.makespan.map(|steps| ("makespan", steps as u64));
        values.into_iter().chain(makespan).map(|(name, value)| (name.to_owned(), to_value(value))).collect()
    }

    /// The outcome whose flat values these are.
    #[expect(clippy::cast_possible_truncation, reason = "they were counts of calls")]
    pub(crate) fn from_values(values: &BTreeMap<String, f64>) -> Self {
        let count = |value: f64| to_counter(value) as usize;
        let counter = |name: &str| count(flat_value(values, name));
        Self {
            hit: counter("call_hit"),
            pred: counter("call_pred"),
            gold: counter("call_gold"),
            success: counter("exec_success") > 0,
            has_error: counter("exec_error") > 0,
            makespan: values.get("makespan").copied().map(count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_is_the_same_after_its_flat_values() {
        let outcome = Outcome { hit: 2, pred: 4, gold: 3, success: false, has_error: true, makespan: Some(2) };
        assert_eq!(Outcome::from_values(&outcome.to_values()), outcome);
        let success = Outcome { hit: 3, pred: 3, success: true, has_error: false, ..outcome };
        assert_eq!(Outcome::from_values(&success.to_values()), success);
        let failure = Outcome { makespan: None, ..outcome };
        assert_eq!(Outcome::from_values(&failure.to_values()), failure);
    }
}
