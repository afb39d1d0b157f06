//! The wire formats of an endpoint, all at one address: those of chats ([`regatta_serving`]) and OpenAI's embeddings (`/v1/embeddings`;
//! field names from OpenAI's API reference, "Embeddings").
//!
//! Every route is also served without the version, for clients whose base address has it already. Requests may have images, tools, tool calls
//! and their results; answers have text and calls. What a request asks of the form of its answer is obeyed where nobody has an answer
//! ([`constraints`]); log-probabilities are made up where they are asked for. Other fields are ignored, because no simulated model uses them.

use std::borrow::Cow;

use regatta_proto::ChatRequest;
use regatta_serving::{Format as ChatFormat, Reading, Streaming};
use serde_json::value::RawValue;

use crate::api_error::{ApiError, Dialect};
use crate::identity::Metadata;
use crate::tokens::{IMAGE_TOKENS, count_tokens};

pub(crate) mod constraints;
pub(crate) mod embeddings;
pub(crate) mod embeddings_answer;

/// The wire format of a request and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// One of the formats of chats.
    Chat(ChatFormat),
    /// OpenAI's embeddings.
    Embeddings,
}

/// A request to a chat model, in any of the formats.
#[derive(Debug)]
pub(crate) struct ChatCall<'a> {
    pub(crate) model: Cow<'a, str>,
    pub(crate) request: ChatRequest,
    /// Tokens of the tools, because `request` has only their names.
    pub(crate) tool_tokens: u64,
    /// Options of the stream; `None` for a whole answer.
    pub(crate) streaming: Option<Streaming>,
    /// The session, as far as the body names it.
    pub(crate) metadata: Metadata,
    /// The tools and all fields that are not read above, as the client wrote them.
    pub(crate) tools: Option<&'a RawValue>,
    pub(crate) unread: Vec<(Cow<'a, str>, &'a RawValue)>,
}

impl Format {
    /// Path at which the format is served.
    pub(crate) const fn route(self) -> &'static str {
        match self {
            Self::Chat(format) => format.route(),
            Self::Embeddings => "/v1/embeddings",
        }
    }

    /// The format served at `path`, with or without the version.
    pub(crate) fn at(path: &str) -> Option<Self> {
        match path {
            "/v1/embeddings" | "/embeddings" => Some(Self::Embeddings),
            _ => ChatFormat::at(path).map(Self::Chat),
        }
    }

    /// The provider whose errors and headers the format has.
    pub(crate) const fn dialect(self) -> Dialect {
        match self {
            Self::Chat(format) => format.dialect(),
            Self::Embeddings => Dialect::Openai,
        }
    }
}

impl<'a> ChatCall<'a> {
    /// Reads the body of a request in `format`.
    pub(crate) fn parse(format: ChatFormat, body: &'a [u8]) -> Result<Self, ApiError> {
        let call = regatta_serving::ChatCall::parse(format, body, Reading::Gist)?;
        Ok(Self {
            model: call.model,
            request: call.request,
            tool_tokens: call.tools.map_or(0, |tools| count_tokens(tools.get())),
            streaming: call.streaming,
            metadata: call.metadata.map(RawValue::get).map_or_else(|| Ok(Metadata::default()), Metadata::from_json)?,
            tools: call.tools,
            unread: call.unread,
        })
    }

    /// Tokens of the whole prompt.
    pub(crate) fn prompt_tokens(&self) -> u64 {
        let messages = self.request.messages.iter().map(|message| {
            let calls = message.tool_calls.iter().map(|call| count_tokens(&call.name) + count_tokens(&call.arguments));
            count_tokens(&message.content) + calls.sum::<u64>() + message.images.len() as u64 * IMAGE_TOKENS
        });
        messages.sum::<u64>() + self.tool_tokens
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_model_reads_is_counted_in_messages_calls_and_tools() {
        let body = br#"{"model": "m", "messages": [
            {"role": "developer", "content": "be\nbrief"},
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{\"at\": 1}"}}
            ]},
            {"role": "tool", "tool_call_id": "c1", "content": "a key"}
        ], "tools": [{"type": "function"}]}"#;
        let call = ChatCall::parse(ChatFormat::Chat, body).unwrap();
        assert_eq!(call.tool_tokens, 6);
        // Tokens: be brief (2), ab (1), the call (1 + 3), its result (2), and the tools.
        assert_eq!(call.prompt_tokens(), 2 + 1 + 4 + 2 + 6);
    }

    #[test]
    fn an_image_has_a_price_in_tokens_however_small_it_is() {
        let body = br#"{"model": "m", "messages": [{"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}, {"type": "text", "text": "what?"}
        ]}]}"#;
        let call = ChatCall::parse(ChatFormat::Chat, body).unwrap();
        assert_eq!(call.prompt_tokens(), IMAGE_TOKENS + count_tokens("what?"));
    }

    #[test]
    fn every_format_is_served_with_the_version_and_without() {
        for format in ChatFormat::ALL.map(Format::Chat).into_iter().chain([Format::Embeddings]) {
            assert_eq!(Format::at(format.route()), Some(format));
            assert_eq!(Format::at(format.route().strip_prefix("/v1").unwrap()), Some(format));
        }
        assert_eq!(Format::at("/v1/audio"), None);
    }
}
