//! An answer that could be given, before it is known whether and as what it is delivered.

use bytes::Bytes;
use regatta_proto::{Reply, Usage};
use regatta_serving::{Answer, Format as ChatFormat, Narrator, Stamp, Streaming};

use crate::counters::AnsweredItem;
use crate::formats::embeddings::Encoding;
use crate::formats::{Format, embeddings};

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
    Said { format: ChatFormat, reply: Reply },
    /// Texts to embed.
    Vectors { texts: Vec<String>, encoding: Encoding },
}

impl Draft {
    /// The whole answer, as JSON.
    pub(crate) fn whole(&self, stamp: &Stamp) -> Bytes {
        match &self.content {
            Content::Said { format, reply } => self.answer(reply, stamp).whole(*format),
            Content::Vectors { texts, encoding } => embeddings::list(self, texts, *encoding, stamp),
        }
    }

    /// The answer in pieces: who tells them, and what is told. `None` when the answer is to be given whole.
    pub(crate) fn narrated(&self, stamp: &Stamp) -> Option<(Box<dyn Narrator>, &Reply)> {
        let (Some(streaming), Content::Said { format, reply }) = (self.streaming, &self.content) else {
            return None;
        };
        Some((self.answer(reply, stamp).narrator(*format, streaming), reply))
    }

    fn answer<'a>(&'a self, reply: &'a Reply, stamp: &'a Stamp) -> Answer<'a> {
        Answer { model: &self.model, reply, usage: &self.usage, stamp }
    }
}
