//! Populations that samples are drawn from.

/// A finite population that is drawn from without replacement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Population {
    /// Number of units in it.
    pub units: usize,
    /// Sum of their weights.
    pub weight: f64,
}
