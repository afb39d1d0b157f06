//! The third seam: the record of plans, attempts and results.
//!
//! [`Ledger`] defines the calls; `sqlite` and `postgres` implement them on the same schema, and one conformance suite (`tests/ledger.rs`)
//! checks both. The rules by which reports change rows and counters are in `counters`. A new call goes into [`Ledger`] and both
//! implementations; a new column into a new migration of both.

mod audit;
mod call_sums;
pub(crate) mod columns;
mod cost;
mod counters;
mod error;
mod identity;
mod pages;
#[cfg(feature = "cluster")]
pub(crate) mod postgres;
mod rows;
mod schedules;
pub(crate) mod schema;
mod sketch;
mod sqlite;
mod states;
mod storage;
mod views;

use futures::future::BoxFuture;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use regatta_proto::{
    Answerer, Attempt, AttemptTotals, CellIndex, CostSum, Digest, ItemIndex, ModelRef, Money, OpenAttempt, Partition,
    SessionKey, ShardIndex, SweepId, SweepState, Usage, Verdict, WorkerId,
};

pub use self::audit::{AUDIT_READ_MAX, AuditOutcome, AuditResult, AuditRow, NewAuditEntry};
pub use self::call_sums::{CallSums, OtherCalls, ReportedCost};
pub use self::cost::SweepCost;
pub use self::error::{LedgerError, StoreError};
pub use self::identity::{NewToken, OwnerRow, Quota, TokenRow};
pub use self::pages::{PageMark, PageMarkError};
#[cfg(feature = "cluster")]
use self::postgres::Schema;
#[cfg(feature = "cluster")]
pub use self::postgres::{PostgresConfig, PostgresLedger};
pub use self::rows::{
    ASKED_WITHIN, AgentEnd, AttemptRow, AwaitingSession, CellProgress, Claimed, CostMoments, Created, JudgeCosts,
    Judged, MetricRow, NewCell, NewShard, NewSweep, OpenQuestion, RecordState, Recorded, Reopened, SessionRecord,
    SessionRow, Settlement, SettlementResult, ShardRow, Silence, SweepRow, Term, TranscriptRef,
};
pub use self::schedules::{
    Admission, MissedTicks, NewNotice, NewSchedule, NoticeRow, PutSchedule, ScheduleRow, TickEnd, TickRow, TickState,
};
pub use self::sketch::Sketch;
pub use self::sqlite::{PutBack, Salvaged, SqliteLedger};
pub use self::states::{AttemptState, Held, SessionState, ShardState, StaleQuestions, ToldBy, UnderWay};
pub use self::storage::{
    Credits, EndedUse, OBJECT_BYTES_MIN, ObjectRow, ObjectState, ObjectUse, ObjectUses, REMOVAL_MAX, StorageQuota,
};
pub use self::views::{
    CellMean, DaySpending, EndingCount, FlagCount, ITEMS_FOUND_MAX, ItemOrder, ItemPage, ItemQuery, ListedSession,
    ScoreValue, SessionView, Standing,
};
#[cfg(feature = "faults")]
use crate::faults::{Trouble, Troubles};

/// The store of sweeps, attempts, sessions and verdicts. Handles are cheap to clone and share one store.
///
/// Every call is one transaction: it happens as a whole or not at all, and may be repeated after an error. Calls about an unknown sweep
/// fail with [`LedgerError::UnknownSweep`] (only [`Ledger::sweep`] returns `None`), and calls that would change a cell or shard that does
/// not exist fail with [`LedgerError::UnknownCell`] or [`LedgerError::UnknownShard`].
#[derive(Debug, Clone)]
pub enum Ledger {
    /// A file, for the embedded run.
    Sqlite(SqliteLedger),
    #[cfg(feature = "cluster")]
    /// A database server, for a fleet.
    Postgres(PostgresLedger),
    #[cfg(feature = "faults")]
    /// A ledger in memory with injected faults, as one of several simulated processes sees it.
    Troubled(SqliteLedger, Troubles),
}

/// The same call on either implementation.
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

/// Ledgers for simulations.
#[cfg(feature = "faults")]
impl Ledger {
    /// A ledger in memory, of which [`Self::troubled`] returns views for simulated processes.
    ///
    /// # Errors
    /// When the schema cannot be created.
    pub fn in_memory() -> Result<Self, LedgerError> {
        SqliteLedger::in_memory().map(Self::Sqlite)
    }

    /// The view of a process that suffers `troubles`. Only a ledger in memory has such views; others are returned unchanged.
    #[must_use]
    pub fn troubled(&self, troubles: Troubles) -> Self {
        match self {
            Self::Sqlite(ledger) => Self::Troubled(ledger.clone(), troubles),
            other => other.clone(),
        }
    }
}

/// Opening a ledger.
impl Ledger {
    /// Opens or creates the file `path`, in an existing folder, and migrates its schema.
    ///
    /// # Errors
    /// When the file cannot be opened, or was written by a newer build.
    pub async fn sqlite(path: impl AsRef<Path>) -> Result<Self, LedgerError> {
        SqliteLedger::open(path.as_ref()).await.map(Self::Sqlite)
    }

    /// Connects to a database and migrates its schema; any number of processes may do so concurrently.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses, or the schema is that of a newer build.
    #[cfg(feature = "cluster")]
    pub fn postgres(config: PostgresConfig) -> BoxFuture<'static, Result<Self, LedgerError>> {
        Box::pin(async move { PostgresLedger::connect(config, Schema::Migrated).await.map(Self::Postgres) })
    }

    /// Connects to a database with a current schema, for processes that may not change it.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses, or the schema is not that of this build.
    #[cfg(feature = "cluster")]
    pub fn postgres_as_it_is(config: PostgresConfig) -> BoxFuture<'static, Result<Self, LedgerError>> {
        Box::pin(async move { PostgresLedger::connect(config, Schema::AsItIs).await.map(Self::Postgres) })
    }
}

/// Closing a ledger.
impl Ledger {
    /// Copies a file's write-ahead log into the file, so that the log can be deleted. Does nothing on a server.
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

/// Repairing a ledger.
impl Ledger {
    /// The ledger as a file, which can be damaged and repaired; `None` on a server.
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
    /// Writes a sweep with its cells and shards. An existing sweep with the same id is left unchanged.
    ///
    /// # Errors
    /// [`LedgerError::QuotaExceeded`], [`LedgerError::Removed`] for an id that [`Ledger::removed`] names, [`LedgerError::ObjectRemoved`] if one of
    /// its inputs is not there any more, when a shard names a cell that is not among the sweep's, or when the store fails.
    pub fn create_sweep<'a>(&'a self, sweep: NewSweep) -> BoxFuture<'a, Result<Created, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.create_sweep(sweep)) })
    }

    /// The sweep with this id; `None` if there is none.
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

    /// Moves a sweep to the state `to` if its state is in `from`, and returns `true` if it did. Of several concurrent callers, one
    /// succeeds. If `to` is an end, `at` is stored as its time.
    ///
    /// # Errors
    /// [`LedgerError::Removed`] for a sweep that is to run while it is being removed, or when the store fails.
    pub fn transition<'a>(
        &'a self,
        sweep: &'a SweepId,
        from: &'a [SweepState],
        to: SweepState,
        at: Timestamp,
    ) -> BoxFuture<'a, Result<bool, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.transition(sweep, from, to, at)) })
    }

    /// Begins the removal of an ended sweep: from now on it cannot be resumed, so that its files may go before its rows. Returns `false`, and
    /// changes nothing, if there is no such sweep, it is running, or it was resumed since it had this `generation`. Idempotent.
    ///
    /// # Errors
    /// When the store fails.
    pub fn begin_removal<'a>(
        &'a self,
        sweep: &'a SweepId,
        generation: u32,
    ) -> BoxFuture<'a, Result<bool, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.begin_removal(sweep, generation)) })
    }

    /// Those of `sweeps` that were removed, or whose removal has begun.
    ///
    /// # Errors
    /// When the store fails.
    pub fn removed<'a>(
        &'a self,
        sweeps: &'a BTreeSet<SweepId>,
    ) -> BoxFuture<'a, Result<BTreeSet<SweepId>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.removed(sweeps)) })
    }

    /// A name of the database that neither others of its server have nor those of other servers, nor a copy that was restored from a dump. Letters,
    /// digits and `-`. `None` of a file.
    ///
    /// # Errors
    /// When the store fails.
    pub fn database_name<'a>(&'a self) -> BoxFuture<'a, Result<Option<String>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.database_name()) })
    }

    /// Fails if the login to a server lacks a right that a coordinator needs.
    ///
    /// # Errors
    /// [`LedgerError::MissingRights`], or when the store fails.
    pub fn check_rights<'a>(&'a self) -> BoxFuture<'a, Result<(), LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.check_rights()) })
    }

    /// `true` if workers have told within the last `within` of sessions of `sweep` without a result, of batches or of questions. What runs
    /// goes on when its sweep ends.
    ///
    /// # Errors
    /// When the store fails.
    pub fn is_alive<'a>(&'a self, sweep: &'a SweepId, within: Duration) -> BoxFuture<'a, Result<bool, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.is_alive(sweep, within)) })
    }

    /// Deletes an ended sweep with its rows; verdicts stay, because other sweeps share them. Its id is not used again. Returns `false` if
    /// there is no such sweep, or it is running.
    ///
    /// # Errors
    /// When the store fails.
    pub fn drop_sweep<'a>(&'a self, sweep: &'a SweepId) -> BoxFuture<'a, Result<bool, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.drop_sweep(sweep)) })
    }

    /// At most `limit` shards of cells with this queue that are released and not dispatched, in order. In the state `dispatching`, a shard
    /// was interrupted, and some of its jobs may be in the queue.
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

    /// Makes or keeps `holder`, a name that is unique to its process, the leader; `None` while another process leads. The lease lasts for
    /// `lease` from this call, by the store's clock.
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

    /// Ends the lease of `holder`, so that whoever asks next leads, under a higher term. Changes nothing while another leads.
    ///
    /// # Errors
    /// When the store fails.
    pub fn resign<'a>(&'a self, holder: &'a WorkerId) -> BoxFuture<'a, Result<(), LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.resign(holder)) })
    }

    /// Moves a shard from `planned` to `dispatching`. Returns `false`, and changes nothing, if it is in another state, its sweep does not run
    /// (any more) or was resumed since `generation`, or `term` is over. The caller that gets `true` publishes the jobs.
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

    /// Moves a shard from `dispatching` to `dispatched`, and adds `dispatched` to the number of dispatched sessions of its cell. Returns
    /// `false`, and changes nothing, if it is in another state, or `term` is over.
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

    /// Moves those of `shards`, all of `cell`, that are in `dispatching` back to `planned`, because it is not known whether their jobs were
    /// published, and sets the number of dispatched sessions of the cell to `dispatched`: those of its dispatched shards, and those of
    /// others that have a result. Dispatched shards stay as they are. Returns `false`, and changes nothing, if none is in `dispatching`, or
    /// `term` is over.
    ///
    /// # Errors
    /// When the store fails.
    pub fn plan_shards_again<'a>(
        &'a self,
        sweep: &'a SweepId,
        cell: CellIndex,
        shards: &'a [ShardIndex],
        dispatched: u64,
        term: Term,
    ) -> BoxFuture<'a, Result<bool, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.plan_shards_again(sweep, cell, shards, dispatched, term)) })
    }

    /// Returns those of `items` that have no result and may be under way, each with the strongest evidence; reports within the last
    /// `within` are recent ones. Sessions that end between this call and a later one have a result there.
    ///
    /// # Errors
    /// When the store fails.
    pub fn under_way<'a>(
        &'a self,
        sweep: &'a SweepId,
        cell: CellIndex,
        items: &'a [ItemIndex],
        within: Duration,
    ) -> BoxFuture<'a, Result<BTreeMap<ItemIndex, UnderWay>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.under_way(sweep, cell, items, within)) })
    }

    /// `true` if a worker has told within the last `within` that it waits for answers of the judges of `sweep`.
    ///
    /// # Errors
    /// When the store fails.
    pub fn is_judging<'a>(&'a self, sweep: &'a SweepId, within: Duration) -> BoxFuture<'a, Result<bool, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.is_judging(sweep, within)) })
    }

    /// Records that all reports of `partition` before the question `number` have been recorded. The sweep has it as its echo once this is so of each
    /// partition; a number lower than the last one changes nothing.
    ///
    /// # Errors
    /// When the store fails.
    pub fn echo<'a>(
        &'a self,
        sweep: &'a SweepId,
        number: u64,
        partition: Partition,
    ) -> BoxFuture<'a, Result<(), LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.echo(sweep, number, partition)) })
    }

    /// The time for which the state of `sweep`, as the caller describes it in `life`, has been the same, by the store's clock, whichever
    /// process asked. Zero if the state has changed since the last call, or if `anew` is set.
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

    /// Moves a sweep from `running` to `tabulating`, and stores the total that its account has granted. Returns `false`, and changes
    /// nothing, if it is in another state, was resumed since `generation`, or `term` is over.
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

    /// Stores the total that the account of a sweep has granted, if the sweep ends in another way.
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

    /// Notes that everything is written that `sweep` leaves behind after so many resumes. An older note changes nothing.
    ///
    /// # Errors
    /// When there is no such sweep, or the store fails.
    pub fn note_tabulated<'a>(&'a self, sweep: &'a SweepId, generation: u32) -> BoxFuture<'a, Result<(), LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.note_tabulated(sweep, generation)) })
    }

    /// Raises the number of sessions that cells may have to the given ones, never lowering it. Returns `false`, and changes nothing, if the
    /// sweep does not run, was resumed since `generation`, or `term` is over. Shards that begin after a cell's sessions are not dispatched.
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

    /// Items from `from` to `to`, inclusive, of a cell that have a recorded session, settled or not, in order.
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

    /// All of `items` that have a result, in no particular order.
    ///
    /// # Errors
    /// When the store fails.
    pub fn recorded_among<'a>(
        &'a self,
        sweep: &'a SweepId,
        cell: CellIndex,
        items: &'a [ItemIndex],
    ) -> BoxFuture<'a, Result<Vec<ItemIndex>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.recorded_among(sweep, cell, items)) })
    }

    /// All shards of a sweep, in order.
    ///
    /// # Errors
    /// When the store fails.
    pub fn shards<'a>(&'a self, sweep: &'a SweepId) -> BoxFuture<'a, Result<Vec<ShardRow>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.shards(sweep)) })
    }

    /// The highest attempt number of each of `items`; items without attempts are left out.
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

    /// The transcripts that can be continued, for sessions of `items` that a budget ended and [`Ledger::reopen_unmeasured`] has reopened:
    /// each is that of the session's newest attempt that reported a result. Items with a recorded session, or without such a transcript,
    /// are left out. The job that continues needs a number above [`Ledger::highest_attempt`].
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

    /// Progress of every cell, in the order of the grid. Reads only counters, so its cost does not grow with the number of sessions.
    ///
    /// # Errors
    /// When the store fails.
    pub fn cell_progress<'a>(&'a self, sweep: &'a SweepId) -> BoxFuture<'a, Result<Vec<CellProgress>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.cell_progress(sweep)) })
    }
}

/// Recording and scoring: the scorer's calls.
impl Ledger {
    /// Records sessions, and returns the classification of each, in the given order.
    ///
    /// # Errors
    /// When the store fails.
    pub fn record<'a>(&'a self, records: Vec<SessionRecord>) -> BoxFuture<'a, Result<Vec<Recorded>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.record(records)) })
    }

    /// Stores the spending of running attempts so far. Attempts that have ended are not changed, nor are those with larger totals in store.
    /// Attempts of sweeps and cells that do not exist are left out, because one report tells of many sweeps, and one of them may have been
    /// removed; returns these sweeps.
    ///
    /// # Errors
    /// When the store fails.
    pub fn record_progress<'a>(
        &'a self,
        reports: Vec<(OpenAttempt, WorkerId)>,
    ) -> BoxFuture<'a, Result<BTreeSet<SweepId>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.record_progress(reports)) })
    }

    /// Records that workers hold this work now; work of sweeps that do not exist is left out. A batch tells of all attempts that have its id
    /// ([`AttemptId::batch`](regatta_proto::AttemptId::batch)), as if each had been reported; a batch of before a resume
    /// says that none of them runs.
    ///
    /// # Errors
    /// When the store fails.
    pub fn record_held<'a>(&'a self, held: BTreeSet<Held>) -> BoxFuture<'a, Result<(), LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.record_held(held)) })
    }

    /// Stores the spending of an attempt, and the possible cost of its failed tries, when another worker took over. Has no effect when
    /// repeated, or after the attempt's result. Its calls are counted with the attempt that continues.
    ///
    /// The attempt knows best what it has spent: its own report replaces that of its successor, whichever comes first. A successor knows of
    /// the calls up to a checkpoint; where the attempt's progress is ahead of that, it stays, and its calls in flight may be spent.
    ///
    /// Returns `false`, and changes nothing, if there is no such sweep or cell.
    ///
    /// # Errors
    /// When the store fails.
    pub fn record_handover<'a>(
        &'a self,
        key: &'a SessionKey,
        attempt: Attempt,
        totals: AttemptTotals,
        told_by: ToldBy,
    ) -> BoxFuture<'a, Result<bool, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.record_handover(key, attempt, totals, told_by)) })
    }

    /// The stored answers of `answerer` to any of `questions`, from all sweeps.
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

    /// Stores judges' answers and costs (the first answer to a question wins), and releases the questions, answered or not, for further
    /// claims. Idempotent; returns how many of the reports it had not stored before.
    ///
    /// # Errors
    /// When the store fails.
    pub fn save_judged<'a>(&'a self, judged: Vec<Judged>) -> BoxFuture<'a, Result<usize, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.save_judged(judged)) })
    }

    /// Claims `questions` for this sweep and judge, and returns those that were not claimed yet and that `answerer` has not answered, in the given
    /// order; the caller has to ask them in jobs of the generation that is returned. Record the sessions that wait for them first, because an
    /// answer may arrive at once. They are to be asked within [`ASKED_WITHIN`] of this call, or released. Claims are of one sweep: two that ask the
    /// same at once both do.
    ///
    /// # Errors
    /// When the store fails.
    pub fn claim_questions<'a>(
        &'a self,
        sweep: &'a SweepId,
        judge: &'a ModelRef,
        answerer: Answerer,
        questions: &'a [Digest],
    ) -> BoxFuture<'a, Result<Claimed, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.claim_questions(sweep, judge, answerer, questions)) })
    }

    /// Releases questions that their claimer could not ask. Those that somebody else has claimed since are left alone.
    ///
    /// # Errors
    /// When the store fails.
    pub fn release_questions<'a>(
        &'a self,
        sweep: &'a SweepId,
        judge: &'a ModelRef,
        claimed: &'a Claimed,
    ) -> BoxFuture<'a, Result<(), LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.release_questions(sweep, judge, claimed)) })
    }

    /// Looks for questions that were claimed before `sweep` was last resumed; a worker that waits for answers has told so within the last
    /// `within`.
    ///
    /// # Errors
    /// When there is no such sweep, or the store fails.
    pub fn stale_questions<'a>(
        &'a self,
        sweep: &'a SweepId,
        within: Duration,
    ) -> BoxFuture<'a, Result<StaleQuestions, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.stale_questions(sweep, within)) })
    }

    /// Lets the questions be claimed again that were claimed before `sweep` was last resumed; `false` if `term` is over, which changes
    /// nothing.
    ///
    /// # Errors
    /// When there is no such sweep, or the store fails.
    pub fn release_stale_questions<'a>(
        &'a self,
        sweep: &'a SweepId,
        term: Term,
    ) -> BoxFuture<'a, Result<bool, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.release_stale_questions(sweep, term)) })
    }

    /// Takes note that the broker may or may not have the jobs of questions. Those that somebody else has claimed since are left alone.
    ///
    /// # Errors
    /// When there is no such sweep, or the store fails.
    pub fn doubt_questions<'a>(
        &'a self,
        sweep: &'a SweepId,
        judge: &'a ModelRef,
        claimed: &'a Claimed,
    ) -> BoxFuture<'a, Result<(), LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.doubt_questions(sweep, judge, claimed)) })
    }

    /// Up to `at_most` questions to `judges`, of the present generation of `sweep`, about which there is `silence`. None while a worker holds
    /// questions that names none.
    ///
    /// # Errors
    /// When there is no such sweep, or the store fails.
    pub fn silent_questions<'a>(
        &'a self,
        sweep: &'a SweepId,
        judges: &'a [ModelRef],
        silence: Silence,
        at_most: u32,
    ) -> BoxFuture<'a, Result<Vec<OpenQuestion>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.silent_questions(sweep, judges, silence, at_most)) })
    }

    /// Lets those of `questions` be claimed again that are still as [`Self::silent_questions`] says, and returns how many; `None` if `term` is over,
    /// which changes nothing.
    ///
    /// # Errors
    /// When there is no such sweep, or the store fails.
    pub fn release_silent_questions<'a>(
        &'a self,
        sweep: &'a SweepId,
        questions: &'a [OpenQuestion],
        silence: Silence,
        term: Term,
    ) -> BoxFuture<'a, Result<Option<u64>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.release_silent_questions(sweep, questions, silence, term)) })
    }

    /// Sessions that wait for an answer of `judge` to any of `questions`, ordered by cell and item.
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

    /// The first `at_most` sessions of a sweep that wait for verdicts, ordered by cell and item, after the given one.
    ///
    /// # Errors
    /// When the store fails.
    pub fn awaiting_after<'a>(
        &'a self,
        sweep: &'a SweepId,
        after: Option<(CellIndex, ItemIndex)>,
        at_most: u32,
    ) -> BoxFuture<'a, Result<Vec<AwaitingSession>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.awaiting_after(sweep, after, at_most)) })
    }

    /// Settles waiting sessions, and returns the number that were still waiting; others are left unchanged.
    ///
    /// # Errors
    /// When the store fails.
    pub fn settle<'a>(&'a self, settlements: Vec<Settlement>) -> BoxFuture<'a, Result<u64, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.settle(settlements)) })
    }
}

/// Reading results, and resuming.
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

    /// The oldest open attempt of a sweep, by the reports of workers.
    ///
    /// # Errors
    /// When the store fails.
    pub fn oldest_open<'a>(&'a self, sweep: &'a SweepId) -> BoxFuture<'a, Result<Option<AttemptRow>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.oldest_open(sweep)) })
    }

    /// Sums of the costs of each cell's sessions, for forecasts, without those whose price is unknown and those with answers of the response
    /// cache, which nobody paid for; cells without such sessions are left out. Reads every attempt.
    ///
    /// # Errors
    /// When the store fails.
    pub fn cost_moments<'a>(
        &'a self,
        sweep: &'a SweepId,
    ) -> BoxFuture<'a, Result<Vec<(CellIndex, CostMoments)>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.cost_moments(sweep)) })
    }

    /// Sums over the calls of a sweep's sessions, by cell; cells without calls are left out. The module `call_sums` defines which calls count.
    ///
    /// # Errors
    /// When the store fails.
    pub fn call_sums<'a>(
        &'a self,
        sweep: &'a SweepId,
    ) -> BoxFuture<'a, Result<Vec<(CellIndex, CallSums)>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.call_sums(sweep)) })
    }

    /// Tokens and money that a sweep's judges used.
    ///
    /// # Errors
    /// When the store fails.
    pub fn judge_costs<'a>(&'a self, sweep: &'a SweepId) -> BoxFuture<'a, Result<(Usage, CostSum), LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.judge_costs(sweep)) })
    }

    /// Tokens and money of each judge of a sweep, by name.
    ///
    /// # Errors
    /// When the store fails.
    pub fn costs_by_judge<'a>(&'a self, sweep: &'a SweepId) -> BoxFuture<'a, Result<Vec<JudgeCosts>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.costs_by_judge(sweep)) })
    }

    /// Marks all open attempts of a sweep as lost, and returns their number. To be called when the sweep ends.
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

    /// Prepares a resume of a sweep and raises its generation. The rows of sessions that were not measured are deleted, and their attempts
    /// become waste. Sessions whose judge was unavailable and whose transcript is stored wait again. Questions stay claimed as they are: workers
    /// may wait for their answers. In every cell with missing sessions, all shards become planned again, and the number of dispatched sessions is set to that of
    /// recorded ones.
    ///
    /// The rows of sessions that the budget ended ([`Cause::Budget`](regatta_proto::Cause::Budget)) are deleted too. If any of their calls
    /// was answered, their attempt becomes handed over instead of waste, and [`Ledger::continuations`] returns its transcript.
    ///
    /// Sessions that begin anew are granted to the sweep a second time, from the lower of its owner's quota and `quota`. Not those that
    /// never ran, which were granted with the sweep, nor those that the budget ended, which go on. A sweep without an owner is granted all.
    ///
    /// # Errors
    /// [`LedgerError::QuotaExceeded`] or [`LedgerError::Removed`], which change nothing, or when the store fails.
    pub fn reopen_unmeasured<'a>(
        &'a self,
        sweep: &'a SweepId,
        quota: Quota,
    ) -> BoxFuture<'a, Result<Reopened, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.reopen_unmeasured(sweep, quota)) })
    }

    /// Has a sweep run again that is in the end `from`, in one transaction: prepares it as [`Ledger::reopen_unmeasured`] does, raises its
    /// budget to `budget` if one is given (the present one is accepted as no change), and has the ended tick of a schedule run again that it
    /// is of. `None` if it is not in `from`, which changes nothing: so whoever repeats what has failed resumes once.
    ///
    /// # Errors
    /// [`LedgerError::BudgetNotRaised`] if the present budget is higher or without limit, and [`LedgerError::QuotaExceeded`], which change
    /// nothing, or when the store fails.
    pub fn resume<'a>(
        &'a self,
        sweep: &'a SweepId,
        from: SweepState,
        budget: Option<Money>,
        quota: Quota,
    ) -> BoxFuture<'a, Result<Option<Reopened>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.resume(sweep, from, budget, quota)) })
    }

    /// Fails if [`Ledger::reopen_unmeasured`] would exceed the quota at this moment, or the sweep is being removed; changes nothing.
    ///
    /// # Errors
    /// [`LedgerError::QuotaExceeded`], [`LedgerError::Removed`], or when the store fails.
    pub fn check_reopening<'a>(&'a self, sweep: &'a SweepId, quota: Quota) -> BoxFuture<'a, Result<(), LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.check_reopening(sweep, quota)) })
    }

    /// Resets the dispatch of all sessions without a result, for jobs that were lost with their queue, and returns the number of sessions
    /// that are planned again. `None` if `term` is over, which changes nothing. Questions without an answer may be claimed again. If such
    /// jobs are alive after all, some sessions run twice, and the surplus attempts are recorded as waste.
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

    /// Forgets that workers have told of attempts and batches of the sweep: they have ended with their process. None of its sessions counts as under
    /// way any more, until somebody tells of one.
    ///
    /// # Errors
    /// When the sweep is unknown or the store fails.
    pub fn forget_workers<'a>(&'a self, sweep: &'a SweepId) -> BoxFuture<'a, Result<(), LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.forget_workers(sweep)) })
    }
}
