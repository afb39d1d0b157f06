//! `POST /v1/messages` as Anthropic's clients write it.
//!
//! Read are `model`, `max_tokens`, `system`, `messages` (`role`, `content`: a text, or blocks of type `text`, `tool_use` with `id`,
//! `name` and `input`, `tool_result` with `tool_use_id` and `content`, `thinking` and `redacted_thinking`), `tools`, `temperature`,
//! `top_p`, `stream` and `metadata.user_id`.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use regatta_proto::{ChatMessage, ChatRequest, ChatRole, Sampling, ToolCall};
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::content::{Content, PlainParts};
use super::offered_tools::offered;
use super::{ChatCall, Streaming};
use crate::api_error::ApiError;
use crate::identity::Metadata;
use crate::tokens::count_tokens;

#[derive(Deserialize)]
struct WireCall<'a> {
    #[serde(borrow)]
    model: Cow<'a, str>,
    max_tokens: u32,
    #[serde(default)]
    system: Content<PlainParts>,
    #[serde(borrow)]
    messages: Vec<WireMessage<'a>>,
    #[serde(borrow)]
    tools: Option<&'a RawValue>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    stream: Option<bool>,
    metadata: Option<WireMetadata<'a>>,
}

#[derive(Deserialize)]
struct WireMetadata<'a> {
    #[serde(borrow)]
    user_id: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct WireMessage<'a> {
    role: Side,
    #[serde(borrow)]
    content: Blocks<'a>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Side {
    User,
    Assistant,
}

/// A text counts as one block.
struct Blocks<'a>(Vec<Block<'a>>);

#[derive(Deserialize)]
#[serde(default)]
struct Block<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    text: Cow<'a, str>,
    id: Arc<str>,
    name: Arc<str>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    tool_use_id: Arc<str>,
    content: Content<PlainParts>,
}

impl Default for Block<'_> {
    fn default() -> Self {
        Self {
            kind: Cow::Borrowed(""),
            text: Cow::Borrowed(""),
            id: "".into(),
            name: "".into(),
            input: None,
            tool_use_id: "".into(),
            content: Content::default(),
        }
    }
}

pub(super) fn parse(body: &[u8]) -> Result<ChatCall<'_>, ApiError> {
    let wire: WireCall<'_> = serde_json::from_slice(body)
        .map_err(|error| ApiError::bad_request(None, format!("failed to read the messages request: {error}")))?;
    if wire.messages.is_empty() {
        return Err(ApiError::bad_request(Some("messages"), "`messages` is empty; send at least one"));
    }
    if wire.max_tokens == 0 {
        return Err(ApiError::bad_request(Some("max_tokens"), "`max_tokens` is 0; ask for at least one token"));
    }
    let system = (!wire.system.text.is_empty()).then(|| ChatMessage::new(ChatRole::System, wire.system.text));
    let mut messages: Vec<ChatMessage> = system.into_iter().collect();
    for WireMessage { role, content: Blocks(blocks) } in wire.messages {
        append(&mut messages, role, blocks)?;
    }
    let sampling =
        Sampling { temperature: wire.temperature, top_p: wire.top_p, max_tokens: Some(wire.max_tokens), seed: None };
    let user = wire.metadata.and_then(|metadata| metadata.user_id);
    Ok(ChatCall {
        model: wire.model,
        request: ChatRequest { tools: offered(wire.tools), ..ChatRequest::new(messages, sampling) },
        tool_tokens: wire.tools.map_or(0, |tools| count_tokens(tools.get())),
        streaming: wire.stream.unwrap_or(false).then_some(Streaming { include_usage: true }),
        metadata: user.map(|user| Metadata::from_text(&user)).unwrap_or_default(),
    })
}

/// One message of theirs is several of ours when it holds the results of tools.
fn append(messages: &mut Vec<ChatMessage>, side: Side, blocks: Vec<Block<'_>>) -> Result<(), ApiError> {
    let (mut text, mut calls, mut has_results) = (String::new(), Vec::new(), false);
    for block in blocks {
        match block.kind.as_ref() {
            "text" => text.push_str(&block.text),
            "tool_use" => {
                let arguments = block.input.map_or("{}", RawValue::get).into();
                calls.push(ToolCall { id: block.id, name: block.name, arguments });
            }
            "tool_result" => {
                has_results = true;
                let result = ChatMessage::new(ChatRole::Tool, block.content.text);
                messages.push(ChatMessage { tool_call_id: Some(block.tool_use_id), ..result });
            }
            "thinking" | "redacted_thinking" => {}
            other => {
                let message = format!("a block of type {other:?}; only text and tools are simulated");
                return Err(ApiError::bad_request(Some("messages"), message));
            }
        }
    }
    let role = match side {
        Side::User => ChatRole::User,
        Side::Assistant => ChatRole::Assistant,
    };
    if !has_results || !text.is_empty() {
        messages.push(ChatMessage { tool_calls: calls, ..ChatMessage::new(role, text) });
    }
    Ok(())
}

impl<'de: 'a, 'a> Deserialize<'de> for Blocks<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BlocksVisitor<'a>(PhantomData<&'a ()>);

        impl<'de: 'a, 'a> Visitor<'de> for BlocksVisitor<'a> {
            type Value = Blocks<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of blocks")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Blocks<'a>, E> {
                Ok(Blocks(vec![Block { kind: "text".into(), text: text.into(), ..Block::default() }]))
            }

            fn visit_str<E>(self, text: &str) -> Result<Blocks<'a>, E> {
                Ok(Blocks(vec![Block { kind: "text".into(), text: text.to_owned().into(), ..Block::default() }]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Blocks<'a>, A::Error> {
                let mut blocks = Vec::new();
                while let Some(block) = list.next_element::<Block<'a>>()? {
                    if block.kind.is_empty() {
                        return Err(A::Error::missing_field("type"));
                    }
                    blocks.push(block);
                }
                Ok(Blocks(blocks))
            }
        }

        deserializer.deserialize_any(BlocksVisitor(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_blocks_and_the_results_of_tools_are_read() {
        let body = r#"{"model": "m", "max_tokens": 9, "temperature": 0.5, "stream": true,
            "system": [{"type": "text", "text": "be\nbrief", "cache_control": {"type": "ephemeral"}}],
            "messages": [
                {"role": "user", "content": "one\n"},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": 1}}
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "a key"}]},
                    {"type": "text", "text": "go on"}
                ]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c2", "content": "nothing"}]}
            ], "tools": [{"name": "look"}], "tool_choice": {"type": "auto"}, "thinking": {"type": "enabled"}}"#;
        let call = parse(body.as_bytes()).unwrap();
        let look = ToolCall { id: "c1".into(), name: "look".into(), arguments: r#"{"at": 1}"#.into() };
        let result =
            |id: &str, text| ChatMessage { tool_call_id: Some(id.into()), ..ChatMessage::new(ChatRole::Tool, text) };
        let tools: Vec<&str> = call.request.tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(tools, ["look"]);
        assert_eq!(
            ChatRequest { tools: Vec::new(), ..call.request },
            ChatRequest::new(
                vec![
                    ChatMessage::new(ChatRole::System, "be\nbrief"),
                    ChatMessage::new(ChatRole::User, "one\n"),
                    ChatMessage { tool_calls: vec![look], ..ChatMessage::new(ChatRole::Assistant, "I look.") },
                    result("c1", "a key"),
                    ChatMessage::new(ChatRole::User, "go on"),
                    result("c2", "nothing"),
                ],
                Sampling { temperature: Some(0.5), top_p: None, max_tokens: Some(9), seed: None },
            )
        );
        assert!(call.streaming.is_some());
        assert_eq!(call.tool_tokens, 5);
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_a_reason() {
        let refusal = |body: &str| parse(body.as_bytes()).unwrap_err().message;
        let with = |content: &str| {
            format!(r#"{{"model": "m", "max_tokens": 1, "messages": [{{"role": "user", "content": {content}}}]}}"#)
        };
        insta::assert_snapshot!(
            [
                refusal(r#"{"model": "m", "messages": [{"role": "user", "content": "x"}]}"#),
                refusal(r#"{"model": "m", "max_tokens": 1, "messages": []}"#),
                refusal(r#"{"model": "m", "max_tokens": 0, "messages": [{"role": "user", "content": "x"}]}"#),
                refusal(r#"{"model": "m", "max_tokens": 1, "messages": [{"role": "system", "content": "x"}]}"#),
                refusal(&with(r#"[{"type": "image"}]"#)),
                refusal(&with(r#"[{"text": "x"}]"#)),
                refusal(&with("1")),
            ]
            .join("\n")
        );
    }
}
