//! Numbers as people write them: signs, `$`, commas between thousands, decimals, exponents.

use std::sync::LazyLock;

use regex::Regex;

use super::Take;

#[expect(clippy::expect_used, reason = "a constant that every test compiles")]
static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"([-+−]?)\s?\$?((?:\d{1,3}(?:,\d{3})+\b|\d+)(?:\.\d+)?|\.\d+)([eE][-+]?\d+\b)?")
        .expect("it is well-formed")
});

/// The first or last number of `text`, without `$` and commas.
pub(super) fn find(text: &str, take: Take) -> Option<String> {
    let numbers = NUMBER.captures_iter(text).filter_map(|found| {
        let (sign, digits) = (found.get(1)?, found.get(2)?);
        let exponent = found.get(3).map_or("", |exponent| exponent.as_str());
        // In 3-4 and in x-1 it is no sign.
        let follows_a_word = text[..sign.start()].chars().next_back().is_some_and(char::is_alphanumeric);
        let negative = matches!(sign.as_str(), "-" | "−") && !follows_a_word;
        Some(format!("{}{}{exponent}", if negative { "-" } else { "" }, digits.as_str().replace(',', "")))
    });
    take.of(numbers)
}

/// The number that `text` is, or ends in.
pub(crate) fn read_number(text: &str) -> Option<f64> {
    let text = text.trim();
    let plain = text.parse().ok().filter(|number: &f64| number.is_finite());
    plain.or_else(|| find(text, Take::Last)?.parse().ok()).filter(|number: &f64| number.is_finite())
}
