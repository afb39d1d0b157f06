//! Functions that a model may call, from a column.

use std::sync::Arc;

use regatta_benchmarks::DataError;
use regatta_proto::Tool;
use serde_json::{Value, json};

use crate::data::{Record, Split};
use crate::definition::{Definition, Source};

/// The functions of each record; none where the definition names no column.
///
/// # Errors
/// When a function has no name, or its parameters are no object.
pub(crate) fn tools(source: &Source, definition: &Definition, split: &Split) -> Result<Vec<Vec<Tool>>, DataError> {
    let Some(column) = &definition.prompt.tools else { return Ok(vec![Vec::new(); split.records.len()]) };
    let of_record = |record: &Record| {
        let problem = |problem: &str| {
            let place = format!("{} line {}, column {column:?}", split.path, record.line);
            source.problem("prompt.tools", format!("{place}: {problem}"))
        };
        let list = record
            .fields
            .get(column)
            .and_then(Value::as_array)
            .ok_or_else(|| problem("must be a list of functions"))?;
        list.iter().map(|value| tool(value).map_err(problem)).collect()
    };
    split.records.iter().map(of_record).collect()
}

/// A function as OpenAI describes it, bare or as `{"type": "function", "function": …}`.
fn tool(value: &Value) -> Result<Tool, &'static str> {
    let function = value.get("function").filter(|function| function.is_object()).unwrap_or(value);
    let name = function.get("name").and_then(Value::as_str).ok_or("each function must have a `name`")?;
    let name = name.replace('.', "_");
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')) {
        return Err("the name of a function must be of letters, digits, '_', '-' and '.'");
    }
    let parameters = match function.get("parameters") {
        None => json!({ "type": "object", "properties": {} }),
        Some(parameters @ Value::Object(_)) => as_json_schema(parameters),
        Some(_) => return Err("the `parameters` of a function must be a JSON Schema, an object"),
    };
    let description = function.get("description").and_then(Value::as_str).map(Arc::from);
    Ok(Tool { name: name.into(), description, parameters: Arc::new(parameters) })
}

/// With the types that JSON Schema knows in place of Python's, which some data sets have.
fn as_json_schema(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| {
                let value = match (name.as_str(), value.as_str()) {
                    ("type", Some("dict")) => "object".into(),
                    ("type", Some("float")) => "number".into(),
                    ("type", Some("tuple")) => "array".into(),
                    _ => as_json_schema(value),
                };
                (name.clone(), value)
            })
            .collect(),
        Value::Array(values) => values.iter().map(as_json_schema).collect(),
        other => other.clone(),
    }
}
