//! The arguments of a chat call, and its errors.

use regatta_memory::ByteHolder;
use regatta_proto::{
    AccountId, BenchmarkName, CacheMode, ChatRequest, FailedCall, ItemId, Price, Role, SessionSeed, Setting, Share,
    SweepId, Trial,
};
use tokio_util::sync::CancellationToken;

use crate::{Answers, Meter};

/// One chat call.
#[derive(Debug, Clone, Copy)]
pub struct ChatCall<'a> {
    /// The provider's own model name.
    pub model: &'a str,
    /// The role that the model speaks in.
    pub role: Role,
    /// Number of the attempt that the call belongs to.
    pub attempt: u32,
    /// The request.
    pub request: &'a ChatRequest,
    /// The sweep that pays.
    pub payer: Payer<'a>,
    /// The session, for endpoints that are told it, and as the seed of the jitter between tries.
    pub session: Option<SessionTag<'a>>,
    /// Number of earlier calls of the session with the same request. Each is a sample of its own, also in the cache.
    pub repeat: u32,
    /// Once it fires, no further try begins and every wait ends. A request in flight is awaited, because it is paid for already.
    pub interrupt: &'a CancellationToken,
    /// Observes the tries as they are sent.
    pub meter: Option<&'a dyn Meter>,
    /// The session that keeps the answer; `None` holds its bytes only until it is returned.
    pub holder: Option<&'a ByteHolder>,
}

/// The sweep that calls are made for, and its means of payment.
#[derive(Debug, Clone, Copy)]
pub struct Payer<'a> {
    /// The sweep. Calls of one sweep wait in one queue, and sweeps share an endpoint's limits.
    pub sweep: &'a SweepId,
    /// The sweep's share of the limits.
    pub share: Share,
    /// Accounts from which the worst case of every try is reserved before it is sent; empty if no model has a price.
    pub accounts: &'a [AccountId],
    /// The price of tokens; `None` leaves the cost unknown, which no account accepts.
    pub price: Option<&'a Price>,
    /// The use of the response cache.
    pub cache: CacheMode,
}

/// Identifies a session to an endpoint.
#[derive(Debug, Clone, Copy)]
pub struct SessionTag<'a> {
    /// Benchmark.
    pub benchmark: &'a BenchmarkName,
    /// Setting of the benchmark.
    pub setting: &'a Setting,
    /// Item of the benchmark.
    pub item: &'a ItemId,
    /// Number of the repetition.
    pub trial: Trial,
    /// The role that the model speaks in.
    pub role: Role,
    /// Seed of the model's answers in this role.
    pub seed: SessionSeed,
}

/// The origin of a call, as an endpoint may be told it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Told<'a> {
    /// A call of a session.
    Session(SessionTag<'a>),
    /// A call of an evaluator that needs a judgement.
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

/// A chat call that has no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CallError {
    /// Given up. The last try is the reason; [`regatta_proto::Outcome::of_failure`] of its class is the session's outcome.
    #[error("the call was given up after {} tries", .0.tries.len())]
    Failed(FailedCall),
    /// Interrupted by the caller before the next try; has the tries so far, possibly none.
    #[error("the call was interrupted after {} failed tries", .0.tries.len())]
    Interrupted(FailedCall),
}

/// An interrupted list of questions. It has the answers that were complete by then, with tokens and money of all calls that were made.
/// Questions that are not among them are to be asked again, so none counts as unanswered.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("answering was interrupted after {} answers", .0.verdicts.len())]
pub struct Interrupted(pub Answers);

impl Interrupted {
    /// Interrupted with `answers`; whoever asks the rest asks those too that got no answer.
    pub(crate) fn after(answers: Answers) -> Self {
        Self(Answers { unanswered: Vec::new(), ..answers })
    }
}
