//! Segments, and their lines, as they are written.

use std::io::{self, Write};

use bytes::Bytes;
use futures::future::BoxFuture;
use jiff::Timestamp;
use regatta_backends::{Blobs, TranscriptRef};
use regatta_proto::{AttemptId, Compact, ItemId, Outcome, SessionOutcome, SweepId, WorkerId};
use serde::Serialize;

use super::{SegmentError, called};

/// Compression level: on a batch of transcripts 3 costs twice the time of 1 and saves a third of the space.
const LEVEL: i32 = 1;
/// Bytes of a line above which its transcript is not written in full: a report that came in the compact form was counted as that when there was
/// room for it.
const IN_FULL_BYTES: usize = 16 << 20;

#[derive(Serialize)]
struct Writing<'a, T> {
    cell: u32,
    item: &'a ItemId,
    position: u32,
    attempt: u32,
    attempt_id: &'a AttemptId,
    worker: &'a WorkerId,
    started_at: Timestamp,
    ended_at: Timestamp,
    outcome: &'a Outcome,
    transcript: T,
}

/// A line that has no more than so many bytes; what is beyond is refused.
struct Bounded {
    line: Vec<u8>,
    most: usize,
}

impl Write for Bounded {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if piece.len() > self.most - self.line.len() {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.line.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The line of `outcome`, whose transcript is in one form or the other; an error of [`io::ErrorKind::FileTooLarge`] if it has more than `most` bytes.
fn line_of<T: Serialize>(
    item: &ItemId,
    outcome: &SessionOutcome,
    transcript: T,
    most: usize,
) -> Result<Vec<u8>, serde_json::Error> {
    let written = Writing {
        cell: outcome.key.cell.0,
        item,
        position: outcome.key.item.0,
        attempt: outcome.attempt.number,
        attempt_id: &outcome.attempt.id,
        worker: &outcome.attempt.worker,
        started_at: outcome.attempt.started_at,
        ended_at: outcome.attempt.ended_at,
        outcome: &outcome.outcome,
        transcript,
    };
    let mut bounded = Bounded { line: Vec::new(), most };
    serde_json::to_writer(&mut bounded, &written)?;
    let mut line = bounded.line;
    line.push(b'\n');
    Ok(line)
}

fn compact_line(item: &ItemId, outcome: &SessionOutcome) -> Result<Vec<u8>, serde_json::Error> {
    line_of(item, outcome, Compact(&outcome.transcript), usize::MAX)
}

/// The line with every request in full, unless it is large then.
fn line_in_full_of(item: &ItemId, outcome: &SessionOutcome) -> Result<Vec<u8>, serde_json::Error> {
    match line_of(item, outcome, &outcome.transcript, IN_FULL_BYTES) {
        Err(error) if error.io_error_kind() == Some(io::ErrorKind::FileTooLarge) => compact_line(item, outcome),
        written => written,
    }
}

/// Writes the transcripts of `outcomes`, all of one sweep, each with the benchmark's id of its item, as one segment. Each message is written
/// once ([`Compact`]). The segment's name is its content, so writing it again is harmless.
///
/// # Errors
/// When Blobs fail.
pub fn write_segment<'a>(
    blobs: &'a Blobs,
    sweep: &'a SweepId,
    outcomes: &'a [(&'a ItemId, &'a SessionOutcome)],
) -> BoxFuture<'a, Result<Vec<TranscriptRef>, SegmentError>> {
    write(blobs, sweep, outcomes, compact_line)
}

/// The same with every request in full, as versions that know no prefixes read it, but for a line that has more than 16 MiB then.
///
/// # Errors
/// When Blobs fail.
pub fn write_segment_in_full<'a>(
    blobs: &'a Blobs,
    sweep: &'a SweepId,
    outcomes: &'a [(&'a ItemId, &'a SessionOutcome)],
) -> BoxFuture<'a, Result<Vec<TranscriptRef>, SegmentError>> {
    write(blobs, sweep, outcomes, line_in_full_of)
}

/// Writes a segment of the lines that `line` makes of `outcomes`.
fn write<'a>(
    blobs: &'a Blobs,
    sweep: &'a SweepId,
    outcomes: &'a [(&'a ItemId, &'a SessionOutcome)],
    line: fn(&ItemId, &SessionOutcome) -> Result<Vec<u8>, serde_json::Error>,
) -> BoxFuture<'a, Result<Vec<TranscriptRef>, SegmentError>> {
    Box::pin(async move {
        let mut encoder = zstd::Encoder::new(Vec::new(), LEVEL)?;
        for (item, outcome) in outcomes {
            encoder.write_all(&line(item, outcome)?)?;
        }
        let bytes = encoder.finish()?;
        let segment = format!("transcripts/{}.jsonl.zst", called(&bytes));
        blobs.put(&format!("sweeps/{sweep}/{segment}"), Bytes::from(bytes)).await?;
        Ok((0..outcomes.len() as u32).map(|line| TranscriptRef { segment: segment.clone(), line }).collect())
    })
}
