//! Reasons why a coordinator does not do what it is asked.

use regatta_backends::{BlobError, LedgerError, PermitsError, QueueError};
use regatta_catalog::{CatalogError, DecideError, SegmentError};
use regatta_proto::{EndpointName, OwnerName, ScheduleName, SweepId, SweepState};

use crate::PlanError;
use crate::retention::Undeleted;
use crate::unused::DELETED_WITHIN;

/// Reason why the coordinator did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum CoordinatorError {
    /// The spec does not fit.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// No such sweep.
    #[error("there is no sweep {0}; `regatta status` lists them")]
    UnknownSweep(SweepId),
    /// No such schedule.
    #[error("there is no schedule {0}; `regatta schedule list` lists them")]
    UnknownSchedule(ScheduleName),
    /// Another schedule has its name.
    #[error("there is another schedule {0}; give --replace, or delete it first")]
    ScheduleDiffers(ScheduleName),
    /// Somebody else wrote it while it was being replaced.
    #[error(
        "schedule {0} was written by somebody else meanwhile; look at it (`regatta schedule show {0}`) and replace it again"
    )]
    ScheduleOvertaken(ScheduleName),
    /// This process keeps no schedules.
    #[error("this process keeps no schedules; hand the schedule to a coordinator of a deployment")]
    NoScheduling,
    /// The sweep is in a state that does not allow it.
    #[error("sweep {id} is {state}, so it cannot be {wish}")]
    WrongState {
        /// Id of the sweep.
        id: SweepId,
        /// State of the sweep.
        state: SweepState,
        /// The refused change, as a participle.
        wish: &'static str,
    },
    /// It belongs to somebody else.
    #[error("{what} belongs to {owner}, and {asked} is no admin; ask its owner, or an admin")]
    NotYours {
        /// The sweep or schedule.
        what: String,
        /// Owner of the sweep or schedule.
        owner: String,
        /// The owner that asked.
        asked: OwnerName,
    },
    /// The sweep has no budget to raise.
    #[error("sweep {0} has no budget, so there is none to raise; leave out --budget")]
    NoBudget(SweepId),
    /// The sweep runs, and its budget is to be raised by an amount.
    #[error(
        "sweep {0} runs, and a request that is repeated would raise its budget twice: give the whole budget (--budget 80), and not what is added (+50)"
    )]
    RelativeBudget(SweepId),
    /// The sweep has no such endpoint.
    #[error("sweep {id} has no endpoint {endpoint}; its lock (`sweep.lock.yaml`) lists them under `endpoints`")]
    UnknownEndpoint {
        /// Id of the sweep.
        id: SweepId,
        /// The endpoint that was named.
        endpoint: EndpointName,
    },
    /// The spec does not allow as many calls at once, or nothing would be called.
    #[error("invalid limit of {wanted} calls at once for endpoint {endpoint}; give 1 to {most}, the limit in its spec")]
    Concurrency {
        /// The endpoint.
        endpoint: EndpointName,
        /// The refused number.
        wanted: u32,
        /// Limit of the spec.
        most: u32,
    },
    /// Another coordinator dispatches.
    #[error("another coordinator leads")]
    NotLeading,
    /// A queue does not answer.
    #[error(
        "the broker has not answered for one of the sweep's queues within the time of a lead, though it answers otherwise; that queue may have no leader (`rabbitmqctl list_queues name type state leader`)"
    )]
    Unanswered,
    /// The blob store deletes slowly.
    #[error(
        "failed to delete objects that nothing refers to within {} s; the next removal goes on with them",
        DELETED_WITHIN.as_secs()
    )]
    SlowRemoval,
    /// Objects that are removed cannot be deleted.
    #[error(transparent)]
    Undeleted(#[from] Undeleted),
    /// The ledger failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The store of permits failed.
    #[error(transparent)]
    Permits(#[from] PermitsError),
    /// A stored transcript cannot be read.
    #[error(transparent)]
    Segment(#[from] SegmentError),
    /// The queue failed.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// Blobs failed.
    #[error(transparent)]
    Blobs(#[from] BlobError),
    /// A stored sweep cannot be read.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// A stored sweep asks what cannot be decided.
    #[error(transparent)]
    Decide(#[from] DecideError),
    /// A document could not be written.
    #[error("failed to write a document: {0}")]
    Json(#[from] serde_json::Error),
}
