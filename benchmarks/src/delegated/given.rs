//! The task of an agent: a request as OpenAI's clients write it, and back again.

use std::sync::Arc;

use regatta_proto::{AgentName, ChatMessage, ChatRequest, Image, ItemId, Sampling, Tool, ToolCall};
use serde_json::{Value, json};

use super::written::tool_call;
use crate::{DelegatedTask, Step};

/// Step in which `agent` is to answer `request`.
pub(super) fn delegated(agent: &AgentName, item: &ItemId, task: &str, request: &ChatRequest) -> Step {
    match input(item, task, request) {
        Ok(input) => Step::Delegate(DelegatedTask { agent: agent.clone(), input }),
        Err(problem) => Step::Unfit(problem),
    }
}

/// Input of an agent that is to answer `request`.
///
/// # Errors
/// A sentence, when the bytes of an image are not here.
fn input(item: &ItemId, task: &str, request: &ChatRequest) -> Result<Value, String> {
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

/// The content of a message: its text, or images and the text. An agent has nothing of the data set, so it is given the files themselves.
fn content(message: &ChatMessage) -> Result<Value, String> {
    if message.images.is_empty() {
        return Ok(json!(&message.content));
    }
    let image = |image: &Image| Ok(json!({"type": "image_url", "image_url": {"url": image.data_url()?}}));
    let mut parts: Vec<Value> = message.images.iter().map(image).collect::<Result<_, String>>()?;
    if !message.content.trim().is_empty() {
        parts.push(json!({"type": "text", "text": &message.content}));
    }
    Ok(parts.into())
}

/// The images and the text of a content.
fn seen(content: &Value) -> Option<(Vec<Image>, &str)> {
    let Some(parts) = content.as_array() else { return Some((Vec::new(), content.as_str()?)) };
    let (mut images, mut text) = (Vec::new(), "");
    for part in parts {
        match part.get("type")?.as_str()? {
            "image_url" => images.push(Image::of_data_url(part.get("image_url")?.get("url")?.as_str()?)?),
            "text" => text = part.get("text")?.as_str()?,
            _ => return None,
        }
    }
    Some((images, text))
}

fn message_of(written: &Value) -> Option<ChatMessage> {
    let text = |field: &str| written.get(field).and_then(Value::as_str);
    let role = serde_json::from_value(written.get("role")?.clone()).ok()?;
    let calls = written.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
    let (images, content) = seen(written.get("content")?)?;
    Some(ChatMessage {
        images,
        tool_calls: (1..).zip(calls).map(|(number, call)| tool_call(number, call)).collect::<Option<_>>()?,
        tool_call_id: text("tool_call_id").map(Into::into),
        ..ChatMessage::new(role, content)
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

    /// The beginning of a PNG, and nothing more.
    fn image() -> Image {
        Image::of_base64("iVBORw0KGgo=").unwrap()
    }

    fn given(request: &ChatRequest) -> Result<Value, String> {
        input(&"item-1".parse().unwrap(), "a task", request)
    }

    #[test]
    fn a_request_comes_back_from_its_task() {
        let call = ToolCall { id: "c".into(), name: "find".into(), arguments: "{\"a\":1}".into() };
        let messages = vec![
            ChatMessage::new(ChatRole::System, "x"),
            ChatMessage { images: vec![image(), image()], ..ChatMessage::new(ChatRole::User, "y") },
            ChatMessage { images: vec![image()], ..ChatMessage::new(ChatRole::User, "") },
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
        assert_eq!(of(given(&request).unwrap()), Some(request));
        assert_eq!(of(json!({"utterance": "wake me at six"})), None);
    }

    #[test]
    fn an_agent_is_given_the_files_of_images_before_the_text_as_clients_write_them() {
        let message = ChatMessage { images: vec![image()], ..ChatMessage::new(ChatRole::User, "what?") };
        let request = ChatRequest::new(vec![message], Sampling::default());
        let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}});
        let content = json!([image, {"type": "text", "text": "what?"}]);
        assert_eq!(given(&request).unwrap()["messages"], json!([{"role": "user", "content": content}]));
    }

    #[test]
    fn no_agent_is_asked_about_an_image_that_it_cannot_be_given() {
        let recorded: Image = serde_json::from_value(serde_json::to_value(image()).unwrap()).unwrap();
        let message = ChatMessage { images: vec![recorded], ..ChatMessage::new(ChatRole::User, "what?") };
        let request = ChatRequest::new(vec![message], Sampling::default());
        let step = delegated(&"mine".parse().unwrap(), &"item-1".parse().unwrap(), "a task", &request);
        let Step::Unfit(problem) = step else { panic!() };
        assert!(problem.ends_with("is not at hand: only its digest is recorded"), "{problem}");
    }
}
