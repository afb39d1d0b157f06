//! Endpoints: wire formats, retries, permits, prices, provenance.
//!
//! [`Endpoint`] is the one door to models: [`Endpoint::chat`] for a conversation, [`Endpoint::answer`] for an evaluator's questions.
//! What an error means is said once, in `errors`; when to try again, in `retry`; what may run at once, in `permits`. A new wire
//! format is a folder beside `openai`; a new kind of judge is a variant of `Service` in `endpoint`.

mod answer;
mod backlog;
mod breaker;
mod cache;
mod call;
mod embedding;
mod encoding;
mod endpoint;
mod errors;
mod metrics;
mod open;
mod openai;
mod permits;
mod prices;
mod recorded;
mod retry;
mod retry_after;
#[cfg(test)]
mod scripted;
mod secret;
mod similarity;
mod transport;
mod tries;
mod wire;

pub use answer::{Answers, Unanswered};
pub use cache::AnswerStore;
pub use call::{CallError, ChatCall, Interrupted, SessionTag};
pub use endpoint::Endpoint;
pub use errors::{Fault, Rule, rule};
pub use metrics::CallMetrics;
pub use open::{OpenContext, OpenError, check_access};
pub use permits::store::{PermitStore, StoreError};
pub use prices::{PriceTable, PriceTableError};
pub use recorded::{RecordedError, RecordedVerdicts};
pub use transport::TransportError;
