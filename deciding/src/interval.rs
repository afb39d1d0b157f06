//! A closed interval.

use serde::{Deserialize, Serialize};

/// The numbers from `low` to `high`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// The intersection. Two disjoint intervals, which sequences at level α give with probability at most α, leave the first as it is.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let both = Self { low: self.low.max(other.low), high: self.high.min(other.high) };
        if both.low <= both.high { both } else { self }
    }

    /// The same interval if its ends are in order; ends that rounding has crossed become one point.
    pub(crate) fn in_order(self) -> Self {
        if self.low <= self.high {
            return self;
        }
        let middle = f64::midpoint(self.low, self.high);
        Self { low: middle, high: middle }
    }

    /// Difference of the ends.
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
