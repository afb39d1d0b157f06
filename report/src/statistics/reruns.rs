//! Uncertainty over reruns of the same items: the part of its uncertainty that comes from trials, and not from
//! which items the benchmark happens to have.

use regatta_benchmarks::{Measure, Metric};
use regatta_proto::Level;
use serde::{Deserialize, Serialize};

use super::interval::{Margin, Range};
use super::linear::Linear;
use super::means::{of_item, sessions};
use super::sample::Samples;

/// Uncertainty over reruns of the same items, from how trials of one item differ. What answers differ by and what judges differ by over
/// trials are in it together; where two trials lead to the same question, its one verdict hides what the judge adds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Reruns {
    /// Lower end of the interval that holds the mean over endless reruns of these items. Where sessions are missing it is that of
    /// [`super::Estimate::bound_low`].
    pub low: f64,
    /// Upper end; where sessions are missing, that of [`super::Estimate::bound_high`].
    pub high: f64,
    /// The part of the squared standard error over new items that comes from which items there are; at least 0.
    pub item_variance: Option<f64>,
    /// The part that comes from trials: it shrinks with more of them.
    pub trial_variance: f64,
}

/// A squared standard error over reruns.
struct OverReruns {
    variance: f64,
    freedom: f64,
    sessions: f64,
}

/// Interval over reruns of the estimate `found` of `metric`, whose squared standard error over new items is `variance`, and which is within
/// `bounds` whatever the missing sessions would have scored. `None` where no item has two trials, or what is missing could move the value
/// without limit.
pub(super) fn reruns(
    leaves: &[(Metric, Samples<'_>)],
    metric: &Metric,
    found: &Linear,
    (range, bounds): (Range, (Option<f64>, Option<f64>)),
    variance: Option<f64>,
    level: Level,
) -> Option<Reruns> {
    let over = match (&metric.measure, leaves) {
        (Measure::Mean { .. }, [(_, samples)]) => of_items(samples)?,
        _ => of_trials(leaves, found)?,
    };
    let margin = Margin::of_variance(found.value, range, over.variance, over.freedom, over.sessions, level)?;
    let (low, high) = (margin.around(bounds.0?).0, margin.around(bounds.1?).1);
    let item_variance = variance.map(|all| (all - over.variance).max(0.0));
    Some(Reruns { low, high, item_variance, trial_variance: over.variance })
}

/// Variance of a mean over items: the variances within items, added up. Items with one trial are taken to vary as the others do.
fn of_items(samples: &Samples<'_>) -> Option<OverReruns> {
    let (mut items, mut repeated, mut sessions) = (0.0, 0.0, 0.0);
    let (mut sum, mut fourth, mut spare) = (0.0, 0.0, 0.0);
    for position in samples.positions {
        let (item, scores) = (of_item(samples, *position), scores(samples, *position));
        if item.scored == 0 {
            continue;
        }
        let count = f64::from(item.scored);
        (items, sessions) = (items + 1.0, sessions + count);
        if item.scored > 1 {
            let mean = item.sum / count;
            let squares: f64 = scores.map(|score| (score - mean).powi(2)).sum();
            let of_mean = squares / (count - 1.0) / count;
            (repeated, spare) = (repeated + 1.0, spare + count - 1.0);
            sum += of_mean;
            fourth += of_mean.powi(2) / (count - 1.0);
        }
    }
    // Satterthwaite's degrees of freedom of a sum of variances; those of all items where nothing varied.
    let freedom = if fourth > 0.0 { sum.powi(2) / fourth } else { spare };
    (repeated > 0.0).then(|| OverReruns { variance: sum / repeated / items, freedom, sessions })
}

fn scores(samples: &Samples<'_>, position: usize) -> impl Iterator<Item = f64> {
    samples.of(position).filter_map(|sample| sample.parts()).map(|(top, _)| top)
}

/// Variance of all other metrics: that of the values of whole trials.
fn of_trials(leaves: &[(Metric, Samples<'_>)], found: &Linear) -> Option<OverReruns> {
    let trials: Vec<f64> = found.trials.iter().flatten().copied().collect();
    let count = trials.len() as f64;
    if trials.len() < 2 {
        return None;
    }
    let mean = trials.iter().sum::<f64>() / count;
    let squares: f64 = trials.iter().map(|trial| (trial - mean).powi(2)).sum();
    let (_, samples) = leaves.first()?;
    let (sessions, _) = sessions(leaves.iter().map(|(_, of_leaf)| of_leaf.trials), samples.positions);
    Some(OverReruns { variance: squares / (count - 1.0) / count, freedom: count - 1.0, sessions: f64::from(sessions) })
}
