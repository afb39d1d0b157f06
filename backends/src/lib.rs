//! The four seams: Queue (memory, RabbitMQ), Ledger (SQLite, Postgres), Blobs (directory, S3), Permits (memory, Postgres). The second of
//! each needs the feature `cluster`.

pub mod blobs;
mod consuming;
#[cfg(feature = "faults")]
pub mod faults;
mod health;
pub mod ledger;
mod outage;
pub mod permits;
pub mod queue;
#[cfg(feature = "cluster")]
mod tls;

pub use blobs::{BlobError, Blobs, DatedObject, ObjectStream};
pub use consuming::{Consuming, Subscriptions};
pub use health::{Stalled, StoreHealth};
pub use ledger::{
    ASKED_WITHIN, AUDIT_READ_MAX, Admission, AgentEnd, AttemptRow, AttemptState, AttemptTimes, AuditOutcome,
    AuditResult, AuditRow, AwaitingSession, CallSums, CellMean, CellProgress, Claimed, CostMoments, Created, Credits,
    DaySpending, EndedUse, EndingCount, FlagCount, Held, HeldUp, ITEMS_FOUND_MAX, ItemMean, ItemOrder, ItemPage,
    ItemQuery, JudgeCosts, Judged, Ledger, LedgerError, ListedSession, MetricRow, MissedTicks, NewAuditEntry, NewCell,
    NewNotice, NewSchedule, NewShard, NewSweep, NewToken, NoticeRow, OBJECT_BYTES_MIN, ObjectRow, ObjectState,
    ObjectUse, ObjectUses, OpenQuestion, OtherCalls, OwnerRow, PageMark, PageMarkError, PutBack, PutSchedule, Quota,
    REMOVAL_MAX, RecordState, Recorded, Reopened, ReportedCost, Salvaged, SavedCost, ScheduleRow, ScoreValue,
    SessionRecord, SessionRow, SessionState, SessionView, Settlement, SettlementResult, ShardRow, ShardState, Silence,
    Sketch, SqliteLedger, StaleQuestions, Standing, StorageQuota, SweepCost, SweepRow, Term, TickEnd, TickRow,
    TickState, TokenRow, ToldBy, TranscriptRef, UnderWay,
};
pub use outage::{FailedTry, Outage};
pub use permits::{AccountState, Permits, PermitsError, PoolChange, PoolHolder};
pub use queue::{Consumer, Controls, Delivery, Queue, QueueError, Receipt};
#[cfg(feature = "cluster")]
pub use {blobs::S3Config, ledger::PostgresConfig, queue::RabbitMqConfig, tls::CertificateFiles, tls::TlsError};
