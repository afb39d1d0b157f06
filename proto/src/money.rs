//! Money as integers.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counted;

/// An amount in nano-dollars (10⁻⁹ USD). An integer, so that sums do not depend on their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(transparent)]
pub struct Money(pub u64);

impl Money {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// Converts dollars, rounded to the nearest nano-dollar; `None` if negative, not finite or out of range.
    #[must_use]
    pub fn from_dollars(dollars: f64) -> Option<Self> {
        let nanos = (dollars * 1e9).round();
        // Amounts below 2^63 fit into a signed 64-bit database column.
        (0.0..9.2e18).contains(&nanos).then_some(Self(nanos as u64))
    }

    /// The amount in dollars, for display and for ratios only.
    #[must_use]
    pub fn dollars(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Add for Money {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}
impl AddAssign for Money {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}
impl Sum for Money {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}
impl fmt::Display for Money {
    /// Formats dollars, below one dollar with as many decimals as four significant digits need.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dollars = self.dollars();
        if self.0 == 0 {
            f.write_str("$0")
        } else if dollars >= 1.0 {
            write!(f, "${dollars:.2}")
        } else {
            let decimals = (3 - dollars.log10().floor() as i32).clamp(2, 9) as usize;
            write!(f, "${dollars:.decimals$}")
        }
    }
}

/// A total cost that also counts calls without a known price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct CostSum {
    /// Sum over the calls with a known price.
    pub known: Money,
    /// Number of calls without a known price; their cost is not in `known`.
    pub unknown_calls: u64,
}

impl CostSum {
    /// Adds one call's cost; `None` is an unknown price.
    pub fn add_call(&mut self, cost: Option<Money>) {
        match cost {
            Some(amount) => self.known += amount,
            None => self.unknown_calls = self.unknown_calls.saturating_add(1),
        }
    }

    /// `most`, an upper bound of the bill that holds reservations of calls, in words. A call of unknown cost whose price is known has a
    /// reservation of its worst case, one without a price has none: only if both were billed no more is it a bound.
    #[must_use]
    pub fn bounded(&self, most: Money) -> String {
        match self.unknown_calls {
            0 => format!("at most {most}"),
            1 => format!(
                "at most {most} if 1 call of unknown cost took no more than is reserved for it (nothing without a price)"
            ),
            calls => format!(
                "at most {most} if {calls} calls of unknown cost took no more than is reserved for them (nothing without a price)"
            ),
        }
    }
}
impl AddAssign for CostSum {
    fn add_assign(&mut self, other: Self) {
        self.known += other.known;
        self.unknown_calls = self.unknown_calls.saturating_add(other.unknown_calls);
    }
}
impl fmt::Display for CostSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.known, self.unknown_calls) {
            (known, 0) => known.fmt(f),
            (Money::ZERO, calls) => write!(f, "unknown ({})", counted(calls, "call", "calls")),
            (known, calls) => write!(f, "{known} + unknown ({})", counted(calls, "call", "calls")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_shown_with_four_significant_digits_below_a_dollar() {
        let shown: Vec<String> =
            [0, 1_500_000_000, 12_340_000, 150, 999_999_999].map(|n| Money(n).to_string()).to_vec();
        assert_eq!(shown, ["$0", "$1.50", "$0.01234", "$0.000000150", "$1.0000"]);
    }

    #[test]
    fn an_unknown_price_is_never_shown_as_zero() {
        let mut sum = CostSum::default();
        sum.add_call(None);
        assert_eq!(sum.to_string(), "unknown (1 call)");
        sum.add_call(Some(Money(2_000_000_000)));
        assert_eq!(sum.to_string(), "$2.00 + unknown (1 call)");
    }

    #[test]
    fn calls_of_others_that_no_sum_holds_do_not_begin_anew() {
        let most = CostSum { known: Money(u64::MAX), unknown_calls: u64::MAX };
        let mut sum = most;
        sum += most;
        sum.add_call(None);
        assert_eq!(sum, most);
    }

    #[test]
    fn a_bound_says_on_which_condition_it_includes_calls_of_unknown_cost() {
        let cost = |unknown_calls| CostSum { known: Money(1_000_000_000), unknown_calls };
        let bounded = [0, 1, 2].map(|unknown| cost(unknown).bounded(Money(2_000_000_000)));
        assert_eq!(
            bounded,
            [
                "at most $2.00",
                "at most $2.00 if 1 call of unknown cost took no more than is reserved for it (nothing without a price)",
                "at most $2.00 if 2 calls of unknown cost took no more than is reserved for them (nothing without a price)",
            ]
        );
    }

    #[test]
    fn negative_and_infinite_dollars_are_not_money() {
        assert_eq!(Money::from_dollars(-0.1), None);
        assert_eq!(Money::from_dollars(f64::INFINITY), None);
        assert_eq!(Money::from_dollars(f64::NAN), None);
        assert_eq!(Money::from_dollars(0.000_000_001), Some(Money(1)));
    }
}
