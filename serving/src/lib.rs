//! The server's side of the providers' formats: requests are read, answers, streams of events and errors are written. No I/O.
//!
//! | format | route | source of the field names |
//! |---|---|---|
//! | [`Format::Chat`] | `/v1/chat/completions` | OpenAI's API reference, "Chat Completions" and its streaming events |
//! | [`Format::Messages`] | `/v1/messages` | Anthropic's API reference, "Messages", and its guide to streaming |
//! | [`Format::Responses`] | `/v1/responses` | OpenAI's API reference, "Responses" and its streaming events |
//!
//! The client's side is the `llm` crate. What the simulated endpoints and the agent bridge say is written here and nowhere else, errors
//! included, whether they are told by a status, in the body of a 200 that was begun, or as an event; a new format is a folder beside the
//! others.
//!
//! [`ChatCall::parse`] reads a request either whole, refusing by name what a [`ChatRequest`](regatta_proto::ChatRequest) cannot carry, or
//! its gist. Read are texts, tools, their calls and results; images, files and audio are refused. What a whole reading makes of the rest:
//!
//! - Said by the way, and not part of the answer, so not carried: `metadata`, `user`, `store`, identifiers and names of caches, and which
//!   service tier is the usual one.
//! - [Left out and told](ChatCall::left_out): `strict` of a tool, `is_error` of a result, `description` of an output schema, `summary` of
//!   a reasoning.
//! - `name` of a message: whose name is not that of its role is said before its text, as `NAME: `, because nothing else tells the
//!   members of a conversation apart; told as left out, too. The name of a tool's result is that of its call.
//! - `reasoning_effort` `minimal` is [`Thinking::Off`](regatta_proto::Thinking::Off), which is the least that a provider allows.
//! - Parts of one content are one text, with nothing between them.

mod answer;
mod call;
mod chat;
mod content;
mod error;
mod fields;
mod format;
mod logprobs;
mod messages;
mod narrator;
mod parts;
#[cfg(test)]
mod properties;
mod request_body;
mod responses;
mod thinking;
mod tools;

pub use answer::{Answer, Stamp};
pub use call::{ChatCall, Reading, Streaming};
pub use error::{ApiError, Dialect, json_bytes};
pub use format::Format;
pub use narrator::{Narrator, at_once};
pub use parts::{Part, part, parts};
pub use request_body::{NoBody, read_body};
