//! Numbers that are no means over items, with how each item moves them.

use regatta_benchmarks::{Measure, Metric};

use super::clusters::{Clusters, Influence, Spread};
use super::estimate::{item_mean, mean};
use super::groups::group_mean;
use super::ratio::ratio;
use super::sample::{Sample, Samples, Trials, leaves};

/// A number with the linearised influence of every item on it: influences of several numbers add up as the numbers do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Linear {
    pub(crate) value: f64,
    /// In the order of the positions; `None`: nothing of the item could vary.
    pub(crate) by_item: Vec<Option<Influence>>,
    /// The number that each trial has by itself.
    pub(crate) trials: Vec<Option<f64>>,
}

impl Linear {
    /// The spread of the items' influences, and how many items have one.
    pub(crate) fn spread(&self, positions: &[usize], clusters: &[u32]) -> (Spread, u32) {
        let mut sums = Clusters::default();
        let mut n = 0;
        for (position, influence) in positions.iter().zip(&self.by_item) {
            let Some(influence) = influence else { continue };
            sums.add(clusters[*position], *influence);
            n += 1;
        }
        (sums.spread(), n)
    }

    /// The difference of this number and `other`, of the same items.
    pub(crate) fn less(&self, other: &Self) -> Self {
        const NONE: Influence = Influence { shift: 0.0, weight: 0.0 };
        let less = |(one, other): (&Option<Influence>, &Option<Influence>)| {
            let is_any = one.is_some() || other.is_some();
            let (one, other) = (one.unwrap_or(NONE), other.unwrap_or(NONE));
            is_any
                .then(|| Influence { shift: one.shift - other.shift, weight: f64::midpoint(one.weight, other.weight) })
        };
        let by_item = self.by_item.iter().zip(&other.by_item).map(less).collect();
        let trials = self.trials.iter().zip(&other.trials).map(|(one, other)| Some((*one)? - (*other)?)).collect();
        Self { value: self.value - other.value, by_item, trials }
    }
}

/// The number `of` each trial by itself, in the order of the trials.
pub(crate) fn single_trials(samples: &Samples<'_>, of: impl Fn(&Samples<'_>) -> Option<f64>) -> Vec<Option<f64>> {
    samples.trials.chunks(1).map(|trials| of(&Samples { trials, ..*samples })).collect()
}

/// A metric that is no average; `None` without a value.
pub(crate) fn linear(metric: &Metric, samples: &Samples<'_>) -> Option<Linear> {
    match metric.measure {
        Measure::Mean { .. } => {
            let means: Vec<Option<f64>> =
                samples.positions.iter().map(|position| item_mean(samples, *position)).collect();
            let value = mean(&means.iter().flatten().copied().collect::<Vec<f64>>())?;
            let count = means.iter().flatten().count() as f64;
            let by_item = means
                .iter()
                .map(|mean| mean.map(|mean| Influence { shift: (mean - value) / count, weight: 1.0 / count }))
                .collect();
            Some(Linear { value, by_item, trials: single_trials(samples, mean_of_trial) })
        }
        Measure::GroupMean { .. } => group_mean(metric, samples),
        _ => ratio(metric, samples),
    }
}

/// The mean over the items of the only trial.
fn mean_of_trial(samples: &Samples<'_>) -> Option<f64> {
    let tops = samples.positions.iter().flat_map(|position| samples.of(*position)).filter_map(|sample| match sample {
        Sample::Scored { top, .. } => Some(top),
        _ => None,
    });
    mean(&tops.collect::<Vec<f64>>())
}

/// The plain mean of what `leaves` gives for each measure that `measure` is an average of, in their order; `None` where one has none.
pub(crate) fn average(measure: &Measure, leaves: &mut dyn Iterator<Item = Option<f64>>) -> Option<f64> {
    match measure {
        Measure::Average { of } => {
            // All of them are taken from the iterator, whatever is missing.
            let parts: Vec<Option<f64>> = of.iter().map(|part| average(part, leaves)).collect();
            mean(&parts.into_iter().collect::<Option<Vec<f64>>>()?)
        }
        _ => leaves.next().flatten(),
    }
}

/// The average that `metric` is of `parts`, one for each of its leaves.
pub(crate) fn averaged(metric: &Metric, parts: &[Linear]) -> Option<Linear> {
    let of = |number: &dyn Fn(&Linear) -> Option<f64>| average(&metric.measure, &mut parts.iter().map(number));
    let value = of(&|part| Some(part.value))?;
    let longest = |length: fn(&Linear) -> usize| parts.iter().map(length).max().unwrap_or(0);
    let by_item = (0..longest(|part| part.by_item.len())).map(|at| {
        let influence = |part: &Linear| part.by_item.get(at).copied().flatten();
        let varies = parts.iter().any(|part| influence(part).is_some());
        let of_item = |figure: fn(Influence) -> f64| of(&|part| Some(influence(part).map_or(0.0, figure)));
        let (shift, weight) = (of_item(|found| found.shift)?, of_item(|found| found.weight)?);
        varies.then_some(Influence { shift, weight })
    });
    let by_item = by_item.collect();
    let trials = (0..longest(|part| part.trials.len())).map(|at| of(&|part| part.trials.get(at).copied().flatten()));
    Some(Linear { value, by_item, trials: trials.collect() })
}

/// The leaves of `metric` with the samples of each, which are of `positions` and `clusters`.
pub(crate) fn with_samples<'a>(
    metric: &Metric,
    samples: &'a [Trials],
    positions: &'a [usize],
    clusters: &'a [u32],
) -> Vec<(Metric, Samples<'a>)> {
    let of = |(leaf, trials): (Metric, &'a Trials)| (leaf, Samples { trials, positions, clusters });
    leaves(metric).into_iter().zip(samples).map(of).collect()
}
