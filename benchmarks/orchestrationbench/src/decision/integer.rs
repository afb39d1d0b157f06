//! Python's `int()` on a text.

use regatta_pycompat::{decimal_digit, is_space};

/// Greatest number of digits that Python converts to an integer.
const DIGITS_MAX: usize = 4300;

/// Returns `true` if `int()` accepts the text: white space around it, a sign, decimal digits of any script, single
/// underscores between digits.
pub(crate) fn is_integer(text: &str) -> bool {
    // Unlike `strip`, `int` does not accept the information separators as white space.
    let text = text.trim_matches(|c| is_space(c) && !('\u{1c}'..='\u{1f}').contains(&c));
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let mut count = 0_usize;
    let mut after_digit = false;
    for c in digits.chars() {
        if decimal_digit(c).is_some() {
            count += 1;
            after_digit = true;
        } else if c == '_' && after_digit {
            after_digit = false;
        } else {
            return false;
        }
    }
    after_digit && count <= DIGITS_MAX
}
