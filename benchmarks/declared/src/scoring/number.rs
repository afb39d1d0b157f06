//! Numbers within a tolerance, or equal to so many digits.

use crate::answer::read_number;

/// Largest difference that counts as equal: the larger of the two.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tolerance {
    /// In the number's unit, 0 or more.
    pub(super) absolute: f64,
    /// As a share of the gold number, 0 or more.
    pub(super) relative: f64,
    /// Significant digits, at least 1, to which both are rounded; then no difference counts as equal.
    pub(super) digits: Option<u8>,
}

impl Tolerance {
    /// `true` if the number that `answer` is, or ends in, is near enough to `gold`.
    pub(super) fn is_right(self, answer: &str, gold: f64) -> bool {
        let Some(number) = read_number(answer) else { return false };
        match self.digits {
            Some(digits) => rounded(number, digits) == rounded(gold, digits),
            None => (number - gold).abs() <= self.absolute.max(self.relative * gold.abs()),
        }
    }
}

/// The number as a text of so many significant digits.
fn rounded(number: f64, digits: u8) -> String {
    format!("{number:.*e}", usize::from(digits.saturating_sub(1)))
}
