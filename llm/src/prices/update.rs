//! Brings a table up to date with a source: what is new there, what has changed and what is gone.

use std::collections::BTreeSet;

use jiff::civil::Date;
use regatta_proto::{Meter, Price};
use serde::Serialize;

use super::{DatedPrice, Import, ImportReport, PriceTable, PriceTableError, Reading};

/// Factor between two figures of a model at which one of them is probably in another unit, as dollars per thousand tokens.
const DOUBTFUL_FACTOR: f64 = 100.0;

/// A model that costs something else in a source than in a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PriceChange {
    /// Name of the model in the table.
    pub model: String,
    /// Price of the day in the table; `None` if its first day is to come.
    pub was: Option<Price>,
    /// Price of the day in the source.
    pub is: Option<Price>,
}

impl PriceChange {
    /// `true` if a figure is so far from what it was that one of them is probably in another unit.
    fn is_doubtful(&self) -> bool {
        self.was.as_ref().zip(self.is.as_ref()).is_some_and(|(was, is)| are_apart(was, is))
    }
}

/// `true` if a figure of two prices is far from what it is in the other one, also of long prompts and of variants.
fn are_apart(one: &Price, other: &Price) -> bool {
    let tiers = one.tiers.iter().flat_map(|tier| {
        let same = other.tiers.iter().filter(move |other| other.above_input_tokens == tier.above_input_tokens);
        same.map(move |other| (tier.rates, other.rates))
    });
    let mut pairs = tiers.chain([(one.rates(), other.rates())]);
    let are_far = |one: Option<f64>, other: Option<f64>| {
        one.zip(other)
            .is_some_and(|(one, other)| one.min(other) > 0.0 && one.max(other) >= DOUBTFUL_FACTOR * one.min(other))
    };
    are_far(one.per_request, other.per_request)
        || pairs.any(|(one, other)| Meter::ALL.into_iter().any(|meter| are_far(one.stated(meter), other.stated(meter))))
        || one.variants.iter().any(|(name, one)| other.variants.get(name).is_some_and(|other| are_apart(one, other)))
}

/// A table beside what a source has.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PriceUpdate {
    /// Models that only the source has.
    pub new: Vec<String>,
    /// Models that cost something else now.
    pub changed: Vec<PriceChange>,
    /// Models that were read from this source once, and that it does not list any more. They stay in the table, by which old runs are priced.
    pub gone: Vec<String>,
    /// Models with a price that was never read from a source: somebody wrote it, so it stays.
    pub kept: Vec<PriceChange>,
    /// Models with a figure so far from what it was that it is not taken: somebody has to write it.
    pub doubtful: Vec<PriceChange>,
    /// Models that cost what they did.
    pub unchanged: usize,
    /// The table, up to date.
    #[serde(skip)]
    pub table: PriceTable,
}

impl PriceUpdate {
    /// Compares `table` with what `import` read of the source that `source` names, at the place `at` and on the day `on`. Prices that
    /// somebody wrote are replaced only where `replaces_own` is `true`.
    ///
    /// A price that changed holds from `on` if the source names no days, so that earlier calls keep their price.
    ///
    /// # Errors
    /// When the outcome is no table.
    pub fn of(
        table: &PriceTable,
        import: &Import,
        (source, at, on): (&str, &str, Date),
        replaces_own: bool,
    ) -> Result<Self, PriceTableError> {
        let mut models = table.models().clone();
        let (mut new, mut changed, mut unchanged) = (Vec::new(), Vec::new(), 0);
        let (mut kept, mut doubtful) = (Vec::new(), Vec::new());
        let mut read = BTreeSet::new();
        let stated = import.prices();
        for (model, prices) in &stated {
            let Some(known) = models.get(model) else {
                new.push(model.clone());
                read.insert(model.clone());
                models.insert(model.clone(), prices.clone());
                continue;
            };
            let is_own = table.reading(model).is_none() && !replaces_own;
            let merged = merged(known, prices, on);
            if merged == *known {
                unchanged += 1;
                if !is_own {
                    read.insert(model.clone());
                }
                continue;
            }
            let change = PriceChange { model: model.clone(), was: in_force(known, on), is: in_force(prices, on) };
            if is_own {
                kept.push(change);
                continue;
            }
            if change.is_doubtful() {
                doubtful.push(change);
                continue;
            }
            changed.push(change);
            read.insert(model.clone());
            models.insert(model.clone(), merged);
        }
        let of_source = table.readings().iter().filter(|reading| reading.source == source);
        let before: BTreeSet<&String> = of_source.flat_map(|reading| &reading.models).collect();
        let is_gone = |model: &&String| {
            table.models().contains_key(*model) && !stated.contains_key(*model) && !is_listed(&import.report, model)
        };
        let gone = before.into_iter().filter(is_gone).cloned().collect();
        let readings =
            readings(table.readings(), Reading { source: source.to_owned(), at: at.to_owned(), on, models: read });
        let table = PriceTable::new(on, table.sources().to_vec(), models)?.with_readings(readings);
        Ok(Self { new, changed, gone, kept, doubtful, unchanged, table })
    }
}

/// The prices of a model after a source was read `on` that day.
fn merged(known: &[DatedPrice], stated: &[DatedPrice], on: Date) -> Vec<DatedPrice> {
    let [DatedPrice { from: None, price }] = stated else { return stated.to_vec() };
    if in_force(known, on).as_ref() == Some(price) {
        return known.to_vec();
    }
    let mut prices: Vec<DatedPrice> = known.iter().filter(|dated| dated.from != Some(on)).cloned().collect();
    prices.push(DatedPrice { from: Some(on), price: price.clone() });
    prices.sort_by_key(|dated| dated.from);
    prices
}

/// The price on the day `on`.
fn in_force(prices: &[DatedPrice], on: Date) -> Option<Price> {
    prices.iter().rfind(|dated| dated.from.is_none_or(|from| from <= on)).map(|dated| dated.price.clone())
}

/// `true` if the source lists the model, with something that was refused or is no price. Sources write the provider before some names.
fn is_listed(report: &ImportReport, model: &str) -> bool {
    let refused = report.problems.iter().map(|problem| &problem.model);
    let last = model.rsplit('/').next();
    refused.chain(report.skipped.values().flatten()).any(|name| name.rsplit('/').next() == last)
}

/// The `earlier` readings without what the `newest` read again.
fn readings(earlier: &[Reading], newest: Reading) -> Vec<Reading> {
    let mut readings: Vec<Reading> = earlier
        .iter()
        .map(|reading| Reading { models: &reading.models - &newest.models, ..reading.clone() })
        .filter(|reading| !reading.models.is_empty())
        .collect();
    if !newest.models.is_empty() {
        readings.push(newest);
    }
    readings
}

/// The table as one whose prices were all read at the place `at` of `source`.
pub(super) fn read_from(table: PriceTable, source: &str, at: &str) -> PriceTable {
    let models = table.models().keys().cloned().collect();
    let reading = Reading { source: source.to_owned(), at: at.to_owned(), on: table.date(), models };
    table.with_readings(vec![reading])
}
