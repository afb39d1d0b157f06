//! Means over trials and items, and how many sessions they are of.

use super::sample::{Completeness, Sample, Samples, completeness};

/// Sessions of the items at `positions` of which no part of the metric is missing, and all that there should be. `leaves` are the samples of
/// each leaf of the metric.
pub(super) fn sessions<'s>(leaves: impl Iterator<Item = &'s [Vec<Sample>]> + Clone, positions: &[usize]) -> (u32, u32) {
    let trials = leaves.clone().next().map_or(0, <[Vec<Sample>]>::len);
    let (mut whole, mut total) = (0, 0);
    for (trial, at) in (0..trials).flat_map(|trial| positions.iter().map(move |at| (trial, *at))) {
        match completeness(leaves.clone(), trial, at) {
            Completeness::NotBought => {}
            Completeness::Lacking => total += 1,
            Completeness::Whole => (whole, total) = (whole + 1, total + 1),
        }
    }
    (whole, total)
}

/// Sum and number of the scores of an item, and how many more there could be.
#[derive(Default)]
pub(super) struct OfItem {
    pub(super) sum: f64,
    pub(super) scored: u32,
    missing: u32,
}

pub(super) fn of_item(samples: &Samples<'_>, position: usize) -> OfItem {
    let mut item = OfItem::default();
    for sample in samples.of(position) {
        match sample {
            Sample::Scored { top, .. } => {
                item.sum += top;
                item.scored += 1;
            }
            Sample::Missing { weight } => item.missing += u32::from(weight > 0.0),
            Sample::Nothing | Sample::NotBought | Sample::Void | Sample::DropsRun | Sample::ZeroesGroup => {}
        }
    }
    item
}

/// The mean of an item over its trials; `None` without a score.
pub(crate) fn item_mean(samples: &Samples<'_>, position: usize) -> Option<f64> {
    let item = of_item(samples, position);
    (item.scored > 0).then(|| item.sum / f64::from(item.scored))
}

/// The mean over items if every session without a score that could have had one had scored `score`.
pub(super) fn mean_if_missing(samples: &Samples<'_>, score: f64) -> Option<f64> {
    if score.is_infinite() {
        return None;
    }
    let with = |position: &usize| {
        let item = of_item(samples, *position);
        let total = item.scored + item.missing;
        (total > 0).then(|| (item.sum + score * f64::from(item.missing)) / f64::from(total))
    };
    mean(&samples.positions.iter().filter_map(with).collect::<Vec<f64>>())
}

/// `None` for the mean of nothing.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    let first = *values.first()?;
    // Equal values have exactly their own mean.
    if values.iter().all(|value| *value == first) {
        return Some(first);
    }
    Some(values.iter().sum::<f64>() / values.len() as f64)
}
