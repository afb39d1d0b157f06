//! Prices of tokens, and what a call costs.
//!
//! The arithmetic is in integers of 10⁻¹⁵ dollars, so that a cost is the exact sum of its meters, rounded once. What a figure means is
//! said in [`Rates`]; when which figures hold (length of the prompt, time, way of being served) in [`Price`].

mod rates;
mod window;

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::rates::{Meter, Rates};
pub use self::window::{Day, PriceWindow};
use crate::{Digest, Lane, Money, Usage};

/// The variant of batch lanes.
pub const BATCH: &str = "batch";

/// Words for being served as everybody is: OpenAI and Bedrock; Anthropic and Gemini; a wish that gateways repeat; Groq.
const STANDARD: [&str; 4] = ["default", "standard", "auto", "on_demand"];

/// Prices of a request whose prompt is longer than a bound. They hold for the whole request, not only for what is beyond the bound.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PriceTier {
    /// Prompts of more tokens than this.
    pub above_input_tokens: u64,
    /// What they cost.
    pub rates: Rates,
}

/// What a model costs, in dollars per million tokens.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Prompt tokens.
    pub input_per_mtok: f64,
    /// Prompt tokens read from the provider's cache; the input price when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input_per_mtok: Option<f64>,
    /// Prompt tokens written to the provider's cache for five minutes; the input price when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_per_mtok: Option<f64>,
    /// Prompt tokens written to the provider's cache for an hour; the price of five minutes when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_1h_per_mtok: Option<f64>,
    /// Generated tokens.
    pub output_per_mtok: f64,
    /// Generated tokens that were reasoning; the output price when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_per_mtok: Option<f64>,
    /// Dollars of a request, whatever its tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_request: Option<f64>,
    /// Other prices for long prompts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<PriceTier>,
    /// Other prices at some times; the first one that holds counts, and they go before tiers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<PriceWindow>,
    /// Other prices for ways of being served, by the provider's word for them: `batch`, `flex`, `priority`. Each is complete: what it
    /// leaves out is not taken from the standard price.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variants: BTreeMap<String, Price>,
}

/// Under which circumstances a call was made, as far as they change its price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Circumstances<'a> {
    /// How it was served, when that has a price of its own: `batch`, `flex`, `priority`.
    pub variant: Option<&'a str>,
    /// When it began; `None` leaves windows out of account.
    pub at: Option<Timestamp>,
}

impl<'a> Circumstances<'a> {
    /// Those of a call that was sent by `lane` at `at`, and that the provider says it served in `tier`.
    #[must_use]
    pub fn of_call(lane: Lane, tier: Option<&'a str>, at: Option<Timestamp>) -> Self {
        Self { variant: if lane == Lane::Batch { Some(BATCH) } else { tier }, at }
    }
}

/// Where a price came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PriceSource {
    /// Written in the spec.
    Spec,
    /// From a table, the shipped one or a file.
    Table {
        /// Date of the table, `YYYY-MM-DD`.
        date: String,
        /// Digest of its content.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<Digest>,
    },
    /// Nobody knows; the cost of its calls is unknown, not zero.
    Unknown,
}

impl Price {
    /// A price of prompt and generated tokens, in dollars per million.
    #[must_use]
    pub fn per_mtok(input: f64, output: f64) -> Self {
        Self { input_per_mtok: input, output_per_mtok: output, ..Self::default() }
    }

    /// The price that says `rates` and nothing else.
    #[must_use]
    pub fn of_rates(rates: &Rates) -> Self {
        Self {
            input_per_mtok: rates.input_per_mtok,
            cached_input_per_mtok: rates.cached_input_per_mtok,
            cache_write_per_mtok: rates.cache_write_per_mtok,
            cache_write_1h_per_mtok: rates.cache_write_1h_per_mtok,
            output_per_mtok: rates.output_per_mtok,
            reasoning_per_mtok: rates.reasoning_per_mtok,
            ..Self::default()
        }
    }

    /// What holds outside of tiers and windows.
    #[must_use]
    pub const fn rates(&self) -> Rates {
        Rates {
            input_per_mtok: self.input_per_mtok,
            cached_input_per_mtok: self.cached_input_per_mtok,
            cache_write_per_mtok: self.cache_write_per_mtok,
            cache_write_1h_per_mtok: self.cache_write_1h_per_mtok,
            output_per_mtok: self.output_per_mtok,
            reasoning_per_mtok: self.reasoning_per_mtok,
        }
    }

    /// The price of the way of being served that `circumstances` names, in whatever case. `None` when it has no price: other ways cost half
    /// or double. A batch without a price of its own is charged as what is not one, which no batch exceeds.
    #[must_use]
    pub fn variant(&self, circumstances: &Circumstances<'_>) -> Option<&Self> {
        let Some(name) = circumstances.variant else { return Some(self) };
        let is_named = |known: &str| known.eq_ignore_ascii_case(name);
        let own = self.variants.iter().find(|(known, _)| is_named(known)).map(|(_, price)| price);
        own.or_else(|| (STANDARD.into_iter().any(is_named) || is_named(BATCH)).then_some(self))
    }

    /// The rates of a call whose prompt has `input` tokens: those of the window it began in, else of the highest tier its prompt reaches,
    /// else the plain ones. `None` when it was served in a way that has no price.
    #[must_use]
    pub fn rates_for(&self, input: u64, circumstances: &Circumstances<'_>) -> Option<Rates> {
        let price = self.variant(circumstances)?;
        let at = circumstances.at.map(|at| at.to_zoned(TimeZone::UTC).datetime());
        if let Some(window) = at.and_then(|at| price.windows.iter().find(|window| window.holds(at))) {
            return Some(window.rates);
        }
        let reached = price.tiers.iter().filter(|tier| input > tier.above_input_tokens);
        Some(reached.max_by_key(|tier| tier.above_input_tokens).map_or_else(|| price.rates(), |tier| tier.rates))
    }

    /// Cost of one call of `usage`: each meter is priced in 10⁻¹⁵ dollars and the sum is rounded half up to a nano-dollar once. Not to be
    /// used on the usage of several calls: tiers count by the call. `None` when it was served in a way that has no price.
    #[must_use]
    pub fn cost(&self, usage: &Usage, circumstances: &Circumstances<'_>) -> Option<Money> {
        let tokens = self.rates_for(usage.input, circumstances)?.femto(usage);
        Some(nano(tokens.saturating_add(self.variant(circumstances)?.femto_a_request())))
    }

    /// What a call can cost at most: `input` and `output` tokens at most, whatever the time, the length of the prompt and the way it is
    /// served.
    #[must_use]
    pub fn at_most(&self, input: u64, output: u64) -> Money {
        let variants = self.variants.values().map(|price| price.at_most(input, output));
        variants.fold(self.own_at_most(input, output), Money::max)
    }

    /// The same of a call that asks its provider to be served as `variant`: so, or as usual where the provider has no room for that. In the
    /// dearer ways that it did not ask for it is not served. `auto`, and what has no price, leave all ways open.
    #[must_use]
    pub fn at_most_as(&self, variant: &str, input: u64, output: u64) -> Money {
        let is_open = variant.eq_ignore_ascii_case("auto");
        match self.variant(&Circumstances { variant: Some(variant), at: None }).filter(|_| !is_open) {
            Some(asked) => self.own_at_most(input, output).max(asked.own_at_most(input, output)),
            None => self.at_most(input, output),
        }
    }

    fn own_at_most(&self, input: u64, output: u64) -> Money {
        let own = std::iter::once(self.rates())
            .chain(self.tiers.iter().filter(|tier| input > tier.above_input_tokens).map(|tier| tier.rates))
            .chain(self.windows.iter().map(|window| window.rates))
            .map(|rates| rates.femto_at_most(input, output))
            .max()
            .unwrap_or_default();
        nano(own.saturating_add(self.femto_a_request()))
    }

    /// Whether every figure is a finite, non-negative number below a million dollars, and variants have none of their own.
    #[must_use]
    pub fn is_sane(&self) -> bool {
        self.first_fault().is_none()
    }

    /// The first field that is no price, by its path, as `variants.batch.tiers[0].output_per_mtok`.
    #[must_use]
    pub fn first_fault(&self) -> Option<String> {
        if let Some(field) = self.rates().first_fault() {
            return Some(field.to_owned());
        }
        if !self.per_request.is_none_or(rates::is_sane_figure) {
            return Some("per_request".to_owned());
        }
        for (at, tier) in self.tiers.iter().enumerate() {
            if let Some(field) = tier.rates.first_fault() {
                return Some(format!("tiers[{at}].rates.{field}"));
            }
        }
        for (at, window) in self.windows.iter().enumerate() {
            if let Some(field) = window.rates.first_fault() {
                return Some(format!("windows[{at}].rates.{field}"));
            }
        }
        self.variants.iter().find_map(|(name, variant)| {
            let field = if variant.variants.is_empty() { variant.first_fault()? } else { "variants".to_owned() };
            Some(format!("variants.{name}.{field}"))
        })
    }

    fn femto_a_request(&self) -> u128 {
        self.per_request.map_or(0, |dollars| rates::femto_a_token(dollars * 1e6))
    }
}

fn nano(femto: u128) -> Money {
    Money(u64::try_from(femto.saturating_add(500_000) / 1_000_000).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
