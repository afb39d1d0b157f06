//! Quality of tool calls: names, keys, and the counts of values that do not need a judge
//! (docs/benchmarks/orchestrationbench.md §5.5).

use std::collections::{BTreeMap, BTreeSet};

use super::arguments::Values;
use super::canonical::canonical;
use super::class::Called;
use super::reason::Reason;
use super::schema::Schemas;
use crate::data::Agents;

/// Comparison of a call with the gold call, before any judge.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Quality {
    /// F1 of the sets of tool names.
    pub(crate) name_f1: f64,
    /// F1 of the sets of argument keys.
    pub(crate) key_f1: f64,
    /// Counts by key, for the keys of either side.
    pub(crate) keys: BTreeMap<String, KeyCounts>,
}

/// Counts of one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyCounts {
    /// Values on both sides.
    pub(crate) tp: usize,
    /// Values in the prediction alone.
    pub(crate) fp: usize,
    /// Values in the gold alone.
    pub(crate) fn_: usize,
    /// Reason why the counts are final, or [`Reason::Judge`].
    pub(crate) reason: Reason,
    /// When a judge is needed, the values behind `fp` and `fn_`, ascending.
    pub(crate) unsettled: Option<(Vec<String>, Vec<String>)>,
}

/// A key that the judge is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unsettled<'q> {
    /// The key.
    pub(crate) key: &'q str,
    /// Values on both sides; the official evaluator drops them once the judge has answered.
    pub(crate) confirmed_tp: usize,
    /// Values in the prediction alone, ascending.
    pub(crate) predicted: &'q [String],
    /// Values in the gold alone, ascending.
    pub(crate) actual: &'q [String],
}

impl Quality {
    /// Compares `called` with `gold`, using the tool schemas of `agents`.
    pub(crate) fn new(called: &Called, gold: &Called, agents: &Agents) -> Self {
        let schemas = Schemas::new(agents, called.tools());
        let all: BTreeSet<&str> = called.arguments.keys().chain(gold.arguments.keys()).collect();
        let keys = all
            .into_iter()
            .filter_map(|key| {
                let counts = match (called.arguments.get(key), gold.arguments.get(key)) {
                    (Some(predicted), Some(actual)) => compare(key, predicted, actual, &schemas),
                    (Some(predicted), None) => settled(0, predicted.len(), 0, Reason::KeyMissingInActual),
                    (None, Some(actual)) => settled(0, 0, actual.len(), Reason::KeyMissingInPredicted),
                    (None, None) => return None,
                };
                Some((key.to_owned(), counts))
            })
            .collect();
        let names = |called: &'_ Called| called.names.iter().cloned().collect::<BTreeSet<_>>();
        let (predicted, actual) = (called.arguments.keys().collect(), gold.arguments.keys().collect());
        Self { name_f1: set_f1(&names(called), &names(gold)), key_f1: set_f1(&predicted, &actual), keys }
    }

    /// Returns the keys that a judge must be asked about, ascending.
    pub(crate) fn unsettled(&self) -> Vec<Unsettled<'_>> {
        let unsettled = self.keys.iter().filter_map(|(key, counts)| {
            let (predicted, actual) = counts.unsettled.as_ref()?;
            Some(Unsettled { key, confirmed_tp: counts.tp, predicted, actual })
        });
        unsettled.collect()
    }
}

const fn settled(tp: usize, fp: usize, fn_: usize, reason: Reason) -> KeyCounts {
    KeyCounts { tp, fp, fn_, reason, unsettled: None }
}

fn compare(key: &str, predicted: &Values, actual: &Values, schemas: &Schemas<'_>) -> KeyCounts {
    let (predicted, actual) = (texts(predicted), texts(actual));
    let tp = predicted.intersection(&actual).count();
    let only_predicted: Vec<String> = predicted.difference(&actual).cloned().collect();
    let only_actual: Vec<String> = actual.difference(&predicted).cloned().collect();
    let (fp, fn_) = (only_predicted.len(), only_actual.len());
    if fp == 0 || fn_ == 0 {
        return settled(tp, fp, fn_, Reason::ExactComparison);
    }
    match schemas.settles(key, &only_predicted, fn_) {
        Some(reason) => settled(tp, fp, fn_, reason),
        None => KeyCounts { tp, fp, fn_, reason: Reason::Judge, unsettled: Some((only_predicted, only_actual)) },
    }
}

fn texts(values: &Values) -> BTreeSet<String> {
    match values {
        Values::Each(values) => values.iter().map(|value| canonical(value).into_owned()).collect(),
        Values::Complaint(text) => BTreeSet::from([text.clone()]),
    }
}

/// F1 of two sets: 1 when both are empty, 0 when only one is.
pub(crate) fn set_f1<T: Ord>(predicted: &BTreeSet<T>, actual: &BTreeSet<T>) -> f64 {
    if predicted.is_empty() && actual.is_empty() {
        return 1.0;
    }
    if predicted.is_empty() || actual.is_empty() {
        return 0.0;
    }
    let both = predicted.intersection(actual).count() as f64;
    f1(both / predicted.len() as f64, both / actual.len() as f64)
}

/// Harmonic mean in the official code's order of operations; 0 when both are 0.
pub(crate) fn f1(precision: f64, recall: f64) -> f64 {
    if precision + recall > 0.0 { 2.0 * (precision * recall) / (precision + recall) } else { 0.0 }
}
