//! The formats of requests and answers, and the folder that reads or writes each.

use bytes::Bytes;
use regatta_proto::ClientFormat;

use crate::answer::Answer;
use crate::call::{ChatCall, Reading, Streaming};
use crate::error::{ApiError, Dialect};
use crate::reader::Reader;
use crate::sse_encoder::{SseEncoder, at_once};
use crate::{chat, messages, responses};

/// The wire format of a request to a chat model and of its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// OpenAI's chat completions.
    Chat,
    /// Anthropic's messages.
    Messages,
    /// OpenAI's responses.
    Responses,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::Chat, Self::Messages, Self::Responses];

    /// Path at which the format is served.
    #[must_use]
    pub const fn route(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Messages => "/v1/messages",
            Self::Responses => "/v1/responses",
        }
    }

    /// The format served at `path`, which may lack the version, for clients whose base address has or lacks it.
    #[must_use]
    pub fn at(path: &str) -> Option<Self> {
        let is_at = |format: &Self| format.route() == path || format.route().strip_prefix("/v1") == Some(path);
        Self::ALL.into_iter().find(is_at)
    }

    /// The format in requests that carry fields of their client.
    const fn clients(self) -> ClientFormat {
        match self {
            Self::Chat => ClientFormat::Chat,
            Self::Messages => ClientFormat::Messages,
            Self::Responses => ClientFormat::Responses,
        }
    }

    /// The provider whose errors and headers the format has.
    #[must_use]
    pub const fn dialect(self) -> Dialect {
        match self {
            Self::Messages => Dialect::Anthropic,
            Self::Chat | Self::Responses => Dialect::Openai,
        }
    }
}

impl<'a> ChatCall<'a> {
    /// Reads the body of a request in `format`.
    ///
    /// # Errors
    /// 400, naming the field at fault: one that cannot be read or, in a whole reading, with which accounts or transcripts would be untrue.
    pub fn parse(format: Format, body: &'a [u8], reading: Reading) -> Result<Self, ApiError> {
        let mut reader = Reader::new(reading);
        let mut call = match format {
            Format::Chat => chat::request::parse(body, &mut reader),
            Format::Messages => messages::request::parse(body, &mut reader),
            Format::Responses => responses::request::parse(body, &mut reader),
        }?;
        call.request.passed = reader.passed(format.clients(), body, &call.request.messages)?;
        call.left_out = reader.left_out.into_iter().collect();
        Ok(call)
    }
}

impl Answer<'_> {
    /// The whole answer as JSON.
    #[must_use]
    pub fn whole(&self, format: Format) -> Bytes {
        match format {
            Format::Chat => chat::answer::completion(self),
            Format::Messages => messages::answer::message(self),
            Format::Responses => responses::answer::response(self),
        }
    }

    /// The whole answer as events. Arguments that are no JSON object are written as in a whole answer, so that every client can assemble
    /// them.
    #[must_use]
    pub fn streamed(&self, format: Format, streaming: Streaming) -> Bytes {
        match format {
            Format::Messages => {
                let reply = messages::answer::with_objects(self.reply);
                at_once(Answer { reply: &reply, ..*self }.sse_encoder(format, streaming), &reply)
            }
            Format::Chat | Format::Responses => at_once(self.sse_encoder(format, streaming), self.reply),
        }
    }

    /// The SSE encoder that writes the answer piece by piece.
    #[must_use]
    pub fn sse_encoder(&self, format: Format, streaming: Streaming) -> Box<dyn SseEncoder> {
        match format {
            Format::Chat => Box::new(chat::answer::Chunks::new(self, streaming.include_usage)),
            Format::Messages => Box::new(messages::answer::Events::new(self)),
            Format::Responses => Box::new(responses::answer::Events::new(self)),
        }
    }
}
