//! Descriptions of the apps as JSON.

use regatta_appbench::{Api as AppApi, App, Slot as AppSlot};
use serde_json::{Map, Value, json};

/// An app with its APIs.
pub(super) fn app(app: &App) -> Value {
    let apis: Vec<Value> = app.apis.iter().map(api).collect();
    json!({"name": app.name, "description": app.desc, "apis": apis})
}

/// The description of an API: its arguments as a JSON Schema, and its outputs.
pub(super) fn api(api: &AppApi) -> Value {
    let returns: Map<String, Value> = api.returns.iter().map(|slot| (slot.name.to_string(), property(slot))).collect();
    json!({
        "name": api.name,
        "description": api.desc,
        "has_side_effects": api.is_transactional,
        "arguments": arguments(api),
        "returns": returns,
    })
}

/// The schema of the arguments of an API. Other arguments are accepted with a warning, because gold plans have some.
pub(super) fn arguments(api: &AppApi) -> Map<String, Value> {
    let properties: Map<String, Value> = api.arguments().map(|slot| (slot.name.to_string(), property(slot))).collect();
    let required: Vec<Value> = api.required.iter().map(|slot| (*slot.name).into()).collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    schema.insert("required".to_owned(), required.into());
    schema
}

fn property(slot: &AppSlot) -> Value {
    let kind = match slot.kind.as_deref() {
        Some("int") => "integer",
        Some("float") => "number",
        Some("bool") => "boolean",
        // Dates and times are texts, and so are arguments without a type.
        _ => "string",
    };
    json!({"type": kind, "description": slot.desc})
}
