//! What sessions add to a metric.

use std::collections::BTreeMap;

use regatta_benchmarks::{Measure, Metric};

/// What one session adds to a metric: `top` above the line of a ratio, `bottom` below it. A mean has 1 below.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Sample {
    /// It has no score. A session of this item that the model had made impossible would have had this much below the line (for an F1 only
    /// what is gold); 0 where no session of the item has anything there.
    Missing { weight: f64 },
    /// Its score says nothing about the metric.
    Nothing,
    /// Its score says that the ratios of its trial are none.
    Void,
    /// Its score.
    Scored { top: f64, bottom: f64 },
}

/// The samples of some items under one metric. Sessions of one item, and of items of one cluster, are not independent.
#[derive(Clone, Copy)]
pub(crate) struct Samples<'a> {
    /// By trial, then by position of the item.
    pub(crate) trials: &'a [Vec<Sample>],
    /// Which items, ascending.
    pub(crate) positions: &'a [usize],
    /// Cluster of each position; numbered by first appearance.
    pub(crate) clusters: &'a [u32],
}

impl Samples<'_> {
    /// Of the item at `position` in every trial.
    pub(crate) fn of(&self, position: usize) -> impl Iterator<Item = Sample> {
        self.trials.iter().filter_map(move |trial| trial.get(position).copied())
    }
}

/// What a session with these flat values adds to `metric`.
pub(crate) fn sample(metric: &Metric, values: &BTreeMap<String, f64>) -> Sample {
    let value = |name: &str| values.get(name).copied();
    if metric.void_if.as_deref().and_then(value).is_some_and(|void| void > 0.0) {
        return Sample::Void;
    }
    let parts = match &metric.measure {
        Measure::Mean { value: name } => value(name).map(|top| (top, 1.0)),
        Measure::Ratio { numerator, denominator, .. } => match (value(numerator), value(denominator)) {
            (None, None) => None,
            (top, bottom) => Some((top.unwrap_or(0.0), bottom.unwrap_or(0.0))),
        },
        Measure::F1 { right, predicted, gold } => match [value(right), value(predicted), value(gold)] {
            [None, None, None] => None,
            [right, predicted, gold] => {
                Some((2.0 * right.unwrap_or(0.0), predicted.unwrap_or(0.0) + gold.unwrap_or(0.0)))
            }
        },
    };
    parts.map_or(Sample::Nothing, |(top, bottom)| Sample::Scored { top, bottom })
}

/// What a session without a score leaves open, when a session of its item that the model made impossible has the flat values `failure`.
pub(crate) fn missing(metric: &Metric, failure: Option<&BTreeMap<String, f64>>) -> Sample {
    let value = |name: &String| failure.and_then(|failure| failure.get(name)).copied();
    let weight = match &metric.measure {
        Measure::Mean { value: name } => value(name).map(|_| 1.0),
        Measure::Ratio { denominator, .. } => value(denominator),
        Measure::F1 { gold, .. } => value(gold),
    };
    Sample::Missing { weight: weight.unwrap_or(0.0) }
}
