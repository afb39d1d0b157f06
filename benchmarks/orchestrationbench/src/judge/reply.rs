//! A judge's answer: counts by key (docs/benchmarks/orchestrationbench.md §8).

use regatta_pycompat::{Json, Object, parse, strip};

const END_OF_THOUGHT: &str = "</think>";

/// The object that the answer holds: from the first opening brace after the last thought to the last closing one. Single quotes are read
/// as double ones when nothing else helps.
pub(super) fn read(text: &str) -> Option<Object> {
    let text = strip(text);
    let said = text.rsplit(END_OF_THOUGHT).next().unwrap_or(text);
    let start = said.find('{')?;
    let end = said.rfind('}')?;
    let object = said.get(start..=end)?;
    parse(object).or_else(|| parse(&object.replace('\'', "\"")))?.into_object()
}

/// Whether Python takes a value for true.
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
