//! The three seams: Queue (memory, RabbitMQ), Ledger (SQLite, Postgres), Blobs (directory, S3).

pub mod blobs;
pub mod ledger;
pub mod queue;

pub use blobs::{BlobError, Blobs};
pub use ledger::{Ledger, LedgerError};
pub use queue::{Consumer, Controls, Delivery, Queue, QueueError, Receipt};
