//! Rates: prices by kind of token.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Usage;

/// Dollars per million tokens of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Rates {
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
}

/// A kind of token with a price of its own. Every token of a call is of exactly one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Meter {
    /// Prompt tokens neither read from a cache nor written to one.
    Input,
    /// Prompt tokens read from the provider's cache.
    CachedInput,
    /// Prompt tokens written to the provider's cache for five minutes.
    CacheWrite,
    /// Prompt tokens written to the provider's cache for an hour.
    CacheWrite1h,
    /// Generated tokens that were not reasoning.
    Output,
    /// Generated tokens that were reasoning.
    Reasoning,
}

impl Meter {
    /// All meters.
    pub const ALL: [Self; 6] =
        [Self::Input, Self::CachedInput, Self::CacheWrite, Self::CacheWrite1h, Self::Output, Self::Reasoning];

    /// Name of the meter's field in [`Rates`].
    #[must_use]
    pub const fn field(self) -> &'static str {
        match self {
            Self::Input => "input_per_mtok",
            Self::CachedInput => "cached_input_per_mtok",
            Self::CacheWrite => "cache_write_per_mtok",
            Self::CacheWrite1h => "cache_write_1h_per_mtok",
            Self::Output => "output_per_mtok",
            Self::Reasoning => "reasoning_per_mtok",
        }
    }

    /// Number of tokens of this kind in one call's `usage`. If a provider reports more tokens of a part than of the whole, only the whole
    /// is charged.
    #[must_use]
    pub fn tokens(self, usage: &Usage) -> u64 {
        let cached = usage.cached_input.min(usage.input);
        let write = usage.cache_write.min(usage.input - cached);
        let write_1h = usage.cache_write_1h.min(usage.input - cached - write);
        let reasoning = usage.reasoning.min(usage.output);
        match self {
            Self::Input => usage.input - cached - write - write_1h,
            Self::CachedInput => cached,
            Self::CacheWrite => write,
            Self::CacheWrite1h => write_1h,
            Self::Output => usage.output - reasoning,
            Self::Reasoning => reasoning,
        }
    }
}

impl Rates {
    /// The explicit figure for `meter`, in dollars per million tokens; `None` if it is left out.
    #[must_use]
    pub const fn stated(&self, meter: Meter) -> Option<f64> {
        match meter {
            Meter::Input => Some(self.input_per_mtok),
            Meter::CachedInput => self.cached_input_per_mtok,
            Meter::CacheWrite => self.cache_write_per_mtok,
            Meter::CacheWrite1h => self.cache_write_1h_per_mtok,
            Meter::Output => Some(self.output_per_mtok),
            Meter::Reasoning => self.reasoning_per_mtok,
        }
    }

    /// The figure that is charged for `meter`, in dollars per million tokens.
    #[must_use]
    pub fn charged(&self, meter: Meter) -> f64 {
        self.stated(meter).unwrap_or_else(|| match meter {
            Meter::CacheWrite1h => self.charged(Meter::CacheWrite),
            Meter::Reasoning => self.output_per_mtok,
            _ => self.input_per_mtok,
        })
    }

    /// Cost of the tokens of one meter, in 10⁻¹⁵ dollars.
    pub(super) fn femto_of(&self, meter: Meter, usage: &Usage) -> u128 {
        u128::from(meter.tokens(usage)).saturating_mul(femto_a_token(self.charged(meter)))
    }

    /// Cost of `usage`, in 10⁻¹⁵ dollars; every token is charged once.
    pub(super) fn femto(&self, usage: &Usage) -> u128 {
        Meter::ALL.into_iter().fold(0, |sum, meter| sum.saturating_add(self.femto_of(meter, usage)))
    }

    /// Most that a prompt of `input` and an answer of `output` tokens can cost, in 10⁻¹⁵ dollars.
    pub(super) fn femto_at_most(&self, input: u64, output: u64) -> u128 {
        let dearest =
            |meters: &[Meter]| meters.iter().map(|meter| femto_a_token(self.charged(*meter))).max().unwrap_or(0);
        let (prompt, answer) = Meter::ALL.split_at(4);
        let prompt = u128::from(input).saturating_mul(dearest(prompt));
        prompt.saturating_add(u128::from(output).saturating_mul(dearest(answer)))
    }

    /// The first field that is no possible price.
    pub(super) fn first_fault(&self) -> Option<&'static str> {
        let insane = Meter::ALL.into_iter().find(|meter| !self.stated(*meter).is_none_or(is_sane_figure))?;
        Some(insane.field())
    }
}

/// `true` if `figure` can be dollars per million tokens, or per request.
pub(super) fn is_sane_figure(figure: f64) -> bool {
    (0.0..1e6).contains(&figure)
}

/// Converts dollars per million tokens to 10⁻¹⁵ dollars per token; exact for prices of up to nine decimals.
pub(super) fn femto_a_token(per_mtok: f64) -> u128 {
    (per_mtok * 1e9).round() as u128
}
