//! Prices of tokens, and what a call costs.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Digest, Money, Usage};

/// Dollars per million tokens of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rates {
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
}

/// Prices of a request whose prompt is longer than a bound. They hold for the whole request, not only for what is beyond the bound.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PriceTier {
    /// Prompts of more tokens than this.
    pub above_input_tokens: u64,
    /// What they cost.
    pub rates: Rates,
}

/// Prices of a part of the day.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PriceWindow {
    /// From this time of day, UTC, as `16:30:00`.
    #[schemars(with = "String")]
    pub from: Time,
    /// To this time of day, UTC, exclusive; earlier than `from` when the window spans midnight.
    #[schemars(with = "String")]
    pub to: Time,
    /// What requests that begin within it cost.
    pub rates: Rates,
}

/// What a model costs, in dollars per million tokens.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
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
    /// Other prices at some times of day; they go before tiers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<PriceWindow>,
    /// Other prices for ways of being served, by the provider's word for them: `batch`, `flex`, `priority`.
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

/// Where a price came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

impl Rates {
    /// What `usage` costs, in 10⁻¹⁵ dollars: every token is charged once.
    fn femto(&self, usage: &Usage) -> u128 {
        let cached = usage.cached_input.min(usage.input);
        let write = usage.cache_write.min(usage.input - cached);
        let write_1h = usage.cache_write_1h.min(usage.input - cached - write);
        let plain = usage.input - cached - write - write_1h;
        let reasoning = usage.reasoning.min(usage.output);
        let [write_rate, write_1h_rate] = self.write_rates();
        [
            (plain, self.input_per_mtok),
            (cached, self.cached_input_per_mtok.unwrap_or(self.input_per_mtok)),
            (write, write_rate),
            (write_1h, write_1h_rate),
            (usage.output - reasoning, self.output_per_mtok),
            (reasoning, self.reasoning_per_mtok.unwrap_or(self.output_per_mtok)),
        ]
        .into_iter()
        .map(|(tokens, per_mtok)| u128::from(tokens) * femto_a_token(per_mtok))
        .sum()
    }

    fn write_rates(&self) -> [f64; 2] {
        let write = self.cache_write_per_mtok.unwrap_or(self.input_per_mtok);
        [write, self.cache_write_1h_per_mtok.unwrap_or(write)]
    }

    /// What a prompt of at most `input` and an answer of at most `output` tokens costs at most, in 10⁻¹⁵ dollars.
    fn femto_at_most(&self, input: u64, output: u64) -> u128 {
        let [write, write_1h] = self.write_rates();
        let dearest_input =
            [self.cached_input_per_mtok.unwrap_or(0.0), write, write_1h].into_iter().fold(self.input_per_mtok, f64::max);
        let dearest_output = self.output_per_mtok.max(self.reasoning_per_mtok.unwrap_or(0.0));
        u128::from(input) * femto_a_token(dearest_input) + u128::from(output) * femto_a_token(dearest_output)
    }

    fn is_sane(&self) -> bool {
        [
            Some(self.input_per_mtok),
            self.cached_input_per_mtok,
            self.cache_write_per_mtok,
            self.cache_write_1h_per_mtok,
            Some(self.output_per_mtok),
            self.reasoning_per_mtok,
        ]
        .into_iter()
        .flatten()
        .all(is_sane_figure)
    }
}

impl Price {
    /// A price of prompt and generated tokens, in dollars per million.
    #[must_use]
    pub fn per_mtok(input: f64, output: f64) -> Self {
        Self { input_per_mtok: input, output_per_mtok: output, ..Self::default() }
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

    /// Cost of one call of `usage`: each meter is priced in 10⁻¹⁵ dollars and the sum is rounded half up to a nano-dollar once. Not to be
    /// used on the usage of several calls: tiers count by the call.
    #[must_use]
    pub fn cost(&self, usage: &Usage, circumstances: &Circumstances<'_>) -> Money {
        if let Some(variant) = circumstances.variant.and_then(|name| self.variants.get(name)) {
            return variant.cost(usage, &Circumstances { variant: None, ..*circumstances });
        }
        nano(self.rates_of(usage, circumstances.at).femto(usage) + self.femto_a_request())
    }

    /// What a call can cost at most: `input` and `output` tokens at most, whatever the time, the length of the prompt and the way it is
    /// served, `batch` left out.
    #[must_use]
    pub fn at_most(&self, input: u64, output: u64) -> Money {
        let own = std::iter::once(self.rates())
            .chain(self.tiers.iter().filter(|tier| input > tier.above_input_tokens).map(|tier| tier.rates))
            .chain(self.windows.iter().map(|window| window.rates))
            .map(|rates| rates.femto_at_most(input, output))
            .max()
            .unwrap_or_default();
        let variants = self.variants.iter().filter(|(name, _)| *name != BATCH).map(|(_, price)| price.at_most(input, output));
        variants.fold(nano(own + self.femto_a_request()), Money::max)
    }

    /// Whether every figure is a finite, non-negative number below a million dollars.
    #[must_use]
    pub fn is_sane(&self) -> bool {
        self.rates().is_sane()
            && self.per_request.is_none_or(is_sane_figure)
            && self.tiers.iter().all(|tier| tier.rates.is_sane())
            && self.windows.iter().all(|window| window.rates.is_sane())
            && self.variants.values().all(|variant| variant.variants.is_empty() && variant.is_sane())
    }

    /// The rates of a call: those of the window it began in, else of the highest tier its prompt reaches, else the plain ones.
    fn rates_of(&self, usage: &Usage, at: Option<Timestamp>) -> Rates {
        let time = at.map(|at| at.to_zoned(jiff::tz::TimeZone::UTC).time());
        if let Some(window) = time.and_then(|time| self.windows.iter().find(|window| window.holds(time))) {
            return window.rates;
        }
        let reached = self.tiers.iter().filter(|tier| usage.input > tier.above_input_tokens);
        reached.max_by_key(|tier| tier.above_input_tokens).map_or_else(|| self.rates(), |tier| tier.rates)
    }

    fn femto_a_request(&self) -> u128 {
        self.per_request.map_or(0, |dollars| femto_a_token(dollars * 1e6))
    }
}

impl PriceWindow {
    fn holds(&self, time: Time) -> bool {
        if self.from <= self.to { self.from <= time && time < self.to } else { time >= self.from || time < self.to }
    }
}

/// The variant of batch lanes.
pub const BATCH: &str = "batch";

fn is_sane_figure(figure: f64) -> bool {
    (0.0..1e6).contains(&figure)
}

/// Dollars per million tokens as 10⁻¹⁵ dollars a token: exact for prices of up to nine decimals.
fn femto_a_token(per_mtok: f64) -> u128 {
    (per_mtok * 1e9).round() as u128
}

fn nano(femto: u128) -> Money {
    Money(u64::try_from((femto + 500_000) / 1_000_000).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
