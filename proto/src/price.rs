//! Prices of tokens.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Money, Usage};

/// Dollars per million tokens of a model.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Prompt tokens, in dollars per million.
    pub input_per_mtok: f64,
    /// Prompt tokens from the provider's cache, in dollars per million; the full input price when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input_per_mtok: Option<f64>,
    /// Generated tokens, in dollars per million.
    pub output_per_mtok: f64,
}

/// Where a price came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PriceSource {
    /// Written in the spec.
    Spec,
    /// From the shipped table of this date.
    Table {
        /// Date of the table, `YYYY-MM-DD`.
        date: String,
    },
    /// Nobody knows; the cost of its calls is unknown, not zero.
    Unknown,
}

impl Price {
    /// Cost of `usage`: each meter is priced in 10⁻¹⁵ dollars and the sum is rounded half up to a nano-dollar once.
    #[must_use]
    pub fn cost(&self, usage: &Usage) -> Money {
        let cached = usage.cached_input.min(usage.input);
        let femto = rate(self.input_per_mtok) * u128::from(usage.input - cached)
            + rate(self.cached_input_per_mtok.unwrap_or(self.input_per_mtok)) * u128::from(cached)
            + rate(self.output_per_mtok) * u128::from(usage.output);
        Money(u64::try_from((femto + 500_000) / 1_000_000).unwrap_or(u64::MAX))
    }

    /// Whether every figure is a finite, non-negative number below a million dollars.
    #[must_use]
    pub fn is_sane(&self) -> bool {
        [Some(self.input_per_mtok), self.cached_input_per_mtok, Some(self.output_per_mtok)]
            .into_iter()
            .flatten()
            .all(|figure| (0.0..1e6).contains(&figure))
    }
}

/// Dollars per million tokens as 10⁻¹⁵ dollars a token: exact for prices of up to nine decimals.
fn rate(per_mtok: f64) -> u128 {
    (per_mtok * 1e9).round() as u128
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICE: Price = Price { input_per_mtok: 0.15, cached_input_per_mtok: Some(0.075), output_per_mtok: 0.6 };

    #[test]
    fn cached_tokens_are_charged_once_at_their_own_price() {
        let usage = Usage { input: 1_000_000, cached_input: 400_000, output: 0, reasoning: 0 };
        assert_eq!(PRICE.cost(&usage), Money(90_000_000 + 30_000_000));
    }

    #[test]
    fn reasoning_tokens_are_part_of_the_output_and_not_charged_again() {
        let usage = Usage { input: 0, cached_input: 0, output: 1_000_000, reasoning: 900_000 };
        assert_eq!(PRICE.cost(&usage), Money(600_000_000));
    }

    #[test]
    fn a_fraction_of_a_nano_dollar_is_rounded_half_up_once() {
        let tiny = Price { input_per_mtok: 0.0005, cached_input_per_mtok: None, output_per_mtok: 0.0 };
        let cost = |input| tiny.cost(&Usage { input, ..Usage::default() });
        assert_eq!((cost(0), cost(1), cost(2), cost(3)), (Money(0), Money(1), Money(1), Money(2)));
    }
}
