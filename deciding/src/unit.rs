//! A unit: items that are drawn together because their scores are not independent. One cluster, or an item by itself.

/// Sum of the scores of a unit's items in one trial, each 0 to 1 with 1 the good end. A session without a score is 0 in `low` and 1 in
/// `high`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct UnitScore {
    /// The sum if every missing score were 0.
    pub low: f64,
    /// The sum if every missing score were 1.
    pub high: f64,
}

impl UnitScore {
    /// The score of a unit without missing scores.
    #[must_use]
    pub const fn exact(sum: f64) -> Self {
        Self { low: sum, high: sum }
    }
}

/// A unit's draw as a sequence uses it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unit {
    /// Least value, 0 to `weight`.
    pub low: f64,
    /// Largest value, `low` to `weight`.
    pub high: f64,
    /// Items of the unit divided by those of the largest unit; above 0, at most 1.
    pub weight: f64,
}

impl Unit {
    /// The unit on the reversed scale: 1 − x for x.
    pub(crate) fn mirrored(self) -> Self {
        Self { low: self.weight - self.high, high: self.weight - self.low, weight: self.weight }
    }

    /// The middle of the values that it may have.
    pub(crate) fn middle(self) -> f64 {
        f64::midpoint(self.low, self.high)
    }
}
