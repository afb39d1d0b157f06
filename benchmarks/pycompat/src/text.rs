//! Texts and characters.

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use regex::Regex;

use super::character::decimal_digit;

/// A letter, a digit or another number, in Unicode's general categories. Rust's own `char::is_alphanumeric` also takes
/// vowel signs and circled letters, which Python does not. What came after Unicode 14 is nothing to the reference interpreter.
static LETTER_OR_NUMBER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^[[\p{L}\p{N}]&&\p{Age:14.0}]$").ok());

/// `\w`.
pub fn is_word(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || c == '_';
    }
    let mut buffer = [0; 4];
    LETTER_OR_NUMBER.as_ref().is_some_and(|class| class.is_match(c.encode_utf8(&mut buffer)))
}

/// Upper-case letters that came after Unicode 14, which the reference interpreter has: to it they are no letters.
const NEWER_LETTERS: [RangeInclusive<char>; 9] = [
    '\u{1c89}'..='\u{1c89}',
    '\u{a7cb}'..='\u{a7cc}',
    '\u{a7ce}'..='\u{a7ce}',
    '\u{a7d2}'..='\u{a7d2}',
    '\u{a7d4}'..='\u{a7d4}',
    '\u{a7da}'..='\u{a7da}',
    '\u{a7dc}'..='\u{a7dc}',
    '\u{10d50}'..='\u{10d65}',
    '\u{16ea0}'..='\u{16eb8}',
];

/// `str.lower`: full case mapping with the final sigma, as in Rust.
pub fn lower(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let is_newer = |c: char| NEWER_LETTERS.iter().any(|range| range.contains(&c));
    let mut lower = String::with_capacity(text.len());
    for part in text.split_inclusive(is_newer) {
        let letters = part.trim_end_matches(is_newer);
        lower.push_str(&letters.to_lowercase());
        lower.push_str(part.strip_prefix(letters).unwrap_or_default());
    }
    lower
}

/// True if the official loader takes the text for a number: digits of any script, in the forms that Python's `float` accepts.
pub fn is_numeric(text: &str) -> bool {
    let in_ascii = |c: char| decimal_digit(c).map_or(c, |digit| char::from(b'0' + digit));
    let text: String = text.trim().chars().map(in_ascii).collect();
    plain_number(&text).is_some_and(|number| number.parse::<f64>().is_ok())
}

/// The text without the underscores that `float` allows between two digits; `None` where one stands elsewhere.
fn plain_number(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('_') {
        return Some(Cow::Borrowed(text));
    }
    let between_digits = text.split('_').collect::<Vec<_>>().windows(2).all(|pair| {
        pair[0].ends_with(|c: char| c.is_ascii_digit()) && pair[1].starts_with(|c: char| c.is_ascii_digit())
    });
    between_digits.then(|| Cow::Owned(text.replace('_', "")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_letters_numbers_and_the_underscore() {
        assert!(['a', 'Z', '0', '_', 'é', '好', '９', '²', 'Ⅷ', '〇', 'ª'].into_iter().all(is_word));
        assert!(!['-', ' ', 'ⓐ', '\u{93e}', '\u{301}', '。', '🙂'].into_iter().any(is_word));
        assert!(is_word('\u{a7ca}') && !is_word('\u{a7cb}'), "a letter of Unicode 14, and one of Unicode 16");
    }

    #[test]
    fn lower_case_may_need_more_code_points_and_knows_the_final_sigma() {
        assert_eq!(lower("İ ΣΑΣ ＡＢＣ１"), "i\u{307} σας ａｂｃ１");
        assert_eq!(lower("ABC d"), "abc d");
    }

    #[test]
    fn letters_that_the_reference_interpreter_does_not_know_stay() {
        assert_eq!(lower("É\u{a7cb}\u{10d50}ΑΣ\u{1c89}"), "é\u{a7cb}\u{10d50}ας\u{1c89}");
    }

    #[test]
    fn numbers_are_what_float_accepts() {
        assert!(
            ["42", "\u{a0}7\n", "４２", "1e5", "-.5", "5.", "+1", "nan", "-Infinity", "1_000"]
                .into_iter()
                .all(is_numeric)
        );
        assert!(!["", " ", "x", "1 2", "_1", "1__0", "1_", "1,000", "0x1", "e5", "."].into_iter().any(is_numeric));
    }
}
