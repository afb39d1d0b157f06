//! Transcripts in Blobs: one compressed segment a batch of reports, one line a transcript.

mod error;
mod line;
mod reading;
mod writing;

use regatta_proto::Digest;

pub use self::error::SegmentError;
pub use self::line::{Reported, StoredTranscript};
pub use self::reading::{line_in_full, read_lines_of_segment, read_segment, read_transcript, segment_lines};
pub use self::writing::{write_segment, write_segment_in_full};

/// Hexadecimal digits of its content's digest in the name of a segment.
const DIGITS: usize = 16;

/// `true` if `bytes` are what was written under the name of `segment`, which is a path or a name alone.
#[must_use]
pub fn is_intact(segment: &str, bytes: &[u8]) -> bool {
    let name = segment.rsplit('/').next().unwrap_or(segment);
    name.strip_suffix(".jsonl.zst").is_some_and(|name| name == called(bytes))
}

fn called(bytes: &[u8]) -> String {
    let mut digits = Digest::of(bytes).to_string();
    digits.truncate(DIGITS);
    digits
}

#[cfg(test)]
mod tests;
