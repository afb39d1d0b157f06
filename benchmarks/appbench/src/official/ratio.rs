//! Divisions of the official code.

/// Python's `ZeroDivisionError`: the official code prints no result at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ZeroDivision;

impl ZeroDivision {
    /// As the golden files name it.
    pub(crate) const NAME: &str = "ZeroDivisionError";
}

/// A division that may raise.
pub(super) fn divide(part: f64, whole: f64) -> Result<f64, ZeroDivision> {
    if whole == 0.0 { Err(ZeroDivision) } else { Ok(part / whole) }
}

/// The harmonic mean; nothing of nothing is zero.
pub(super) fn f1(precision: f64, recall: f64) -> f64 {
    let sum = precision + recall;
    if sum == 0.0 { 0.0 } else { 2.0 * precision * recall / sum }
}
