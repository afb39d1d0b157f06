//! Contributions of sessions to a metric.

use std::collections::BTreeMap;

use regatta_benchmarks::{Measure, Metric};

/// Contribution of one session to a metric: `top` to the numerator of a ratio, `bottom` to its denominator, which is 1 for a mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sample {
    /// The session has no score, or none of what the metric measures. `weight` is the denominator that it would have had if the model had made it impossible (for an F1, the
    /// gold values only); 0 where no session of the item has any.
    Missing {
        /// At least 0.
        weight: f64,
    },
    /// The score has no value for the metric.
    Nothing,
    /// The sweep did not buy it: it stopped before, and nothing is missing.
    NotBought,
    /// The score makes the ratios of its trial undefined.
    Void,
    /// The score excludes its group's sessions of this trial.
    DropsRun,
    /// The score makes its group count zero in all trials.
    ZeroesGroup,
    /// The score has values for the metric.
    Scored {
        /// Part of the numerator.
        top: f64,
        /// Part of the denominator.
        bottom: f64,
    },
}

impl Sample {
    /// Numerator and denominator of a session that has values for the metric.
    pub(crate) const fn parts(&self) -> Option<(f64, f64)> {
        match self {
            Self::Scored { top, bottom } => Some((*top, *bottom)),
            Self::Missing { .. }
            | Self::Nothing
            | Self::NotBought
            | Self::Void
            | Self::DropsRun
            | Self::ZeroesGroup => None,
        }
    }
}

/// Samples of all items, by trial and then by position.
pub type Trials = Vec<Vec<Sample>>;

/// The samples of some items under one metric that is no average. Sessions of one item, and of items of one cluster, are not independent.
#[derive(Clone, Copy)]
pub(crate) struct Samples<'a> {
    /// By trial, then by position of the item.
    pub(crate) trials: &'a [Vec<Sample>],
    /// Positions of the items, ascending.
    pub(crate) positions: &'a [usize],
    /// Cluster of each position; numbered by first appearance.
    pub(crate) clusters: &'a [u32],
}

impl Samples<'_> {
    /// Samples of the item at `position`, one for each trial.
    pub(crate) fn of(&self, position: usize) -> impl Iterator<Item = Sample> {
        self.trials.iter().filter_map(move |trial| trial.get(position).copied())
    }
}

/// Sample of a session with the flat values `values` under `metric`.
pub(crate) fn sample(metric: &Metric, values: &BTreeMap<String, f64>) -> Sample {
    let value = |name: &str| values.get(name).copied();
    if metric.void_if.as_deref().and_then(value).is_some_and(|void| void > 0.0) {
        return Sample::Void;
    }
    if lacks(metric, values) {
        return missing(metric, Some(values));
    }
    of_measure(&metric.measure, values)
}

/// `true` if a session with these values should have one of `metric`, and has none.
fn lacks(metric: &Metric, values: &BTreeMap<String, f64>) -> bool {
    metric.missing_if.values().any(|flag| values.get(flag).is_some_and(|is| *is > 0.0))
}

fn of_measure(measure: &Measure, values: &BTreeMap<String, f64>) -> Sample {
    let value = |name: &str| values.get(name).copied();
    let is_set = |name: &Option<String>| name.as_deref().and_then(value).is_some_and(|set| set > 0.0);
    let ratio = |numerator: &str, denominator: &str| match (value(numerator), value(denominator)) {
        (None, None) => None,
        (top, bottom) => Some((top.unwrap_or(0.0), bottom.unwrap_or(0.0))),
    };
    let parts = match measure {
        Measure::Mean { value: name } => value(name).map(|top| (top, 1.0)),
        Measure::Ratio { numerator, denominator, .. } => ratio(numerator, denominator),
        Measure::F1 { right, predicted, gold } => match [value(right), value(predicted), value(gold)] {
            [None, None, None] => None,
            [right, predicted, gold] => {
                Some((2.0 * right.unwrap_or(0.0), predicted.unwrap_or(0.0) + gold.unwrap_or(0.0)))
            }
        },
        Measure::Pooled { zero_group_if, .. } | Measure::GroupMean { zero_group_if, .. } if is_set(zero_group_if) => {
            return Sample::ZeroesGroup;
        }
        Measure::Pooled { of, .. } => return of_measure(of, values),
        Measure::GroupMean { drop_run_if, .. } if is_set(drop_run_if) => return Sample::DropsRun,
        Measure::GroupMean { numerator, denominator, .. } => ratio(numerator, denominator),
        // Its parts have samples of their own.
        Measure::Average { .. } => None,
    };
    parts.map_or(Sample::Nothing, |(top, bottom)| Sample::Scored { top, bottom })
}

/// Sample of a session without a score, or of one that lacks the metric's value. `values` are the flat values of a session of the same item
/// that the model made impossible, or its own.
pub(crate) fn missing(metric: &Metric, values: Option<&BTreeMap<String, f64>>) -> Sample {
    // A value that is not there tells no weight: it is that of a mean.
    let of = |values| weight(&metric.measure, values).or_else(|| lacks(metric, values).then_some(1.0));
    Sample::Missing { weight: values.and_then(of).unwrap_or(0.0) }
}

fn weight(measure: &Measure, failure: &BTreeMap<String, f64>) -> Option<f64> {
    let value = |name: &String| failure.get(name).copied();
    match measure {
        Measure::Mean { value: name } => value(name).map(|_| 1.0),
        // How much it would have had, nobody knows; only that it would have had something.
        Measure::GroupMean { denominator, of_item: false, .. } => value(denominator).map(|_| 1.0),
        Measure::Ratio { denominator, .. } | Measure::GroupMean { denominator, .. } => value(denominator),
        Measure::F1 { gold, .. } => value(gold),
        Measure::Pooled { of, .. } => weight(of, failure),
        Measure::Average { .. } => None,
    }
}

/// Completeness of a session in a metric: of an average, in all that it averages over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Completeness {
    /// The sweep did not buy it.
    NotBought,
    /// At least one part is missing.
    Lacking,
    /// No part is missing.
    Whole,
}

/// The completeness of the session at `position` in `trial`, from the samples of the metric's leaves.
pub(crate) fn completeness<'s>(
    leaves: impl IntoIterator<Item = &'s [Vec<Sample>]>,
    trial: usize,
    position: usize,
) -> Completeness {
    let mut found = Completeness::NotBought;
    for sample in leaves.into_iter().filter_map(|trials| trials.get(trial)?.get(position)) {
        match sample {
            Sample::NotBought => return Completeness::NotBought,
            Sample::Missing { .. } => found = Completeness::Lacking,
            Sample::Nothing | Sample::Void | Sample::DropsRun | Sample::ZeroesGroup | Sample::Scored { .. } => {
                if found == Completeness::NotBought {
                    found = Completeness::Whole;
                }
            }
        }
    }
    found
}

/// Voids every part of a trial of which one part is void: a crash of an evaluator leaves no number at all.
pub(crate) fn void_all(trial: &mut [Sample]) {
    if trial.contains(&Sample::Void) {
        let scored = trial.iter_mut().filter(|sample| !matches!(sample, Sample::Missing { .. } | Sample::NotBought));
        scored.for_each(|sample| *sample = Sample::Void);
    }
}

/// The measures that `metric` is an average of, each as a metric, to which only the sessions are missing that lack a value of its own;
/// itself where it is none.
pub(crate) fn leaves(metric: &Metric) -> Vec<Metric> {
    fn add(measure: &Measure, metric: &Metric, found: &mut Vec<Metric>) {
        match measure {
            Measure::Average { of } => of.iter().for_each(|part| add(part, metric, found)),
            leaf => {
                let (mut part, values) = (Metric { measure: leaf.clone(), ..metric.clone() }, leaf.values());
                part.missing_if.retain(|value, _| values.contains(&value.as_str()));
                found.push(part);
            }
        }
    }
    let mut found = Vec::new();
    add(&metric.measure, metric, &mut found);
    found
}

/// `true` if every score is right or wrong: 1 or 0 of 1.
pub(crate) fn are_right_or_wrong(leaves: &[Trials]) -> bool {
    leaves.iter().flatten().flatten().all(|sample| match sample {
        Sample::Scored { top, bottom } => *bottom == 1.0 && [0.0, 1.0].contains(top),
        Sample::Missing { .. }
        | Sample::Nothing
        | Sample::NotBought
        | Sample::Void
        | Sample::DropsRun
        | Sample::ZeroesGroup => true,
    })
}
