//! An answer, whole or to be told.

use bytes::Bytes;
use regatta_proto::{Reply, Usage};

use crate::call::Streaming;
use crate::format::Format;
use crate::narrator::{Narrator, at_once};
use crate::{chat, messages, responses};

/// What is answered to a request.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// Name of the model that answered.
    pub model: &'a str,
    /// What it said.
    pub reply: &'a Reply,
    /// What that took.
    pub usage: &'a Usage,
    /// What belongs to this sending of it.
    pub stamp: &'a Stamp,
}

/// What the delivery adds to an answer.
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
    /// All of it, as JSON.
    #[must_use]
    pub fn whole(&self, format: Format) -> Bytes {
        match format {
            Format::Chat => chat::answer::completion(self),
            Format::Messages => messages::answer::message(self),
            Format::Responses => responses::answer::response(self),
        }
    }

    /// All of it, as events. Arguments that are no object are said as in a whole answer, so that every client can put them together.
    #[must_use]
    pub fn streamed(&self, format: Format, streaming: Streaming) -> Bytes {
        match format {
            Format::Messages => {
                let reply = messages::answer::with_objects(self.reply);
                at_once(Answer { reply: &reply, ..*self }.narrator(format, streaming), &reply)
            }
            Format::Chat | Format::Responses => at_once(self.narrator(format, streaming), self.reply),
        }
    }

    /// Who tells it piece by piece, as events.
    #[must_use]
    pub fn narrator(&self, format: Format, streaming: Streaming) -> Box<dyn Narrator> {
        match format {
            Format::Chat => Box::new(chat::answer::Chunks::new(self, streaming.include_usage)),
            Format::Messages => Box::new(messages::answer::Events::new(self)),
            Format::Responses => Box::new(responses::answer::Events::new(self)),
        }
    }
}
