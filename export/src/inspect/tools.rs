//! Tools that a model was offered, in the part of JSON Schema that the format knows: readers refuse a log with another.

use regatta_proto::{Tool, ToolChoice};
use serde_json::{Map, Value, json};

const TYPES: [&str; 7] = ["string", "integer", "number", "boolean", "array", "object", "null"];

pub(super) fn tool(tool: &Tool) -> Value {
    let mut parameters = schema(&tool.parameters);
    parameters.retain(|name, _| ["properties", "required", "additionalProperties"].contains(&name.as_str()));
    parameters.insert("type".to_owned(), "object".into());
    json!({"name": tool.name, "description": tool.description.as_deref().unwrap_or_default(), "parameters": parameters})
}

pub(super) fn choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => "auto".into(),
        ToolChoice::None => "none".into(),
        ToolChoice::Required => "any".into(),
        ToolChoice::Named(name) => json!({"name": name}),
    }
}

/// The part of `schema` that the format knows; the rest is left out.
fn schema(schema: &Value) -> Map<String, Value> {
    let mut known = Map::new();
    for (name, value) in schema.as_object().into_iter().flatten() {
        let kept = match (name.as_str(), value) {
            ("type", Value::String(name)) => TYPES.contains(&name.as_str()).then(|| value.clone()),
            ("type", Value::Array(names)) => {
                let is_known = |name: &Value| name.as_str().is_some_and(|name| TYPES.contains(&name));
                names.iter().all(is_known).then(|| value.clone())
            }
            ("description" | "format", Value::String(_)) | ("enum", Value::Array(_)) | ("default", _) => {
                Some(value.clone())
            }
            ("items", Value::Object(_)) => Some(self::schema(value).into()),
            ("properties", Value::Object(fields)) => {
                let fields = fields.iter().map(|(name, field)| (name.clone(), self::schema(field).into()));
                Some(fields.collect::<Map<_, _>>().into())
            }
            ("anyOf", Value::Array(any)) => Some(any.iter().map(|one| Value::from(self::schema(one))).collect()),
            ("required", Value::Array(names)) => names.iter().all(Value::is_string).then(|| value.clone()),
            ("additionalProperties", Value::Bool(_)) => Some(value.clone()),
            _ => None,
        };
        known.extend(kept.map(|kept| (name.clone(), kept)));
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_format_does_not_know_of_a_schema_is_left_out() {
        let offered = Tool {
            name: "book".into(),
            description: None,
            parameters: json!({
                "type": "object", "$defs": {}, "required": ["city"],
                "properties": {"city": {"type": "string", "enum": ["A"], "const": "A"}, "n": {"type": ["integer", "null"]}, "x": {"type": "odd"}, "y": true},
            })
            .into(),
        };
        assert_eq!(
            tool(&offered),
            json!({"name": "book", "description": "", "parameters": {
                "required": ["city"],
                "properties": {"city": {"type": "string", "enum": ["A"]}, "n": {"type": ["integer", "null"]}, "x": {}, "y": {}},
                "type": "object",
            }})
        );
    }
}
