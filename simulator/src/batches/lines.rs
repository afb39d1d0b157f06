//! The requests of a batch and how they end.

use bytes::Bytes;
use serde_json::value::RawValue;

use crate::api_error::Dialect;
use crate::formats::Format;

/// One request of a batch.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// The client's name of it.
    pub(super) custom_id: String,
    /// JSON.
    pub(super) body: Bytes,
}

/// How one request ended.
#[derive(Debug)]
pub(super) enum LineEnd {
    /// With an answer of `body`.
    Answered { id: String, body: Box<RawValue> },
    /// With an error of `body`, in the format's own shape.
    Failed { id: String, status: u16, body: Box<RawValue> },
    /// It was not reached in time.
    Expired,
    /// The batch was cancelled before.
    Cancelled,
}

/// How many requests of a batch ended how.
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

/// All requests of a batch, in one format.
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

/// JSON that we wrote ourselves.
pub(super) fn raw(json: &[u8]) -> Box<RawValue> {
    serde_json::from_slice(json).unwrap_or_else(|error| {
        tracing::error!(%error, "an answer of the simulated endpoint is not JSON");
        RawValue::NULL.to_owned()
    })
}
