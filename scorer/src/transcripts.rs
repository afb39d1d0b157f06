//! Transcripts in Blobs: one compressed segment a batch, one line a transcript.

use std::io::Write;

use bytes::Bytes;
use regatta_backends::{BlobError, Blobs, TranscriptRef};
use regatta_proto::{AttemptId, Digest, SessionOutcome, SweepId, Transcript};
use serde::Serialize;

/// Compression level: on a batch of transcripts 3 costs twice the time of 1 and saves a third of the space.
const LEVEL: i32 = 1;

/// Why a segment could not be written.
#[derive(Debug, thiserror::Error)]
pub enum SegmentError {
    /// Blobs failed.
    #[error(transparent)]
    Blobs(#[from] BlobError),
    /// A transcript could not be turned into JSON.
    #[error("failed to write a transcript as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// Compression failed.
    #[error("failed to compress a segment: {0}")]
    Compression(#[from] std::io::Error),
}

#[derive(Serialize)]
struct Line<'a> {
    cell: u32,
    item: u32,
    attempt: u32,
    attempt_id: &'a AttemptId,
    transcript: &'a Transcript,
}

/// Writes the transcripts of `outcomes`, all of one sweep, as one segment. Its name is its content, so writing it again is harmless.
pub(crate) async fn write_segment(
    blobs: &Blobs,
    sweep: &SweepId,
    outcomes: &[&SessionOutcome],
) -> Result<Vec<TranscriptRef>, SegmentError> {
    let mut encoder = zstd::Encoder::new(Vec::new(), LEVEL)?;
    let mut line = Vec::new();
    for outcome in outcomes {
        line.clear();
        let record = Line {
            cell: outcome.key.cell.0,
            item: outcome.key.item.0,
            attempt: outcome.attempt.number,
            attempt_id: &outcome.attempt.id,
            transcript: &outcome.transcript,
        };
        serde_json::to_writer(&mut line, &record)?;
        line.push(b'\n');
        encoder.write_all(&line)?;
    }
    let bytes = encoder.finish()?;
    let segment = format!("transcripts/{}.jsonl.zst", &Digest::of(&bytes).to_string()[..16]);
    blobs.put(&format!("sweeps/{sweep}/{segment}"), Bytes::from(bytes)).await?;
    Ok((0..outcomes.len() as u32).map(|line| TranscriptRef { segment: segment.clone(), line }).collect())
}
