//! Reports, which workers publish for scorers.

use std::collections::BTreeMap;

use jiff::Timestamp;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::job::is_first;
use crate::{
    AskedQuestion, AttemptId, AttemptTotals, CostSum, Digest, ModelRef, Money, Outcome, SessionKey, SweepId,
    Transcript, Usage, Verdict, WorkerId,
};

/// One try at a session. The first attempt that is recorded counts; later ones are recorded as waste.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Attempt {
    /// Globally unique id, which makes a repeated report harmless.
    pub id: AttemptId,
    /// Fencing number: grows with every delivery of the job.
    pub number: u32,
    /// The worker that made the attempt.
    pub worker: WorkerId,
    /// Start of the attempt.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub started_at: Timestamp,
    /// End of the attempt.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub ended_at: Timestamp,
}

/// A session has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct SessionOutcome {
    /// The session.
    pub key: SessionKey,
    /// Digest of the sweep's lock.
    pub lock: Digest,
    /// The attempt that reports.
    pub attempt: Attempt,
    /// Outcome of the session.
    pub outcome: Outcome,
    /// The record of the session.
    pub transcript: Transcript,
}

/// A judge has answered, or could not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct JudgeOutcome {
    /// The sweep that the questions are for.
    pub sweep: SweepId,
    /// Digest of the sweep's lock.
    pub lock: Digest,
    /// The judge.
    pub judge: ModelRef,
    /// The model or encoder that answered, in one line for reports, with a note if it is simulated.
    pub served: String,
    /// Answers, by question digest.
    pub verdicts: Vec<(Digest, Verdict)>,
    /// Questions without an answer, each with the reason.
    pub unanswered: Vec<(AskedQuestion, String)>,
    /// Globally unique id, which makes a repeated report harmless.
    pub attempt: AttemptId,
    /// Tokens of the calls.
    pub usage: Usage,
    /// Cost of the calls.
    pub cost: CostSum,
}

/// An attempt that was still running when its worker last reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct OpenAttempt {
    /// The session.
    pub key: SessionKey,
    /// Unique id of the attempt.
    pub id: AttemptId,
    /// Fencing number.
    pub number: u32,
    /// Start of the attempt.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub started_at: Timestamp,
    /// Totals of the finished calls.
    #[serde(flatten)]
    pub totals: AttemptTotals,
    /// Worst-case cost of the tries in flight, beyond `totals`; `None` when the price is unknown.
    pub in_flight_at_most: Option<Money>,
}

/// A batch that a worker holds: it is gathered, waits to be handed in, or is at its provider.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct HeldBatch {
    /// The sweep that the batch belongs to.
    pub sweep: SweepId,
    /// Our name of the batch, with which the ids of its attempts begin.
    pub id: String,
    /// Number of the sweep's resumes when the jobs of its sessions were published: after a further one the batch is void.
    #[serde(default, skip_serializing_if = "is_first")]
    pub generation: u32,
}

/// Questions for a judge, as a worker tells of them that waits for their answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct HeldQuestions {
    /// The sweep whose sessions they are about.
    pub sweep: SweepId,
    /// The judge.
    pub judge: ModelRef,
    /// Digests of the questions.
    pub questions: Vec<Digest>,
}

/// Sent several times a second by a worker with running attempts, so that the cost of an attempt that dies is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Progress {
    /// The worker that reports.
    pub worker: WorkerId,
    /// Attempts that are running, or whose spending changed since the last report.
    pub open: Vec<OpenAttempt>,
    /// Batches that the worker holds. Each is named every ten seconds, so that nobody takes its sessions for lost, of which nothing is told
    /// for a day.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub batches: Vec<HeldBatch>,
    /// Sweeps for which the worker waits for answers of judges, named every ten seconds too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judging: Vec<SweepId>,
    /// Of each sweep in `judging` the number of resumes when the first of these questions were claimed, if there was any.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub judging_since: BTreeMap<SweepId, u32>,
    /// Questions for judges that the worker has held for two seconds, each named every ten seconds, so that nobody takes it for lost. `None` in
    /// reports without `judging`, and where the worker's version names no questions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub questions: Option<Vec<HeldQuestions>>,
}

impl Progress {
    /// A report of the attempts `open` alone.
    #[must_use]
    pub const fn of_attempts(worker: WorkerId, open: Vec<OpenAttempt>) -> Self {
        Self { worker, open, batches: Vec::new(), judging: Vec::new(), judging_since: BTreeMap::new(), questions: None }
    }
}

/// One of the parts into which reports are divided, each of which one scorer has at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Partition {
    /// From 0 on.
    pub number: u8,
    /// Count of all of them.
    pub of: u8,
}

impl Partition {
    /// All reports, undivided.
    pub const WHOLE: Self = Self { number: 0, of: 1 };

    /// All partitions of reports that are divided into so many.
    pub fn all(of: u8) -> impl Iterator<Item = Self> {
        (0..of).map(move |number| Self { number, of })
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
    fn is_whole(&self) -> bool {
        *self == Self::WHOLE
    }
}

impl Default for Partition {
    fn default() -> Self {
        Self::WHOLE
    }
}

/// A message for scorers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// A session ended.
    Session(Box<SessionOutcome>),
    /// An attempt was handed over to another worker before its end; the `transcript` in the new job, or in a checkpoint, continues it.
    HandedOver {
        /// The session.
        key: SessionKey,
        /// The attempt that was handed over.
        attempt: Attempt,
        /// Totals of the attempt; where it was taken over, those of its last checkpoint.
        #[serde(flatten)]
        totals: AttemptTotals,
        /// `true` if the attempt's successor reports, which found a checkpoint of it: the attempt may have spent more since.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        taken_over: bool,
    },
    /// A judge answered.
    Judge(JudgeOutcome),
    /// Attempts are running.
    Progress(Progress),
    /// Questions that sessions of a sweep wait for are to be asked again: it was resumed, or the jobs of its judges are lost. Claimed questions are not.
    Rejudge {
        /// The sweep.
        sweep: SweepId,
        /// Digest of the sweep's lock.
        lock: Digest,
    },
    /// Requests an entry in the ledger, once all earlier reports are recorded.
    Echo {
        /// The sweep whose coordinator asks.
        sweep: SweepId,
        /// Number of the request, higher than all before.
        number: u64,
        /// The request itself was set aside, after its sweep could be read, so all reports set aside before it have returned.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        waited: bool,
        /// The partition of the reports that it asks about. The answer is complete when each has been asked about.
        #[serde(default, skip_serializing_if = "Partition::is_whole")]
        partition: Partition,
    },
    /// A sweep is over, or cancelled, and what was reported before is recorded, so its tables and reports are to be written.
    Tabulate {
        /// The sweep.
        sweep: SweepId,
        /// Digest of the sweep's lock.
        lock: Digest,
        /// Resumes of the sweep before that end. Nothing is written where it was resumed since. `None` of coordinators that name none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        generation: Option<u32>,
    },
}

impl Report {
    /// `true` if this is a question whether everything is recorded that was reported before.
    #[must_use]
    pub const fn is_question(&self) -> bool {
        matches!(self, Self::Echo { .. })
    }
}
