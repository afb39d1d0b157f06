//! Compares two sources of prices.
//!
//! Only figures that both sources have are compared: a figure that one of them leaves out is counted, but is no disagreement.

use std::collections::{BTreeMap, BTreeSet};

use jiff::ToSpan;
use jiff::civil::{Date, DateTime};
use regatta_proto::{Meter, PriceWindow, Rates};
use serde::Serialize;

use super::import::{Import, in_force};
use super::sheet::{Figure, Figures, Sheet};
use super::{DatedPrice, without_snapshot_date};

/// Largest relative difference, of the larger figure, at which two figures agree.
const TOLERANCE: f64 = 0.01;

/// A figure for which two sources have different values.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Disagreement {
    /// The model, by the name it has in a table.
    pub model: String,
    /// The price that has it: `standard` or a variant, with prompt lengths and times if it does not hold for all.
    pub price: String,
    /// The meter, by the name of its field in a price.
    pub meter: &'static str,
    /// LiteLLM's value, in dollars per million tokens.
    pub litellm: f64,
    /// The value of genai-prices, in dollars per million tokens.
    pub genai_prices: f64,
    /// Difference in per cent of the larger value.
    pub percent: f64,
}

/// The comparison of two imports, for one day.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CrossCheck {
    /// The day.
    pub on: Date,
    /// Models that both sources have.
    pub compared: usize,
    /// Figures that both sources have.
    pub figures: usize,
    /// Models that only LiteLLM has.
    pub only_litellm: Vec<String>,
    /// Models that only genai-prices has.
    pub only_genai_prices: Vec<String>,
    /// Figures that only one source has, of models that both have: the models by meter and variant.
    pub stated_by_one: BTreeMap<String, Vec<String>>,
    /// Figures with different values.
    pub disagreements: Vec<Disagreement>,
    /// Prices that both sources agree on: models whose standard price has no disagreement, with the variants that have none either.
    #[serde(skip)]
    agreed: BTreeMap<String, Vec<DatedPrice>>,
}

impl CrossCheck {
    /// Compares the prices of two imports on the day `on`.
    #[must_use]
    pub fn of(litellm: &Import, genai_prices: &Import, on: Date) -> Self {
        let mut check = Self {
            on,
            compared: 0,
            figures: 0,
            only_litellm: Vec::new(),
            only_genai_prices: Vec::new(),
            stated_by_one: BTreeMap::new(),
            disagreements: Vec::new(),
            agreed: BTreeMap::new(),
        };
        let mut seen = BTreeSet::new();
        for (model, sheets) in &litellm.sheets {
            let found = find(genai_prices, model);
            match (in_force(sheets, on), found.and_then(|(_, sheets)| in_force(sheets, on))) {
                (Some(one), Some(other)) => {
                    seen.extend(found.map(|(name, _)| name));
                    check.compare(model, one, other);
                    check.add_announced(model, sheets.iter().chain(found.into_iter().flat_map(|(_, sheets)| sheets)));
                }
                _ => check.only_litellm.push(model.clone()),
            }
        }
        let unseen = genai_prices.sheets.keys().filter(|model| !seen.contains(model));
        check.only_genai_prices = unseen.cloned().collect();
        check
    }

    /// A table of the models whose prices both sources agree on. It includes prices from a later day even if only one source announces
    /// them, because from that day on today's price cannot be agreed on any more.
    #[must_use]
    pub const fn agreed(&self) -> &BTreeMap<String, Vec<DatedPrice>> {
        &self.agreed
    }

    fn add_announced<'a>(&mut self, model: &str, sheets: impl Iterator<Item = &'a Sheet>) {
        let Some(prices) = self.agreed.get_mut(model) else { return };
        for sheet in sheets.filter(|sheet| sheet.from.is_some_and(|from| from > self.on)) {
            if prices.iter().all(|known| known.from != sheet.from) {
                prices.extend(sheet.price().map(|price| DatedPrice { from: sheet.from, price }));
            }
        }
    }

    fn compare(&mut self, model: &str, one: &Sheet, other: &Sheet) {
        self.compared += 1;
        let known = self.disagreements.len();
        for moment in moments(one, other) {
            let place = moment.map_or(String::new(), |at| at.strftime(", %a %H:%M UTC").to_string());
            self.compare_figures(model, "standard", &place, one.stated(moment), other.stated(moment));
        }
        let standard_agrees = self.disagreements.len() == known;
        let standard = both(&one.standard, &other.standard);
        let mut sheet = Sheet { standard, windows: common_windows(one, other), ..Sheet::default() };
        for name in one.variants.keys().chain(other.variants.keys()).collect::<BTreeSet<_>>() {
            let (Some(one), Some(other)) = (one.variants.get(name), other.variants.get(name)) else {
                self.stated_by_one.entry(format!("variant {name}")).or_default().push(model.to_owned());
                continue;
            };
            let known = self.disagreements.len();
            self.compare_figures(model, name, "", one, other);
            if self.disagreements.len() == known {
                sheet.variants.insert(name.clone(), both(one, other));
            }
        }
        // A figure of only one source is not agreed on, and leaving it out would make it free.
        let generates = |sheet: &Sheet| sheet.standard.by_meter.contains_key(&Meter::Output);
        let is_complete = generates(one) == generates(other) && one.standard.per_request == other.standard.per_request;
        if let Some(price) = sheet.price().filter(|_| standard_agrees && is_complete) {
            self.agreed.insert(model.to_owned(), vec![DatedPrice { from: None, price }]);
        }
    }

    fn compare_figures(&mut self, model: &str, price: &str, place: &str, one: &Figures, other: &Figures) {
        for meter in Meter::ALL {
            let (one, other) = match (one.by_meter.get(&meter), other.by_meter.get(&meter)) {
                (Some(one), Some(other)) => (one, other),
                (None, None) => continue,
                _ => {
                    let what = if price == "standard" {
                        meter.field().to_owned()
                    } else {
                        format!("{price} {}", meter.field())
                    };
                    let models = self.stated_by_one.entry(what).or_default();
                    if models.last().is_none_or(|last| last != model) {
                        models.push(model.to_owned());
                    }
                    continue;
                }
            };
            let bounds: BTreeSet<u64> =
                [0].into_iter().chain(one.above.keys().chain(other.above.keys()).copied()).collect();
            for bound in bounds {
                let (litellm, genai_prices) = (one.beyond(bound), other.beyond(bound));
                self.figures += 1;
                let apart = (litellm - genai_prices).abs();
                if apart <= TOLERANCE * litellm.max(genai_prices) {
                    continue;
                }
                let prompts = if bound > 0 { format!(", prompts above {bound} tokens") } else { String::new() };
                let disagreement = Disagreement {
                    model: model.to_owned(),
                    price: format!("{price}{prompts}{place}"),
                    meter: meter.field(),
                    litellm,
                    genai_prices,
                    percent: 100.0 * apart / litellm.max(genai_prices),
                };
                // The same difference at several times of the week counts once.
                let is_known = |known: &Disagreement| {
                    known.model == model
                        && known.meter == meter.field()
                        && (known.litellm, known.genai_prices) == (litellm, genai_prices)
                        && known.price.starts_with(&format!("{price}{prompts}"))
                };
                if !self.disagreements.iter().rev().take_while(|known| known.model == model).any(is_known) {
                    self.disagreements.push(disagreement);
                }
            }
        }
    }
}

/// The sheets of `model`, or of the model without the date of a snapshot.
fn find<'a>(import: &'a Import, model: &str) -> Option<(&'a String, &'a Vec<Sheet>)> {
    import.sheets.get_key_value(model).or_else(|| import.sheets.get_key_value(without_snapshot_date(model)?))
}

/// Moments of a week between which neither sheet changes; `None` stands for a week without changes.
fn moments(one: &Sheet, other: &Sheet) -> Vec<Option<DateTime>> {
    let windows = || one.windows.iter().chain(&other.windows).map(|(hours, _)| hours);
    if windows().next().is_none() {
        return vec![None];
    }
    let midnight = jiff::civil::Time::midnight();
    let times: BTreeSet<_> = windows().flat_map(|hours| [hours.from, hours.to]).chain([midnight]).collect();
    // The date does not matter as long as it is a Monday.
    let monday = jiff::civil::date(2026, 1, 5);
    (0..7)
        .filter_map(|day| monday.checked_add(day.days()).ok())
        .flat_map(|day| times.iter().map(move |time| Some(day.to_datetime(*time))))
        .collect()
}

/// The figures that both have, with the values of the first, which differ by less than the tolerance.
fn both(one: &Figures, other: &Figures) -> Figures {
    let common = |meter: &Meter, figure: &Figure| other.by_meter.contains_key(meter).then(|| (*meter, figure.clone()));
    Figures {
        by_meter: one.by_meter.iter().filter_map(|(meter, figure)| common(meter, figure)).collect(),
        per_request: one.per_request.filter(|fee| other.per_request == Some(*fee)),
    }
}

/// The windows of the first sheet. They are used only if the second sheet agrees at every moment.
fn common_windows(one: &Sheet, other: &Sheet) -> Vec<(PriceWindow, Figures)> {
    let in_both = |figures: &Figures| both(figures, &other.standard);
    one.windows
        .iter()
        .map(|(hours, figures)| (PriceWindow { rates: Rates::default(), ..hours.clone() }, in_both(figures)))
        .collect()
}
