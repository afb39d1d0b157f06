//! Rounding as the official code rounds.

/// Python's `round(x, 4)`: to the nearest four decimals of the exact binary value, to the even one of two equally near.
pub(crate) fn round4(number: f64) -> f64 {
    // Formatting rounds the exact value, ties to even; reading it back gives the nearest double.
    format!("{number:.4}").parse().unwrap_or(number)
}
