//! An answer, whole or as a stream of events.

use bytes::Bytes;
use regatta_proto::{Reply, Usage};

use crate::call::Streaming;
use crate::format::Format;
use crate::sse_encoder::{SseEncoder, at_once};
use crate::{chat, messages, responses};

/// An answer to a chat request.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// Name of the model that answered.
    pub model: &'a str,
    /// The model's reply.
    pub reply: &'a Reply,
    /// Tokens that the reply took.
    pub usage: &'a Usage,
    /// The parts that are specific to this delivery.
    pub stamp: &'a Stamp,
}

/// Identifiers and cost that the delivery adds to an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Stamp {
    /// Unique for each answer, without the format's prefix.
    pub id: String,
    /// Seconds since 1970.
    pub created: i64,
    /// Dollars, where the cost is known and to be told.
    pub cost: Option<f64>,
    /// `system_fingerprint` of chat completions.
    pub fingerprint: Option<&'static str>,
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
