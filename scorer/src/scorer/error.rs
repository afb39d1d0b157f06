//! Reasons why reports cannot be recorded.

use regatta_backends::{BlobError, LedgerError, QueueError};
use regatta_catalog::{CatalogError, SegmentError};
use regatta_proto::{ModelRef, SessionKey, SweepId, wire::WireError};

use crate::finish::FinishError;

/// Reason why a batch failed.
#[derive(Debug, thiserror::Error)]
pub enum ScorerError {
    /// The ledger failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The queue failed.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// Blobs failed.
    #[error(transparent)]
    Blobs(#[from] BlobError),
    /// A sweep could not be read.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// Transcripts could not be written.
    #[error(transparent)]
    Segment(#[from] SegmentError),
    /// The reports of a sweep could not be written.
    #[error(transparent)]
    Finish(#[from] FinishError),
    /// A kept transcript could not be read or written.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// Scores could not be written as JSON.
    #[error("failed to write scores: {0}")]
    Json(#[from] serde_json::Error),
    /// An outcome names a session that its sweep does not have.
    #[error("session {0} is not part of its sweep; do all processes run the same version?")]
    UnknownSession(SessionKey),
    /// A sweep names a judge at an endpoint it does not list.
    #[error("sweep {sweep} has no endpoint for its judge {judge}")]
    UnknownJudge {
        /// The sweep.
        sweep: SweepId,
        /// The judge.
        judge: ModelRef,
    },
}

impl ScorerError {
    /// True if a store could not be reached, so that the same batch may succeed later.
    pub(crate) fn is_outage(&self) -> bool {
        match self {
            Self::Ledger(error) | Self::Finish(FinishError::Ledger(error)) => {
                matches!(error, LedgerError::Store { .. }) && !error.is_refusal()
            }
            Self::Queue(_) => true,
            _ => self.of_blobs().is_some_and(BlobError::is_outage),
        }
    }

    /// `true` if a sweep could not be read for what its documents are, which says nothing of other sweeps.
    pub(super) fn is_of_a_sweep(&self) -> bool {
        match self {
            Self::Catalog(error) => !error.is_outage(),
            Self::Ledger(_)
            | Self::Queue(_)
            | Self::Blobs(_)
            | Self::Segment(_)
            | Self::Finish(_)
            | Self::Wire(_)
            | Self::Json(_)
            | Self::UnknownSession(_)
            | Self::UnknownJudge { .. } => false,
        }
    }

    /// `true` if a store found a row or a key wrong, which trying again does not change.
    pub(super) fn is_refusal(&self) -> bool {
        match self {
            Self::Ledger(error) | Self::Finish(FinishError::Ledger(error)) => error.is_refusal(),
            Self::UnknownSession(_) | Self::UnknownJudge { .. } => true,
            _ => self.of_blobs().is_some_and(BlobError::is_refusal),
        }
    }

    /// Error of the blob store, if it is one.
    const fn of_blobs(&self) -> Option<&BlobError> {
        match self {
            Self::Blobs(error)
            | Self::Segment(SegmentError::Blobs(error))
            | Self::Catalog(CatalogError::Blobs(error))
            | Self::Finish(FinishError::Blobs(error)) => Some(error),
            Self::Ledger(_)
            | Self::Queue(_)
            | Self::Catalog(_)
            | Self::Segment(_)
            | Self::Finish(_)
            | Self::Wire(_)
            | Self::Json(_)
            | Self::UnknownSession(_)
            | Self::UnknownJudge { .. } => None,
        }
    }
}
