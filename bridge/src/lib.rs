//! The agent bridge.
//!
//! An external agent, of anybody's framework, gets a base URL of its session. It asks its models there as it would ask OpenAI or Anthropic,
//! and uses the benchmark's tool servers there; every call goes through the [`BridgedSession`] that the URL stands for. The agent needs
//! no code of ours, only a base URL.

mod answer_body;
mod answers;
mod calls;
mod connection;
mod flights;
mod models;
mod open;
mod routes;
mod server;
mod session;
mod token;
mod tools;

pub use open::OpenSession;
pub use server::Bridge;
pub use session::{Answered, BridgedSession, Refused};
