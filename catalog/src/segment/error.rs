//! Errors of segments.

use std::io;

use regatta_backends::BlobError;

/// A segment that cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum SegmentError {
    /// Blobs failed.
    #[error(transparent)]
    Blobs(#[from] BlobError),
    /// A transcript could not be turned into JSON or back.
    #[error("a line of a segment is not a transcript: {0}")]
    Json(#[from] serde_json::Error),
    /// Compression failed.
    #[error("failed to compress or decompress a segment: {0}")]
    Compression(#[from] io::Error),
    /// The content has another digest than the name says, so a transcript read from it may belong to another session.
    #[error("the segment {segment} is damaged: its content has another digest than its name says")]
    Damaged {
        /// The segment.
        segment: String,
    },
    /// The segment has fewer lines.
    #[error("the segment {segment} has no line {line}")]
    Missing {
        /// The segment.
        segment: String,
        /// The line, from 0.
        line: u32,
    },
}

impl SegmentError {
    /// `true` if the transcript is gone, damaged, or nothing that can be read, so that reading it again gives the same. `false` if the store
    /// did not say what it has.
    #[must_use]
    pub fn is_loss(&self) -> bool {
        match self {
            Self::Json(_) | Self::Compression(_) | Self::Damaged { .. } | Self::Missing { .. } => true,
            Self::Blobs(error) => error.is_refusal(),
        }
    }
}
