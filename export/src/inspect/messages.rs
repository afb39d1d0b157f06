//! Messages, and the pool in which each message of a sample is once, however many calls repeat it.

use std::collections::HashMap;

use regatta_proto::{ChatMessage, ChatRole, ModelRef, Reasoning, Reply, ToolCall};
use serde_json::{Value, json};

use crate::ids::derived;

/// Different messages of a sample, in the order in which they were first sent.
#[derive(Default)]
pub(super) struct Pool {
    places: HashMap<String, usize>,
    messages: Vec<Value>,
}

impl Pool {
    /// Ranges of the pool, which begin with a place and end before one, that are `messages`.
    pub(super) fn ranges(&mut self, sample: &str, messages: &[ChatMessage]) -> Value {
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for message in messages {
            let place = self.place(sample, message);
            match ranges.last_mut() {
                Some((_, end)) if *end == place => *end += 1,
                _ => ranges.push((place, place + 1)),
            }
        }
        json!(ranges)
    }

    fn place(&mut self, sample: &str, message: &ChatMessage) -> usize {
        let content = told(message);
        let known = self.messages.len();
        let place = *self.places.entry(content.to_string()).or_insert(known);
        if place == known {
            self.messages.push(named(sample, content));
        }
        place
    }

    pub(super) fn into_document(self) -> Value {
        json!({"messages": self.messages, "calls": []})
    }
}

/// `message` with an id, the same wherever it is in the sample.
pub(super) fn message(sample: &str, message: &ChatMessage) -> Value {
    named(sample, told(message))
}

fn named(sample: &str, mut message: Value) -> Value {
    message["id"] = derived(11, &[sample, &message.to_string()]).into();
    message
}

fn told(message: &ChatMessage) -> Value {
    match message.role {
        ChatRole::System => json!({"role": "system", "content": message.content}),
        ChatRole::User => json!({"role": "user", "content": message.shown()}),
        ChatRole::Tool => json!({"role": "tool", "content": message.content, "tool_call_id": message.tool_call_id}),
        ChatRole::Assistant => assistant(Some(&message.content), message.reasoning.as_ref(), &message.tool_calls),
    }
}

/// An answer of `model`.
pub(super) fn reply(sample: &str, reply: &Reply, model: Option<&ModelRef>) -> Value {
    let mut message = assistant(reply.text.as_deref(), reply.reasoning.as_ref(), &reply.tool_calls);
    message["source"] = "generate".into();
    if let Some(model) = model {
        message["model"] = model.to_string().into();
    }
    named(sample, message)
}

fn assistant(text: Option<&str>, reasoning: Option<&Reasoning>, calls: &[ToolCall]) -> Value {
    let text = text.unwrap_or_default();
    let content = match reasoning {
        None => json!(text),
        Some(thought) => {
            let mut part = json!({"type": "reasoning", "reasoning": thought.text, "redacted": false});
            if let Some(opaque) = &thought.opaque {
                part["signature"] = json!(opaque);
            }
            json!([part, {"type": "text", "text": text}])
        }
    };
    let mut message = json!({"role": "assistant", "content": content});
    if !calls.is_empty() {
        message["tool_calls"] = calls.iter().map(tool_call).collect();
    }
    message
}

fn tool_call(call: &ToolCall) -> Value {
    match serde_json::from_str::<serde_json::Map<String, Value>>(&call.arguments) {
        Ok(arguments) => json!({"id": call.id, "function": call.name, "arguments": arguments, "type": "function"}),
        Err(_) => json!({
            "id": call.id, "function": call.name, "arguments": {}, "type": "function",
            "parse_error": format!("the arguments are no JSON object: {}", call.arguments),
        }),
    }
}
