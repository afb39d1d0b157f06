//! Gold slots (docs/benchmarks/autoslurp.md §7.1), and values as texts.

use std::sync::LazyLock;

use regatta_pycompat::{Json, repr_float};
use regex::Regex;

/// Name and value.
pub(crate) type Slot = (String, String);

/// A name with its colon, after the start of the text or something that separates.
static KEY: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?:^|[\[,'"])[\s'"]*([a-z]+(?:_[a-z]+)*[0-9]?)\s*['"]?\s*:"#).ok());

/// The slots that a field of the csv files lists, in order. The field looks like a Python list, but often is none: names are found where a
/// colon follows them, and a value is what stands before the next name.
pub(crate) fn gold(field: &str) -> Vec<Slot> {
    between(field, KEY.as_ref(), |c| c.is_whitespace() || matches!(c, ',' | '\'' | '"' | '[' | ']'))
}

/// Each first group of `key` in `text`, with what stands between it and the next one, `trimmed`.
pub(super) fn between(text: &str, key: Option<&Regex>, trimmed: impl Fn(char) -> bool + Copy) -> Vec<Slot> {
    let Some(key) = key else { return Vec::new() };
    let mut slots = Vec::new();
    let mut open: Option<(&str, usize)> = None;
    let mut close = |open: Option<(&str, usize)>, end: usize| {
        if let Some((name, start)) = open {
            let value = text.get(start..end).unwrap_or_default().trim_matches(trimmed);
            slots.push((name.to_owned(), value.to_owned()));
        }
    };
    for found in key.captures_iter(text) {
        let (Some(whole), Some(name)) = (found.get(0), found.get(1)) else { continue };
        close(open, whole.start());
        open = Some((name.as_str(), whole.end()));
    }
    close(open, text.len());
    slots
}

/// A JSON value as the text that Python's `str` makes of it; the members of arrays one after the other.
pub(super) fn text(value: &Json) -> String {
    match value {
        Json::Null => "None".to_owned(),
        Json::Bool(true) => "True".to_owned(),
        Json::Bool(false) => "False".to_owned(),
        Json::Int(int) => int.decimal().to_owned(),
        Json::Float(float) => repr_float(*float),
        Json::String(text) => text.clone(),
        // Deeper ones have no text: nobody compares them with what a person said.
        Json::List(values) => {
            let plain = values.iter().filter(|value| !matches!(value, Json::List(_) | Json::Object(_)));
            plain.map(self::text).collect::<Vec<_>>().join(" ")
        }
        Json::Object(_) => String::new(),
    }
}
