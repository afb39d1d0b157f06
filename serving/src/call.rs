//! A request to a chat model, in any of the formats.

use std::borrow::Cow;

use regatta_proto::ChatRequest;
use serde_json::value::RawValue;

use crate::responses::forms::ToolForms;

/// The part of a request that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// All fields. Those that [`ChatRequest`] has no place for are [passed on](regatta_proto::Passed), or refused by name.
    Whole,
    /// The part that simulated models use: messages, names of tools, and sampling parameters. All other fields are
    /// [left unread](ChatCall::unread), whatever they hold.
    Gist,
}

/// A request to a chat model.
#[derive(Debug)]
pub struct ChatCall<'a> {
    /// The model's name, as the client wrote it.
    pub model: Cow<'a, str>,
    /// The request.
    pub request: ChatRequest,
    /// Options of the stream; `None` if the answer is sent whole.
    pub streaming: Option<Streaming>,
    /// The tools, as the client wrote them.
    pub tools: Option<&'a RawValue>,
    /// The `metadata`, as the client wrote it.
    pub metadata: Option<&'a RawValue>,
    /// Forms in which the client reads calls of its tools.
    pub forms: ToolForms,
    /// Fields that a gist does not read, as the client wrote them; none of a whole reading.
    pub unread: Vec<(Cow<'a, str>, &'a RawValue)>,
    /// Names of fields that were accepted but not carried, though a client may care; sorted.
    pub left_out: Vec<&'static str>,
}

/// Options of a streamed answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Streaming {
    /// Ends OpenAI's chat completions with a chunk that has the usage. The other formats always have it.
    pub include_usage: bool,
}
