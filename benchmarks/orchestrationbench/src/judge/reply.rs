//! Parser of a judge's answer: counts by key (docs/benchmarks/orchestrationbench.md §8).

use regatta_pycompat::{Json, Object, parse, strip};

const END_OF_THOUGHT: &str = "</think>";

/// Parses the object in the answer: from the first opening brace after the last thinking block to the last closing
/// one. If that fails, single quotes are read as double ones.
pub(super) fn read(text: &str) -> Option<Object> {
    let text = strip(text);
    let said = text.rsplit(END_OF_THOUGHT).next().unwrap_or(text);
    let start = said.find('{')?;
    let end = said.rfind('}')?;
    let object = said.get(start..=end)?;
    parse(object).or_else(|| parse(&object.replace('\'', "\"")))?.into_object()
}

/// Truth value of a JSON value in Python.
pub(super) fn is_truthy(value: &Json) -> bool {
    match value {
        Json::Null => false,
        Json::Bool(bool) => *bool,
        Json::Int(int) => int.decimal() != "0",
        Json::Float(float) => *float != 0.0,
        Json::String(text) => !text.is_empty(),
        Json::List(values) => !values.is_empty(),
        Json::Object(object) => !object.is_empty(),
    }
}
