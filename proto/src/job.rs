//! Jobs, which coordinator and scorers publish for workers.

use jiff::Timestamp;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AskedQuestion, Digest, ModelRef, SessionKey, SweepId, Transcript};

/// One session to run, or to continue.
///
/// A job is exactly one session, also for single-call benchmarks, so that a killed worker loses, and makes Regatta pay twice for, at most
/// the calls in flight. The coordinator plans by shard (a range of a cell's items), so that the ledger stays small.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct SessionJob {
    /// The session to run.
    pub key: SessionKey,
    /// Digest of the sweep's lock; the worker reads it once from Blobs.
    pub lock: Digest,
    /// Number of the first attempt made from this message; each redelivery adds one.
    pub attempt: u32,
    /// Number of the sweep's resumes when the job was published; jobs of an earlier generation than the sweep's are void.
    #[serde(default, skip_serializing_if = "is_first")]
    pub generation: u32,
    /// The events so far, if another worker began the session.
    #[serde(default)]
    pub transcript: Transcript,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
pub(crate) const fn is_first(generation: &u32) -> bool {
    *generation == 0
}

/// Questions for a judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct JudgeJob {
    /// The sweep that the questions are for.
    pub sweep: SweepId,
    /// Digest of the sweep's lock.
    pub lock: Digest,
    /// The judge to ask.
    pub judge: ModelRef,
    /// The questions.
    pub questions: Vec<AskedQuestion>,
    /// Number of the sweep's resumes when the questions were claimed; jobs of an earlier generation than the sweep's are void. Versions
    /// before it leave it out: such a job is void while its sweep is cancelled, and no longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<u32>,
}

/// A batch at a provider's batch API, of one call of each of its sessions, to be submitted or polled. First published as an intent, so that if
/// a worker dies while it submits the batch, the next one finds the batch instead of paying for a second one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct BatchJob {
    /// The sweep that the batch belongs to.
    pub sweep: SweepId,
    /// Digest of the sweep's lock.
    pub lock: Digest,
    /// The model that answers all requests.
    pub model: ModelRef,
    /// Our name of the batch, sent to the provider if it accepts one.
    pub id: String,
    /// The provider's id, once the batch is submitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// Time of the intent to submit it: whoever takes it from this message submits it at about that time, or not at all.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub intended_at: Timestamp,
    /// Time before which no copy of the message was there, by which somebody else may have submitted it; `None` for that of the intent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub since: Option<Timestamp>,
    /// Sessions of the batch. The custom id of a request, which is also the id of its attempt, is `ID-POSITION`: the batch's id, and the position in
    /// this list.
    pub sessions: Vec<SessionJob>,
}

impl BatchJob {
    /// Time before which nobody can have submitted the batch.
    #[must_use]
    pub fn since(&self) -> Timestamp {
        self.since.map_or(self.intended_at, |since| since.min(self.intended_at))
    }
}

/// A message for workers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Job {
    /// Run a session.
    Session(Box<SessionJob>),
    /// Answer questions.
    Judge(JudgeJob),
    /// Submit, poll and collect a batch.
    Batch(Box<BatchJob>),
}

impl Job {
    /// The sweep that the job belongs to.
    #[must_use]
    pub const fn sweep(&self) -> &SweepId {
        match self {
            Self::Session(job) => &job.key.sweep,
            Self::Judge(job) => &job.sweep,
            Self::Batch(job) => &job.sweep,
        }
    }
}
