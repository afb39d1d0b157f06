//! The wire formats that an endpoint speaks, all at one address.
//!
//! | format | route | source of the field names |
//! |---|---|---|
//! | [`chat`] | `/v1/chat/completions` | OpenAI's API reference, "Chat Completions" and its streaming events |
//! | [`messages`] | `/v1/messages` | Anthropic's API reference, "Messages", and its guide to streaming |
//! | [`responses`] | `/v1/responses` | OpenAI's API reference, "Responses" and its streaming events |
//! | [`embeddings`] | `/v1/embeddings` | OpenAI's API reference, "Embeddings" |
//!
//! Every route is also served without the version, for clients whose base address has or lacks it. Requests may hold tools, calls of
//! tools and their results; answers hold text and calls. Fields that are not listed in a format's request are ignored.

use std::borrow::Cow;

use regatta_proto::ChatRequest;

use crate::api_error::{ApiError, Dialect};
use crate::identity::Metadata;
use crate::tokens::count_tokens;

pub(crate) mod chat;
mod chat_request;
mod content;
pub(crate) mod embeddings;
pub(crate) mod messages;
mod messages_request;
pub(crate) mod narrator;
mod offered_tools;
pub(crate) mod responses;
mod responses_request;

/// What a request and its answer look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// OpenAI's chat completions.
    Chat,
    /// Anthropic's messages.
    Messages,
    /// OpenAI's responses.
    Responses,
    /// OpenAI's embeddings.
    Embeddings,
}

/// A request to a chat model, in whatever format it came.
#[derive(Debug)]
pub(crate) struct ChatCall<'a> {
    pub(crate) model: Cow<'a, str>,
    pub(crate) request: ChatRequest,
    /// Tokens of the tools, of which `request` has the names alone.
    pub(crate) tool_tokens: u64,
    /// How to stream the answer, if at all.
    pub(crate) streaming: Option<Streaming>,
    /// What the body says about the session.
    pub(crate) metadata: Metadata,
}

/// How an answer is streamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Streaming {
    /// Whether OpenAI's chat completions end with a chunk that tells the usage; the other formats always tell it.
    pub(crate) include_usage: bool,
}

impl Format {
    const ALL: [Self; 4] = [Self::Chat, Self::Messages, Self::Responses, Self::Embeddings];

    /// Where it is served.
    pub(crate) const fn route(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Messages => "/v1/messages",
            Self::Responses => "/v1/responses",
            Self::Embeddings => "/v1/embeddings",
        }
    }

    /// The format served at `path`, which may lack the version.
    pub(crate) fn at(path: &str) -> Option<Self> {
        let is_at = |format: &Self| format.route() == path || format.route().strip_prefix("/v1") == Some(path);
        Self::ALL.into_iter().find(is_at)
    }

    /// Whose manners its errors and headers have.
    pub(crate) const fn dialect(self) -> Dialect {
        match self {
            Self::Messages => Dialect::Anthropic,
            Self::Chat | Self::Responses | Self::Embeddings => Dialect::Openai,
        }
    }
}

impl<'a> ChatCall<'a> {
    /// Reads the body of a request in `format`, which is one of chats.
    pub(crate) fn parse(format: Format, body: &'a [u8]) -> Result<Self, ApiError> {
        match format {
            Format::Messages => messages_request::parse(body),
            Format::Responses => responses_request::parse(body),
            Format::Chat | Format::Embeddings => chat_request::parse(body),
        }
    }

    /// Tokens of everything that the model reads.
    pub(crate) fn prompt_tokens(&self) -> u64 {
        let messages = self.request.messages.iter().map(|message| {
            let calls = message.tool_calls.iter().map(|call| count_tokens(&call.name) + count_tokens(&call.arguments));
            count_tokens(&message.content) + calls.sum::<u64>()
        });
        messages.sum::<u64>() + self.tool_tokens
    }
}
