//! Canonical texts of argument values, by which the official code compares them
//! (docs/benchmarks/orchestrationbench.md §5.5).

use std::borrow::Cow;

use regatta_proto::Digest;
use regatta_pycompat::{Json, repr_float, repr_text, repr_texts};

/// Every level of nesting quotes the text of the level below and doubles its backslashes, so some forty brackets
/// would exhaust the memory. A text that exceeds this multiple of the value's size, and this many bytes, is replaced
/// by its digest: equal values still have equal texts, and different values different ones.
const GROWTH_MAX: usize = 64;
const GROWTH_FREE: usize = 1024;

/// Returns the canonical text of a value: the order of lists and keys does not matter, `1` equals `"1"`, and `true`
/// equals `True`.
pub(crate) fn canonical(value: &Json) -> Cow<'_, str> {
    sized(value).0
}

/// Returns the canonical text and the size of the value.
fn sized(value: &Json) -> (Cow<'_, str>, usize) {
    match value {
        Json::Null => (Cow::Borrowed("None"), 4),
        Json::Bool(bool) => (Cow::Borrowed(if *bool { "True" } else { "False" }), 4),
        Json::Int(int) => (Cow::Borrowed(int.decimal()), int.decimal().len()),
        Json::Float(float) => (Cow::Owned(repr_float(*float)), 8),
        Json::String(text) => (Cow::Borrowed(text), text.len()),
        Json::List(values) => {
            let mut size = 2;
            let mut texts = Vec::with_capacity(values.len());
            for value in values {
                let (text, of_value) = sized(value);
                size += of_value + 2;
                texts.push(text);
            }
            texts.sort();
            (Cow::Owned(bounded(repr_texts(&texts), size)), size)
        }
        Json::Object(object) => {
            let mut size = 2;
            let mut entries = Vec::with_capacity(object.len());
            for (key, value) in object.iter() {
                let (text, of_value) = sized(value);
                size += key.len() + of_value + 4;
                entries.push((key, text));
            }
            // Keys are distinct, so sorting by key is sufficient.
            entries.sort();
            let entries: Vec<String> =
                entries.iter().map(|(key, text)| format!("{}: {}", repr_text(key), repr_text(text))).collect();
            (Cow::Owned(bounded(format!("{{{}}}", entries.join(", ")), size)), size)
        }
    }
}

fn bounded(text: String, size: usize) -> String {
    if text.len() <= GROWTH_FREE + GROWTH_MAX * size { text } else { format!("… {}", Digest::of(text.as_bytes())) }
}
