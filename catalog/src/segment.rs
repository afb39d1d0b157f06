//! Transcripts in Blobs: one compressed segment a batch of reports, one line a transcript.

use futures::future::BoxFuture;
use std::io::{BufRead, BufReader, Read, Write};

use bytes::Bytes;
use regatta_backends::{BlobError, Blobs, TranscriptRef};
use regatta_proto::{AttemptId, Digest, ItemId, SessionOutcome, SweepId, Transcript};
use serde::{Deserialize, Serialize};

/// Compression level: on a batch of transcripts 3 costs twice the time of 1 and saves a third of the space.
const LEVEL: i32 = 1;
/// Longest line read, in bytes: a damaged segment must not take the process with it.
const LINE_BYTES_MAX: u64 = 256 << 20;

/// Why a segment could not be written or read.
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
    Compression(#[from] std::io::Error),
    /// There is no such line.
    #[error("the segment {segment} has no line {line}")]
    Missing {
        /// The segment.
        segment: String,
        /// The line, from 0.
        line: u32,
    },
}

#[derive(Serialize)]
struct Writing<'a> {
    cell: u32,
    item: &'a ItemId,
    position: u32,
    attempt: u32,
    attempt_id: &'a AttemptId,
    transcript: &'a Transcript,
}

/// One line of a segment. `cell`, `item` and `attempt` are those of `results.jsonl` and `attempts.jsonl`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Line")]
pub struct StoredTranscript {
    /// The cell's position in the grid.
    pub cell: u32,
    /// The item's position in its data set.
    pub position: u32,
    /// Number of the attempt that reported it.
    pub attempt: u32,
    /// That attempt.
    pub attempt_id: AttemptId,
    /// What happened.
    pub transcript: Transcript,
}

#[derive(Deserialize)]
struct Line {
    cell: u32,
    item: ItemKey,
    position: Option<u32>,
    attempt: u32,
    attempt_id: AttemptId,
    transcript: Transcript,
}

/// Name of a line's item. Before lines had a `position`, that was all that they told.
#[derive(Deserialize)]
#[serde(untagged)]
enum ItemKey {
    Position(u32),
    Id(ItemId),
}

impl TryFrom<Line> for StoredTranscript {
    type Error = String;
    fn try_from(line: Line) -> Result<Self, String> {
        let Line { cell, item, position, attempt, attempt_id, transcript } = line;
        let position = match (item, position) {
            (_, Some(position)) | (ItemKey::Position(position), None) => position,
            (ItemKey::Id(item), None) => return Err(format!("item {item} has no position")),
        };
        Ok(Self { cell, position, attempt, attempt_id, transcript })
    }
}

/// Writes the transcripts of `outcomes`, all of one sweep, each with the benchmark's id of its item, as one segment. Its name is its content, so writing it again is harmless.
///
/// # Errors
/// When Blobs fail.
pub fn write_segment<'a>(
    blobs: &'a Blobs,
    sweep: &'a SweepId,
    outcomes: &'a [(&'a ItemId, &'a SessionOutcome)],
) -> BoxFuture<'a, Result<Vec<TranscriptRef>, SegmentError>> {
    Box::pin(async move {
        let mut encoder = zstd::Encoder::new(Vec::new(), LEVEL)?;
        let mut line = Vec::new();
        for (item, outcome) in outcomes {
            line.clear();
            let record = Writing {
                cell: outcome.key.cell.0,
                item,
                position: outcome.key.item.0,
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
    })
}

/// Reads the transcript that `at` names.
///
/// # Errors
/// When Blobs fail, or there is no such line or it is damaged.
pub fn read_transcript<'a>(
    blobs: &'a Blobs,
    sweep: &'a SweepId,
    at: &'a TranscriptRef,
) -> BoxFuture<'a, Result<StoredTranscript, SegmentError>> {
    Box::pin(async move {
        let missing = || SegmentError::Missing { segment: at.segment.clone(), line: at.line };
        let bytes = blobs.get(&format!("sweeps/{sweep}/{}", at.segment)).await?.ok_or_else(missing)?;
        let mut lines = lines(&bytes)?;
        for _ in 0..at.line {
            lines.next().ok_or_else(missing)??;
        }
        let line = lines.next().ok_or_else(missing)??;
        Ok(serde_json::from_slice(&line)?)
    })
}

/// All transcripts of a segment's bytes, in order.
///
/// # Errors
/// When it is not compressed as segments are; a line by itself when it is no transcript. Nothing comes after bytes that
/// cannot be decompressed.
pub fn read_segment(
    bytes: &[u8],
) -> Result<impl Iterator<Item = Result<StoredTranscript, SegmentError>> + '_, SegmentError> {
    Ok(lines(bytes)?.map(|line| Ok(serde_json::from_slice(&line?)?)))
}

/// The lines of a segment's bytes as they are stored, for readers of other languages.
///
/// # Errors
/// When it is not compressed as segments are; a line by itself when it cannot be decompressed.
pub fn segment_lines(bytes: &[u8]) -> Result<impl Iterator<Item = Result<String, SegmentError>> + '_, SegmentError> {
    let text = |line: Result<Vec<u8>, std::io::Error>| {
        let line = String::from_utf8(line?).map_err(|error| std::io::Error::other(error.utf8_error()))?;
        Ok(line.trim_end().to_owned())
    };
    Ok(lines(bytes)?.map(text))
}

fn lines(bytes: &[u8]) -> Result<impl Iterator<Item = Result<Vec<u8>, std::io::Error>> + '_, SegmentError> {
    let mut rest = Some(BufReader::new(zstd::Decoder::new(bytes)?));
    Ok(std::iter::from_fn(move || {
        let mut line = Vec::new();
        match rest.as_mut()?.take(LINE_BYTES_MAX).read_until(b'\n', &mut line) {
            Ok(0) => None,
            Ok(_) => Some(Ok(line)),
            Err(error) => {
                // The decoder would give the same error for ever.
                rest = None;
                Some(Err(error))
            }
        }
    }))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use regatta_proto::{Attempt, CellIndex, ItemIndex, Outcome, SessionKey};

    use super::*;

    fn outcome(item: u32) -> SessionOutcome {
        SessionOutcome {
            key: SessionKey { sweep: "s".parse().unwrap(), cell: CellIndex(1), item: ItemIndex(item) },
            lock: Digest::of(b"lock"),
            attempt: Attempt {
                id: format!("w-{item}").parse().unwrap(),
                number: 2,
                worker: "w".parse().unwrap(),
                started_at: Timestamp::UNIX_EPOCH,
                ended_at: Timestamp::UNIX_EPOCH,
            },
            outcome: Outcome::Measured,
            transcript: Transcript::of_recorded(Some(&format!("answer {item}"))),
        }
    }

    #[tokio::test]
    async fn every_transcript_is_read_back_by_its_reference() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::directory(folder.path()).unwrap();
        let sweep: SweepId = "s".parse().unwrap();
        let outcomes = [outcome(7), outcome(8)];
        let id: ItemId = "tea".parse().unwrap();
        let named: Vec<_> = outcomes.iter().map(|outcome| (&id, outcome)).collect();
        let written = write_segment(&blobs, &sweep, &named).await.unwrap();
        for (at, outcome) in written.iter().zip(&outcomes) {
            let read = read_transcript(&blobs, &sweep, at).await.unwrap();
            assert_eq!((read.position, &read.transcript), (outcome.key.item.0, &outcome.transcript));
        }
        let beyond = TranscriptRef { line: 2, ..written[0].clone() };
        assert!(matches!(read_transcript(&blobs, &sweep, &beyond).await, Err(SegmentError::Missing { line: 2, .. })));
        let bytes = blobs.get(&format!("sweeps/s/{}", written[0].segment)).await.unwrap().unwrap();
        assert_eq!(read_segment(&bytes).unwrap().map(|line| line.unwrap().position).collect::<Vec<_>>(), [7, 8]);
    }

    #[test]
    fn a_line_names_its_item_as_results_and_attempts_do_and_older_lines_are_read() {
        let line = |item: &str| {
            format!("{{\"cell\":1,{item},\"attempt\":2,\"attempt_id\":\"w-7\",\"transcript\":{{\"events\":[]}}}}")
        };
        let read = |item: &str| serde_json::from_str::<StoredTranscript>(&line(item)).map(|stored| stored.position);
        assert_eq!(read("\"item\":\"os_92\",\"position\":7").unwrap(), 7);
        assert_eq!(read("\"item\":7").unwrap(), 7, "a line of an older version");
        assert!(read("\"item\":\"os_92\"").unwrap_err().to_string().contains("item os_92 has no position"));
    }

    #[test]
    fn damaged_segments_are_errors() {
        let lines: Vec<_> = read_segment(b"not compressed").unwrap().collect();
        assert!(matches!(lines[..], [Err(SegmentError::Compression(_))]));
        let compressed = zstd::bulk::compress(b"{}\n{}\n", 1).unwrap();
        let lines: Vec<_> = read_segment(&compressed).unwrap().collect();
        assert!(matches!(lines[..], [Err(SegmentError::Json(_)), Err(SegmentError::Json(_))]));
    }

    #[tokio::test]
    async fn a_transcript_behind_damaged_bytes_is_an_error_that_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::directory(folder.path()).unwrap();
        let sweep: SweepId = "s".parse().unwrap();
        blobs.put("sweeps/s/transcripts/damaged", Bytes::from_static(b"not compressed")).await.unwrap();
        let at = TranscriptRef { segment: "transcripts/damaged".to_owned(), line: 3 };
        assert!(matches!(read_transcript(&blobs, &sweep, &at).await, Err(SegmentError::Compression(_))));
    }
}
