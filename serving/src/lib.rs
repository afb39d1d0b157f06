//! The server's side of the providers' formats: requests are read, answers, streams of events and errors are written. No I/O of its own,
//! but for what listeners share: [`listen`] opens them, [`WriteTimeout`] is the limit around their connections, [`SharedTurns`] are turns at
//! what takes memory, a [`RareLine`] is one that strangers have a log written, and [`is_loopback_host`] and [`reachable`] know this machine.
//!
//! | format | route | source of the field names |
//! |---|---|---|
//! | [`Format::Chat`] | `/v1/chat/completions` | OpenAI's API reference, "Chat Completions" and its streaming events |
//! | [`Format::Messages`] | `/v1/messages` | Anthropic's API reference, "Messages", and its guide to streaming |
//! | [`Format::Responses`] | `/v1/responses` | OpenAI's API reference, "Responses" and its streaming events |
//!
//! The client's side is the `llm` crate. The simulated endpoints and the agent bridge write all of their answers with this crate, including
//! errors, whether those are sent as a status, in the body of a 200 that has begun, or as an event. A new format is a folder beside the
//! others.
//!
//! [`ChatCall::parse`] reads a request either whole or its gist. It reads texts, tools, and their calls and results. A whole reading treats
//! the other fields as follows:
//!
//! - [Passed on](regatta_proto::Passed): what no field of a [`ChatRequest`](regatta_proto::ChatRequest) carries goes to the endpoint as the
//!   client wrote it, if that has the same format: a field of the request, with everything in it. An image is passed with all messages.
//! - Refused by name, with a reason that `refused` lists: fields with which accounts or transcripts would be untrue.
//! - Accepted and ignored, because the answer does not depend on them: `metadata`, `user`, `store`, identifiers and names of caches, and
//!   the usual service tier.
//! - [Expanded](ResponseStore), before a request of responses is read: references to earlier responses, conversations and items.
//! - [Of another form](ToolForms): tools in a namespace of responses, and tools that are called with a text, are functions to the model.
//! - [Left out, and reported](ChatCall::left_out): `strict` of a tool, a search of the provider's in responses, `is_error` of a result, `description` of an output schema, `summary`
//!   of a reasoning.
//! - `name` of a message: a name other than the role's is put before the text, as `NAME: `, because nothing else distinguishes the members
//!   of a conversation. It is reported as left out, too. The name of a tool's result is that of its call.
//! - `reasoning_effort` `minimal` is [`Thinking::Off`](regatta_proto::Thinking::Off), which is the least that a provider allows.
//! - Parts of one content are concatenated without a separator.
//!
//! The gist has images whose bytes are in the request; simulated models tell items apart by them.

mod answer;
mod call;
mod chat;
mod content;
mod error;
mod fields;
mod format;
mod images;
mod listen;
mod logprobs;
mod loopback;
mod messages;
mod parts;
#[cfg(test)]
mod probes;
#[cfg(test)]
mod properties;
mod rare_line;
mod reader;
mod refused;
mod request_body;
mod responses;
mod sending;
mod sse_encoder;
mod thinking;
mod tools;
mod turns;
mod write_timeout;

pub use answer::{Answer, Stamp};
pub use call::{ChatCall, Reading, Streaming};
pub use error::{ApiError, Dialect, json_bytes};
pub use format::Format;
pub use listen::listen;
pub use loopback::{is_loopback_host, reachable};
pub use parts::{Part, part, parts};
pub use rare_line::RareLine;
pub use request_body::{BODY_TIME_MAX, NoBody, read_body};
pub use responses::forms::ToolForms;
pub use responses::store::{Expanded, Keeping, ResponseStore, StoredObject};
pub use sending::{SEND_MAX, hold_until_sent};
pub use sse_encoder::{SseEncoder, at_once};
pub use turns::{SharedTurns, Turn};
pub use write_timeout::{WRITE_STALL_MAX, WriteTimeout};
