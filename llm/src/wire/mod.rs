//! Wire formats: each translates chat requests and answers to and from one provider's API. Pure; `http` sends them.
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
pub(crate) mod images;
pub(crate) mod openai;
pub(crate) mod provenance;
pub(crate) mod reading;
pub(crate) mod responses;
pub(crate) mod size;
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

/// A provider's wire format.
pub(crate) trait Format: Send + Sync + std::fmt::Debug {
    /// Writes a chat request. With `stream`, the request asks for server-sent events.
    ///
    /// # Errors
    /// A sentence for people, when this format cannot express a part of the request that would change the answer.
    fn request(&self, model: &str, request: &ChatRequest, stream: bool) -> Result<Outgoing, String>;

    /// Reads a whole answer of any status.
    ///
    /// # Errors
    /// A classified failure, if the answer is not usable.
    fn answer(&self, answer: &Answer, context: &ReadContext<'_>) -> Result<Completion, Failure>;

    /// Creates a reader of one streamed answer.
    fn stream(&self) -> Box<dyn StreamReader>;
}

/// The `POST` request to send.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outgoing {
    /// Path after the endpoint's base address; begins with `/`, may have a query.
    pub(crate) path: String,
    /// Headers of this request alone.
    pub(crate) headers: HeaderMap,
    /// The body, as JSON.
    pub(crate) body: Bytes,
}

/// Context that readers need besides the answer.
#[derive(Clone, Copy)]
pub(crate) struct ReadContext<'a> {
    /// Redacted from every text that is kept.
    pub(crate) secret: &'a Secret,
    /// For headers that name a date.
    pub(crate) clock: &'a dyn Clock,
}

/// Reads one streamed answer, event by event. The status was a success, but a 200 may still have an error inside.
pub(crate) trait StreamReader: Send {
    /// Reads the next event. Returns [`Part::Answer`] if it has a part of the answer (text, reasoning or a tool call); the first such event
    /// is the time to first token.
    ///
    /// # Errors
    /// When the event is an error, or cannot be parsed.
    fn event(&mut self, event: &ServerEvent<'_>, context: &ReadContext<'_>) -> Result<Part, Failure>;

    /// Bytes that the parts received so far take, about.
    fn bytes(&self) -> usize;

    /// Tokens billed so far, as far as reported; the only record of a stream that breaks off.
    fn usage(&self) -> Option<Usage>;

    /// Service tier of the billed tokens, as far as reported.
    fn tier(&self) -> Option<&str>;

    /// Ends the stream, regularly or not.
    ///
    /// # Errors
    /// When the stream ended before the answer was complete.
    fn end(self: Box<Self>, headers: &HeaderMap, context: &ReadContext<'_>) -> Result<Completion, Failure>;
}

/// One server-sent event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ServerEvent<'a> {
    /// Value of the `event:` field; empty if there is none.
    pub(crate) name: &'a str,
    /// The `data:` lines, joined by line feeds.
    pub(crate) data: &'a str,
}

/// Kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// A part of the answer itself.
    Answer,
    /// Other information.
    Other,
    /// The last event; anything after it is not read.
    End,
}

/// A usable answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Completion {
    pub(crate) reply: Reply,
    /// Reason why the answer was withheld, if it was; the rest of such an answer is not the model's.
    pub(crate) withheld: Option<Withheld>,
    pub(crate) usage: Usage,
    /// `true` if the token counts that cost money were reported.
    pub(crate) usage_is_known: bool,
    pub(crate) raw_usage: Option<Value>,
    /// The cost that the provider reported.
    pub(crate) reported_cost: Option<Money>,
    pub(crate) served: Served,
    /// Time from sending the request to the first part of the answer; for streamed answers, set by the transport.
    pub(crate) first_token: Option<Duration>,
    pub(crate) hints: Hints,
}

/// Rate limits in the headers of any answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Hints {
    /// A limit is used up: the time until its reset, before which no call should be sent.
    pub(crate) exhausted_for: Option<Duration>,
}
