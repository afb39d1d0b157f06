//! Steps of the matchers.

use regatta_pycompat::{is_space, is_word};

/// The word (`\w*`) that the text begins with, and what follows it.
pub(super) fn word(text: &str) -> (&str, &str) {
    text.split_at_checked(text.find(|c| !is_word(c)).unwrap_or(text.len())).unwrap_or((text, ""))
}

/// The text without the white space (`\s*`) that it begins with.
pub(super) fn skip_space(text: &str) -> &str {
    text.trim_start_matches(is_space)
}

/// Text after white space, an equals sign, and white space again (`\s*=\s*`); `None` without an equals sign there.
pub(super) fn skip_equals(text: &str) -> Option<&str> {
    skip_space(text).strip_prefix('=').map(skip_space)
}

/// The text on both sides of the byte at `at`, which is a character of its own.
pub(super) fn around(text: &str, at: usize) -> Option<(&str, &str)> {
    Some((text.get(..at)?, text.get(at + 1..)?))
}
