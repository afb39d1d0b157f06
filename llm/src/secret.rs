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

/// Most characters of a message that are read for its detail or its name. Redaction looks for every encoding at each of them, and a body may
/// have 64 MiB.
const READ_MAX: usize = 8 << 10;

/// Number of consecutive characters shared with a key from which a text counts as showing a part of it.
const PART: usize = 8;
/// The same for a model's answer, which is measured: a shorter part may be the beginning that all keys of a provider share, and a shorter
/// key a word that stands in for one, as `not-needed`.
const PART_OF_ANSWER: usize = 16;

/// The keys of an endpoint: that of `api_key_env`, and those in headers. Never printed.
#[derive(Clone, Default)]
pub(crate) struct Secret {
    key: Option<String>,
    /// All keys, in each encoding that texts may use.
    shapes: Arc<[Shape]>,
    /// Every [`PART`] bytes of the shapes that are sought in answers: a part of an answer that shows a key holds one of these where its own
    /// bytes are counted off by as many.
    blocks: Arc<HashSet<[u8; PART]>>,
}

/// A key in one encoding.
struct Shape {
    text: Vec<char>,
    /// Length of [`Self::parts`], in characters: [`PART`] characters of the key, where each is written as several.
    width: usize,
    /// Substrings of the encoded key.
    parts: HashSet<Vec<char>>,
    /// The key is too long to be a word.
    is_sought_in_answers: bool,
}

impl Secret {
    /// Wraps a key.
    pub(crate) fn new(key: String) -> Self {
        let shapes = shapes(&key).collect();
        Self { key: Some(key), ..Self::of_shapes(shapes) }
    }

    fn of_shapes(shapes: Vec<Shape>) -> Self {
        let sought = shapes.iter().filter(|shape| shape.is_sought_in_answers);
        let mut blocks = HashSet::new();
        for text in sought.map(|shape| shape.text.iter().collect::<String>()) {
            blocks.extend(text.as_bytes().windows(PART).filter_map(|block| <[u8; PART]>::try_from(block).ok()));
        }
        Self { key: None, shapes: shapes.into(), blocks: Arc::new(blocks) }
    }

    /// Redacts `others` too.
    pub(crate) fn beside<'a>(self, others: impl IntoIterator<Item = &'a str>) -> Self {
        let others: Vec<&str> = others.into_iter().filter(|other| !other.is_empty()).collect();
        if others.is_empty() {
            return self;
        }
        let all = self.key.as_deref().into_iter().chain(others);
        let shapes = all.flat_map(shapes).collect();
        Self { key: self.key.clone(), ..Self::of_shapes(shapes) }
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
        let text = text.trim_start();
        // Redacted before it is cut, because a cut through the key would leave its beginning.
        let Some((end, _)) = text.char_indices().nth(READ_MAX) else { return one_line(&self.without(text, 0), max) };
        // A part of the key that goes on after what is read is not found, so what may be its beginning is left out.
        let width = self.shapes.iter().map(Shape::window).max().unwrap_or(0);
        one_line(&(self.without(&text[..end], width).into_owned() + "…"), max)
    }

    /// `text` without its last `left_out` characters, with `[key]` in place of every key and of its parts, also where they are encoded.
    fn without<'t>(&self, text: &'t str, left_out: usize) -> Cow<'t, str> {
        if self.shapes.is_empty() {
            return text.into();
        }
        let chars: Vec<char> = text.chars().collect();
        let shown = shown(&chars, self.shapes.iter());
        if left_out == 0 && !shown.contains(&true) {
            return text.into();
        }
        replaced(&chars[..chars.len().saturating_sub(left_out)], &shown).into()
    }

    /// `text`, a part of a model's answer, redacted; `None` if it shows no key, so that it is kept as it is.
    pub(crate) fn answer(&self, text: &str) -> Option<String> {
        let is_one = |block: &[u8]| <[u8; PART]>::try_from(block).is_ok_and(|block| self.blocks.contains(&block));
        if self.blocks.is_empty() || !text.as_bytes().chunks_exact(PART).any(is_one) {
            return None;
        }
        let chars: Vec<char> = text.chars().collect();
        let shown = shown(&chars, self.shapes.iter().filter(|shape| shape.is_sought_in_answers));
        let mut runs = shown.chunk_by(|before, after| before == after);
        runs.any(|run| run[0] && run.len() >= PART_OF_ANSWER).then(|| replaced(&chars, &shown))
    }
}

/// Marks the characters of `chars` that show one of `shapes`.
fn shown<'s>(chars: &[char], shapes: impl Iterator<Item = &'s Shape>) -> Vec<bool> {
    let mut shown = vec![false; chars.len()];
    for shape in shapes {
        shape.mark(chars, &mut shown);
    }
    shown
}

/// `chars` with `[key]` in place of each run of those that are marked.
fn replaced(chars: &[char], shown: &[bool]) -> String {
    let mut out = String::with_capacity(chars.len());
    for (at, c) in chars.iter().enumerate() {
        match (shown[at], at > 0 && shown[at - 1]) {
            (true, true) => {}
            (true, false) => out.push_str("[key]"),
            (false, _) => out.push(*c),
        }
    }
    out
}

impl Shape {
    /// Of a key that is written as `text`, each character as `expansion` characters.
    fn new(key: &str, text: &str, expansion: usize) -> Self {
        let (text, width): (Vec<char>, _) = (text.chars().collect(), PART * expansion);
        let parts = text.windows(width).map(<[char]>::to_vec).collect();
        Self { text, width, parts, is_sought_in_answers: key.chars().count() >= PART_OF_ANSWER }
    }

    /// Number of consecutive characters that show this key; never 0. A key that is shorter than a part is found only as a whole.
    fn window(&self) -> usize {
        self.text.len().min(self.width).max(1)
    }

    /// Marks the characters of `chars` that show this key.
    fn mark(&self, chars: &[char], shown: &mut [bool]) {
        let width = self.window();
        for (at, window) in chars.windows(width).enumerate() {
            let is_ours = if self.parts.is_empty() { window == self.text } else { self.parts.contains(window) };
            if is_ours {
                shown[at..at + width].fill(true);
            }
        }
    }
}

/// The encodings of `key` in texts: plain, hexadecimal, percent-encoding (of what needs it, and of everything), the escapes of JSON (likewise),
/// and base64 at every offset within other text.
fn shapes(key: &str) -> impl Iterator<Item = Shape> {
    let each = |write: &dyn Fn(u8) -> String| key.bytes().map(write).collect::<String>();
    let hex = each(&|byte| format!("{byte:02x}"));
    let percent = each(&|byte| match byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    let quoted = serde_json::Value::from(key).to_string();
    let json = quoted[1..quoted.len() - 1].to_owned();
    let (all_percent, unicode) = (each(&|byte| format!("%{byte:02x}")), each(&|byte| format!("\\u{byte:04x}")));
    let mut shapes = vec![(key.to_owned(), 1), (hex.to_uppercase(), 1), (hex, 1), (percent, 1), (json, 1)];
    for (text, expansion, start) in [(all_percent, 3, "%"), (unicode, 6, "\\u")] {
        let upper = text.to_uppercase().replace(&start.to_uppercase(), start);
        shapes.extend([(text, expansion), (upper, expansion)]);
    }
    for before in 0..3 {
        let bytes: Vec<u8> = std::iter::repeat_n(0, before).chain(key.bytes()).collect();
        let encoded = base64(&bytes);
        // The first and last characters depend on the text around the key.
        let inside: String = encoded
            .chars()
            .skip((before * 8).div_ceil(6))
            .take(bytes.len() * 8 / 6 - (before * 8).div_ceil(6))
            .collect();
        shapes.push((inside.replace('+', "-").replace('/', "_"), 1));
        shapes.push((inside, 1));
    }
    // Short encodings would be found everywhere.
    let key = key.to_owned();
    let told = shapes.into_iter().collect::<BTreeSet<_>>().into_iter();
    told.filter_map(move |(text, expansion)| {
        (text == key || text.len() >= PART).then(|| Shape::new(&key, &text, expansion))
    })
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
    fn an_answer_is_kept_as_it_is_unless_it_shows_so_much_of_a_key_that_it_is_no_word() {
        let key = "sk-ant-api03-0a1B2c/3D4+e5\"F6g7\\H8";
        let secret = Secret::new(key.to_owned()).beside(["not-needed"]);
        let each = |write: fn(u8) -> String| key.bytes().map(write).collect::<String>();
        let json = serde_json::json!(key).to_string();
        for text in [
            key.to_owned(),
            base64(format!("Bearer {key}").as_bytes()),
            each(|byte| format!("{byte:02X}")),
            each(|byte| format!("%{byte:02x}")),
            each(|byte| format!("\\u{byte:04X}")),
            json[1..json.len() - 1].to_owned(),
            key[..20].to_owned(),
        ] {
            let answer = secret.answer(&format!("ein Schlüssel: {text}.")).unwrap();
            assert!(answer.starts_with("ein Schlüssel: ") && answer.contains("[key]"), "{text}: {answer}");
            assert!(!answer.contains(&text[4..20]), "{text}: {answer}");
        }
        for honest in ["keys begin with sk-ant-api03-", "that is not-needed here", "\\u0073\\u0065\\u0065", "%20%73%70"]
        {
            assert_eq!(secret.answer(honest), None, "{honest}");
        }
    }

    #[test]
    fn keys_of_headers_are_removed_too() {
        let secret = Secret::default().beside(["litellm-key-1"]);
        assert_eq!(secret.detail("wrong litellm-key-1"), "wrong [key]");
        assert_eq!(Secret::new("short".to_owned()).detail("a short detail"), "a [key] detail");
    }

    #[test]
    fn a_long_message_is_read_in_part_and_no_beginning_of_a_key_is_left_at_the_end() {
        let key = "sk-0123456789";
        let secret = Secret::new(key.to_owned());
        let keys = key.repeat(READ_MAX);
        assert_eq!(secret.detail(&format!("{keys} is wrong")), "[key]…", "what is behind it is not read");
        let escaped: String = key.bytes().map(|byte| format!("\\u{byte:04x}")).collect();
        for (before, key) in [(12, key), (9, key), (4, key), (12, &*escaped), (47, &escaped), (77, &escaped)] {
            let until = READ_MAX - before;
            let of_keys = &keys[..until - until % 13];
            let detail = secret.detail(&format!("{of_keys}{}{key}{}", " ".repeat(until % 13), "x".repeat(100)));
            assert!(detail.starts_with("[key]") && detail.ends_with('…'), "{detail}");
            assert_eq!(
                detail.matches(char::is_alphanumeric).count(),
                "key".len() * detail.matches("[key]").count(),
                "{detail}"
            );
        }
        let long = "é".repeat(READ_MAX + 1);
        assert_eq!(Secret::default().detail(&long).chars().count(), DETAIL_MAX);
        assert_eq!(secret.detail(&format!("{}wrong", " ".repeat(2 * READ_MAX))), "wrong");
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
        fn no_answer_brings_a_long_part_of_a_key_through(
            key in "[a-zA-Z0-9-]{16,60}", before in ".{0,40}", after in ".{0,40}", start in 0_usize..44
        ) {
            let part = &key[start.min(key.len() - PART_OF_ANSWER)..];
            let answer = Secret::new(key.clone()).answer(&format!("{before}{part}{after}"));
            prop_assert!(answer.is_some_and(|answer| !answer.contains(part)));
        }

        #[test]
        fn no_text_brings_the_key_through(key in "[a-zA-Z0-9-]{8,60}", before in ".{0,400}", after in ".{0,400}") {
            let detail = Secret::new(key.clone()).detail(&format!("{before}{key}{after}"));
            prop_assert!(!detail.contains(&key));
            prop_assert!(detail.chars().count() <= DETAIL_MAX);
        }
    }
}
