//! The task of an agent: a request as OpenAI's clients write it, and back again.

use std::sync::Arc;

use regatta_proto::{ChatMessage, ChatRequest, Image, ItemId, Sampling, Tool, ToolCall};
use serde_json::{Value, json};

use super::written::tool_call;
use crate::DelegatedTask;

/// Input of an agent that is to answer `request`.
///
/// # Errors
/// A sentence, when the bytes of an image are not here: an agent that does not see it would be scored on what it was not asked.
pub(super) fn input(item: &ItemId, task: &str, request: &ChatRequest) -> Result<Value, String> {
    let messages: Vec<Value> = request.messages.iter().map(message).collect::<Result<_, _>>()?;
    let mut input = json!({"item": item, "task": task, "messages": messages});
    if !request.tools.is_empty() {
        input["tools"] = request.tools.iter().map(definition).collect();
    }
    Ok(input)
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
fn message(message: &ChatMessage) -> Result<Value, String> {
    let mut written = json!({"role": message.role, "content": content(message)?});
    if !message.tool_calls.is_empty() {
        written["tool_calls"] = message.tool_calls.iter().map(called).collect();
    }
    if let Some(id) = &message.tool_call_id {
        written["tool_call_id"] = json!(id);
    }
    Ok(written)
}

/// The content of a message: its text or, where it shows images, these before the text, as parts.
fn content(message: &ChatMessage) -> Result<Value, String> {
    if message.images.is_empty() {
        return Ok(json!(&message.content));
    }
    let image = |image: &Image| -> Result<Value, String> {
        let url = format!("data:{};base64,{}", image.format.media_type(), image.base64()?);
        Ok(json!({"type": "image_url", "image_url": {"url": url}}))
    };
    let mut parts = message.images.iter().map(image).collect::<Result<Vec<_>, _>>()?;
    if !message.content.is_empty() {
        parts.push(json!({"type": "text", "text": &message.content}));
    }
    Ok(Value::Array(parts))
}

/// The text and the images of a content.
fn content_of(written: &Value) -> Option<(String, Vec<Image>)> {
    if let Some(text) = written.as_str() {
        return Some((text.to_owned(), Vec::new()));
    }
    let (mut text, mut images) = (String::new(), Vec::new());
    for part in written.as_array()? {
        match part.get("type")?.as_str()? {
            "text" => text.push_str(part.get("text")?.as_str()?),
            "image_url" => {
                let url = part.get("image_url")?.get("url")?.as_str()?;
                let (_, bytes) = url.split_once(";base64,")?;
                images.push(Image::of_base64(bytes)?);
            }
            _ => return None,
        }
    }
    Some((text, images))
}

fn message_of(written: &Value) -> Option<ChatMessage> {
    let text = |field: &str| written.get(field).and_then(Value::as_str);
    let role = serde_json::from_value(written.get("role")?.clone()).ok()?;
    let calls = written.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
    let (said, images) = content_of(written.get("content")?)?;
    Some(ChatMessage {
        images,
        tool_calls: (1..).zip(calls).map(|(number, call)| tool_call(number, call)).collect::<Option<_>>()?,
        tool_call_id: text("tool_call_id").map(Into::into),
        ..ChatMessage::new(role, said)
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
        let png = Image::of_base64("iVBORw0KGgo=").unwrap();
        let messages = vec![
            ChatMessage::new(ChatRole::System, "x"),
            ChatMessage { images: vec![png.clone()], ..ChatMessage::new(ChatRole::User, "what is it?") },
            ChatMessage { images: vec![png], ..ChatMessage::new(ChatRole::User, "") },
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
        let input = input(&"item-1".parse().unwrap(), "a task", &request).unwrap();
        let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}});
        let asked = json!({"type": "text", "text": "what is it?"});
        assert_eq!(input["messages"][1], json!({"role": "user", "content": [image, asked]}));
        assert_eq!(of(input), Some(request));
        assert_eq!(of(json!({"utterance": "wake me at six"})), None);
    }

    #[test]
    fn an_image_that_is_not_here_is_no_task() {
        let known = serde_json::to_string(&Image::of_base64("iVBORw0KGgo=").unwrap()).unwrap();
        let images = vec![serde_json::from_str(&known).unwrap()];
        let shown = ChatMessage { images, ..ChatMessage::new(ChatRole::User, "what is it?") };
        let request = ChatRequest::new(vec![shown], Sampling::default());
        let problem = input(&"item-1".parse().unwrap(), "a task", &request).unwrap_err();
        assert!(problem.contains("is not at hand"), "{problem}");
    }
}
