//! What the coordinator and the scorers ask workers to do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AskedQuestion, Digest, ModelRef, SessionKey, SweepId, Transcript};

/// One session to run, or to continue.
///
/// A job is exactly one session, also for single-call benchmarks: what a killed worker loses, and what is paid for twice, is then at
/// most the calls in flight. The coordinator's book-keeping is by shard (a range of a cell's items), so the ledger stays small.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionJob {
    /// Which session.
    pub key: SessionKey,
    /// Digest of the sweep's lock; the worker reads it once from Blobs.
    pub lock: Digest,
    /// Number of the first attempt made from this message; each redelivery adds one.
    pub attempt: u32,
    /// What has happened already, when another worker began it.
    #[serde(default)]
    pub transcript: Transcript,
}

/// Questions for a judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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

/// A message for workers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Job {
    /// Run a session.
    Session(Box<SessionJob>),
    /// Answer questions.
    Judge(JudgeJob),
}

impl Job {
    /// The sweep this job belongs to.
    #[must_use]
    pub const fn sweep(&self) -> &SweepId {
        match self {
            Self::Session(job) => &job.key.sweep,
            Self::Judge(job) => &job.sweep,
        }
    }
}
