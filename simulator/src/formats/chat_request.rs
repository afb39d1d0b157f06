//! `POST /v1/chat/completions` as OpenAI's clients write it.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use regatta_proto::{ChatMessage, ChatRequest, ChatRole, Sampling};
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::api_error::ApiError;

/// One chat request.
#[derive(Debug)]
pub(crate) struct ChatCall<'a> {
    pub(crate) model: Cow<'a, str>,
    pub(crate) request: ChatRequest,
}

/// Fields that are not listed change nothing and are ignored.
#[derive(Deserialize)]
struct WireCall<'a> {
    #[serde(borrow)]
    model: Cow<'a, str>,
    messages: Vec<WireMessage>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    max_tokens: Option<u32>,
    max_completion_tokens: Option<u32>,
    seed: Option<i64>,
    stream: Option<bool>,
    n: Option<u32>,
}

#[derive(Deserialize)]
struct WireMessage {
    #[serde(deserialize_with = "role")]
    role: ChatRole,
    #[serde(default)]
    content: Content,
}

/// A text, a list of text parts, or `null`.
#[derive(Default)]
struct Content(Arc<str>);

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default, borrow)]
    text: Cow<'a, str>,
}

impl<'a> ChatCall<'a> {
    pub(crate) fn parse(body: &'a [u8]) -> Result<Self, ApiError> {
        let wire: WireCall<'a> = serde_json::from_slice(body)
            .map_err(|error| ApiError::bad_request(None, format!("failed to read the chat request: {error}")))?;
        if wire.stream == Some(true) {
            let message = "a simulated endpoint does not stream; leave `stream` out";
            return Err(ApiError::bad_request(Some("stream"), message));
        }
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
        let messages = wire.messages.into_iter().map(|message| ChatMessage::new(message.role, message.content.0));
        let sampling = Sampling {
            temperature: wire.temperature,
            top_p: wire.top_p,
            max_tokens,
            seed: wire.seed.map(i64::cast_unsigned),
        };
        Ok(Self { model: wire.model, request: ChatRequest::new(messages.collect(), sampling) })
    }
}

fn role<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ChatRole, D::Error> {
    match Cow::<str>::deserialize(deserializer)?.as_ref() {
        "system" | "developer" => Ok(ChatRole::System),
        "user" => Ok(ChatRole::User),
        "assistant" => Ok(ChatRole::Assistant),
        other => Err(D::Error::unknown_variant(other, &["system", "developer", "user", "assistant"])),
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ContentVisitor;

        impl<'de> Visitor<'de> for ContentVisitor {
            type Value = Content;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of text parts")
            }

            fn visit_str<E>(self, text: &str) -> Result<Content, E> {
                Ok(Content(Arc::from(text)))
            }

            fn visit_unit<E>(self) -> Result<Content, E> {
                Ok(Content::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Content, A::Error> {
                let mut text = String::new();
                while let Some(part) = parts.next_element::<Part<'_>>()? {
                    if part.kind != "text" {
                        return Err(A::Error::custom(format!(
                            "a part of type {:?}; only text is simulated",
                            part.kind
                        )));
                    }
                    text.push_str(&part.text);
                }
                Ok(Content(text.into()))
            }
        }

        deserializer.deserialize_any(ContentVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(body: &str) -> String {
        ChatCall::parse(body.as_bytes()).unwrap_err().message
    }

    #[test]
    fn every_way_to_write_a_message_is_read() {
        let body = r#"{"model": "m", "messages": [
            {"role": "developer", "content": "be\nbrief"},
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            {"role": "assistant", "content": null},
            {"role": "assistant"}
        ], "temperature": 0.5, "max_tokens": 9, "max_completion_tokens": 7, "seed": 3, "user": "x"}"#;
        let call = ChatCall::parse(body.as_bytes()).unwrap();
        assert_eq!(
            call.request,
            ChatRequest::new(
                vec![
                    ChatMessage::new(ChatRole::System, "be\nbrief"),
                    ChatMessage::new(ChatRole::User, "ab"),
                    ChatMessage::new(ChatRole::Assistant, ""),
                    ChatMessage::new(ChatRole::Assistant, ""),
                ],
                Sampling { temperature: Some(0.5), top_p: None, max_tokens: Some(7), seed: Some(3) },
            )
        );
    }

    #[test]
    fn what_cannot_be_simulated_is_refused_with_a_reason() {
        let with =
            |field: &str| format!(r#"{{"model": "m", "messages": [{{"role": "user", "content": "x"}}], {field}}}"#);
        let image = r#"{"model": "m", "messages": [{"role": "user", "content": [{"type": "image_url"}]}]}"#;
        let tool = r#"{"model": "m", "messages": [{"role": "tool", "content": "x"}]}"#;
        insta::assert_snapshot!(
            [
                refusal(&with("\"stream\": true")),
                refusal(&with("\"n\": 2")),
                refusal(&with("\"max_tokens\": 0")),
                refusal(r#"{"model": "m", "messages": []}"#),
                refusal(image),
                refusal(tool),
                refusal("{"),
            ]
            .join("\n")
        );
    }
}
