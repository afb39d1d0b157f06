//! A metric as the judge of an audit would have it, and how the judge whose scores count differs from that.

use regatta_benchmarks::{Measure, Metric};
use regatta_deciding::{Audit, Corrected, Figure, audited_mean};
use regatta_proto::Level;
use serde::{Deserialize, Serialize};

use super::means::item_mean;
use super::sample::{Samples, Trials};
use super::student;

/// A number with an interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AuditedNumber {
    /// The number.
    pub value: f64,
    /// Lower end of the interval over new items like these.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// An estimate of the value by the judge of the audit, from its scores of some items and the other judge's scores of all.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Audited {
    /// The estimate, with an interval that is never longer than that of `alone`.
    #[serde(flatten)]
    pub estimate: AuditedNumber,
    /// The value of the audited items by the judge of the audit.
    pub alone: AuditedNumber,
    /// Bias of the judge whose scores count: how much higher its values of the audited items are.
    pub bias: AuditedNumber,
    /// Weight of the judge whose scores count, 0 (the audit alone) to 1.
    pub weight: f64,
    /// Audited items.
    pub items: u32,
    /// Number of audited items that would give the same interval without the other judge, divided by that of the audited ones.
    pub saving: f64,
}

impl Audited {
    /// `None` where the audit is too small for an interval.
    fn new(found: &Corrected, range: (f64, f64)) -> Option<Self> {
        let within = |figure: Figure, (from, to): (f64, f64)| {
            let interval = figure.interval();
            let all = [figure.value, interval.low, interval.high];
            let is_known = all.into_iter().all(f64::is_finite);
            let [value, low, high] = all.map(|end| end.max(from).min(to));
            is_known.then_some(AuditedNumber { value, low, high })
        };
        let length = range.1 - range.0;
        Some(Self {
            estimate: within(found.estimate, range)?,
            alone: within(found.alone, range)?,
            bias: within(found.bias, (-length, length))?,
            weight: found.weight,
            items: found.audited as u32,
            saving: found.saving(),
        })
    }

    /// The estimate from `items`, whose scores lie in `range`.
    fn from(items: &[Audit], range: (f64, f64), scale: f64, level: Level) -> Option<Self> {
        let critical = |freedom: f64| student::quantile(level.upper(), freedom);
        let scale = if scale.is_finite() { scale } else { 0.0 };
        Self::new(&audited_mean(items, scale, critical).ok()?, range)
    }
}

/// The items at `positions` that have a value of `metric`, a mean over items, each with the mean of its trials by either judge. An item is
/// audited if each of its sessions with a value has one by the audit's judge: means over other trials would be compared otherwise.
pub(crate) fn audits(
    metric: &Metric,
    (samples, by_audit): (&[Trials], &[Trials]),
    positions: &[usize],
    clusters: &[u32],
) -> Option<Vec<(usize, Audit)>> {
    let Measure::Mean { .. } = metric.measure else { return None };
    let of = |trials| Samples { trials, positions, clusters };
    let (all, audited) = (of(samples.first()?), of(by_audit.first()?));
    let item = |at: &usize| {
        let cheap = item_mean(&all, *at)?;
        let is_whole =
            all.of(*at).zip(audited.of(*at)).all(|(one, other)| one.parts().is_none() || other.parts().is_some());
        let expensive = if is_whole { item_mean(&audited, *at) } else { None };
        Some((*at, Audit { cluster: clusters[*at], cheap, expensive }))
    };
    Some(positions.iter().filter_map(item).collect())
}

/// The value of `metric` over `items`. `None` without two audited clusters.
pub(crate) fn audited_value(metric: &Metric, items: &[(usize, Audit)], level: Level) -> Option<Audited> {
    let items: Vec<Audit> = items.iter().map(|(_, audit)| *audit).collect();
    Audited::from(&items, metric.range, metric.range.1 - metric.range.0, level)
}

/// The difference between the models of `ones` and `others`, over the items that both have. `None` without two audited clusters.
pub(crate) fn audited_difference(
    metric: &Metric,
    ones: &[(usize, Audit)],
    others: &[(usize, Audit)],
    level: Level,
) -> Option<Audited> {
    let mut items = Vec::with_capacity(ones.len());
    for (at, one) in ones {
        if let Ok(place) = others.binary_search_by_key(at, |(at, _)| *at) {
            let other = others[place].1;
            let expensive = one.expensive.zip(other.expensive).map(|(one, other)| one - other);
            items.push(Audit { cluster: one.cluster, cheap: one.cheap - other.cheap, expensive });
        }
    }
    let length = metric.range.1 - metric.range.0;
    Audited::from(&items, (-length, length), length, level)
}

mod gap;
mod people;
#[cfg(test)]
mod tests;

pub use self::gap::GapMeans;
pub(crate) use self::gap::gap;
pub use self::people::audited_sessions;
