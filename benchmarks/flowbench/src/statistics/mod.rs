//! Statistics over scores: correlation, repetitions and shares of failures (docs/benchmarks/flowbench.md §6.6 to §6.8).

mod case;

use std::collections::BTreeMap;

pub(crate) use self::case::stats_item;

/// Metrics over the repeated runs of an experiment.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Repetitions {
    /// Mean of each metric, every run with the same weight.
    pub(crate) mean: BTreeMap<String, f64>,
    /// Sample standard deviation (n−1); `None` for a single run.
    pub(crate) sd: BTreeMap<String, Option<f64>>,
    /// Number of runs.
    pub(crate) runs: usize,
}

/// Computes mean and deviation of every metric that all runs have.
pub(crate) fn repetitions(runs: &[BTreeMap<String, f64>]) -> Repetitions {
    let mut summary = Repetitions { runs: runs.len(), ..Repetitions::default() };
    for metric in runs.first().into_iter().flat_map(BTreeMap::keys) {
        let Some(values) = runs.iter().map(|run| run.get(metric).copied()).collect::<Option<Vec<f64>>>() else {
            continue;
        };
        if let Some(mean) = mean(values.iter().copied()) {
            summary.mean.insert(metric.clone(), mean);
            summary.sd.insert(metric.clone(), sample_deviation(&values, mean));
        }
    }
    summary
}

fn sample_deviation(values: &[f64], mean: f64) -> Option<f64> {
    let degrees = values.len().checked_sub(1).filter(|degrees| *degrees > 0)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / degrees as f64).sqrt())
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_usize), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / count as f64)
}

/// Number of categories of failures (docs/benchmarks/flowbench.md §6.6).
pub(crate) const FAILURE_TYPES: u8 = 5;

/// Returns the percentage of failed sessions in each of the categories 1 to 5; all zero when none failed. Other
/// numbers count in the denominator alone.
pub(crate) fn failure_shares(types: &[u8]) -> BTreeMap<u8, f64> {
    let share = |category: u8| {
        let count = types.iter().filter(|failure| **failure == category).count();
        if types.is_empty() { 0.0 } else { 100.0 * count as f64 / types.len() as f64 }
    };
    (1..=FAILURE_TYPES).map(|category| (category, share(category))).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_single_run_has_no_deviation() {
        let run = BTreeMap::from([("f1".to_owned(), 0.25)]);
        let summary = repetitions(std::slice::from_ref(&run));
        assert_eq!(summary, Repetitions { mean: run, sd: BTreeMap::from([("f1".to_owned(), None)]), runs: 1 });
    }

    #[test]
    fn a_metric_that_a_run_lacks_is_left_out() {
        let both = BTreeMap::from([("f1".to_owned(), 0.2), ("sr".to_owned(), 1.0)]);
        let one = BTreeMap::from([("f1".to_owned(), 0.4)]);
        let summary = repetitions(&[both, one]);
        assert_eq!(summary.mean.keys().collect::<Vec<_>>(), ["f1"]);
        assert!((summary.sd["f1"].unwrap() - 0.02_f64.sqrt()).abs() < 1e-12);
        assert_eq!(repetitions(&[]), Repetitions::default());
    }

    proptest! {
        #[test]
        fn shares_of_failures_add_up(types in proptest::collection::vec(1_u8..=5, 1..40)) {
            let sum: f64 = failure_shares(&types).values().sum();
            prop_assert!((sum - 100.0).abs() < 1e-9);
        }
    }
}
