//! Ratios of sums, trial by trial.

use regatta_benchmarks::{Measure, Metric};

use super::clusters::{Clusters, Spread};
use super::estimate::mean;
use super::sample::{Sample, Samples};

/// A mean over trials of a ratio of sums over items, and the spread of what the items contribute to it.
pub(crate) struct Ratio {
    pub(crate) value: f64,
    pub(crate) spread: Spread,
    /// Items that contribute.
    pub(crate) n: u32,
    /// The ratio of every trial that has one.
    pub(crate) trials: Vec<f64>,
}

/// Sums over the items of one trial.
#[derive(Default)]
struct Sums {
    top: f64,
    bottom: f64,
    has_score: bool,
    is_void: bool,
}

impl Sums {
    /// `None` without any score, and without anything to divide by where the metric has no value then.
    fn ratio(&self, metric: &Metric) -> Option<f64> {
        match self {
            Self { has_score: false, .. } | Self { is_void: true, .. } => None,
            Self { bottom: 0.0, .. } => metric.if_empty,
            Self { top, bottom, .. } => Some(top / bottom),
        }
    }
}

fn sums(samples: &Samples<'_>, trial: usize) -> Sums {
    let mut sums = Sums::default();
    for position in samples.positions {
        match samples.trials[trial].get(*position) {
            Some(Sample::Scored { top, bottom }) => {
                sums.top += top;
                sums.bottom += bottom;
                sums.has_score = true;
            }
            Some(Sample::Nothing) => sums.has_score = true,
            Some(Sample::Void) => sums.is_void = true,
            Some(Sample::Missing { .. }) | None => {}
        }
    }
    sums
}

/// What each position contributes to the mean over trials, in the order of `samples.positions`; `None`: nothing that could vary.
pub(crate) struct Influences {
    pub(crate) trials: Vec<f64>,
    pub(crate) by_item: Vec<Option<f64>>,
}

/// The ratio of every trial, and the linearised influence of every item on their mean: (top − ratio · bottom) / Σ bottom.
pub(crate) fn influences(metric: &Metric, samples: &Samples<'_>) -> Influences {
    let of_trials: Vec<(usize, Sums, f64)> = (0..samples.trials.len())
        .filter_map(|trial| {
            let sums = sums(samples, trial);
            let ratio = sums.ratio(metric)?;
            Some((trial, sums, ratio))
        })
        .collect();
    let count = of_trials.len() as f64;
    let mut by_item = vec![None; samples.positions.len()];
    for (trial, sums, ratio) in of_trials.iter().filter(|(_, sums, _)| sums.bottom != 0.0) {
        for (at, position) in samples.positions.iter().enumerate() {
            let Some(Sample::Scored { top, bottom }) = samples.trials[*trial].get(*position) else { continue };
            if *top != 0.0 || *bottom != 0.0 {
                *by_item[at].get_or_insert(0.0) += (top - ratio * bottom) / sums.bottom / count;
            }
        }
    }
    Influences { trials: of_trials.into_iter().map(|(_, _, ratio)| ratio).collect(), by_item }
}

/// Estimates `metric`; `None` when no trial has a ratio.
pub(crate) fn ratio(metric: &Metric, samples: &Samples<'_>) -> Option<Ratio> {
    let found = influences(metric, samples);
    let value = mean(&found.trials)?;
    let mut clusters = Clusters::default();
    let mut n = 0;
    for (position, influence) in samples.positions.iter().zip(&found.by_item) {
        let Some(influence) = influence else { continue };
        clusters.add(samples.clusters[*position], *influence);
        n += 1;
    }
    Some(Ratio { value, spread: clusters.of_influences(), n, trials: found.trials })
}

/// The smallest and largest value that the sessions without a score allow. `None` where they could move the ratio without limit: where
/// the range has no end, and where nobody knows how much they would have had below the line.
pub(crate) fn bounds(metric: &Metric, samples: &Samples<'_>) -> (Option<f64>, Option<f64>) {
    let (low, high) = metric.range;
    let with = |top_each: f64, bottom_each: f64| -> Option<f64> {
        let of_trial = |trial: usize| {
            let mut all = sums(samples, trial);
            for position in samples.positions {
                if let Some(Sample::Missing { weight }) = samples.trials[trial].get(*position) {
                    all.top += top_each * weight;
                    all.bottom += bottom_each * weight;
                    all.has_score = true;
                }
            }
            all.ratio(metric)
        };
        let ratios: Vec<f64> = (0..samples.trials.len()).filter_map(of_trial).collect();
        mean(&ratios).filter(|_| top_each.is_finite())
    };
    match &metric.measure {
        Measure::Ratio { of_item: false, .. } => (None, None),
        // All wrong: nothing right, and nothing predicted either, as when the model makes a session impossible. All right: what is gold is
        // predicted, and if predictions may count more than once (the range tells), perhaps with none to spare.
        Measure::F1 { .. } => (with(0.0, 1.0), with(2.0, if high <= 1.0 { 2.0 } else { 1.0 })),
        Measure::Mean { .. } | Measure::Ratio { .. } => (with(low, 1.0), with(high, 1.0)),
    }
}
