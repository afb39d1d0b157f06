//! The figures that a source has for a model, before they become a price.
//!
//! A source may leave figures out, but a [`Price`] is complete. Sources are compared by the figures that they have.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::{Date, DateTime};
use regatta_proto::{Meter, Price, PriceTier, PriceWindow, Rates};

/// One figure, in dollars per million tokens, which may differ for long prompts.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Figure {
    pub(super) base: f64,
    /// Figures for long prompts, by the number of prompt tokens above which each holds for the whole request.
    pub(super) above: BTreeMap<u64, f64>,
}

impl Figure {
    pub(super) fn flat(base: f64) -> Self {
        Self { base, above: BTreeMap::new() }
    }

    /// The figure for a prompt that is one token longer than `bound`.
    pub(super) fn beyond(&self, bound: u64) -> f64 {
        self.above.range(..=bound).next_back().map_or(self.base, |(_, figure)| *figure)
    }
}

/// The figures of one variant.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Figures {
    pub(super) by_meter: BTreeMap<Meter, Figure>,
    /// Dollars per request.
    pub(super) per_request: Option<f64>,
}

impl Figures {
    /// These figures, with the missing ones from `others`.
    pub(super) fn or(mut self, others: &Self) -> Self {
        for (meter, figure) in &others.by_meter {
            self.by_meter.entry(*meter).or_insert_with(|| figure.clone());
        }
        self.per_request = self.per_request.or(others.per_request);
        self
    }

    /// These figures, with the missing tiers for long prompts from `others`.
    fn with_tiers_of(mut self, others: &Self) -> Self {
        for (meter, figure) in &mut self.by_meter {
            for (bound, other) in others.by_meter.get(meter).into_iter().flat_map(|other| &other.above) {
                figure.above.entry(*bound).or_insert(*other);
            }
        }
        self
    }

    /// The prompt lengths above which any figure changes.
    pub(super) fn bounds(&self) -> BTreeSet<u64> {
        self.by_meter.values().flat_map(|figure| figure.above.keys().copied()).collect()
    }

    /// The rates for a prompt longer than `bound`, or of any length if `bound` is zero. `None` if there is no figure for prompt tokens.
    /// Only embedding models have none for generated tokens, because they generate none.
    fn rates(&self, bound: u64) -> Option<Rates> {
        let figure = |meter| self.by_meter.get(&meter).map(|figure| figure.beyond(bound));
        Some(Rates {
            input_per_mtok: figure(Meter::Input)?,
            cached_input_per_mtok: figure(Meter::CachedInput),
            cache_write_per_mtok: figure(Meter::CacheWrite),
            cache_write_1h_per_mtok: figure(Meter::CacheWrite1h),
            output_per_mtok: figure(Meter::Output).unwrap_or(0.0),
            reasoning_per_mtok: figure(Meter::Reasoning),
        })
    }

    fn price(&self) -> Option<Price> {
        let tier = |bound| Some(PriceTier { above_input_tokens: bound, rates: self.rates(bound)? });
        let tiers = self.bounds().into_iter().map(tier).collect::<Option<_>>()?;
        Some(Price { per_request: self.per_request, tiers, ..Price::of_rates(&self.rates(0)?) })
    }
}

/// A window, without its figures.
pub(super) type Hours = PriceWindow;

/// The figures of a model from one day on.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Sheet {
    pub(super) from: Option<Date>,
    pub(super) standard: Figures,
    /// Figures for certain times; the first window that holds counts, and its own rates are not used.
    pub(super) windows: Vec<(Hours, Figures)>,
    /// Figures by variant.
    pub(super) variants: BTreeMap<String, Figures>,
    /// Variants that are charged the standard figures for long prompts, for which they have none.
    pub(super) long_as_standard: BTreeSet<String>,
}

impl Sheet {
    /// The figures in force `at` that time; the standard ones, without windows, for `None`.
    pub(super) fn stated(&self, at: Option<DateTime>) -> &Figures {
        let open = at.and_then(|at| self.windows.iter().find(|(hours, _)| hours.holds(at)));
        open.map_or(&self.standard, |(_, figures)| figures)
    }

    /// The complete price: windows and variants inherit missing figures from the standard ones. `None` if these have no figure for prompt
    /// tokens, because an unknown price is not free.
    pub(super) fn price(&self) -> Option<Price> {
        let in_windows = |figures: &Figures| {
            let window = |(hours, of_window): &(Hours, Figures)| {
                Some(PriceWindow { rates: figures.clone().or(of_window).or(&self.standard).rates(0)?, ..hours.clone() })
            };
            self.windows.iter().map(window).collect::<Option<Vec<_>>>()
        };
        let variants = self.variants.iter().map(|(name, figures)| {
            let mut complete = figures.clone().or(&self.standard);
            if self.long_as_standard.contains(name) {
                complete = complete.with_tiers_of(&self.standard);
            }
            // A variant with all figures of its own costs the same at any time.
            let same_always = complete.by_meter.keys().all(|meter| figures.by_meter.contains_key(meter));
            let windows = if same_always { Vec::new() } else { in_windows(figures)? };
            Some((name.clone(), Price { windows, ..complete.price()? }))
        });
        Some(Price {
            windows: in_windows(&Figures::default())?,
            variants: variants.collect::<Option<_>>()?,
            ..self.standard.price()?
        })
    }
}
