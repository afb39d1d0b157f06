//! The task of an agent: a request as OpenAI's clients write it, and back again.

use std::sync::Arc;

use regatta_proto::{ChatMessage, ChatRequest, ItemId, Sampling, Tool, ToolCall};
use serde_json::{Value, json};

use super::written::tool_call;
use crate::DelegatedTask;

/// Input of an agent that is to answer `request`.
pub(super) fn input(item: &ItemId, task: &str, request: &ChatRequest) -> Value {
    let messages: Vec<Value> = request.messages.iter().map(message).collect();
    let mut input = json!({"item": item, "task": task, "messages": messages});
    if !request.tools.is_empty() {
        input["tools"] = request.tools.iter().map(definition).collect();
    }
    input
}

/// The request that `task` wants answered, with its messages and tools alone; `None` where the task is of another kind.
#[must_use]
pub fn asked(task: &DelegatedTask) -> Option<ChatRequest> {
    let list = |field: &str| task.input.get(field).and_then(Value::as_array);
    let messages = list("messages")?.iter().map(message_of).collect::<Option<_>>()?;
    let tools = list("tools").into_iter().flatten().map(tool_of).collect::<Option<_>>()?;
    Some(ChatRequest { tools, ..ChatRequest::new(messages, Sampling::default()) })
}

/// A message as OpenAI's clients write it.
fn message(message: &ChatMessage) -> Value {
    let mut written = json!({"role": message.role, "content": &message.content});
    if !message.tool_calls.is_empty() {
        written["tool_calls"] = message.tool_calls.iter().map(called).collect();
    }
    if let Some(id) = &message.tool_call_id {
        written["tool_call_id"] = json!(id);
    }
    written
}

fn message_of(written: &Value) -> Option<ChatMessage> {
    let text = |field: &str| written.get(field).and_then(Value::as_str);
    let role = serde_json::from_value(written.get("role")?.clone()).ok()?;
    let calls = written.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
    Some(ChatMessage {
        tool_calls: (1..).zip(calls).map(|(number, call)| tool_call(number, call)).collect::<Option<_>>()?,
        tool_call_id: text("tool_call_id").map(Into::into),
        ..ChatMessage::new(role, text("content")?)
    })
}

/// A call of a tool as OpenAI's clients write it.
fn called(call: &ToolCall) -> Value {
    json!({"id": &call.id, "type": "function", "function": {"name": &call.name, "arguments": &call.arguments}})
}

/// A tool as OpenAI's clients define it.
fn definition(tool: &Tool) -> Value {
    let mut function = json!({"name": &tool.name, "parameters": &tool.parameters});
    if let Some(description) = &tool.description {
        function["description"] = json!(description);
    }
    json!({"type": "function", "function": function})
}

fn tool_of(written: &Value) -> Option<Tool> {
    let function = written.get("function")?;
    Some(Tool {
        name: function.get("name")?.as_str()?.into(),
        description: function.get("description").and_then(Value::as_str).map(Into::into),
        parameters: Arc::new(function.get("parameters")?.clone()),
    })
}

#[cfg(test)]
mod tests {
    use regatta_proto::ChatRole;

    use super::*;

    #[test]
    fn a_request_comes_back_from_its_task() {
        let call = ToolCall { id: "c".into(), name: "find".into(), arguments: "{\"a\":1}".into() };
        let messages = vec![
            ChatMessage::new(ChatRole::System, "x"),
            ChatMessage { tool_calls: vec![call], ..ChatMessage::new(ChatRole::Assistant, "") },
            ChatMessage { tool_call_id: Some("c".into()), ..ChatMessage::new(ChatRole::Tool, "found") },
        ];
        let tool = |description: Option<&str>| Tool {
            name: "find".into(),
            description: description.map(Into::into),
            parameters: Arc::new(json!({"type": "object"})),
        };
        let tools = vec![tool(Some("Finds.")), tool(None)];
        let request = ChatRequest { tools, ..ChatRequest::new(messages, Sampling::default()) };
        let of = |input: Value| asked(&DelegatedTask { agent: "mine".parse().unwrap(), input });
        assert_eq!(of(input(&"item-1".parse().unwrap(), "a task", &request)), Some(request));
        assert_eq!(of(json!({"utterance": "wake me at six"})), None);
    }
}
