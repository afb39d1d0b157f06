//! Calls of functions against those of the gold, by their parts, as BFCL compares them.
//!
//! A gold call gives each argument its allowed values: `{"book": {"city": ["Oslo", "Oslo, Norway"], "nights": [2], "breakfast": ["", true]}}`.
//! An empty text among them says that the argument may be left out. Texts are compared without case, spaces and the signs `,./-_*^`;
//! numbers by what they are worth.

use regatta_proto::ToolCall;
use serde_json::{Map, Value, json};

use crate::answer::find_json;

/// A call that a model made.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    name: String,
    /// `None`: the arguments are no JSON object.
    arguments: Option<Map<String, Value>>,
}

/// A call that is to be made.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GoldCall {
    name: String,
    /// Allowed values by argument.
    arguments: Map<String, Value>,
}

impl GoldCall {
    /// Reads the calls of a gold column.
    ///
    /// # Errors
    /// With what is not of the form above.
    pub(super) fn read_all(value: &Value) -> Result<Vec<Self>, String> {
        let calls = value.as_array().ok_or("must be a list of calls")?;
        calls.iter().map(Self::read).collect()
    }

    fn read(value: &Value) -> Result<Self, String> {
        let form = || format!("a call must be {{NAME: {{ARGUMENT: [allowed values]}}}}, is {value}");
        let call = value.as_object().filter(|call| call.len() == 1).ok_or_else(form)?;
        let (name, arguments) = call.iter().next().ok_or_else(form)?;
        let arguments = arguments.as_object().ok_or_else(form)?;
        if !arguments.values().all(|allowed| allowed.as_array().is_some_and(|values| !values.is_empty())) {
            return Err(form());
        }
        Ok(Self { name: name.clone(), arguments: arguments.clone() })
    }

    fn is_made_by(&self, call: &Call) -> bool {
        let Some(arguments) = &call.arguments else { return false };
        bare_name(&self.name) == bare_name(&call.name) && fit(arguments, &self.arguments)
    }
}

/// Calls of a reply.
pub(super) fn of_tools(calls: &[ToolCall]) -> Vec<Call> {
    let read = |call: &ToolCall| {
        let arguments = if call.arguments.trim().is_empty() { Some(json!({})) } else { find_json(&call.arguments) };
        let arguments = arguments.and_then(|value| value.as_object().cloned());
        Call { name: call.name.to_string(), arguments }
    };
    calls.iter().map(read).collect()
}

/// Calls that JSON holds: `{"name", "arguments"}` or `{NAME: {…}}`, one or a list. `None` where it is something else.
pub(super) fn of_json(value: &Value) -> Option<Vec<Call>> {
    let one = |value: &Value| {
        let object = value.as_object()?;
        if let Some(name) = object.get("name").and_then(Value::as_str) {
            let arguments = object.get("arguments").or_else(|| object.get("parameters"));
            let arguments = match arguments {
                Some(Value::String(text)) => find_json(text)?.as_object().cloned(),
                Some(arguments) => arguments.as_object().cloned(),
                None => Some(Map::new()),
            };
            return Some(Call { name: name.to_owned(), arguments });
        }
        let (name, arguments) = object.iter().next().filter(|_| object.len() == 1)?;
        Some(Call { name: name.clone(), arguments: Some(arguments.as_object()?.clone()) })
    };
    match value {
        Value::Array(values) => values.iter().map(one).collect(),
        other => Some(vec![one(other)?]),
    }
}

/// Name and arguments of a right call: the first allowed value of each argument that must be there.
pub(crate) fn right_call(call: &GoldCall) -> (String, Map<String, Value>) {
    let arguments = call
        .arguments
        .iter()
        .filter(|(_, allowed)| !may_be_left_out(allowed))
        .filter_map(|(name, allowed)| Some((name.clone(), first_allowed(allowed.get(0)?))))
        .collect();
    (bare_name(&call.name), arguments)
}

/// A right call as a text holds it.
pub(crate) fn call_as_json(call: &GoldCall) -> Value {
    let (name, arguments) = right_call(call);
    json!({ "name": name, "arguments": arguments })
}

/// A value that is allowed; of an object, whose fields have lists of allowed values too, the first of each.
fn first_allowed(value: &Value) -> Value {
    let Value::Object(fields) = value else { return value.clone() };
    let field = |(name, allowed): (&String, &Value)| {
        let value = allowed.as_array().and_then(|values| values.first()).unwrap_or(allowed);
        (name.clone(), first_allowed(value))
    };
    Value::Object(fields.iter().filter(|(_, allowed)| !may_be_left_out(allowed)).map(field).collect())
}

/// `true` if the calls are those of the gold, all of them and no other.
pub(super) fn are_right(made: &[Call], gold: &[GoldCall], in_order: bool) -> bool {
    if made.len() != gold.len() {
        return false;
    }
    if in_order {
        return gold.iter().zip(made).all(|(gold, call)| gold.is_made_by(call));
    }
    let mut left: Vec<&Call> = made.iter().collect();
    gold.iter().all(|gold| {
        let at = left.iter().position(|call| gold.is_made_by(call));
        at.map(|at| left.remove(at)).is_some()
    })
}

/// Providers allow no dots in names.
fn bare_name(name: &str) -> String {
    name.replace('.', "_")
}

fn may_be_left_out(allowed: &Value) -> bool {
    allowed.as_array().is_some_and(|values| values.iter().any(|value| value.as_str() == Some("")))
}

/// `true` if every argument is allowed, and none is missing.
fn fit(arguments: &Map<String, Value>, allowed: &Map<String, Value>) -> bool {
    let is_there = |(name, allowed): (&String, &Value)| arguments.contains_key(name) || may_be_left_out(allowed);
    let is_allowed = |(name, value): (&String, &Value)| match allowed.get(name) {
        Some(Value::Array(values)) => values.iter().any(|allowed| is_value(value, allowed)),
        Some(allowed) => is_value(value, allowed),
        None => false,
    };
    allowed.iter().all(is_there) && arguments.iter().all(is_allowed)
}

fn is_value(value: &Value, allowed: &Value) -> bool {
    match (value, allowed) {
        (Value::String(value), Value::String(allowed)) => standard(value) == standard(allowed),
        (Value::Number(value), Value::Number(allowed)) => value == allowed || value.as_f64() == allowed.as_f64(),
        (Value::Array(value), Value::Array(allowed)) => {
            value.len() == allowed.len() && value.iter().zip(allowed).all(|(value, allowed)| is_value(value, allowed))
        }
        (Value::Object(value), Value::Object(allowed)) => fit(value, allowed),
        (value, allowed) => value == allowed,
    }
}

fn standard(text: &str) -> String {
    let kept = text.chars().filter(|c| !matches!(c, ' ' | ',' | '.' | '/' | '-' | '_' | '*' | '^'));
    kept.collect::<String>().to_lowercase().replace('\'', "\"")
}
