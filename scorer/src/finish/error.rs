//! Errors of writing a sweep's reports.

use regatta_backends::{BlobError, LedgerError};
use regatta_proto::SweepId;
use regatta_report::TabulationError;

/// Reason why a sweep's reports could not be written.
#[derive(Debug, thiserror::Error)]
pub enum FinishError {
    /// The reports could not be made.
    #[error(transparent)]
    Tabulation(#[from] TabulationError),
    /// The ledger failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// Blobs failed.
    #[error(transparent)]
    Blobs(#[from] BlobError),
    /// The ledger does not have the sweep.
    #[error("the ledger has no sweep {0}; is this process pointed at the same ledger as the coordinator?")]
    UnknownSweep(SweepId),
}
