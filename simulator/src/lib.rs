//! Simulated endpoints that answer every benchmark without a network.
//!
//! A [`SimulatedEndpoint`] speaks the OpenAI wire format over HTTP, so that everything between a worker and its provider is exercised:
//! connections, limits, retries, accounting. Its chat models are `oracle` (answers with the gold), `noisy-P` (the gold, perturbed with
//! probability P) and `scripted` (answers from a [`Script`]); its embedding model is `lexical`. Latency and faults follow a
//! [`regatta_proto::Simulation`] and derive from its seed and the request, so that a run can be repeated.

mod answer_body;
mod api_error;
mod base64;
mod chat;
mod chat_request;
mod counters;
mod delivery;
mod embeddings;
mod faults;
mod lexical;
mod model;
mod rate_window;
mod request_body;
mod routes;
mod script;
mod seen;
mod server;
mod session;
mod tokens;

pub use counters::Counters;
pub use lexical::{LEXICAL_DIMENSIONS, embed as lexical_embedding};
pub use script::{Script, ScriptError};
pub use server::{Config, SimulatedEndpoint, StartError};
pub use tokens::count_tokens;
