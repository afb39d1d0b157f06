//! Simulated endpoints, which answer every benchmark without a network.
//!
//! A [`SimulatedEndpoint`] has the wire formats of OpenAI and Anthropic over HTTP, streamed, single and in batches, so that everything
//! between a worker and its provider is exercised: connections, limits, retries, accounting. Its chat models are `oracle` (answers with the
//! gold), `noisy-P` (the gold, perturbed with probability P) and `scripted` (answers from a [`Script`]); its embedding model is `lexical`.
//! Latency and faults follow a [`regatta_proto::Simulation`] and derive from its seed and the request, so that a run can be repeated.
//! Where nobody has an answer, a request that asks for one by a schema, or for the call of a tool, gets one made up.
//! Requests, answers and costs are counted ([`Counters`], also at `/simulator/counters`).
//!
//! Simulated apps and tool servers are a crate of their own, `toolservers`.
//!
//! A new wire format is a module of `formats`.

mod account;
mod answer_body;
mod api_error;
mod arrivals;
mod authors;
mod base64;
mod batches;
mod bill;
mod books;
mod connections;
mod counters;
mod delivery;
mod draft;
mod endpoint;
mod event_stream;
mod examples;
mod faults;
mod formats;
mod identity;
mod in_process;
mod lexical;
mod limits;
mod model;
mod rate_limit_headers;
mod responding;
mod routes;
mod said;
mod script;
mod seen;
mod server;
mod session;
mod sliding_minute;
mod tokens;
mod trickle;

pub use answer_body::{BrokenOff, first_half};
pub use arrivals::{Arrivals, BusiestMinute};
pub use authors::answer_seed;
pub use bill::BilledNanodollars;
pub use connections::{Connections, Ending, accept};
pub use counters::{BatchCounters, Counters};
pub use delivery::Dropped;
pub use faults::{Fate, Fault};
pub use in_process::InProcess;
pub use lexical::{LEXICAL_DIMENSIONS, embed as lexical_embedding};
pub use model::unknown_model;
pub use script::{Script, ScriptError};
pub use server::{Config, SimulatedEndpoint, StartError};
pub use session::SimulatedSuite;
pub use tokens::count_tokens;
