//! Metrics as numbers with the influence of every item, each by the rule of its measure, and averages of these.

use regatta_benchmarks::{Measure, Metric};

use super::clusters::Influence;
use super::groups::group_mean;
use super::linear::{Linear, single_trials};
use super::means::{item_mean, mean};
use super::ratio::ratio;
use super::sample::{Sample, Samples, Trials, leaves};

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

pub(super) fn averaged_over_leaves(metric: &Metric, leaves: &[(Metric, Samples<'_>)]) -> Option<Linear> {
    let parts: Option<Vec<Linear>> = leaves.iter().map(|(leaf, samples)| linear(leaf, samples)).collect();
    averaged(metric, &parts?)
}
