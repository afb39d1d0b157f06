//! The four seams: Queue (memory, RabbitMQ), Ledger (SQLite, Postgres), Blobs (directory, S3), Permits (memory, Postgres).

pub mod blobs;
pub mod ledger;
pub mod permits;
pub mod queue;

pub use blobs::{BlobError, Blobs, S3Config};
pub use ledger::{
    AttemptRow, AttemptState, AwaitingSession, CallSums, CellProgress, CostMoments, Created, Ledger, LedgerError,
    MetricRow, NewCell, NewShard, NewSweep, OtherCalls, PostgresConfig, RecordState, Recorded, Reopened, ReportedCost,
    SessionRecord, SessionRow, Settlement, SettlementResult, ShardRow, ShardState, Sketch, SweepRow, TranscriptRef,
};
pub use permits::{AccountState, Permits, PermitsError, PoolChange};
pub use queue::{Consumer, Controls, Delivery, Queue, QueueError, RabbitMqConfig, Receipt};
