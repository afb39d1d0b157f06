//! Rounding of the official code.

/// Python's `round(x, 4)`: rounds the exact binary value to four decimals, ties to even.
pub(crate) fn round4(number: f64) -> f64 {
    // Formatting rounds the exact value, ties to even; parsing the text gives the nearest double.
    format!("{number:.4}").parse().unwrap_or(number)
}
