//! The four seams: Queue (memory, RabbitMQ), Ledger (SQLite, Postgres), Blobs (directory, S3), Permits (memory, Postgres). The second of
//! each needs the feature `cluster`.

pub mod blobs;
#[cfg(feature = "faults")]
pub mod faults;
mod health;
pub mod ledger;
pub mod permits;
pub mod queue;

pub use blobs::{BlobError, Blobs};
pub use health::{Stalled, StoreHealth};
pub use ledger::{
    Admission, AgentEnd, AttemptRow, AttemptState, AwaitingSession, CallSums, CellMean, CellProgress, CostMoments,
    Created, DaySpending, EndingCount, FlagCount, ITEMS_FOUND_MAX, ItemOrder, ItemPage, ItemQuery, JudgeCosts, Judged,
    Ledger, LedgerError, ListedSession, MetricRow, MissedTicks, NewCell, NewNotice, NewShard, NewSweep, NoticeRow,
    OtherCalls, PutBack, PutSchedule, RecordState, Recorded, Reopened, ReportedCost, Salvaged, ScheduleRow, ScoreValue,
    SessionRecord, SessionRow, SessionState, SessionView, Settlement, SettlementResult, ShardRow, ShardState, Sketch,
    SqliteLedger, Standing, SweepCost, SweepRow, Term, TickEnd, TickRow, TickState, TranscriptRef,
};
pub use permits::{AccountState, Permits, PermitsError, PoolChange, PoolHolder};
pub use queue::{Consumer, Controls, Delivery, Queue, QueueError, Receipt};
#[cfg(feature = "cluster")]
pub use {blobs::S3Config, ledger::PostgresConfig, queue::RabbitMqConfig};
