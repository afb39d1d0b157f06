//! What both batch APIs say, in one vocabulary.

use bytes::Bytes;
use jiff::Timestamp;
use regatta_proto::ErrorClass;

/// A batch as its provider describes it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Batch {
    /// The provider's id.
    pub(super) id: String,
    /// How far it is.
    pub(super) stage: Stage,
    /// Requests that are over, well or badly.
    pub(super) done: u64,
    /// Requests in all; 0 while the provider still counts.
    pub(super) total: u64,
    /// When it was taken in.
    pub(super) created_at: Option<Timestamp>,
    /// When it was over.
    pub(super) ended_at: Option<Timestamp>,
    /// The name we gave it, where the provider keeps one.
    pub(super) name: Option<String>,
    /// Ids of the files that hold its results, where they are files.
    pub(super) files: Vec<String>,
}

/// How far a batch is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Stage {
    /// Being checked, worked on or wound up.
    Running,
    /// Over: every line has a result.
    Ended,
    /// Over: lines that were not reached in time have none, or one that says so.
    Expired,
    /// Over: cancelled. Lines that were not reached have no result, or one that says so.
    Cancelled,
    /// The provider did not take it: no line was worked on.
    Failed {
        /// What that means for each line.
        class: ErrorClass,
        /// What the provider says.
        message: String,
    },
}

/// One page of a list of batches, newest first.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Page {
    pub(super) batches: Vec<Batch>,
    /// Where the next page begins, if there is one.
    pub(super) next: Option<String>,
}

/// The result of one line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LineResult {
    pub(super) custom_id: String,
    pub(super) ending: Ending,
}

/// How one line ended.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Ending {
    /// With an answer of any status, as a live call would have got it.
    Answered { status: u16, request_id: Option<String>, body: Bytes },
    /// The batch was not done in time.
    Expired,
    /// The batch was cancelled first.
    Cancelled,
}

/// What goes around the lines of a batch when they are sent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Envelope {
    pub(super) content_type: String,
    pub(super) head: Bytes,
    pub(super) tail: Bytes,
}
