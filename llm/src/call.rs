//! What a caller hands over with a chat call, and how it can fail.

use regatta_proto::{
    AccountId, BenchmarkName, CacheMode, ChatRequest, CostSum, FailedCall, ItemId, Price, Role, SessionSeed, Setting,
    Share, SweepId, Trial, Usage,
};
use tokio_util::sync::CancellationToken;

use crate::Meter;

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
    /// Who pays.
    pub payer: Payer<'a>,
    /// The session, for endpoints that are told, and as the source of the jitter between tries.
    pub session: Option<SessionTag<'a>>,
    /// How often the session has asked the same before: each time is a sample of its own, also for the cache.
    pub repeat: u32,
    /// Once it fires, no further try begins and every wait ends. A request in flight is awaited: it is paid already.
    pub interrupt: &'a CancellationToken,
    /// Hears of its tries as they are sent.
    pub meter: Option<&'a dyn Meter>,
}

/// On whose behalf models are called, and who pays.
#[derive(Debug, Clone, Copy)]
pub struct Payer<'a> {
    /// The sweep: calls of one sweep stand in one line, and sweeps share what an endpoint allows.
    pub sweep: &'a SweepId,
    /// Its part.
    pub share: Share,
    /// Accounts that every try's worst case is reserved from before it is sent, all of them; none where nothing has a price.
    pub accounts: &'a [AccountId],
    /// What tokens cost; `None` leaves the cost unknown, which no account allows.
    pub price: Option<&'a Price>,
    /// Whether its answers are kept and used again.
    pub cache: CacheMode,
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
    /// On whose part the model speaks.
    pub role: Role,
    /// Seed of what it says there.
    pub seed: SessionSeed,
}

/// What an endpoint may be told of where a call comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Told<'a> {
    /// From a session.
    Session(SessionTag<'a>),
    /// From an evaluator that wants a judgement.
    Judgement(SessionSeed),
}

impl Told<'_> {
    pub(crate) const fn seed(&self) -> SessionSeed {
        match self {
            Self::Session(tag) => tag.seed,
            Self::Judgement(seed) => *seed,
        }
    }
}

/// A chat call without an answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CallError {
    /// Given up; the last try is the reason, and [`regatta_proto::Outcome::of_failure`] of its class the session's outcome.
    #[error("the call was given up after {} tries", .0.tries.len())]
    Failed(FailedCall),
    /// Interrupted by the caller before the next try; the tries so far, possibly none.
    #[error("the call was interrupted after {} failed tries", .0.tries.len())]
    Interrupted(FailedCall),
}

/// Questions whose answering was interrupted, with what had been spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("answering was interrupted")]
pub struct Interrupted {
    /// Tokens of finished calls.
    pub usage: Usage,
    /// Their cost.
    pub cost: CostSum,
}
