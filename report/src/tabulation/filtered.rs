//! The headline both ways: with the sessions that a filter ended as wrong, and as missing.
//!
//! One of the two is the headline itself, as `filtered` of the spec chooses. The other one is the same estimate of the same samples, but for
//! those of the filtered sessions.

use regatta_benchmarks::{Metric, Score};
use regatta_proto::{Cause, Filtered, ItemIndex, Outcome};

use super::group::MetricKey;
use crate::statistics::{Estimate, Sample, Trials, missing, sample};
use crate::summary::{BothWays, MetricBothWays};

/// A session that a filter ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct FilteredSession {
    pub(super) trial: usize,
    /// Position of its item among the selected ones.
    pub(super) position: usize,
    pub(super) item: ItemIndex,
}

/// `true` if a filter ended the session, whatever that counts as.
pub(super) fn is_filtered(outcome: &Outcome) -> bool {
    outcome.cause() == Some(Cause::ContentFilter)
}

/// Counts filtered sessions in `samples` as the spec did not choose. `failure` is the score of a failure at an item under the metric's
/// evaluator; samples are by leaf, trial and position.
pub(super) fn recounted(
    chosen: Filtered,
    leaves: &[Metric],
    samples: &[Trials],
    filtered: &[FilteredSession],
    failure: &dyn Fn(ItemIndex) -> Option<Score>,
) -> Vec<Trials> {
    let mut samples = samples.to_vec();
    for session in filtered {
        let failure = failure(session.item);
        let values = failure.as_ref().map(|score| &score.values);
        for (metric, trials) in leaves.iter().zip(&mut samples) {
            let place = trials.get_mut(session.trial).and_then(|trial| trial.get_mut(session.position));
            let Some(place) = place else { continue };
            *place = match (chosen, values) {
                (Filtered::Wrong, values) => missing(metric, values),
                (Filtered::Missing, Some(values)) => sample(metric, values),
                (Filtered::Missing, None) => Sample::Nothing,
            };
        }
    }
    samples
}

/// The metrics of a group both ways, of which `chosen` is the headline's.
pub(super) fn both_ways(
    chosen: Filtered,
    sessions: usize,
    metrics: impl Iterator<Item = (MetricKey, Estimate, Estimate)>,
) -> BothWays {
    let metrics = metrics.map(|((evaluator, metric), headline, other)| {
        let (wrong, missing) = match chosen {
            Filtered::Wrong => (headline, other),
            Filtered::Missing => (other, headline),
        };
        MetricBothWays { evaluator, metric: metric.name, unit: metric.unit, wrong, missing }
    });
    BothWays { sessions: sessions as u64, metrics: metrics.collect() }
}
