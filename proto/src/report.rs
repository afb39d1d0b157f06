//! What workers tell scorers.

use jiff::Timestamp;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    AskedQuestion, AttemptId, AttemptTotals, CostSum, Digest, ModelRef, Money, Outcome, SessionKey, SweepId,
    Transcript, Usage, Verdict, WorkerId,
};

/// One try at a session. The first attempt that is recorded counts; later ones are recorded as waste.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Attempt {
    /// Unique for ever; makes a repeated report harmless.
    pub id: AttemptId,
    /// The fence: grows with every delivery of the job.
    pub number: u32,
    /// Who tried.
    pub worker: WorkerId,
    /// When it began.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub started_at: Timestamp,
    /// When it ended.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub ended_at: Timestamp,
}

/// A session has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct SessionOutcome {
    /// Which session.
    pub key: SessionKey,
    /// Digest of the sweep's lock.
    pub lock: Digest,
    /// Which attempt.
    pub attempt: Attempt,
    /// How it ended.
    pub outcome: Outcome,
    /// Everything that happened.
    pub transcript: Transcript,
}

/// A judge has answered, or could not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct JudgeOutcome {
    /// On whose behalf.
    pub sweep: SweepId,
    /// Digest of the sweep's lock.
    pub lock: Digest,
    /// Who answered.
    pub judge: ModelRef,
    /// What answered, in one line for reports (model name; whether simulated).
    pub served: String,
    /// Answers, by question digest.
    pub verdicts: Vec<(Digest, Verdict)>,
    /// Questions without an answer, and why.
    pub unanswered: Vec<(AskedQuestion, String)>,
    /// Unique for ever; makes a repeated report harmless.
    pub attempt: AttemptId,
    /// Tokens of the calls.
    pub usage: Usage,
    /// Their cost.
    pub cost: CostSum,
}

/// An attempt that was still running when its worker last reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct OpenAttempt {
    /// Which session.
    pub key: SessionKey,
    /// Unique id of the attempt.
    pub id: AttemptId,
    /// The fence.
    pub number: u32,
    /// When it began.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub started_at: Timestamp,
    /// Totals of the finished calls.
    #[serde(flatten)]
    pub totals: AttemptTotals,
    /// Worst-case cost of the tries in flight, beyond `totals`; `None` when the price is unknown.
    pub in_flight_at_most: Option<Money>,
}

/// Sent every fraction of a second by a worker that has attempts running, so that the money of an attempt that dies is still known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Progress {
    /// Who reports.
    pub worker: WorkerId,
    /// Attempts that are running, or whose spending changed since the last report.
    pub open: Vec<OpenAttempt>,
}

/// A message for scorers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// A session ended.
    Session(Box<SessionOutcome>),
    /// An attempt was handed over to another worker before its end; `transcript` inside the new job carries on.
    HandedOver {
        /// Which session.
        key: SessionKey,
        /// The attempt that stopped here.
        attempt: Attempt,
        /// Totals of the attempt.
        #[serde(flatten)]
        totals: AttemptTotals,
    },
    /// A judge answered.
    Judge(JudgeOutcome),
    /// Attempts are running.
    Progress(Progress),
    /// Sessions whose judge had been unavailable were reopened: ask their questions again.
    Rejudge {
        /// Which sweep.
        sweep: SweepId,
        /// Digest of the sweep's lock.
        lock: Digest,
    },
    /// Whatever was reported before this is recorded: say so in the ledger.
    Echo {
        /// Which sweep's coordinator asks.
        sweep: SweepId,
        /// Number of the question, above that of all before.
        number: u64,
        /// It was set aside after its sweep could be read: all that was set aside before it has come back.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        waited: bool,
    },
    /// Every session of a sweep is settled: write its tables and reports.
    Tabulate {
        /// Which sweep.
        sweep: SweepId,
        /// Digest of the sweep's lock.
        lock: Digest,
    },
}
