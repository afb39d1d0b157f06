//! Messages in the form of the conventions: a role and parts.

use regatta_proto::{ChatMessage, ChatRole, Image, Reply, Tool, ToolCall};
use regatta_traces::finish;
use serde_json::{Value, json};

/// `gen_ai.input.messages`.
pub(super) fn input(messages: &[ChatMessage]) -> Value {
    messages.iter().map(message).collect()
}

/// `gen_ai.output.messages`.
pub(super) fn output(reply: &Reply) -> Value {
    let thought = reply.reasoning.as_ref().map(|thought| &*thought.text);
    let parts = parts(reply.text.as_deref(), thought, &reply.tool_calls);
    json!([{"role": "assistant", "parts": parts, "finish_reason": finish(reply.finish)}])
}

/// `gen_ai.tool.definitions`.
pub(super) fn tools(tools: &[Tool]) -> Value {
    let tool = |tool: &Tool| json!({"type": "function", "name": tool.name, "description": tool.description, "parameters": tool.parameters});
    tools.iter().map(tool).collect()
}

fn message(message: &ChatMessage) -> Value {
    let role = match message.role {
        ChatRole::System => "system",
        ChatRole::User => "user",
        ChatRole::Assistant => "assistant",
        ChatRole::Tool => {
            let part = json!({"type": "tool_call_response", "id": message.tool_call_id, "response": message.content});
            return json!({"role": "tool", "parts": [part]});
        }
    };
    let thought = message.reasoning.as_ref().map(|thought| &*thought.text);
    let images = message.images.iter().map(image);
    let said: Vec<Value> = images.chain(parts(Some(&message.content), thought, &message.tool_calls)).collect();
    json!({"role": role, "parts": said})
}

/// The reference of an image. The file itself is in the data set.
fn image(image: &Image) -> Value {
    json!({
        "type": "file", "modality": "image", "mime_type": image.format.media_type(), "file_id": format!("sha256:{}", image.digest)
    })
}

fn parts(text: Option<&str>, thought: Option<&str>, calls: &[ToolCall]) -> Vec<Value> {
    let thought = thought.map(|thought| json!({"type": "reasoning", "content": thought}));
    // A message that only calls tools says nothing.
    let text = text.filter(|text| !text.is_empty() || calls.is_empty());
    let text = text.map(|text| json!({"type": "text", "content": text}));
    let call = |call: &ToolCall| {
        let arguments = serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!(call.arguments));
        json!({"type": "tool_call", "id": call.id, "name": call.name, "arguments": arguments})
    };
    thought.into_iter().chain(text).chain(calls.iter().map(call)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_a_file_that_is_named_by_its_digest_before_the_text() {
        let image = Image::of_base64("iVBORw0KGgo=").unwrap();
        let told = json!({
            "type": "file", "modality": "image", "mime_type": "image/png", "file_id": format!("sha256:{}", image.digest)
        });
        let asked = ChatMessage { images: vec![image], ..ChatMessage::new(ChatRole::User, "what?") };
        let parts = json!([told, {"type": "text", "content": "what?"}]);
        assert_eq!(input(&[asked]), json!([{"role": "user", "parts": parts}]));
    }
}
