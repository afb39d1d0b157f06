//! An answer that could be given, before it is known whether and as what it is delivered.

use bytes::Bytes;
use regatta_proto::Usage;

use crate::counters::AnsweredItem;
use crate::formats::embeddings::Encoding;
use crate::formats::narrator::Narrator;
use crate::formats::{Format, Streaming, chat, embeddings, messages, responses};
use crate::said::Said;

/// What a model answers, without what depends on the delivery.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) format: Format,
    pub(crate) model: String,
    pub(crate) usage: Usage,
    pub(crate) item: Option<AnsweredItem>,
    /// How to stream it, if at all; only chats are streamed.
    pub(crate) streaming: Option<Streaming>,
    pub(crate) content: Content,
}

/// What it says.
#[derive(Debug)]
pub(crate) enum Content {
    /// Of a chat.
    Said(Said),
    /// Texts to embed.
    Vectors { texts: Vec<String>, encoding: Encoding },
}

/// What the delivery adds to a draft.
#[derive(Debug, Clone)]
pub(crate) struct Stamp {
    /// Unique for each sending of each request, without the format's prefix.
    pub(crate) id: String,
    /// Seconds since 1970.
    pub(crate) created: i64,
    /// Dollars, where the cost is known and to be told.
    pub(crate) cost: Option<f64>,
}

impl Draft {
    /// The whole answer, as JSON.
    pub(crate) fn whole(&self, stamp: &Stamp) -> Bytes {
        match &self.content {
            Content::Said(said) => match self.format {
                Format::Messages => messages::message(self, said, stamp),
                Format::Responses => responses::response(self, said, stamp),
                Format::Chat | Format::Embeddings => chat::completion(self, said, stamp),
            },
            Content::Vectors { texts, encoding } => embeddings::list(self, texts, *encoding, stamp),
        }
    }

    /// The answer in pieces: who tells them, and what is told. `None` when the answer is to be given whole.
    pub(crate) fn narrated(&self, stamp: &Stamp) -> Option<(Box<dyn Narrator>, &Said)> {
        let (Some(Streaming { include_usage }), Content::Said(said)) = (self.streaming, &self.content) else {
            return None;
        };
        let narrator: Box<dyn Narrator> = match self.format {
            Format::Messages => Box::new(messages::Events::new(self, said, stamp)),
            Format::Responses => Box::new(responses::Events::new(self, said, stamp)),
            Format::Chat | Format::Embeddings => Box::new(chat::Chunks::new(self, said, include_usage, stamp)),
        };
        Some((narrator, said))
    }
}
