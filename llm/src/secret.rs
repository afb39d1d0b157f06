//! An endpoint's key, and the redaction of texts that may contain it.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::sync::Arc;

use reqwest::header::{HeaderValue, InvalidHeaderValue};

/// Longest detail of a failed try, in characters.
pub(crate) const DETAIL_MAX: usize = 300;
/// Longest id or model name that is taken from an answer, in characters.
const NAME_MAX: usize = 200;

/// Number of consecutive characters shared with a key from which a text counts as showing a part of it.
const PART: usize = 8;

/// The keys of an endpoint: that of `api_key_env`, and those in headers. Never printed.
#[derive(Clone, Default)]
pub(crate) struct Secret {
    key: Option<String>,
    /// All keys, in each encoding that texts may use.
    shapes: Arc<[Shape]>,
}

/// A key in one encoding.
struct Shape {
    text: Vec<char>,
    /// Substrings of the key, of [`PART`] characters each.
    parts: HashSet<Vec<char>>,
}

impl Secret {
    /// Wraps a key.
    pub(crate) fn new(key: String) -> Self {
        let shapes = shapes(&key).map(Shape::of).collect();
        Self { key: Some(key), shapes }
    }

    /// Redacts `others` too.
    pub(crate) fn beside<'a>(self, others: impl IntoIterator<Item = &'a str>) -> Self {
        let others: Vec<&str> = others.into_iter().filter(|other| !other.is_empty()).collect();
        if others.is_empty() {
            return self;
        }
        let all = self.key.as_deref().into_iter().chain(others);
        let shapes = all.flat_map(shapes).map(Shape::of).collect();
        Self { shapes, ..self }
    }

    /// The key itself.
    #[cfg(test)]
    pub(crate) fn expose(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// The value of the header: `prefix` and the key, marked as sensitive so that it is never printed. `None` without a key.
    ///
    /// # Errors
    /// When the key has characters that headers cannot hold.
    pub(crate) fn header(&self, prefix: &str) -> Result<Option<HeaderValue>, InvalidHeaderValue> {
        let Some(key) = &self.key else { return Ok(None) };
        let mut value = HeaderValue::try_from(format!("{prefix}{key}"))?;
        value.set_sensitive(true);
        Ok(Some(value))
    }

    /// The endpoint's message in one line of at most [`DETAIL_MAX`] characters, redacted.
    pub(crate) fn detail(&self, text: &str) -> String {
        self.cut(text, DETAIL_MAX)
    }

    /// A short name from an answer, redacted.
    pub(crate) fn name(&self, text: &str) -> String {
        self.cut(text, NAME_MAX)
    }

    fn cut(&self, text: &str, max: usize) -> String {
        // Redacted before it is cut, because a cut through the key would leave its beginning.
        one_line(&self.without(text), max)
    }

    /// `text` with `[key]` in place of every key and of its parts, also where they are encoded.
    fn without<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.shapes.is_empty() {
            return text.into();
        }
        let chars: Vec<char> = text.chars().collect();
        let mut shown = vec![false; chars.len()];
        for shape in self.shapes.iter() {
            shape.mark(&chars, &mut shown);
        }
        if !shown.contains(&true) {
            return text.into();
        }
        let mut out = String::with_capacity(text.len());
        for (at, c) in chars.iter().enumerate() {
            match (shown[at], at > 0 && shown[at - 1]) {
                (true, true) => {}
                (true, false) => out.push_str("[key]"),
                (false, _) => out.push(*c),
            }
        }
        out.into()
    }
}

impl Shape {
    fn of(text: String) -> Self {
        let text: Vec<char> = text.chars().collect();
        let parts = text.windows(PART).map(<[char]>::to_vec).collect();
        Self { text, parts }
    }

    /// Marks the characters of `chars` that show this key.
    fn mark(&self, chars: &[char], shown: &mut [bool]) {
        // A key that is shorter than a part is found only as a whole.
        let width = self.text.len().min(PART);
        for (at, window) in chars.windows(width.max(1)).enumerate() {
            let is_ours = if self.parts.is_empty() { window == self.text } else { self.parts.contains(window) };
            if is_ours {
                shown[at..at + width].fill(true);
            }
        }
    }
}

/// The encodings of `key` in texts: plain, hexadecimal, percent-encoding, and base64 at every offset within other text.
fn shapes(key: &str) -> impl Iterator<Item = String> {
    let hex: String = key.bytes().map(|byte| format!("{byte:02x}")).collect();
    let percent: String = key
        .bytes()
        .map(|byte| {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect();
    let mut shapes = vec![key.to_owned(), hex.to_uppercase(), hex, percent];
    for before in 0..3 {
        let bytes: Vec<u8> = std::iter::repeat_n(0, before).chain(key.bytes()).collect();
        let encoded = base64(&bytes);
        // The first and last characters depend on the text around the key.
        let inside: String = encoded
            .chars()
            .skip((before * 8).div_ceil(6))
            .take(bytes.len() * 8 / 6 - (before * 8).div_ceil(6))
            .collect();
        shapes.push(inside.replace('+', "-").replace('/', "_"));
        shapes.push(inside);
    }
    // Short encodings would be found everywhere.
    let key = key.to_owned();
    shapes.into_iter().filter(move |shape| *shape == key || shape.len() >= PART).collect::<BTreeSet<_>>().into_iter()
}

/// Base64 without padding.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let number = three.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for place in 0..=three.len() {
            let digit = number >> (18 - 6 * place) & 63;
            out.push(char::from(ALPHABET[digit as usize]));
        }
    }
    out
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.key.is_some() { "Secret([key])" } else { "Secret(none)" })
    }
}

fn one_line(text: &str, max: usize) -> String {
    let text = text.trim();
    let mut line: String = text.chars().take(max).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(max).is_some() {
        line.pop();
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_key_is_removed_before_the_text_is_cut() {
        let key = "sk-0123456789".repeat(10);
        let secret = Secret::new(key.clone());
        let detail = secret.detail(&format!("{} wrong key {key} {key}", "x".repeat(DETAIL_MAX - 20)));
        assert!(!detail.contains("sk-0"), "{detail}");
        assert_eq!(detail.chars().count(), DETAIL_MAX);
    }

    #[test]
    fn the_key_is_removed_however_it_is_written() {
        let key = "sk-proj-0a1B2c/3D4+e5F6";
        let secret = Secret::new(key.to_owned());
        let encoded = ["", "x", "xy", "Bearer "].map(|before| base64(format!("{before}{key}:tail").as_bytes()));
        let hex: String = key.bytes().map(|byte| format!("{byte:02x}")).collect();
        let percent = "sk-proj-0a1B2c%2F3D4%2Be5F6".to_owned();
        let truncated = ["sk-proj-0a1B2****".to_owned(), "...2c/3D4+e5F6".to_owned()];
        for text in encoded.into_iter().chain([hex, percent]).chain(truncated) {
            let detail = secret.detail(&format!("refused: {text} is wrong"));
            assert!(
                detail.starts_with("refused: ") && detail.contains("[key]") && detail.ends_with("is wrong"),
                "{text}: {detail}"
            );
            let (before, after) =
                (detail.matches(|c: char| c.is_ascii_alphanumeric()).count(), "refused:keyiswrongxySZhaWw".len());
            assert!(before <= after + 12, "{text}: {detail}");
        }
        assert_eq!(secret.detail("the model is overloaded"), "the model is overloaded");
    }

    #[test]
    fn keys_of_headers_are_removed_too() {
        let secret = Secret::default().beside(["litellm-key-1"]);
        assert_eq!(secret.detail("wrong litellm-key-1"), "wrong [key]");
        assert_eq!(Secret::new("short".to_owned()).detail("a short detail"), "a [key] detail");
    }

    #[test]
    fn a_detail_is_one_line() {
        assert_eq!(Secret::default().detail(" a\r\nb\u{7}c "), "a  b c");
    }

    #[test]
    fn a_secret_prints_as_nothing() {
        let secret = Secret::new("sk-1".into());
        let header = secret.header("Bearer ").unwrap();
        assert_eq!(format!("{secret:?} {header:?}"), "Secret([key]) Some(Sensitive)");
    }

    proptest! {
        #[test]
        fn no_text_brings_the_key_through(key in "[a-zA-Z0-9-]{8,60}", before in ".{0,400}", after in ".{0,400}") {
            let detail = Secret::new(key.clone()).detail(&format!("{before}{key}{after}"));
            prop_assert!(!detail.contains(&key));
            prop_assert!(detail.chars().count() <= DETAIL_MAX);
        }
    }
}
