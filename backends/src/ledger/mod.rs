//! The third seam: what was planned, what was tried, and what came out.
//!
//! [`Ledger`] says what each call means; `sqlite` and `postgres` do the same thing to the same schema, and one conformance
//! suite (`tests/ledger.rs`) holds them to it. The rules by which reports change rows and counters are in `counters`, once. A
//! new call goes into [`Ledger`] and both implementations; a new column into a new migration of both.

mod audit;
mod calls;
pub(crate) mod columns;
mod cost;
mod counters;
mod error;
mod identity;
#[cfg(feature = "cluster")]
pub(crate) mod postgres;
mod rows;
mod schedules;
mod sketch;
mod sqlite;
mod states;
mod views;

use futures::future::BoxFuture;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use regatta_proto::{
    Answerer, Attempt, AttemptTotals, CellIndex, CostSum, Digest, ItemIndex, ModelRef, Money, OpenAttempt, SessionKey,
    ShardIndex, SweepId, SweepState, Usage, Verdict, WorkerId,
};

pub use self::audit::{AUDIT_READ_MAX, AuditOutcome, AuditResult, AuditRow, NewAuditEntry};
pub use self::calls::{CallSums, OtherCalls, ReportedCost};
pub use self::cost::SweepCost;
pub use self::error::{LedgerError, StoreError};
pub use self::identity::{NewToken, OwnerRow, Quota, TokenRow};
#[cfg(feature = "cluster")]
use self::postgres::Schema;
#[cfg(feature = "cluster")]
pub use self::postgres::{PostgresConfig, PostgresLedger};
pub use self::rows::{
    AgentEnd, AttemptRow, AwaitingSession, CellProgress, CostMoments, Created, JudgeCosts, Judged, MetricRow, NewCell,
    NewShard, NewSweep, RecordState, Recorded, Reopened, SessionRecord, SessionRow, Settlement, SettlementResult,
    ShardRow, SweepRow, Term, TranscriptRef,
};
pub use self::schedules::{
    Admission, MissedTicks, NewNotice, NoticeRow, PutSchedule, ScheduleRow, TickEnd, TickRow, TickState,
};
pub use self::sketch::Sketch;
pub use self::sqlite::{PutBack, Salvaged, SqliteLedger};
pub use self::states::{AttemptState, SessionState, ShardState};
pub use self::views::{
    CellMean, DaySpending, EndingCount, FlagCount, ITEMS_FOUND_MAX, ItemOrder, ItemPage, ItemQuery, ListedSession,
    ScoreValue, SessionView, Standing,
};
#[cfg(feature = "faults")]
use crate::faults::{Trouble, Troubles};

/// Where sweeps, attempts, sessions and verdicts are kept. Handles are cheap to clone and share one store.
///
/// Every call is one transaction: it happens as a whole or not at all, and may be repeated after an error. Calls about a sweep
/// that nobody created fail with [`LedgerError::UnknownSweep`] (only [`Ledger::sweep`] says `None`), and calls that would change
/// a cell or shard that does not exist with [`LedgerError::UnknownCell`] or [`LedgerError::UnknownShard`].
#[derive(Debug, Clone)]
pub enum Ledger {
    /// One file, for the embedded run.
    Sqlite(SqliteLedger),
    #[cfg(feature = "cluster")]
    /// A server, for a fleet.
    Postgres(PostgresLedger),
    #[cfg(feature = "faults")]
    /// One in memory whose calls go wrong, for one of the processes that share it.
    Troubled(SqliteLedger, Troubles),
}

/// The same call on whichever implementation it is.
macro_rules! each {
    ($ledger:expr, $inner:ident => $call:expr) => {
        match $ledger {
            Ledger::Sqlite($inner) => $call.await,
            #[cfg(feature = "cluster")]
            Ledger::Postgres($inner) => $call.await,
            #[cfg(feature = "faults")]
            Ledger::Troubled($inner, troubles) => {
                troubles.before().await.map_err(away)?;
                let reply = $call.await;
                troubles.after().await.map_err(away)?;
                reply
            }
        }
    };
}

use each;

#[cfg(feature = "faults")]
fn away(trouble: Trouble) -> LedgerError {
    LedgerError::Store { action: "reach the ledger", source: std::io::Error::other(trouble).into() }
}

/// Simulated.
#[cfg(feature = "faults")]
impl Ledger {
    /// A ledger in memory, of which [`Self::troubled`] gives each process its own view.
    ///
    /// # Errors
    /// When the schema cannot be written.
    pub fn in_memory() -> Result<Self, LedgerError> {
        SqliteLedger::in_memory().map(Self::Sqlite)
    }

    /// This ledger as a process has it whom `troubles` befall. Only one in memory has such views; another stays as it is.
    #[must_use]
    pub fn troubled(&self, troubles: Troubles) -> Self {
        match self {
            Self::Sqlite(ledger) => Self::Troubled(ledger.clone(), troubles),
            other => other.clone(),
        }
    }
}

/// Opening.
impl Ledger {
    /// Opens or creates the file `path`, in a folder that exists, and brings its schema up to date.
    ///
    /// # Errors
    /// When the file cannot be opened, or was written by a newer build.
    pub async fn sqlite(path: impl AsRef<Path>) -> Result<Self, LedgerError> {
        SqliteLedger::open(path.as_ref()).await.map(Self::Sqlite)
    }

    /// Connects to a database and brings its schema up to date; any number of processes may do so at once.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses, or the schema is of a newer build.
    #[cfg(feature = "cluster")]
    pub fn postgres(config: PostgresConfig) -> BoxFuture<'static, Result<Self, LedgerError>> {
        Box::pin(async move { PostgresLedger::connect(config, Schema::Migrated).await.map(Self::Postgres) })
    }

    /// Connects to a database whose schema is up to date already; for processes that may not change it.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses, or the schema is not of this build.
    #[cfg(feature = "cluster")]
    pub fn postgres_as_it_is(config: PostgresConfig) -> BoxFuture<'static, Result<Self, LedgerError>> {
        Box::pin(async move { PostgresLedger::connect(config, Schema::AsItIs).await.map(Self::Postgres) })
    }
}

/// Closing.
impl Ledger {
    /// Brings what a file's write-ahead log holds into the file itself, so that nothing hangs on the log any more. Servers do so by
    /// themselves.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub async fn checkpoint(&self) -> Result<(), LedgerError> {
        match self {
            Self::Sqlite(ledger) => ledger.checkpoint().await,
            #[cfg(feature = "faults")]
            Self::Troubled(ledger, _) => ledger.checkpoint().await,
            #[cfg(feature = "cluster")]
            Self::Postgres(_) => Ok(()),
        }
    }
}

/// Repair.
impl Ledger {
    /// This ledger as a file, which can be damaged and repaired; `None` where it is on a server, which looks after its own.
    #[must_use]
    pub const fn as_file(&self) -> Option<&SqliteLedger> {
        match self {
            Self::Sqlite(file) => Some(file),
            #[cfg(feature = "faults")]
            Self::Troubled(..) => None,
            #[cfg(feature = "cluster")]
            Self::Postgres(_) => None,
        }
    }
}

/// Planning and dispatch: the coordinator's calls.
impl Ledger {
    /// Writes a sweep with its cells and shards; a sweep of the same id that is there already stays as it is.
    ///
    /// # Errors
    /// [`LedgerError::QuotaExceeded`], when a shard names a cell that is not among the sweep's, or when the store fails.
    pub fn create_sweep<'a>(&'a self, sweep: NewSweep) -> BoxFuture<'a, Result<Created, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.create_sweep(sweep)) })
    }

    /// A sweep; `None` when there is none of that id.
    ///
    /// # Errors
    /// When the store fails.
    pub fn sweep<'a>(&'a self, sweep: &'a SweepId) -> BoxFuture<'a, Result<Option<SweepRow>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.sweep(sweep)) })
    }

    /// All sweeps, newest first.
    ///
    /// # Errors
    /// When the store fails.
    pub fn sweeps<'a>(&'a self) -> BoxFuture<'a, Result<Vec<SweepRow>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.sweeps()) })
    }

    /// Moves a sweep to the state `to` if it stands in one of `from`, and says whether it did. Of several callers at once, one
    /// succeeds. `at` is kept as the end when `to` is one.
    ///
    /// # Errors
    /// When the store fails.
    pub fn transition<'a>(
        &'a self,
        sweep: &'a SweepId,
        from: &'a [SweepState],
        to: SweepState,
        at: Timestamp,
    ) -> BoxFuture<'a, Result<bool, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.transition(sweep, from, to, at)) })
    }

    /// Removes an ended sweep with everything that is only its own; verdicts stay, which other sweeps share. Says whether it did: not when
    /// there is no such sweep, or it runs.
    ///
    /// # Errors
    /// When the store fails.
    pub fn drop_sweep<'a>(&'a self, sweep: &'a SweepId) -> BoxFuture<'a, Result<bool, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.drop_sweep(sweep)) })
    }

    /// Raises a sweep's budget; to what it is already is no change.
    ///
    /// # Errors
    /// [`LedgerError::BudgetNotRaised`] when the sweep's budget is higher or without limit, or when the store fails.
    pub fn set_budget<'a>(&'a self, sweep: &'a SweepId, budget: Money) -> BoxFuture<'a, Result<(), LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.set_budget(sweep, budget)) })
    }

    /// At most `limit` shards of cells with that queue that are released and not dispatched, in order. One that is `dispatching` was
    /// interrupted: some of its jobs may be in the queue.
    ///
    /// # Errors
    /// When the store fails.
    pub fn next_shards<'a>(
        &'a self,
        sweep: &'a SweepId,
        queue: &'a str,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<ShardRow>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.next_shards(sweep, queue, limit)) })
    }

    /// Takes or keeps the lead for `holder`, whose name no other process has; `None` while another holds it. It lasts for `lease` from this
    /// call on, by the store's clock.
    ///
    /// # Errors
    /// When the store fails.
    pub fn lead<'a>(
        &'a self,
        holder: &'a WorkerId,
        lease: Duration,
    ) -> BoxFuture<'a, Result<Option<Term>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.lead(holder, lease)) })
    }

    /// Moves a shard from `planned` to `dispatching`, and says whether it did: not when it stands elsewhere, when its sweep was resumed since
    /// `generation`, nor when `term` is over. Whoever is told `true` publishes its jobs.
    ///
    /// # Errors
    /// When the store fails.
    pub fn claim_shard<'a>(
        &'a self,
        sweep: &'a SweepId,
        shard: ShardIndex,
        generation: u32,
        term: Term,
    ) -> BoxFuture<'a, Result<bool, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.claim_shard(sweep, shard, generation, term)) })
    }

    /// Moves a shard from `dispatching` to `dispatched`, and adds `dispatched` sessions to what its cell has dispatched; says whether it
    /// did: not when it stands elsewhere, nor when `term` is over.
    ///
    /// # Errors
    /// When the store fails.
    pub fn confirm_shard<'a>(
        &'a self,
        sweep: &'a SweepId,
        shard: ShardIndex,
        dispatched: u32,
        term: Term,
    ) -> BoxFuture<'a, Result<bool, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.confirm_shard(sweep, shard, dispatched, term)) })
    }

    /// Those of `items` that have a running attempt of which a worker has told within the last `within`.
    ///
    /// # Errors
    /// When the store fails.
    pub fn running_items<'a>(
        &'a self,
        sweep: &'a SweepId,
        cell: CellIndex,
        items: &'a [ItemIndex],
        within: Duration,
    ) -> BoxFuture<'a, Result<BTreeSet<ItemIndex>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.running_items(sweep, cell, items, within)) })
    }

    /// Notes that everything is recorded that was reported before the question `number`; a lower one than what is noted changes nothing.
    ///
    /// # Errors
    /// When the store fails.
    pub fn echo<'a>(&'a self, sweep: &'a SweepId, number: u64) -> BoxFuture<'a, Result<(), LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.echo(sweep, number)) })
    }

    /// For how long `sweep` has been as `life` says, in words of the caller's own, by the store's clock; whoever asked before. No time if it
    /// was another way until now, or the time is to begin `anew`.
    ///
    /// # Errors
    /// When the store fails.
    pub fn quiet<'a>(
        &'a self,
        sweep: &'a SweepId,
        life: &'a str,
        anew: bool,
    ) -> BoxFuture<'a, Result<Duration, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.quiet(sweep, life, anew)) })
    }

    /// Moves a sweep from `running` to `tabulating`, notes what its account has granted, and says whether it did: not when it stands
    /// elsewhere, was resumed since `generation`, or when `term` is over.
    ///
    /// # Errors
    /// When the store fails.
    pub fn begin_tabulating<'a>(
        &'a self,
        sweep: &'a SweepId,
        generation: u32,
        granted: Option<Money>,
        term: Term,
    ) -> BoxFuture<'a, Result<bool, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.begin_tabulating(sweep, generation, granted, term)) })
    }

    /// Notes what the account of a sweep has granted, where it ends in another way.
    ///
    /// # Errors
    /// When there is no such sweep, or the store fails.
    pub fn set_granted<'a>(
        &'a self,
        sweep: &'a SweepId,
        granted: Option<Money>,
    ) -> BoxFuture<'a, Result<(), LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.set_granted(sweep, granted)) })
    }

    /// Lets cells have so many sessions each, or as many as they have where these are more, and says whether it did: not when the sweep does
    /// not run, was resumed since `generation`, or when `term` is over. Shards that begin beyond a cell's sessions are not dispatched.
    ///
    /// # Errors
    /// When the store fails.
    pub fn release<'a>(
        &'a self,
        sweep: &'a SweepId,
        cells: &'a [(CellIndex, u32)],
        generation: u32,
        term: Term,
    ) -> BoxFuture<'a, Result<bool, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.release(sweep, cells, generation, term)) })
    }

    /// Items `from` ..= `to` of a cell that have a recorded session, settled or not, in order.
    ///
    /// # Errors
    /// When the store fails.
    pub fn recorded_items<'a>(
        &'a self,
        sweep: &'a SweepId,
        cell: CellIndex,
        from: ItemIndex,
        to: ItemIndex,
    ) -> BoxFuture<'a, Result<Vec<ItemIndex>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.recorded_items(sweep, cell, from, to)) })
    }

    /// All shards of a sweep, in order.
    ///
    /// # Errors
    /// When the store fails.
    pub fn shards<'a>(&'a self, sweep: &'a SweepId) -> BoxFuture<'a, Result<Vec<ShardRow>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.shards(sweep)) })
    }

    /// The highest number among the attempts of each of `items`; items without attempts are left out.
    ///
    /// # Errors
    /// When the store fails.
    pub fn highest_attempt<'a>(
        &'a self,
        sweep: &'a SweepId,
        cell: CellIndex,
        items: &'a [ItemIndex],
    ) -> BoxFuture<'a, Result<BTreeMap<ItemIndex, u32>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.highest_attempt(sweep, cell, items)) })
    }

    /// The transcripts to continue from, of those of `items` that a budget ended and [`Ledger::reopen_unmeasured`] opened again: where
    /// the session's newest attempt that reported a result left off. Items that have a session, or nothing to continue from, are left
    /// out. The job that continues needs a number above [`Ledger::highest_attempt`].
    ///
    /// # Errors
    /// When the store fails.
    pub fn continuations<'a>(
        &'a self,
        sweep: &'a SweepId,
        cell: CellIndex,
        items: &'a [ItemIndex],
    ) -> BoxFuture<'a, Result<BTreeMap<ItemIndex, TranscriptRef>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.continuations(sweep, cell, items)) })
    }

    /// How far every cell is, in the order of the grid. Reads counters only, so its cost does not grow with sessions.
    ///
    /// # Errors
    /// When the store fails.
    pub fn cell_progress<'a>(&'a self, sweep: &'a SweepId) -> BoxFuture<'a, Result<Vec<CellProgress>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.cell_progress(sweep)) })
    }
}

/// Recording and scoring: the scorer's calls.
impl Ledger {
    /// Records sessions, and says what became of each, in the order given.
    ///
    /// # Errors
    /// When the store fails.
    pub fn record<'a>(&'a self, records: Vec<SessionRecord>) -> BoxFuture<'a, Result<Vec<Recorded>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.record(records)) })
    }

    /// Keeps what running attempts have spent so far. Attempts that ended, and reports that know less than what is stored, are
    /// left alone.
    ///
    /// # Errors
    /// When the store fails.
    pub fn record_progress<'a>(
        &'a self,
        reports: Vec<(OpenAttempt, WorkerId)>,
    ) -> BoxFuture<'a, Result<(), LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.record_progress(reports)) })
    }

    /// Keeps what an attempt had spent, and what its failed tries may have cost on top, when another worker took over. Harmless when
    /// repeated, or after the attempt's result. What its calls were like is counted with the attempt that goes on.
    ///
    /// # Errors
    /// When the store fails.
    pub fn record_handover<'a>(
        &'a self,
        key: &'a SessionKey,
        attempt: Attempt,
        totals: AttemptTotals,
    ) -> BoxFuture<'a, Result<(), LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.record_handover(key, attempt, totals)) })
    }

    /// The answers that `answerer` has given to any of `questions`, in any sweep.
    ///
    /// # Errors
    /// When the store fails.
    pub fn verdicts<'a>(
        &'a self,
        answerer: Answerer,
        questions: &'a [Digest],
    ) -> BoxFuture<'a, Result<HashMap<Digest, Verdict>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.verdicts(answerer, questions)) })
    }

    /// Keeps judges' answers (the first to a question stays) and costs, and lets the questions, answered or not, be claimed
    /// again. A repeated report changes nothing.
    ///
    /// # Errors
    /// When the store fails.
    pub fn save_judged<'a>(&'a self, judged: Vec<Judged>) -> BoxFuture<'a, Result<(), LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.save_judged(judged)) })
    }

    /// Those of `questions` that nobody has claimed for this sweep and judge, in the order given; the caller has to ask them.
    /// Record the sessions that wait for them first: an answer may come at once.
    ///
    /// # Errors
    /// When the store fails.
    pub fn claim_questions<'a>(
        &'a self,
        sweep: &'a SweepId,
        judge: &'a ModelRef,
        questions: &'a [Digest],
    ) -> BoxFuture<'a, Result<Vec<Digest>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.claim_questions(sweep, judge, questions)) })
    }

    /// Lets `questions` be claimed again: whoever claimed them could not ask them.
    ///
    /// # Errors
    /// When the store fails.
    pub fn release_questions<'a>(
        &'a self,
        sweep: &'a SweepId,
        judge: &'a ModelRef,
        questions: &'a [Digest],
    ) -> BoxFuture<'a, Result<(), LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.release_questions(sweep, judge, questions)) })
    }

    /// Sessions that wait for `judge` to answer any of `questions`, ordered by cell and item.
    ///
    /// # Errors
    /// When the store fails.
    pub fn awaiting<'a>(
        &'a self,
        sweep: &'a SweepId,
        judge: &'a ModelRef,
        questions: &'a [Digest],
    ) -> BoxFuture<'a, Result<Vec<AwaitingSession>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.awaiting(sweep, judge, questions)) })
    }

    /// All sessions of a sweep that wait for verdicts, ordered by cell and item.
    ///
    /// # Errors
    /// When the store fails.
    pub fn awaiting_all<'a>(&'a self, sweep: &'a SweepId) -> BoxFuture<'a, Result<Vec<AwaitingSession>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.awaiting_all(sweep)) })
    }

    /// Gives waiting sessions their result, and says how many were still waiting; the others stay as they are.
    ///
    /// # Errors
    /// When the store fails.
    pub fn settle<'a>(&'a self, settlements: Vec<Settlement>) -> BoxFuture<'a, Result<u64, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.settle(settlements)) })
    }
}

/// The end, and the way back.
impl Ledger {
    /// The settled sessions of a cell, ordered by item.
    ///
    /// # Errors
    /// When the store fails.
    pub fn sessions<'a>(
        &'a self,
        sweep: &'a SweepId,
        cell: CellIndex,
    ) -> BoxFuture<'a, Result<Vec<SessionRow>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.sessions(sweep, cell)) })
    }

    /// All attempts of a sweep, ordered by cell, item, number and id.
    ///
    /// # Errors
    /// When the store fails.
    pub fn attempts<'a>(&'a self, sweep: &'a SweepId) -> BoxFuture<'a, Result<Vec<AttemptRow>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.attempts(sweep)) })
    }

    /// The attempt of a sweep that has been running for longest, as far as workers have told.
    ///
    /// # Errors
    /// When the store fails.
    pub fn oldest_open<'a>(&'a self, sweep: &'a SweepId) -> BoxFuture<'a, Result<Option<AttemptRow>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.oldest_open(sweep)) })
    }

    /// What the sessions of each cell have cost, for forecasts; cells without such sessions are left out. Reads every attempt.
    ///
    /// # Errors
    /// When the store fails.
    pub fn cost_moments<'a>(
        &'a self,
        sweep: &'a SweepId,
    ) -> BoxFuture<'a, Result<Vec<(CellIndex, CostMoments)>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.cost_moments(sweep)) })
    }

    /// What the calls of a sweep's sessions were like, by cell; cells without calls are left out. `calls` says which calls count.
    ///
    /// # Errors
    /// When the store fails.
    pub fn call_sums<'a>(
        &'a self,
        sweep: &'a SweepId,
    ) -> BoxFuture<'a, Result<Vec<(CellIndex, CallSums)>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.call_sums(sweep)) })
    }

    /// Tokens and money that a sweep's judges took.
    ///
    /// # Errors
    /// When the store fails.
    pub fn judge_costs<'a>(&'a self, sweep: &'a SweepId) -> BoxFuture<'a, Result<(Usage, CostSum), LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.judge_costs(sweep)) })
    }

    /// Tokens and money that each judge of a sweep took, by its name.
    ///
    /// # Errors
    /// When the store fails.
    pub fn costs_by_judge<'a>(&'a self, sweep: &'a SweepId) -> BoxFuture<'a, Result<Vec<JudgeCosts>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.costs_by_judge(sweep)) })
    }

    /// Gives up the attempts that never ended, and says how many. To be called when the sweep ends.
    ///
    /// # Errors
    /// When the store fails.
    pub fn close_open_attempts<'a>(
        &'a self,
        sweep: &'a SweepId,
        at: Timestamp,
    ) -> BoxFuture<'a, Result<u64, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.close_open_attempts(sweep, at)) })
    }

    /// Replaces all metrics of the cells that `rows` name.
    ///
    /// # Errors
    /// When the store fails, or two rows have the same cell, evaluator and metric.
    pub fn save_metrics<'a>(
        &'a self,
        sweep: &'a SweepId,
        rows: Vec<MetricRow>,
    ) -> BoxFuture<'a, Result<(), LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.save_metrics(sweep, rows)) })
    }

    /// All metrics of a sweep, ordered by cell and, within a cell, as saved.
    ///
    /// # Errors
    /// When the store fails.
    pub fn metrics<'a>(&'a self, sweep: &'a SweepId) -> BoxFuture<'a, Result<Vec<MetricRow>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.metrics(sweep)) })
    }

    /// Prepares a resume of a sweep, whose generation it raises. Sessions that were not measured lose their row, and the
    /// attempts that led there become waste; those whose judge was unavailable and whose transcript is kept wait again, and
    /// their questions may be claimed again. In every cell that lacks sessions then, all shards are planned again and what is
    /// dispatched is what is recorded.
    ///
    /// Sessions that the budget ended ([`Cause::Budget`](regatta_proto::Cause::Budget)) lose their row too, but when calls of them were
    /// answered, their attempt is handed over instead of wasted: [`Ledger::continuations`] knows its transcript.
    ///
    /// # Errors
    /// When the store fails.
    pub fn reopen_unmeasured<'a>(&'a self, sweep: &'a SweepId) -> BoxFuture<'a, Result<Reopened, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.reopen_unmeasured(sweep)) })
    }

    /// Forgets what was dispatched without a result, and returns how many sessions are planned again: for jobs that died with their
    /// queue. `None` when `term` is over, which changes nothing. Questions without an answer may be claimed again. Calling it while such jobs are alive makes some sessions run twice;
    /// the surplus attempts are recorded as waste.
    ///
    /// # Errors
    /// When the sweep is unknown or the store fails.
    pub fn reset_dispatch<'a>(
        &'a self,
        sweep: &'a SweepId,
        term: Term,
    ) -> BoxFuture<'a, Result<Option<u64>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.reset_dispatch(sweep, term)) })
    }
}
