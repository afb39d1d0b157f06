//! The requests of a batch, and their ends.

use bytes::Bytes;
use serde_json::value::RawValue;

use crate::api_error::Dialect;
use crate::formats::Format;

/// One request of a batch.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// The client's name of the request.
    pub(super) custom_id: String,
    /// The request as JSON.
    pub(super) body: Bytes,
}

/// The end of one request.
#[derive(Debug)]
pub(super) enum LineEnd {
    /// The request was answered with `body`.
    Answered { id: String, body: Box<RawValue> },
    /// The request failed with `body`, an error in the format's own form.
    Failed { id: String, status: u16, body: Box<RawValue> },
    /// The batch expired before the request was processed.
    Expired,
    /// The batch was cancelled before the request was processed.
    Cancelled,
}

/// Number of a batch's requests by their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LineCounts {
    pub(crate) answered: u64,
    pub(crate) failed: u64,
    pub(crate) expired: u64,
    pub(crate) cancelled: u64,
}

impl LineCounts {
    pub(super) fn add(&mut self, end: &LineEnd) {
        *match end {
            LineEnd::Answered { .. } => &mut self.answered,
            LineEnd::Failed { .. } => &mut self.failed,
            LineEnd::Expired => &mut self.expired,
            LineEnd::Cancelled => &mut self.cancelled,
        } += 1;
    }
}

/// All requests of a batch, with their format.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) format: Format,
    pub(super) lines: Vec<Line>,
}

impl Work {
    pub(super) const fn dialect(&self) -> Dialect {
        self.format.dialect()
    }
}

/// Wraps JSON that was written here.
pub(super) fn raw(json: &[u8]) -> Box<RawValue> {
    serde_json::from_slice(json).unwrap_or_else(|error| {
        tracing::error!(%error, "an answer of the simulated endpoint is not JSON");
        RawValue::NULL.to_owned()
    })
}
