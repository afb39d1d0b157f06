//! Functions that a model may call, from a column.

use std::sync::Arc;

use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::kind_of;
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
        list.iter().map(|value| tool(value).map_err(|refused| problem(&refused))).collect()
    };
    split.records.iter().map(of_record).collect()
}

/// A function as OpenAI describes it, bare or as `{"type": "function", "function": …}`.
fn tool(value: &Value) -> Result<Tool, String> {
    let function = value.get("function").filter(|function| function.is_object()).unwrap_or(value);
    let written = function.get("name").and_then(Value::as_str).ok_or("each function must have a `name`")?;
    let name = written.replace('.', "_");
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')) {
        return Err(format!("the name {written:?} of a function must be of letters, digits, '_', '-' and '.'"));
    }
    let parameters = match function.get("parameters") {
        None => json!({ "type": "object", "properties": {} }),
        Some(parameters @ Value::Object(_)) => as_json_schema(parameters),
        Some(other) => {
            let kind = kind_of(other);
            return Err(format!(
                "the `parameters` of the function {written:?} must be a JSON Schema, an object, is {kind}"
            ));
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_that_cannot_be_offered_is_refused_by_name() {
        let refused = |function: Value| tool(&function).unwrap_err();
        assert_eq!(refused(json!({"function": {"parameters": {}}})), "each function must have a `name`");
        assert_eq!(
            refused(json!({"name": "book a room"})),
            "the name \"book a room\" of a function must be of letters, digits, '_', '-' and '.'"
        );
        assert_eq!(
            refused(json!({"name": "rooms.book", "parameters": ["room"]})),
            "the `parameters` of the function \"rooms.book\" must be a JSON Schema, an object, is an array"
        );
    }
}
