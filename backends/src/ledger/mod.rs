//! The third seam: the record of plans, attempts and results.
//!
//! [`Ledger`] has the calls, in the files of `calls`; `sqlite` and `postgres` implement them on the same schema, and one conformance suite
//! (`tests/ledger.rs`) checks both. The rules by which reports change rows and counters are in `counters`. A new call goes into the files of
//! its group: that of `calls`, and those of both implementations; a new column into a new migration of both.

mod audit;
mod call_sums;
mod calls;
pub(crate) mod columns;
mod cost;
mod counters;
mod error;
mod identity;
mod judging_rows;
mod pages;
mod plan_rows;
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

use std::path::Path;

pub use self::audit::{AUDIT_READ_MAX, AuditOutcome, AuditResult, AuditRow, NewAuditEntry};
pub use self::call_sums::{CallSums, HeldUp, OtherCalls, ReportedCost, SavedCost};
pub use self::calls::LedgerFuture;
pub use self::cost::SweepCost;
pub use self::error::{LedgerError, StoreError};
pub use self::identity::{NewToken, OwnerRow, Quota, TokenRow};
pub use self::judging_rows::{
    ASKED_WITHIN, AwaitingSession, Claimed, JudgeCosts, Judged, OpenQuestion, Settlement, SettlementResult, Silence,
};
pub use self::pages::{PageMark, PageMarkError};
pub use self::plan_rows::{Created, NewCell, NewShard, NewSweep, ShardRow, SweepRow, Term};
#[cfg(feature = "cluster")]
use self::postgres::Schema;
#[cfg(feature = "cluster")]
pub use self::postgres::{PostgresConfig, PostgresLedger};
pub use self::rows::{
    AgentEnd, AttemptRow, CellProgress, CostMoments, MetricRow, RecordState, Recorded, Reopened, SessionRecord,
    SessionRow, TranscriptRef,
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
    AttemptTimes, CellMean, DaySpending, EndingCount, FlagCount, ITEMS_FOUND_MAX, ItemMean, ItemOrder, ItemPage,
    ItemQuery, ListedSession, ScoreValue, SessionView, Standing,
};
#[cfg(feature = "faults")]
use crate::faults::Troubles;

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
    pub fn postgres(config: PostgresConfig) -> LedgerFuture<'static, Self> {
        Box::pin(async move { PostgresLedger::connect(config, Schema::Migrated).await.map(Self::Postgres) })
    }

    /// Connects to a database with a current schema, for processes that may not change it.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses, or the schema is not that of this build.
    #[cfg(feature = "cluster")]
    pub fn postgres_as_it_is(config: PostgresConfig) -> LedgerFuture<'static, Self> {
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
