//! The agent bridge.
//!
//! An external agent, of anybody's framework, gets a base URL of its session. It asks its models there as it would ask OpenAI or Anthropic,
//! and uses the benchmark's tool servers there; every call goes through the [`BridgedSession`] that the URL stands for. The agent needs
//! no code of ours, only a base URL.
//!
//! | below the base URL | what |
//! |---|---|
//! | `/v1/chat/completions`, `/v1/messages`, `/v1/responses` | a model call, in the format of the route |
//! | `/v1/responses/ID`, `/v1/conversations` and below | the session's own responses and conversations, which calls can refer to |
//! | `/v1/models` | the names that the agent may give its model |
//! | `/tools/request` | a request to a tool server, written as JSON |
//! | `/tools/proxy/SCHEME/HOST:PORT/PATH` | a request to a tool server, as it is |
//! | `/members/NAME/…` | any of these, from a member of a team |
//!
//! A call outlives the connection that asked for it, and whoever asks again after he was cut off gets its answer. A client that waits for
//! more than ten seconds is kept awake: it gets the head of a 200 and a space every ten seconds before the JSON document, or comments
//! before the events. If the call is then not answered, the document (or an event) is an error in the format's shape: clients raise it, or
//! find no choices.

mod answer_body;
mod answers;
mod calls;
mod connection;
mod models;
mod open;
mod place;
mod routes;
mod server;
mod session;
mod single_flight;
mod telling;
mod token;
mod tools;

pub use open::{LateRequests, OpenSession};
pub use place::BridgePlace;
pub use server::{Bridge, BridgeSocket};
pub use session::{Answered, BridgedSession, Refused};
