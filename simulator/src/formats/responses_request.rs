//! `POST /v1/responses` as OpenAI's clients write it.
//!
//! Read are `model`, `instructions`, `input` (a text, or items: messages with `role` and `content`, `function_call` with `call_id`,
//! `name` and `arguments`, `function_call_output` with `call_id` and `output`, and `reasoning`), `tools`, `temperature`, `top_p`,
//! `max_output_tokens`, `stream` and `metadata`.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use regatta_proto::{ChatMessage, ChatRequest, ChatRole, Sampling, ToolCall};
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::content::{Content, SidedParts};
use super::offered_tools::offered;
use super::{ChatCall, Streaming};
use crate::api_error::ApiError;
use crate::identity::Metadata;
use crate::tokens::count_tokens;

#[derive(Deserialize)]
struct WireCall<'a> {
    #[serde(borrow)]
    model: Cow<'a, str>,
    instructions: Option<Arc<str>>,
    input: Input,
    #[serde(borrow)]
    tools: Option<&'a RawValue>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    max_output_tokens: Option<u32>,
    stream: Option<bool>,
    metadata: Option<Metadata>,
}

/// A text counts as one message of the user.
struct Input(Vec<Item>);

#[derive(Deserialize)]
#[serde(default)]
struct Item {
    /// Messages may leave it out.
    #[serde(rename = "type")]
    kind: Cow<'static, str>,
    role: Cow<'static, str>,
    content: Content<SidedParts>,
    call_id: Arc<str>,
    name: Arc<str>,
    arguments: Arc<str>,
    output: Content<SidedParts>,
}

impl Default for Item {
    fn default() -> Self {
        Self {
            kind: "message".into(),
            role: "".into(),
            content: Content::default(),
            call_id: "".into(),
            name: "".into(),
            arguments: "".into(),
            output: Content::default(),
        }
    }
}

pub(super) fn parse(body: &[u8]) -> Result<ChatCall<'_>, ApiError> {
    let wire: WireCall<'_> = serde_json::from_slice(body)
        .map_err(|error| ApiError::bad_request(None, format!("failed to read the responses request: {error}")))?;
    if wire.max_output_tokens == Some(0) {
        let message = "`max_output_tokens` is 0; ask for at least one token";
        return Err(ApiError::bad_request(Some("max_output_tokens"), message));
    }
    let instructions = wire.instructions.map(|text| ChatMessage::new(ChatRole::System, text));
    let mut messages: Vec<ChatMessage> = instructions.into_iter().collect();
    for item in wire.input.0 {
        append(&mut messages, item)?;
    }
    if messages.is_empty() {
        return Err(ApiError::bad_request(Some("input"), "`input` is empty; send a text or at least one item"));
    }
    let sampling =
        Sampling { temperature: wire.temperature, top_p: wire.top_p, max_tokens: wire.max_output_tokens, seed: None };
    Ok(ChatCall {
        model: wire.model,
        request: ChatRequest { tools: offered(wire.tools), ..ChatRequest::new(messages, sampling) },
        tool_tokens: wire.tools.map_or(0, |tools| count_tokens(tools.get())),
        streaming: wire.stream.unwrap_or(false).then_some(Streaming { include_usage: true }),
        metadata: wire.metadata.unwrap_or_default(),
    })
}

/// Calls are items of their own here, and part of the assistant's message with us.
fn append(messages: &mut Vec<ChatMessage>, item: Item) -> Result<(), ApiError> {
    let refused = |message: String| Err(ApiError::bad_request(Some("input"), message));
    match item.kind.as_ref() {
        "message" => {
            let role = match item.role.as_ref() {
                "system" | "developer" => ChatRole::System,
                "user" => ChatRole::User,
                "assistant" => ChatRole::Assistant,
                other => {
                    return refused(format!(
                        "a message of role {other:?}; expected system, developer, user or assistant"
                    ));
                }
            };
            messages.push(ChatMessage::new(role, item.content.text));
        }
        "function_call" => {
            let call = ToolCall { id: item.call_id, name: item.name, arguments: item.arguments };
            match messages.last_mut().filter(|last| last.role == ChatRole::Assistant) {
                Some(last) => last.tool_calls.push(call),
                None => {
                    messages.push(ChatMessage { tool_calls: vec![call], ..ChatMessage::new(ChatRole::Assistant, "") })
                }
            }
        }
        "function_call_output" => {
            let result = ChatMessage::new(ChatRole::Tool, item.output.text);
            messages.push(ChatMessage { tool_call_id: Some(item.call_id), ..result });
        }
        "reasoning" => {}
        other => return refused(format!("an item of type {other:?}; only messages and functions are simulated")),
    }
    Ok(())
}

impl<'de> Deserialize<'de> for Input {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InputVisitor;

        impl<'de> Visitor<'de> for InputVisitor {
            type Value = Input;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of items")
            }

            fn visit_str<E>(self, text: &str) -> Result<Input, E> {
                let content = Content::from_text(text);
                Ok(Input(vec![Item { role: "user".into(), content, ..Item::default() }]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Input, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = list.next_element()? {
                    items.push(item);
                }
                Ok(Input(items))
            }
        }

        deserializer.deserialize_any(InputVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_calls_and_their_results_are_read() {
        let body = r#"{"model": "m", "instructions": "be brief", "max_output_tokens": 9, "store": false, "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "one"}]},
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
            {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "a key"},
            {"type": "function_call", "call_id": "c2", "name": "take", "arguments": "{}"}
        ], "tools": [{"type": "function", "name": "look"}]}"#;
        let call = parse(body.as_bytes()).unwrap();
        let tool = |id: &str, name: &str| ToolCall { id: id.into(), name: name.into(), arguments: "{}".into() };
        assert_eq!(
            call.request.messages,
            [
                ChatMessage::new(ChatRole::System, "be brief"),
                ChatMessage::new(ChatRole::User, "one"),
                ChatMessage {
                    tool_calls: vec![tool("c1", "look")],
                    ..ChatMessage::new(ChatRole::Assistant, "I look.")
                },
                ChatMessage { tool_call_id: Some("c1".into()), ..ChatMessage::new(ChatRole::Tool, "a key") },
                ChatMessage { tool_calls: vec![tool("c2", "take")], ..ChatMessage::new(ChatRole::Assistant, "") },
            ]
        );
        assert_eq!((call.request.sampling.max_tokens, call.streaming), (Some(9), None));
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_a_reason() {
        let refusal = |input: &str| parse(format!(r#"{{"model": "m", {input}}}"#).as_bytes()).unwrap_err().message;
        insta::assert_snapshot!(
            [
                refusal(r#""input": []"#),
                refusal(r#""input": 1"#),
                refusal(r#""input": [{"role": "critic", "content": "x"}]"#),
                refusal(r#""input": [{"type": "computer_call"}]"#),
                refusal(r#""input": [{"role": "user", "content": [{"type": "input_image"}]}]"#),
                refusal(r#""input": "x", "max_output_tokens": 0"#),
            ]
            .join("\n")
        );
    }
}
