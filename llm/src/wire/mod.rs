//! Wire formats: one provider's way to say a chat request and its answer. Pure translation; sending is `http`'s.
//!
//! A new format is a folder here that implements [`Format`], and a line in `http`.

pub(crate) mod anthropic;
pub(crate) mod arguments;
#[cfg(test)]
mod fuzz;
pub(crate) mod gemini;
#[cfg(test)]
pub(crate) mod golden;
pub(crate) mod hints;
pub(crate) mod openai;
pub(crate) mod provenance;
pub(crate) mod reading;
pub(crate) mod responses;
pub(crate) mod sse;
pub(crate) mod tool_calls;
pub(crate) mod trouble;

use std::time::Duration;

use bytes::Bytes;
use regatta_proto::{ChatRequest, Clock, Money, Reply, Served, Usage};
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::errors::Failure;
use crate::secret::Secret;
use crate::transport::Answer;
use crate::withheld::Withheld;

/// One provider's way to say things.
pub(crate) trait Format: Send + Sync + std::fmt::Debug {
    /// A chat request as it is sent. `stream` asks for the answer as server-sent events.
    ///
    /// # Errors
    /// With a sentence for people when this format cannot say something that was asked for (never silently dropped when it would change
    /// the answer).
    fn request(&self, model: &str, request: &ChatRequest, stream: bool) -> Result<Outgoing, String>;

    /// Reads a whole answer of any status.
    ///
    /// # Errors
    /// Whatever keeps it from being used, classified.
    fn answer(&self, answer: &Answer, context: &ReadContext<'_>) -> Result<Completion, Failure>;

    /// A reader of one streamed answer.
    fn stream(&self) -> Box<dyn StreamReader>;
}

/// A request as it is sent by `POST`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outgoing {
    /// Appended to the endpoint's base address; begins with `/`, may hold a query.
    pub(crate) path: String,
    /// Headers of this request alone.
    pub(crate) headers: HeaderMap,
    /// JSON.
    pub(crate) body: Bytes,
}

/// What readers need besides the answer.
#[derive(Clone, Copy)]
pub(crate) struct ReadContext<'a> {
    /// Cut out of everything that is kept.
    pub(crate) secret: &'a Secret,
    /// For headers that name a date.
    pub(crate) clock: &'a dyn Clock,
}

/// Reads one streamed answer, event by event. The status was a success; a 200 may still hold an error.
pub(crate) trait StreamReader: Send {
    /// Takes the next event. Says whether it held a part of the answer (text, reasoning or a tool call): the first one stops the clock of
    /// the time to the first token.
    ///
    /// # Errors
    /// When the event is an error, or cannot be read.
    fn event(&mut self, event: &ServerEvent<'_>, context: &ReadContext<'_>) -> Result<Part, Failure>;

    /// What was billed so far, as far as told: all that remains known of a stream that breaks off.
    fn usage(&self) -> Option<Usage>;

    /// The service tier of what was billed, as far as told.
    fn tier(&self) -> Option<&str>;

    /// The stream is over, regularly or not.
    ///
    /// # Errors
    /// When it ended before the answer did.
    fn end(self: Box<Self>, headers: &HeaderMap, context: &ReadContext<'_>) -> Result<Completion, Failure>;
}

/// One server-sent event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ServerEvent<'a> {
    /// Its `event:` field; empty when there was none.
    pub(crate) name: &'a str,
    /// Its `data:` lines, joined by line feeds.
    pub(crate) data: &'a str,
}

/// What an event was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// A part of the answer itself.
    Answer,
    /// Something about it.
    Other,
    /// The last one; what may follow is not read.
    End,
}

/// An answer that can be used.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Completion {
    pub(crate) reply: Reply,
    /// Why the answer was withheld, if it was; what is left of it is not the model's.
    pub(crate) withheld: Option<Withheld>,
    pub(crate) usage: Usage,
    /// Whether the meters that cost money were told.
    pub(crate) usage_is_known: bool,
    pub(crate) raw_usage: Option<Value>,
    /// The cost that the provider told.
    pub(crate) reported_cost: Option<Money>,
    pub(crate) served: Served,
    /// From sending the request to the first part of the answer; of streamed answers, set by the transport.
    pub(crate) first_token: Option<Duration>,
    pub(crate) hints: Hints,
}

/// What headers of any answer say about the endpoint's limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Hints {
    /// A limit is used up, and this is how long it takes until it is not: nothing should be sent before.
    pub(crate) exhausted_for: Option<Duration>,
}
