//! Texts and characters.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

pub(crate) use crate::worfbench::python::strip;

/// A letter, a digit or another number, in Unicode's general categories. Rust's own `char::is_alphanumeric` also takes
/// vowel signs and circled letters, which Python does not.
static LETTER_OR_NUMBER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^[\p{L}\p{N}]$").ok());

/// `\w`.
pub(crate) fn is_word(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || c == '_';
    }
    let mut buffer = [0; 4];
    LETTER_OR_NUMBER.as_ref().is_some_and(|class| class.is_match(c.encode_utf8(&mut buffer)))
}

/// `str.lower`: full case mapping with the final sigma, as in Rust.
pub(crate) fn lower(text: &str) -> String {
    text.to_lowercase()
}

/// Whether `float` accepts the text.
pub(crate) fn is_numeric(text: &str) -> bool {
    plain_number(strip(text)).is_some_and(|number| number.parse::<f64>().is_ok())
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
    }

    #[test]
    fn lower_case_may_need_more_code_points_and_knows_the_final_sigma() {
        assert_eq!(lower("İ ΣΑΣ ＡＢＣ１"), "i\u{307} σας ａｂｃ１");
    }

    #[test]
    fn numbers_are_what_float_accepts() {
        assert!(["42", " 7\n", "1e5", "-.5", "5.", "+1", "nan", "-Infinity", "1_000"].into_iter().all(is_numeric));
        assert!(!["", " ", "x", "1 2", "_1", "1__0", "1_", "1,000", "0x1", "e5", "."].into_iter().any(is_numeric));
    }
}
