//! Progress, sessions, attempts and metrics, as they are written to a ledger and read from it; none depends on a database.

use std::collections::BTreeMap;

use bytes::Bytes;
use jiff::Timestamp;
use regatta_proto::{
    Attempt, AttemptId, AttemptTotals, CellIndex, CostSum, Digest, Evaluator, Flags, ItemId, ItemIndex, ModelRef,
    Money, Outcome, SessionKey, Usage, WorkerId,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::call_sums::CallSums;
use super::states::AttemptState;

/// Progress of a cell. Costs of judges belong to the sweep; see [`Ledger::judge_costs`](super::Ledger::judge_costs).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellProgress {
    /// Position of the cell in the grid.
    pub index: CellIndex,
    /// Queue of the endpoint that serves the cell's model.
    pub queue: String,
    /// Number of sessions released so far.
    pub items: u64,
    /// Sessions whose jobs were dispatched.
    pub dispatched: u64,
    /// Sessions with a recorded attempt.
    pub recorded: u64,
    /// Recorded sessions that wait for no verdict: `measured` + `model_failures` + `not_measured`.
    pub settled: u64,
    /// Settled sessions that were measured.
    pub measured: u64,
    /// Settled sessions that the model made impossible.
    pub model_failures: u64,
    /// Settled sessions that say nothing about the model.
    pub not_measured: u64,
    /// Tokens of all attempts as far as known, including running and wasted ones.
    pub usage: Usage,
    /// Cost of all attempts as far as known, including running and wasted ones.
    pub cost: CostSum,
    /// The part of `cost` that was wasted: attempts in the state `waste` or `lost`.
    pub wasted: CostSum,
    /// Upper bound of further costs of all attempts: failed tries that the provider did not report, and calls in flight when attempts were
    /// lost.
    pub maybe_spent: Money,
}

/// Sums over the costs of those sessions of a cell, or of a task in it, that no failure stopped and whose calls all have a known price, with all attempts that led to
/// the result.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CostMoments {
    /// Number of sessions.
    pub sessions: u64,
    /// Sum of their costs, in nano-dollars.
    pub sum: f64,
    /// Sum of the squares of their costs.
    pub squares: f64,
}

impl CostMoments {
    /// Adds the sums of other sessions.
    pub fn merge(&mut self, other: &Self) {
        self.sessions += other.sessions;
        self.sum += other.sum;
        self.squares += other.squares;
    }
}

/// The end of an external agent that failed, or that made no call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentEnd {
    /// A few words to follow "the agents", such as `exited 1 and asked nothing`. Equal ends have equal words.
    pub how: String,
    /// The last part of its standard error, of bounded length.
    pub errors: String,
}

/// A session that ended, scored as far as possible without verdicts.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRecord {
    /// The session.
    pub key: SessionKey,
    /// The benchmark's id of the item.
    pub item_id: ItemId,
    /// The benchmark's task of the item.
    pub task: String,
    /// The attempt that reported it.
    pub attempt: Attempt,
    /// Outcome of the session.
    pub outcome: Outcome,
    /// Tokens that this attempt alone used; those of a handed-over transcript are counted with the attempts that used them.
    pub usage: Usage,
    /// Cost of this attempt alone.
    pub cost: CostSum,
    /// Upper bound of further costs of this attempt's failed tries, which the provider did not report.
    pub maybe_spent: Money,
    /// Answered calls.
    pub calls: u32,
    /// Part of `calls` that was answered from the response cache.
    pub cached_calls: u32,
    /// Failed tries.
    pub retries: u32,
    /// Sum of the calls' latencies, in microseconds, but not of those answered from the response cache.
    pub latency_us: u64,
    /// Distinct names of the models or encoders that answered.
    pub served: Vec<String>,
    /// Flags of the model's answers.
    pub flags: Flags,
    /// End of its external agent; `None` unless that failed.
    pub agent_end: Option<AgentEnd>,
    /// Sums over the calls in the transcript, by the number of the attempt that made them: [`CallSums::by_attempt`].
    pub call_sums: BTreeMap<u32, CallSums>,
    /// Location of the transcript.
    pub transcript: TranscriptRef,
    /// Scores, or the questions that it waits for.
    pub state: RecordState,
}

impl SessionRecord {
    pub(super) const fn totals(&self) -> AttemptTotals {
        let Self { calls, cached_calls, retries, latency_us, usage, cost, maybe_spent, .. } = *self;
        AttemptTotals { calls, cached_calls, retries, latency_us, usage, cost, maybe_spent }
    }
}

/// Location of a transcript: a line of a compressed segment in Blobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptRef {
    /// Key of the segment.
    pub segment: String,
    /// Line in the segment, from 0.
    pub line: u32,
}

/// State of a recorded session.
#[derive(Debug, Clone, PartialEq)]
pub enum RecordState {
    /// The session needs no verdicts.
    Settled {
        /// Scores of the session; null if it was not measured.
        scores: Value,
    },
    /// The session needs verdicts.
    Awaiting {
        /// The judge to ask.
        judge: ModelRef,
        /// Digests of the questions.
        questions: Vec<Digest>,
        /// The transcript, in the caller's encoding; stored until the session is settled.
        transcript: Bytes,
    },
}

/// Classification of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Recorded {
    /// It is the session's result.
    First,
    /// Another attempt was recorded before it; only its cost is stored.
    Waste,
    /// The same attempt was recorded before; nothing has changed.
    Repeat,
}

/// A settled session with the attempt that counts.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRow {
    /// Position of the item in the data set.
    pub item: ItemIndex,
    /// The benchmark's id of the item.
    pub item_id: ItemId,
    /// The benchmark's task of the item.
    pub task: String,
    /// Outcome of the session, including the evaluators' judges.
    pub outcome: Outcome,
    /// Scores; null if it was not measured.
    pub scores: Value,
    /// Tokens of the attempt that counts.
    pub usage: Usage,
    /// Money of the attempt that counts.
    pub cost: CostSum,
    /// Number of the attempt that counts.
    pub attempt: u32,
    /// Location of the transcript.
    pub transcript: TranscriptRef,
    /// Answered calls.
    pub calls: u32,
    /// Part of `calls` that was answered from the response cache; `None` in rows of a version that did not count them.
    pub cached_calls: Option<u32>,
    /// Failed tries.
    pub retries: u32,
    /// Sum of the calls' latencies, in microseconds, but not of those answered from the response cache.
    pub latency_us: u64,
    /// Distinct names of the models or encoders that answered.
    pub served: Vec<String>,
    /// Flags of the model's answers.
    pub flags: Flags,
    /// End of its external agent; `None` unless that failed.
    pub agent_end: Option<AgentEnd>,
}

/// One attempt in any state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptRow {
    /// The session.
    pub key: SessionKey,
    /// Unique id of the attempt.
    pub id: AttemptId,
    /// Fencing number of the attempt.
    pub number: u32,
    /// The worker that made it.
    pub worker: WorkerId,
    /// State of the attempt.
    pub state: AttemptState,
    /// Start of the attempt.
    pub started_at: Timestamp,
    /// Time at which it ended or was given up; `None` while it is open.
    pub ended_at: Option<Timestamp>,
    /// Outcome; `None` unless it reported a result.
    pub outcome: Option<Outcome>,
    /// Tokens used, as far as known.
    pub usage: Usage,
    /// Cost, as far as known.
    pub cost: CostSum,
    /// Upper bound of costs in addition to `cost` for failed tries that the provider did not report.
    pub maybe_spent: Money,
    /// Worst-case cost of the call in flight of an attempt that is open or was lost, if known; in addition to `cost` and `maybe_spent`.
    pub at_most: Option<Money>,
    /// Answered calls.
    pub calls: u32,
    /// Part of `calls` that was answered from the response cache; `None` in rows of a version that did not count them.
    pub cached_calls: Option<u32>,
    /// Failed tries.
    pub retries: u32,
    /// Sum of the calls' latencies, in microseconds, but not of those answered from the response cache.
    pub latency_us: u64,
    /// Location of the transcript; `None` unless it reported a result.
    pub transcript: Option<TranscriptRef>,
}

impl AttemptRow {
    /// `true` where an answer came from the response cache, or nobody knows whether one did.
    #[must_use]
    pub fn may_be_cached(&self) -> bool {
        self.calls > 0 && self.cached_calls != Some(0)
    }
}

/// One metric of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricRow {
    /// The cell.
    pub cell: CellIndex,
    /// Scoring rule that computes the metric.
    pub evaluator: Evaluator,
    /// Name of the metric.
    pub metric: String,
    /// Value of the metric; `None` if nothing was measured.
    pub value: Option<f64>,
    /// Lower end of the confidence interval.
    pub low: Option<f64>,
    /// Upper end of the confidence interval.
    pub high: Option<f64>,
    /// Number of sessions that it is computed from.
    pub n: u32,
}

/// Counts of a resume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reopened {
    /// Sessions without a result, which will be run: those that were not measured, and those that never ran.
    pub to_run: u64,
    /// Sessions whose transcript is stored and whose questions will be asked again.
    pub to_judge: u64,
}
