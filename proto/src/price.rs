//! Prices of tokens, and costs of calls.
//!
//! Costs are computed in integers of 10⁻¹⁵ dollars, so that a cost is the exact sum over its meters, rounded once. [`Rates`] defines the
//! figures; [`Price`] the conditions for each (length of the prompt, time, variant).

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

/// Name of the variant for batches.
pub const BATCH: &str = "batch";

/// Names of the standard service tier: OpenAI and Bedrock; Anthropic and Gemini; a requested value that gateways repeat; Groq.
const STANDARD: [&str; 4] = ["default", "standard", "auto", "on_demand"];

/// Rates of requests whose prompt is longer than a bound. They apply to the whole request, not only to the tokens above the bound.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PriceTier {
    /// Number of prompt tokens above which the tier applies.
    pub above_input_tokens: u64,
    /// Rates of such requests.
    pub rates: Rates,
}

/// Price of a model, in dollars per million tokens.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Prompt tokens.
    pub input_per_mtok: f64,
    /// Prompt tokens read from the provider's cache; the input price if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input_per_mtok: Option<f64>,
    /// Prompt tokens written to the provider's cache for five minutes; the input price if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_per_mtok: Option<f64>,
    /// Prompt tokens written to the provider's cache for an hour; the price for five minutes if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_1h_per_mtok: Option<f64>,
    /// Generated tokens.
    pub output_per_mtok: f64,
    /// Generated tokens that were reasoning; the output price if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_per_mtok: Option<f64>,
    /// Dollars per request, in addition to its tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_request: Option<f64>,
    /// Rates for long prompts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<PriceTier>,
    /// Rates for certain times; the first window that holds counts, and takes precedence over tiers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<PriceWindow>,
    /// Prices of other service tiers, by the provider's name: `batch`, `flex`, `priority`. Each is complete: it does not inherit from the
    /// standard price.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variants: BTreeMap<String, Price>,
}

/// Circumstances of a call that affect its price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Circumstances<'a> {
    /// Service tier of the call, if it has a price of its own: `batch`, `flex`, `priority`.
    pub variant: Option<&'a str>,
    /// Start of the call; `None` ignores windows.
    pub at: Option<Timestamp>,
}

impl<'a> Circumstances<'a> {
    /// Circumstances of a call that was sent by `lane` at `at`, and that the provider reports to have served in `tier`.
    #[must_use]
    pub fn of_call(lane: Lane, tier: Option<&'a str>, at: Option<Timestamp>) -> Self {
        Self { variant: if lane == Lane::Batch { Some(BATCH) } else { tier }, at }
    }
}

/// Source of a price.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PriceSource {
    /// The spec.
    Spec,
    /// A table, either the shipped one or a file.
    Table {
        /// Date of the table, `YYYY-MM-DD`.
        date: String,
        /// Digest of the table's content.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<Digest>,
    },
    /// None: the cost of the model's calls is unknown, not zero.
    Unknown,
}

impl Price {
    /// A price of prompt and generated tokens, in dollars per million.
    #[must_use]
    pub fn per_mtok(input: f64, output: f64) -> Self {
        Self { input_per_mtok: input, output_per_mtok: output, ..Self::default() }
    }

    /// A price with `rates` and nothing else.
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

    /// The rates outside of tiers and windows.
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

    /// The price of the service tier in `circumstances`, ignoring case. `None` if the tier has no price, because other tiers cost half or
    /// double. A batch without a price of its own is charged the standard price, which no batch exceeds.
    #[must_use]
    pub fn variant(&self, circumstances: &Circumstances<'_>) -> Option<&Self> {
        let Some(name) = circumstances.variant else { return Some(self) };
        let is_named = |known: &str| known.eq_ignore_ascii_case(name);
        let own = self.variants.iter().find(|(known, _)| is_named(known)).map(|(_, price)| price);
        own.or_else(|| (STANDARD.into_iter().any(is_named) || is_named(BATCH)).then_some(self))
    }

    /// The rates of a call whose prompt has `input` tokens: those of the window in which it began, else of the highest tier that the prompt
    /// reaches, else the plain ones. `None` if its service tier has no price.
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

    /// Cost of one call with `usage`: each meter is priced in 10⁻¹⁵ dollars, and the sum is rounded half up to a nano-dollar once. Not for
    /// the summed usage of several calls, because tiers apply per call. `None` if its service tier has no price.
    #[must_use]
    pub fn cost(&self, usage: &Usage, circumstances: &Circumstances<'_>) -> Option<Money> {
        let tokens = self.rates_for(usage.input, circumstances)?.femto(usage);
        Some(nano(tokens.saturating_add(self.variant(circumstances)?.femto_a_request())))
    }

    /// Most that a call with at most `input` and `output` tokens can cost, at any time, prompt length and service tier.
    #[must_use]
    pub fn at_most(&self, input: u64, output: u64) -> Money {
        let variants = self.variants.values().map(|price| price.at_most(input, output));
        variants.fold(self.own_at_most(input, output), Money::max)
    }

    /// Most that such a call can cost if it requests the service tier `variant`: it is served in that tier, or in the standard one if the
    /// provider lacks capacity, but not in a more expensive tier. `auto`, and tiers without a price, allow all tiers.
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

    /// `true` if every figure is a finite, non-negative number below a million dollars, and variants have no variants of their own.
    #[must_use]
    pub fn is_sane(&self) -> bool {
        self.first_fault().is_none()
    }

    /// Path of the first invalid field, such as `variants.batch.tiers[0].output_per_mtok`.
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
