//! `POST /v1/chat/completions` as OpenAI's clients write it.
//!
//! Read are `model`, `messages` (`role`, `content`, `tool_calls`, `tool_call_id`), `tools`, `temperature`, `top_p`, `max_tokens`,
//! `max_completion_tokens`, `seed`, `n` (1), `stream`, `stream_options.include_usage` and `metadata`.

use std::borrow::Cow;
use std::sync::Arc;

use regatta_proto::{ChatMessage, ChatRequest, ChatRole, Sampling, ToolCall};
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
    messages: Vec<WireMessage>,
    #[serde(borrow)]
    tools: Option<&'a RawValue>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    max_tokens: Option<u32>,
    max_completion_tokens: Option<u32>,
    seed: Option<i64>,
    n: Option<u32>,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    metadata: Option<Metadata>,
}

#[derive(Deserialize, Default)]
struct StreamOptions {
    include_usage: Option<bool>,
}

#[derive(Deserialize)]
struct WireMessage {
    #[serde(deserialize_with = "role")]
    role: ChatRole,
    #[serde(default)]
    content: Content<PlainParts>,
    tool_calls: Option<Vec<WireToolCall>>,
    tool_call_id: Option<Arc<str>>,
}

#[derive(Deserialize)]
struct WireToolCall {
    id: Arc<str>,
    function: WireFunction,
}

#[derive(Deserialize)]
struct WireFunction {
    name: Arc<str>,
    arguments: Arc<str>,
}

pub(super) fn parse(body: &[u8]) -> Result<ChatCall<'_>, ApiError> {
    let wire: WireCall<'_> = serde_json::from_slice(body)
        .map_err(|error| ApiError::bad_request(None, format!("failed to read the chat request: {error}")))?;
    if wire.n.is_some_and(|n| n != 1) {
        let message = "a simulated endpoint gives one choice; leave `n` out and repeat the request";
        return Err(ApiError::bad_request(Some("n"), message));
    }
    if wire.messages.is_empty() {
        return Err(ApiError::bad_request(Some("messages"), "`messages` is empty; send at least one"));
    }
    let max_tokens = wire.max_completion_tokens.or(wire.max_tokens);
    if max_tokens == Some(0) {
        return Err(ApiError::bad_request(Some("max_tokens"), "`max_tokens` is 0; ask for at least one token"));
    }
    let sampling = Sampling {
        temperature: wire.temperature,
        top_p: wire.top_p,
        max_tokens,
        seed: wire.seed.map(i64::cast_unsigned),
    };
    let include_usage = wire.stream_options.and_then(|options| options.include_usage).unwrap_or(false);
    Ok(ChatCall {
        model: wire.model,
        request: ChatRequest {
            tools: offered(wire.tools),
            ..ChatRequest::new(wire.messages.into_iter().map(Into::into).collect(), sampling)
        },
        tool_tokens: wire.tools.map_or(0, |tools| count_tokens(tools.get())),
        streaming: wire.stream.unwrap_or(false).then_some(Streaming { include_usage }),
        metadata: wire.metadata.unwrap_or_default(),
    })
}

impl From<WireMessage> for ChatMessage {
    fn from(message: WireMessage) -> Self {
        let calls = message.tool_calls.unwrap_or_default().into_iter().map(|WireToolCall { id, function }| ToolCall {
            id,
            name: function.name,
            arguments: function.arguments,
        });
        Self {
            tool_calls: calls.collect(),
            tool_call_id: message.tool_call_id,
            ..Self::new(message.role, message.content.text)
        }
    }
}

fn role<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ChatRole, D::Error> {
    use serde::de::Error as _;
    match Cow::<str>::deserialize(deserializer)?.as_ref() {
        "system" | "developer" => Ok(ChatRole::System),
        "user" => Ok(ChatRole::User),
        "assistant" => Ok(ChatRole::Assistant),
        "tool" => Ok(ChatRole::Tool),
        other => Err(D::Error::unknown_variant(other, &["system", "developer", "user", "assistant", "tool"])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(body: &str) -> String {
        parse(body.as_bytes()).unwrap_err().message
    }

    #[test]
    fn every_way_to_write_a_message_is_read() {
        let body = r#"{"model": "m", "messages": [
            {"role": "developer", "content": "be\nbrief"},
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{\"at\": 1}"}}
            ]},
            {"role": "tool", "tool_call_id": "c1", "content": "a key"},
            {"role": "assistant"}
        ], "temperature": 0.5, "max_tokens": 9, "max_completion_tokens": 7, "seed": 3, "user": "x", "stream": false,
        "tools": [{"type": "function"}], "tool_choice": "auto"}"#;
        let call = parse(body.as_bytes()).unwrap();
        let look = ToolCall { id: "c1".into(), name: "look".into(), arguments: "{\"at\": 1}".into() };
        assert_eq!(
            call.request,
            ChatRequest::new(
                vec![
                    ChatMessage::new(ChatRole::System, "be\nbrief"),
                    ChatMessage::new(ChatRole::User, "ab"),
                    ChatMessage { tool_calls: vec![look], ..ChatMessage::new(ChatRole::Assistant, "") },
                    ChatMessage { tool_call_id: Some("c1".into()), ..ChatMessage::new(ChatRole::Tool, "a key") },
                    ChatMessage::new(ChatRole::Assistant, ""),
                ],
                Sampling { temperature: Some(0.5), top_p: None, max_tokens: Some(7), seed: Some(3) },
            )
        );
        assert_eq!((call.streaming, call.tool_tokens), (None, 6));
        // Tokens: be brief (2), ab (1), the call (1 + 3), its result (2), and the tools.
        assert_eq!(call.prompt_tokens(), 2 + 1 + 4 + 2 + 6);
    }

    #[test]
    fn a_stream_may_be_asked_for_with_usage_and_without() {
        let streaming = |options: &str| {
            let body = format!(r#"{{"model": "m", "messages": [{{"role": "user", "content": "x"}}], {options}}}"#);
            parse(body.as_bytes()).unwrap().streaming.map(|streaming| streaming.include_usage)
        };
        assert_eq!(streaming(r#""stream": true"#), Some(false));
        assert_eq!(streaming(r#""stream": true, "stream_options": {"include_usage": true}"#), Some(true));
        assert_eq!(streaming(r#""stream": null, "stream_options": null"#), None);
    }

    #[test]
    fn what_cannot_be_simulated_is_refused_with_a_reason() {
        let with =
            |field: &str| format!(r#"{{"model": "m", "messages": [{{"role": "user", "content": "x"}}], {field}}}"#);
        let image = r#"{"model": "m", "messages": [{"role": "user", "content": [{"type": "image_url"}]}]}"#;
        let critic = r#"{"model": "m", "messages": [{"role": "critic", "content": "x"}]}"#;
        insta::assert_snapshot!(
            [
                refusal(&with("\"n\": 2")),
                refusal(&with("\"max_tokens\": 0")),
                refusal(r#"{"model": "m", "messages": []}"#),
                refusal(image),
                refusal(critic),
                refusal("{"),
            ]
            .join("\n")
        );
    }
}
