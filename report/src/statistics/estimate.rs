//! A number of a table, with what is known about its uncertainty.

use regatta_benchmarks::{Measure, Measured, Metric};
use regatta_proto::Level;
use serde::{Deserialize, Serialize};

use super::audited::Audited;
use super::interval::{Margin, Range};
use super::judge::JudgePart;
use super::linearised::{average, averaged_over_leaves, with_samples};
use super::means::{mean_if_missing, sessions};
use super::reruns::{self, Reruns};
use super::sample::{Sample, Samples, Trials};
use super::{groups, ratio};

/// One number of a table. All figures but the counts are within the metric's range, and absent when nothing has a score.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Estimate {
    /// Value: of a mean, the mean over items of each item's mean over its scored trials; of a ratio of sums, its mean over trials, or that
    /// of all trials together; of groups, the mean over them. A session that the model made impossible counts as wrong.
    pub value: Option<f64>,
    /// Lower end of the interval over new items like these: clusters of items are the sample. Where sessions are missing it is that of
    /// `bound_low`. Absent for a single cluster and where no valid interval is known.
    pub low: Option<f64>,
    /// Upper end; where sessions are missing, that of `bound_high`.
    pub high: Option<f64>,
    /// Items that contribute to the value.
    pub n: u32,
    /// Sessions with a score, those that the model made impossible included; of those that lack a part of the metric, as a grade, none.
    pub scored: u32,
    /// Sessions there should be.
    pub total: u32,
    /// `scored` / `total`.
    pub coverage: f64,
    /// The value if every session without a score had been all wrong: had scored the lowest that the metric allows. For an F1 such a
    /// session has predicted nothing, as one that the model made impossible.
    pub bound_low: Option<f64>,
    /// The value if every session without a score had been all right. Absent where what is missing could move the value without limit.
    pub bound_high: Option<f64>,
    /// Sample standard deviation of the values of single trials; absent for fewer than two.
    #[serde(default)]
    pub sd: Option<f64>,
    /// Independent clusters among the items that contribute.
    #[serde(default)]
    pub clusters: u32,
    /// Uncertainty over reruns of the same items. Absent for a single trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reruns: Option<Reruns>,
    /// The judge's part, from how its repeats differ. Absent where a judge is asked once, or not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<JudgePart>,
    /// The value as the judge of the audit would have it. Absent without an audit, and where the metric is no mean over items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audited: Option<Audited>,
    /// `true` if too little was measured for the value to be shown among results: then its bounds are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withheld: bool,
}

impl Estimate {
    /// The value, unless it is withheld.
    #[must_use]
    pub fn shown(&self) -> Option<f64> {
        self.value.filter(|_| !self.withheld)
    }

    /// The same, withheld if less than `coverage_min` of the sessions has a score.
    pub(crate) fn withheld_below(self, coverage_min: f64) -> Self {
        Self { withheld: self.total > 0 && self.coverage < coverage_min, ..self }
    }
}

impl From<&Estimate> for Measured {
    fn from(estimate: &Estimate) -> Self {
        Self { value: estimate.value, low: estimate.low, high: estimate.high, sd: estimate.sd }
    }
}

/// Estimates `metric` over the items at `positions`, from the samples of each of its leaves, by trial and then by position, with intervals
/// at `level`.
pub fn estimate(metric: &Metric, samples: &[Trials], positions: &[usize], clusters: &[u32], level: Level) -> Estimate {
    let leaves = with_samples(metric, samples, positions, clusters);
    let mut result = Estimate::default();
    (result.scored, result.total) = sessions(samples.iter().map(Vec::as_slice), positions);
    result.coverage = if result.total == 0 { 0.0 } else { f64::from(result.scored) / f64::from(result.total) };
    let found = averaged_over_leaves(metric, &leaves);
    let is_whole = result.scored == result.total;
    if !is_whole {
        let of_leaves: Vec<(Option<f64>, Option<f64>)> =
            leaves.iter().map(|(leaf, samples)| bounds(leaf, samples)).collect();
        result.bound_low = average(&metric.measure, &mut of_leaves.iter().map(|(low, _)| *low));
        result.bound_high = average(&metric.measure, &mut of_leaves.iter().map(|(_, high)| *high));
    }
    let Some(found) = found else { return result };
    let value = found.value;
    // Rounding may not put the value outside of its own bounds.
    result.bound_low = if is_whole { Some(value) } else { result.bound_low.map(|bound| bound.min(value)) };
    result.bound_high = if is_whole { Some(value) } else { result.bound_high.map(|bound| bound.max(value)) };
    let (spread, n) = found.spread(positions, clusters);
    (result.value, result.n, result.clusters) = (Some(value), n, spread.clusters);
    result.sd = Measured::over_trials(found.trials.iter().copied()).sd;
    let most = leaves.iter().map(|(leaf, samples)| ceiling(leaf, samples)).fold(metric.range.0, f64::max);
    let (from, to) = (metric.range.0.min(value), most.max(value));
    let is_scale = metric.unit.scale().is_some() && to.is_finite() && from < to;
    let range = if is_scale { Range::Scale { from, to } } else { Range::Amount { from, to } };
    let margin = Margin::over_clusters(value, range, &spread, level);
    if let (Some(margin), Some(low), Some(high)) = (margin, result.bound_low, result.bound_high) {
        (result.low, result.high) = (Some(margin.around(low).0), Some(margin.around(high).1));
    }
    let bounds = (result.bound_low, result.bound_high);
    result.reruns = reruns::reruns(&leaves, metric, &found, (range, bounds), spread.variance, level);
    result
}

/// The smallest and largest value that the sessions without a score allow a metric that is no average.
fn bounds(leaf: &Metric, samples: &Samples<'_>) -> (Option<f64>, Option<f64>) {
    match leaf.measure {
        Measure::Mean { .. } => (mean_if_missing(samples, leaf.range.0), mean_if_missing(samples, leaf.range.1)),
        Measure::GroupMean { .. } => groups::bounds(leaf, samples),
        _ => ratio::bounds(leaf, samples),
    }
}

/// Upper end at which intervals are cut: the end of the range, or, where that is beyond the end of the unit's scale, the latter, unless a
/// session shows that there is more.
fn ceiling(metric: &Metric, samples: &Samples<'_>) -> f64 {
    let most = metric.range.1;
    let Some((_, end)) = metric.unit.scale().filter(|(_, end)| *end < most) else { return most };
    let of_session = |sample: Sample| match sample {
        Sample::Scored { top, bottom } if bottom != 0.0 => top / bottom,
        _ => end,
    };
    let sessions = samples.positions.iter().flat_map(|position| samples.of(*position));
    sessions.map(of_session).fold(end, f64::max).min(most)
}

#[cfg(test)]
mod tests;
