//! What a caller hands over with a chat call, and how it can fail.

use regatta_proto::{
    BenchmarkName, ChatRequest, CostSum, FailedCall, ItemId, Price, Role, SessionSeed, Setting, Trial, Usage,
};
use tokio_util::sync::CancellationToken;

/// One chat call.
#[derive(Debug, Clone, Copy)]
pub struct ChatCall<'a> {
    /// The provider's own model name.
    pub model: &'a str,
    /// On whose part the model speaks.
    pub role: Role,
    /// The attempt that pays.
    pub attempt: u32,
    /// What is asked.
    pub request: &'a ChatRequest,
    /// What tokens cost; `None` leaves the cost unknown.
    pub price: Option<&'a Price>,
    /// The session, for endpoints that are told, and as the source of the jitter between tries.
    pub session: Option<SessionTag<'a>>,
    /// Ends the call at once, in flight or waiting.
    pub cancel: &'a CancellationToken,
}

/// Names a session to an endpoint.
#[derive(Debug, Clone, Copy)]
pub struct SessionTag<'a> {
    /// Benchmark.
    pub benchmark: &'a BenchmarkName,
    /// Setting of the benchmark.
    pub setting: &'a Setting,
    /// Item of the benchmark.
    pub item: &'a ItemId,
    /// Repetition.
    pub trial: Trial,
    /// Seed of the session.
    pub seed: SessionSeed,
}

/// A chat call without an answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CallError {
    /// Given up; the last try is the reason, and [`regatta_proto::Outcome::of_failure`] of its class the session's outcome.
    #[error("the call was given up after {} tries", .0.tries.len())]
    Failed(FailedCall),
    /// Cancelled by the caller; the tries so far, possibly none. A request in flight may still be billed.
    #[error("the call was cancelled after {} failed tries", .0.tries.len())]
    Cancelled(FailedCall),
}

/// Questions whose answering was cancelled, with what had been spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("answering was cancelled")]
pub struct Cancelled {
    /// Tokens of finished calls.
    pub usage: Usage,
    /// Their cost.
    pub cost: CostSum,
}
