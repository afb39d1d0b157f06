//! What a source says of a model, figure by figure, before it is made a price.
//!
//! Sources state figures one by one and leave some out; a [`Price`] has them complete. Two sources are compared by what they state.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::{Date, DateTime};
use regatta_proto::{Meter, Price, PriceTier, PriceWindow, Rates};

/// One figure, in dollars per million tokens, that may be another one for long prompts.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Figure {
    pub(super) base: f64,
    /// By the number of prompt tokens beyond which it holds for the whole request.
    pub(super) above: BTreeMap<u64, f64>,
}

impl Figure {
    pub(super) fn flat(base: f64) -> Self {
        Self { base, above: BTreeMap::new() }
    }

    /// The figure of a request whose prompt is longer than `bound` tokens, by one token.
    pub(super) fn beyond(&self, bound: u64) -> f64 {
        self.above.range(..=bound).next_back().map_or(self.base, |(_, figure)| *figure)
    }
}

/// The figures that are stated for one way of being served.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Figures {
    pub(super) by_meter: BTreeMap<Meter, Figure>,
    /// Dollars.
    pub(super) per_request: Option<f64>,
}

impl Figures {
    /// These, and from `others` what these leave out.
    pub(super) fn or(mut self, others: &Self) -> Self {
        for (meter, figure) in &others.by_meter {
            self.by_meter.entry(*meter).or_insert_with(|| figure.clone());
        }
        self.per_request = self.per_request.or(others.per_request);
        self
    }

    /// These, and for prompt lengths that their figures say nothing of, what `others` say.
    fn with_tiers_of(mut self, others: &Self) -> Self {
        for (meter, figure) in &mut self.by_meter {
            for (bound, other) in others.by_meter.get(meter).into_iter().flat_map(|other| &other.above) {
                figure.above.entry(*bound).or_insert(*other);
            }
        }
        self
    }

    /// The prompt lengths beyond which some figure changes.
    pub(super) fn bounds(&self) -> BTreeSet<u64> {
        self.by_meter.values().flat_map(|figure| figure.above.keys().copied()).collect()
    }

    /// The rates of a request whose prompt is longer than `bound`; of one of any length when it is zero. `None` without a figure for
    /// prompt tokens. Only embedding models have none for generated tokens, of which they have none either.
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

/// A window without its figures.
pub(super) type Hours = PriceWindow;

/// What a source says of a model from one day on.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Sheet {
    pub(super) from: Option<Date>,
    pub(super) standard: Figures,
    /// Other figures at some times, the first that holds counting; the rates of the window itself mean nothing here.
    pub(super) windows: Vec<(Hours, Figures)>,
    /// Other figures by the way of being served.
    pub(super) variants: BTreeMap<String, Figures>,
    /// Variants that are charged the standard figures for long prompts of which they say nothing.
    pub(super) long_as_standard: BTreeSet<String>,
}

impl Sheet {
    /// The figures stated for `at`; the standard ones without windows for `None`.
    pub(super) fn stated(&self, at: Option<DateTime>) -> &Figures {
        let open = at.and_then(|at| self.windows.iter().find(|(hours, _)| hours.holds(at)));
        open.map_or(&self.standard, |(_, figures)| figures)
    }

    /// The complete price: windows and variants take from the standard figures what they leave out. `None` when prompt tokens have no
    /// figure there either: what nobody states is unknown, not free.
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
            // A variant with figures of its own for everything costs the same at any time.
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
