//! A closed interval.

use serde::{Deserialize, Serialize};

/// From `low` to `high`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// What both hold. Two that share nothing, which sequences at level α do with at most that probability, leave the first as it is.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let both = Self { low: self.low.max(other.low), high: self.high.min(other.high) };
        if both.low <= both.high { both } else { self }
    }

    /// The same if its ends are in order; ends that only rounding has crossed become one.
    pub(crate) fn in_order(self) -> Self {
        if self.low <= self.high {
            return self;
        }
        let middle = f64::midpoint(self.low, self.high);
        Self { low: middle, high: middle }
    }

    /// From one end to the other.
    #[must_use]
    pub fn width(self) -> f64 {
        self.high - self.low
    }

    /// `true` if it holds `value`.
    #[must_use]
    pub fn contains(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}
