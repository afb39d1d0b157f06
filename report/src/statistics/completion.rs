//! Samples of which nothing is missing: every session without a score has the worst or the best that it could have had.

use regatta_benchmarks::{Measure, Metric};

use super::groups;
use super::ratio::{self, End};
use super::sample::{Sample, Samples, Trials};

/// The samples of a metric that is no average, with every session without a score at an `end` of what it allows: the value is the bound
/// of an estimate then. `None` where the range has no such end.
pub(super) fn completed(leaf: &Metric, samples: &Samples<'_>, end: End) -> Option<Trials> {
    match leaf.measure {
        Measure::Mean { .. } => of_mean(samples, end.of_range(leaf.range)),
        Measure::GroupMean { .. } => groups::completed(leaf, samples, end),
        Measure::Ratio { .. } | Measure::F1 { .. } | Measure::Pooled { .. } => ratio::completed(leaf, samples, end),
        // Its parts are completed by themselves.
        Measure::Average { .. } => None,
    }
}

fn of_mean(samples: &Samples<'_>, score: f64) -> Option<Trials> {
    let mut completed = samples.trials.to_vec();
    for trial in &mut completed {
        for position in samples.positions {
            let Some(Sample::Missing { weight }) = trial.get(*position) else { continue };
            trial[*position] = match *weight > 0.0 {
                true if score.is_finite() => Sample::Scored { top: score, bottom: 1.0 },
                true => return None,
                // The metric is not about the item.
                false => Sample::Nothing,
            };
        }
    }
    Some(completed)
}

#[cfg(test)]
mod tests;
