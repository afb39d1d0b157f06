//! Numbers within a tolerance.

use crate::answer::read_number;

/// Largest difference that counts as equal: the larger of the two.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tolerance {
    /// In the number's unit, 0 or more.
    pub(super) absolute: f64,
    /// As a share of the gold number, 0 or more.
    pub(super) relative: f64,
}

impl Tolerance {
    /// `true` if the number that `answer` is, or ends in, is near enough to `gold`.
    pub(super) fn is_right(self, answer: &str, gold: f64) -> bool {
        let allowed = self.absolute.max(self.relative * gold.abs());
        read_number(answer).is_some_and(|number| (number - gold).abs() <= allowed)
    }
}
