//! The common types of both batch APIs.

use bytes::Bytes;
use jiff::Timestamp;
use regatta_proto::ErrorClass;

/// A batch as its provider describes it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Batch {
    /// The provider's id.
    pub(super) id: String,
    /// State of the batch.
    pub(super) stage: Stage,
    /// Requests that have ended, successfully or not.
    pub(super) done: u64,
    /// All requests of the batch; 0 while the provider still counts.
    pub(super) total: u64,
    /// Time at which the provider accepted the batch.
    pub(super) created_at: Option<Timestamp>,
    /// Time at which it ended.
    pub(super) ended_at: Option<Timestamp>,
    /// Our name of the batch, where the provider stores one.
    pub(super) name: Option<String>,
    /// Ids of its result files; empty if results are not files.
    pub(super) files: Vec<String>,
}

/// State of a batch at its provider.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Stage {
    /// In validation, in progress or finishing.
    Running,
    /// Ended: every line has a result.
    Ended,
    /// Ended: lines that were not reached in time have no result, or one that says so.
    Expired,
    /// Ended by cancellation: lines that were not reached have no result, or one that says so.
    Cancelled,
    /// Rejected by the provider before any line was processed.
    Failed {
        /// Error class of each line.
        class: ErrorClass,
        /// The provider's message.
        message: String,
    },
}

/// One page of a list of batches, newest first.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Page {
    pub(super) batches: Vec<Batch>,
    /// Cursor of the next page; `None` on the last page.
    pub(super) next: Option<String>,
}

/// The result of one line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LineResult {
    pub(super) custom_id: String,
    pub(super) ending: Ending,
}

/// End of one line.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Ending {
    /// An answer with any status, as a live call would have got it.
    Answered { status: u16, request_id: Option<String>, body: Bytes },
    /// The batch expired before the line was processed.
    Expired,
    /// The batch was cancelled before the line was processed.
    Cancelled,
}

/// The bytes around the lines of a batch in the request.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Envelope {
    pub(super) content_type: String,
    pub(super) head: Bytes,
    pub(super) tail: Bytes,
}
