//! What goes into a ledger and comes out of it; no type here knows a database.

use std::collections::BTreeMap;

use bytes::Bytes;
use jiff::Timestamp;
use regatta_proto::{
    Answerer, Attempt, AttemptId, AttemptTotals, Cause, Cell, CellIndex, CostSum, Digest, Evaluator, Flags, ItemId,
    ItemIndex, JudgeOutcome, ModelRef, Money, Outcome, OwnerName, SessionKey, ShardIndex, SweepId, SweepState, Usage,
    WorkerId,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::calls::CallSums;
use super::identity::Quota;
use super::states::{AttemptState, ShardState};

/// A sweep as planned; it starts in [`SweepState::Running`].
#[derive(Debug, Clone, PartialEq)]
pub struct NewSweep {
    /// Its id; a second sweep of the same id is not created.
    pub id: SweepId,
    /// Its name, for people.
    pub name: String,
    /// Digest of its lock.
    pub lock: Digest,
    /// Most money to spend; `None` is without limit.
    pub budget: Option<Money>,
    /// When it was submitted.
    pub created_at: Timestamp,
    /// All cells of the grid.
    pub cells: Vec<NewCell>,
    /// All shards of all cells.
    pub shards: Vec<NewShard>,
    /// The owner; `None` in an embedded run.
    pub owner: Option<OwnerName>,
    /// Most that its owner may be granted; the ledger may have a lower quota.
    pub quota: Quota,
}

impl NewSweep {
    /// Sessions of all its shards: of an adaptive sweep also those that later rounds may release.
    pub(super) fn sessions(&self) -> u64 {
        self.shards.iter().map(|shard| u64::from(shard.count)).sum()
    }

    /// Money that its owner's quota is charged for it.
    pub(super) fn charged(&self) -> Money {
        self.budget.filter(|_| self.owner.is_some()).unwrap_or(Money::ZERO)
    }
}

/// A cell as planned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCell {
    /// Its place in the grid.
    pub cell: Cell,
    /// Sessions it will have; of an adaptive sweep those of its first round, and [`Ledger::release`](super::Ledger::release) adds others.
    pub items: u32,
    /// Queue of the endpoint that serves its model.
    pub queue: String,
}

/// A shard as planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewShard {
    /// Its position in the sweep.
    pub index: ShardIndex,
    /// The cell it is a part of.
    pub cell: CellIndex,
    /// Position of its first item among the cell's selected items.
    pub first: u32,
    /// Items in it.
    pub count: u32,
}

/// Whether a sweep was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Created {
    /// It was.
    New,
    /// A sweep of that id was there; it was left as it is.
    AlreadyThere,
}

/// The time during which one coordinator leads, numbered; what a leader changes carries its term, and has no effect under a later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Term(pub u64);

/// A sweep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweepRow {
    /// Its id.
    pub id: SweepId,
    /// Its name, for people.
    pub name: String,
    /// Digest of its lock.
    pub lock: Digest,
    /// Where it stands.
    pub state: SweepState,
    /// Most money to spend; `None` is without limit.
    pub budget: Option<Money>,
    /// When it was submitted.
    pub created_at: Timestamp,
    /// When it reached its end; `None` while it has not, also after a resume.
    pub ended_at: Option<Timestamp>,
    /// How often it was resumed. Jobs of an earlier generation are void.
    #[serde(default)]
    pub generation: u32,
    /// Everything that was reported before the question of this number is recorded.
    #[serde(default)]
    pub echo: u64,
    /// The owner; `None` for sweeps of embedded runs and of versions before owners.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<OwnerName>,
    /// Money that its account had granted in all when it last ended; see [`SweepCost`](super::SweepCost).
    #[serde(default)]
    pub granted: Option<Money>,
}

/// A shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShardRow {
    /// Its position in the sweep.
    pub index: ShardIndex,
    /// The cell it is a part of.
    pub cell: CellIndex,
    /// Position of its first item among the cell's selected items.
    pub first: u32,
    /// Items in it.
    pub count: u32,
    /// Where it stands.
    pub state: ShardState,
}

/// How far a cell is. Judges' money is the sweep's, see [`Ledger::judge_costs`](super::Ledger::judge_costs).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellProgress {
    /// Which cell.
    pub index: CellIndex,
    /// Queue of the endpoint that serves its model.
    pub queue: String,
    /// Sessions it will have, as far as they are released.
    pub items: u64,
    /// Sessions whose jobs were dispatched.
    pub dispatched: u64,
    /// Sessions with a recorded attempt.
    pub recorded: u64,
    /// Of these, sessions that wait for no verdict: `measured` + `model_failures` + `not_measured`.
    pub settled: u64,
    /// Settled sessions that were measured.
    pub measured: u64,
    /// Settled sessions that the model made impossible.
    pub model_failures: u64,
    /// Settled sessions that say nothing about the model.
    pub not_measured: u64,
    /// Tokens of all attempts, running and wasted ones included, as far as they are known.
    pub usage: Usage,
    /// Money of all attempts, running and wasted ones included, as far as it is known.
    pub cost: CostSum,
    /// The part of `cost` that bought nothing: attempts that are `waste` or `lost`.
    pub wasted: CostSum,
    /// What all attempts may have cost on top of `cost`, at most: failed tries of which the provider did not tell, and the calls that
    /// were in flight when attempts were lost.
    pub maybe_spent: Money,
}

/// Costs of a cell's sessions: of those that were not stopped by trouble and whose every call has a known price, with all attempts that
/// led to the result.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CostMoments {
    /// How many there are.
    pub sessions: u64,
    /// Sum of their costs, in nano-dollars.
    pub sum: f64,
    /// Sum of the squares of their costs.
    pub squares: f64,
}

/// The end of an external agent that did not end well, or did nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentEnd {
    /// A few words that go on after "the agents", as `exited 1 and asked nothing`. Equal ends have equal words.
    pub how: String,
    /// The end of what it wrote to standard error, of bounded length.
    pub errors: String,
}

/// A session that ended, scored as far as that is possible without verdicts.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRecord {
    /// Which session.
    pub key: SessionKey,
    /// The benchmark's id of its item.
    pub item_id: ItemId,
    /// The benchmark's task of its item.
    pub task: String,
    /// Which attempt.
    pub attempt: Attempt,
    /// How it ended.
    pub outcome: Outcome,
    /// Tokens that this attempt alone used; what a handed-over transcript cost before is on the attempt that paid it.
    pub usage: Usage,
    /// Money that this attempt alone cost.
    pub cost: CostSum,
    /// What failed tries of this attempt alone may have cost on top, at most, without the provider telling.
    pub maybe_spent: Money,
    /// Answered calls.
    pub calls: u32,
    /// Failed tries.
    pub retries: u32,
    /// Sum of the calls' latencies, in microseconds.
    pub latency_us: u64,
    /// What answered, distinct.
    pub served: Vec<String>,
    /// Flags of the model's answers.
    pub flags: Flags,
    /// End of its external agent, where that was not well.
    pub agent_end: Option<AgentEnd>,
    /// What the calls in the transcript were like, by the number of the attempt that made them: [`CallSums::by_attempt`].
    pub call_sums: BTreeMap<u32, CallSums>,
    /// Where the transcript is.
    pub transcript: TranscriptRef,
    /// Its scores, or what it waits for.
    pub state: RecordState,
}

impl SessionRecord {
    pub(super) const fn totals(&self) -> AttemptTotals {
        let Self { calls, retries, latency_us, usage, cost, maybe_spent, .. } = *self;
        AttemptTotals { calls, retries, latency_us, usage, cost, maybe_spent }
    }
}

/// Where a transcript is: a line of a compressed segment in Blobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptRef {
    /// Key of the segment.
    pub segment: String,
    /// Line in the segment, from 0.
    pub line: u32,
}

/// Whether a recorded session needs verdicts.
#[derive(Debug, Clone, PartialEq)]
pub enum RecordState {
    /// It does not.
    Settled {
        /// Its scores; null when it was not measured.
        scores: Value,
    },
    /// It does.
    Awaiting {
        /// Who answers.
        judge: ModelRef,
        /// What is asked.
        questions: Vec<Digest>,
        /// The transcript, encoded as the caller likes; kept until the session is settled.
        transcript: Bytes,
    },
}

/// What became of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Recorded {
    /// It is the session's result.
    First,
    /// Another attempt was recorded before it; only its money is kept.
    Waste,
    /// The same attempt was recorded before; nothing changed.
    Repeat,
}

/// A judge's report, with the identity under which its verdicts are kept.
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
    /// Which session.
    pub key: SessionKey,
    /// The benchmark's id of its item.
    pub item_id: ItemId,
    /// How it ended.
    pub outcome: Outcome,
    /// What it asked, in the order of its record.
    pub questions: Vec<Digest>,
    /// The transcript as recorded.
    pub transcript: Bytes,
}

/// What a waiting session becomes.
#[derive(Debug, Clone, PartialEq)]
pub struct Settlement {
    /// Which session.
    pub key: SessionKey,
    /// What it becomes.
    pub result: SettlementResult,
}

/// The result of a session whose verdicts came, or did not, or led to further questions.
#[derive(Debug, Clone, PartialEq)]
pub enum SettlementResult {
    /// They came; the outcome stays as recorded.
    Scored(Value),
    /// They did not. With [`Cause::JudgeUnavailable`] the transcript is kept, so that a resume only asks again.
    NotMeasured(Cause),
    /// Some of them did, and it waits for all of these now.
    Waits(Vec<Digest>),
}

/// A settled session with the attempt that counts.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRow {
    /// Position of its item in the data set.
    pub item: ItemIndex,
    /// The benchmark's id of its item.
    pub item_id: ItemId,
    /// The benchmark's task of its item.
    pub task: String,
    /// How it ended, the evaluators' judges included.
    pub outcome: Outcome,
    /// Its scores; null when it was not measured.
    pub scores: Value,
    /// Tokens of the attempt that counts.
    pub usage: Usage,
    /// Money of the attempt that counts.
    pub cost: CostSum,
    /// Number of the attempt that counts.
    pub attempt: u32,
    /// Where the transcript is.
    pub transcript: TranscriptRef,
    /// Answered calls.
    pub calls: u32,
    /// Failed tries.
    pub retries: u32,
    /// Sum of the calls' latencies, in microseconds.
    pub latency_us: u64,
    /// What answered, distinct.
    pub served: Vec<String>,
    /// Flags of the model's answers.
    pub flags: Flags,
    /// End of its external agent, where that was not well.
    pub agent_end: Option<AgentEnd>,
}

/// One attempt, whatever became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptRow {
    /// Which session.
    pub key: SessionKey,
    /// Unique id of the attempt.
    pub id: AttemptId,
    /// The fence.
    pub number: u32,
    /// Who tried.
    pub worker: WorkerId,
    /// Where it stands.
    pub state: AttemptState,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended, or was given up; `None` while it is open.
    pub ended_at: Option<Timestamp>,
    /// How it ended, when it reported a result.
    pub outcome: Option<Outcome>,
    /// Tokens it used, as far as known.
    pub usage: Usage,
    /// Money it cost, as far as known.
    pub cost: CostSum,
    /// What its failed tries may have cost on top of `cost`, at most, without the provider telling.
    pub maybe_spent: Money,
    /// Worst-case cost of the call in flight, when it is open or was lost and that is known; comes on top of `cost` and
    /// `maybe_spent`.
    pub at_most: Option<Money>,
    /// Answered calls.
    pub calls: u32,
    /// Failed tries.
    pub retries: u32,
    /// Sum of the calls' latencies, in microseconds.
    pub latency_us: u64,
    /// Where the transcript is, when it reported a result.
    pub transcript: Option<TranscriptRef>,
}

/// One number of a cell's table.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricRow {
    /// Which cell.
    pub cell: CellIndex,
    /// Under which scoring rule.
    pub evaluator: Evaluator,
    /// Name of the metric.
    pub metric: String,
    /// Its value; `None` when nothing was measured.
    pub value: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// Sessions it is a statistic of.
    pub n: u32,
}

/// What a resume found to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reopened {
    /// Sessions that have no result now and will be run: those that were not measured, and those that never ran.
    pub to_run: u64,
    /// Sessions whose transcript is kept and whose questions will be asked again.
    pub to_judge: u64,
}

/// Spending of one judge of a sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgeCosts {
    /// The judge.
    pub judge: ModelRef,
    /// Models that its endpoint said had answered, sorted.
    pub served: Vec<String>,
    /// Tokens.
    pub usage: Usage,
    /// Money.
    pub cost: CostSum,
}

/// Adds the label of what answered as `judge`, in order, once.
pub(super) fn add_served(costs: &mut [JudgeCosts], judge: &ModelRef, label: String) {
    if let Some(found) = costs.iter_mut().find(|found| found.judge == *judge)
        && let Err(at) = found.served.binary_search(&label)
    {
        found.served.insert(at, label);
    }
}
