//! A possible answer, before faults and limits decide its delivery.

use bytes::Bytes;
use regatta_proto::{Reply, Usage};
use regatta_serving::{Answer, Format as ChatFormat, Keeping, SseEncoder, Stamp, Streaming};

use crate::formats::Format;
use crate::formats::embeddings_answer::{self, Encoding};
use crate::lexical::{embed, shortened};
use crate::session::AnsweredItem;

/// A model's answer, without the parts that depend on the delivery.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) format: Format,
    pub(crate) model: String,
    pub(crate) usage: Usage,
    pub(crate) item: Option<AnsweredItem>,
    /// Options of the stream; `None` for a whole answer. Only chats are streamed.
    pub(crate) streaming: Option<Streaming>,
    pub(crate) content: Content,
    /// Input that is kept with the answer, for requests that refer to it.
    pub(crate) keeping: Option<Keeping>,
}

/// Content of an answer.
#[derive(Debug)]
pub(crate) enum Content {
    /// The reply of a chat model.
    Said { format: ChatFormat, reply: Reply },
    /// Vectors of texts.
    Vectors { texts: Vec<String>, encoding: Encoding, dimensions: usize },
}

impl Draft {
    /// The whole answer as JSON.
    pub(crate) fn whole(&self, stamp: &Stamp) -> Bytes {
        match &self.content {
            Content::Said { format, reply } => self.answer(reply, stamp).whole(*format),
            Content::Vectors { texts, encoding, dimensions } => {
                let embedded = texts.iter().map(|text| shortened(&embed(text), *dimensions));
                embeddings_answer::list(&self.model, self.usage.input, embedded, *encoding, stamp)
            }
        }
    }

    /// The SSE encoder and the reply that it writes; `None` if the answer is to be sent whole.
    pub(crate) fn narrated(&self, stamp: &Stamp) -> Option<(Box<dyn SseEncoder>, &Reply)> {
        let (Some(streaming), Content::Said { format, reply }) = (self.streaming, &self.content) else {
            return None;
        };
        Some((self.answer(reply, stamp).sse_encoder(*format, streaming), reply))
    }

    fn answer<'a>(&'a self, reply: &'a Reply, stamp: &'a Stamp) -> Answer<'a> {
        Answer { model: &self.model, reply, usage: &self.usage, stamp, forms: None }
    }
}
