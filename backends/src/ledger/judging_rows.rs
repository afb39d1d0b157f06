//! Questions of evaluators: those that are open, sessions that wait for them, and judges with what they cost.

use std::time::Duration;

use bytes::Bytes;
use regatta_proto::{Answerer, Cause, CostSum, Digest, ItemId, JudgeOutcome, ModelRef, Outcome, SessionKey, Usage};
use serde_json::Value;

/// Time from the beginning of a claim within which its questions are asked, or not at all: a while later they count as lost.
pub const ASKED_WITHIN: Duration = Duration::from_secs(15);

/// A question that is claimed and not answered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpenQuestion {
    /// The judge that is asked.
    pub judge: ModelRef,
    /// The question.
    pub question: Digest,
}

/// Silence about a question that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silence {
    /// It was claimed, and last told of, longer ago.
    pub within: Duration,
    /// Only of questions whose jobs the broker may not have: nobody has confirmed that they were asked since they were claimed, and no worker has
    /// told of them.
    pub in_doubt: bool,
}

/// Questions that the caller has claimed, and has to ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// Number of the sweep's resumes when they were claimed.
    pub generation: u32,
    /// Mark of this claim: no later claim of one of the questions has it.
    pub mark: i64,
    /// The questions.
    pub questions: Vec<Digest>,
}

/// A judge's report, with the identity under which its verdicts are stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// Identity of the judge.
    pub answerer: Answerer,
    /// The report as the worker sent it.
    pub outcome: JudgeOutcome,
}

/// A session that waits for verdicts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwaitingSession {
    /// The session.
    pub key: SessionKey,
    /// The benchmark's id of the item.
    pub item_id: ItemId,
    /// Outcome of the session.
    pub outcome: Outcome,
    /// Digests of the questions, in the order of the record.
    pub questions: Vec<Digest>,
    /// The transcript as recorded.
    pub transcript: Bytes,
}

/// The settlement of a waiting session.
#[derive(Debug, Clone, PartialEq)]
pub struct Settlement {
    /// The session.
    pub key: SessionKey,
    /// Result of the session.
    pub result: SettlementResult,
}

/// Result of a session that waited for verdicts.
#[derive(Debug, Clone, PartialEq)]
pub enum SettlementResult {
    /// The verdicts arrived, and these are the scores; the outcome stays as recorded.
    Scored(Value),
    /// The verdicts could not be obtained. With [`Cause::JudgeUnavailable`] the transcript stays stored, so that a resume only asks again.
    NotMeasured(Cause),
    /// Some verdicts led to further questions; the session now waits for all of these.
    Waits(Vec<Digest>),
}

/// Spending of one judge of a sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgeCosts {
    /// The judge.
    pub judge: ModelRef,
    /// Models that its endpoint reported to have answered, sorted.
    pub served: Vec<String>,
    /// Tokens.
    pub usage: Usage,
    /// Money.
    pub cost: CostSum,
}

/// Adds the label of a model that answered as `judge`, in order and without duplicates.
pub(super) fn add_served(costs: &mut [JudgeCosts], judge: &ModelRef, label: String) {
    if let Some(found) = costs.iter_mut().find(|found| found.judge == *judge)
        && let Err(at) = found.served.binary_search(&label)
    {
        found.served.insert(at, label);
    }
}
