//! The published schema of tasks describes what agents are given.

use std::sync::Arc;

use regatta_proto::{
    AgentName, ChatMessage, ChatRequest, ChatRole, Image, ItemId, Sampling, Tool, ToolCall, Transcript,
};
use serde_json::{Value, json};

use super::step;
use crate::Step;

const SCHEMA: &str = include_str!("../../schemas/task.schema.json");

/// Fails where `value` has a field that `schema` does not describe, or lacks one that it requires.
fn assert_described(value: &Value, schema: &Value, place: &str) {
    match value {
        Value::Object(fields) => {
            let Some(known) = schema["properties"].as_object() else { return };
            for (name, field) in fields {
                let described = known.get(name).unwrap_or_else(|| panic!("{place}.{name} is not in the schema"));
                assert_described(field, described, &format!("{place}.{name}"));
            }
            for name in schema["required"].as_array().into_iter().flatten() {
                assert!(fields.contains_key(name.as_str().unwrap()), "{place} has no {name}");
            }
        }
        Value::Array(items) => items.iter().for_each(|item| assert_described(item, &schema["items"], place)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn every_field_of_a_task_is_in_the_published_schema_and_required_ones_are_there() {
    let agent: AgentName = "mine".parse().unwrap();
    let item: ItemId = "item-1".parse().unwrap();
    let call = ToolCall { id: "c".into(), name: "find".into(), arguments: "{}".into() };
    let png = Image::of_base64("iVBORw0KGgo=").unwrap();
    let messages = vec![
        ChatMessage::new(ChatRole::System, "x"),
        ChatMessage::new(ChatRole::User, "y"),
        ChatMessage { images: vec![png], ..ChatMessage::new(ChatRole::User, "z") },
        ChatMessage { tool_calls: vec![call], ..ChatMessage::new(ChatRole::Assistant, "") },
        ChatMessage { tool_call_id: Some("c".into()), ..ChatMessage::new(ChatRole::Tool, "z") },
    ];
    let parameters = Arc::new(json!({"type": "object", "properties": {}}));
    let tool = Tool { name: "find".into(), description: Some("Finds.".into()), parameters };
    let request = ChatRequest { tools: vec![tool], ..ChatRequest::new(messages, Sampling::default()) };
    let Step::Delegate(task) = step(&agent, &item, "a task", &request, &Transcript::default()) else { panic!() };
    let mut input = task.input;
    // Workers add these to every task.
    for name in ["base_url", "tools_url", "api_key", "model", "authorities"] {
        input[name] = json!("x");
    }
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    assert_described(&input, &schema, "task");
}
