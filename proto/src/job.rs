//! What the coordinator and the scorers ask workers to do.

use jiff::Timestamp;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AskedQuestion, Digest, ModelRef, SessionKey, SweepId, Transcript};

/// One session to run, or to continue.
///
/// A job is exactly one session, also for single-call benchmarks: what a killed worker loses, and what is paid for twice, is then at
/// most the calls in flight. The coordinator's book-keeping is by shard (a range of a cell's items), so the ledger stays small.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct SessionJob {
    /// Which session.
    pub key: SessionKey,
    /// Digest of the sweep's lock; the worker reads it once from Blobs.
    pub lock: Digest,
    /// Number of the first attempt made from this message; each redelivery adds one.
    pub attempt: u32,
    /// How often the sweep had been resumed when this was published: jobs of an earlier generation than the sweep's are void.
    #[serde(default, skip_serializing_if = "is_first")]
    pub generation: u32,
    /// What has happened already, when another worker began it.
    #[serde(default)]
    pub transcript: Transcript,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_first(generation: &u32) -> bool {
    *generation == 0
}

/// Questions for a judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct JudgeJob {
    /// On whose behalf.
    pub sweep: SweepId,
    /// Digest of the sweep's lock.
    pub lock: Digest,
    /// Who answers.
    pub judge: ModelRef,
    /// What is asked.
    pub questions: Vec<AskedQuestion>,
}

/// A batch of single-call sessions at a provider's batch API, on its way to it or being followed. First published as an intent, so that
/// a worker that dies while it submits leaves a trace by which the next one finds the batch instead of paying for a second one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct BatchJob {
    /// On whose behalf.
    pub sweep: SweepId,
    /// Digest of the sweep's lock.
    pub lock: Digest,
    /// The model that answers all of it.
    pub model: ModelRef,
    /// Our name of the batch, given to the provider where it takes one.
    pub id: String,
    /// The provider's id, once it is submitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// When it was first tried to submit it.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub intended_at: Timestamp,
    /// Its sessions; a request's custom id, and the id of the attempt that it is, is `ID-POSITION`, of the batch and in this list.
    pub sessions: Vec<SessionJob>,
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
    /// Submit, follow and collect a batch.
    Batch(Box<BatchJob>),
}

impl Job {
    /// The sweep this job belongs to.
    #[must_use]
    pub const fn sweep(&self) -> &SweepId {
        match self {
            Self::Session(job) => &job.key.sweep,
            Self::Judge(job) => &job.sweep,
            Self::Batch(job) => &job.sweep,
        }
    }
}
