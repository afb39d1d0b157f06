//! Transcripts in Blobs: one compressed segment a batch of reports, one line a transcript.

use futures::future::BoxFuture;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Read, Write};

use bytes::Bytes;
use jiff::Timestamp;
use regatta_backends::{BlobError, Blobs, TranscriptRef};
use regatta_proto::{
    Attempt, AttemptId, CellIndex, Compact, Digest, ItemId, ItemIndex, Outcome, SessionKey, SessionOutcome, SweepId,
    Transcript, WorkerId,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Compression level: on a batch of transcripts 3 costs twice the time of 1 and saves a third of the space.
const LEVEL: i32 = 1;
/// Longest line read, in bytes, so that a damaged segment cannot exhaust the memory of the process.
const LINE_BYTES_MAX: u64 = 256 << 20;
/// Bytes of a line above which its transcript is not written in full: a report that came in the compact form was counted as that when there was
/// room for it.
const IN_FULL_BYTES: usize = 16 << 20;
/// Hexadecimal digits of its content's digest in the name of a segment.
const DIGITS: usize = 16;

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
    /// Id of the attempt.
    pub attempt_id: AttemptId,
    /// Circumstances of the attempt; `None` in lines of older versions.
    pub reported: Option<Reported>,
    /// The record of the session.
    pub transcript: Transcript,
}

/// Circumstances of an attempt, as its worker reported them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reported {
    /// The worker that made the attempt.
    pub worker: WorkerId,
    /// Start of the attempt.
    pub started_at: Timestamp,
    /// End of the attempt.
    pub ended_at: Timestamp,
    /// The result of the attempt.
    pub outcome: Outcome,
}

impl StoredTranscript {
    /// The report that the line was written from, for the sweep whose lock has the digest `lock`. `reported` comes from the line itself or,
    /// for a line of an older version, from `attempts.jsonl`.
    #[must_use]
    pub fn into_outcome(self, sweep: SweepId, lock: Digest, reported: Reported) -> SessionOutcome {
        let Reported { worker, started_at, ended_at, outcome } = reported;
        SessionOutcome {
            key: SessionKey { sweep, cell: CellIndex(self.cell), item: ItemIndex(self.position) },
            lock,
            attempt: Attempt { id: self.attempt_id, number: self.attempt, worker, started_at, ended_at },
            outcome,
            transcript: self.transcript,
        }
    }
}

#[derive(Deserialize)]
struct Line {
    cell: u32,
    item: ItemKey,
    position: Option<u32>,
    attempt: u32,
    attempt_id: AttemptId,
    worker: Option<WorkerId>,
    started_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
    outcome: Option<Outcome>,
    transcript: Transcript,
}

/// Identifies the item of a line. Lines of older versions have the benchmark's id instead of a `position`.
#[derive(Deserialize)]
#[serde(untagged)]
enum ItemKey {
    Position(u32),
    Id(ItemId),
}

impl TryFrom<Line> for StoredTranscript {
    type Error = String;
    fn try_from(line: Line) -> Result<Self, String> {
        let Line { cell, item, position, attempt, attempt_id, worker, started_at, ended_at, outcome, transcript } =
            line;
        let position = match (item, position) {
            (_, Some(position)) | (ItemKey::Position(position), None) => position,
            (ItemKey::Id(item), None) => return Err(format!("item {item} has no position")),
        };
        let reported = match (worker, started_at, ended_at, outcome) {
            (Some(worker), Some(started_at), Some(ended_at), Some(outcome)) => {
                Some(Reported { worker, started_at, ended_at, outcome })
            }
            (None, None, None, None) => None,
            _ => return Err("it says only in part how its attempt ended".to_owned()),
        };
        Ok(Self { cell, position, attempt, attempt_id, reported, transcript })
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
        let line = lines(&at.segment, &bytes)?.nth(at.line as usize).ok_or_else(missing)??;
        Ok(serde_json::from_slice(&line)?)
    })
}

/// Hands the transcripts in the lines `wanted` of the bytes of `segment` to `each`, one at a time and in their order. Lines that there are
/// not are left out.
///
/// # Errors
/// As [`read_segment`]'s, also of a line that is wanted.
pub fn read_lines_of_segment(
    segment: &str,
    bytes: &[u8],
    wanted: &BTreeSet<u32>,
    mut each: impl FnMut(u32, StoredTranscript),
) -> Result<(), SegmentError> {
    let Some(last) = wanted.last() else { return Ok(()) };
    for (number, line) in (0..=*last).zip(lines(segment, bytes)?) {
        match line {
            Ok(line) if wanted.contains(&number) => each(number, serde_json::from_slice(&line)?),
            Err(error) if wanted.contains(&number) || error.kind() != io::ErrorKind::FileTooLarge => {
                return Err(error.into());
            }
            Ok(_) | Err(_) => {}
        }
    }
    Ok(())
}

/// All transcripts of the bytes of `segment` (its path, or its name alone), in order.
///
/// # Errors
/// When it is damaged, or not compressed as segments are; a line by itself when it is no transcript. Nothing comes after bytes that
/// cannot be decompressed.
pub fn read_segment<'a>(
    segment: &str,
    bytes: &'a [u8],
) -> Result<impl Iterator<Item = Result<StoredTranscript, SegmentError>> + 'a, SegmentError> {
    Ok(lines(segment, bytes)?.map(|line| Ok(serde_json::from_slice(&line?)?)))
}

/// The lines of the bytes of `segment` as they are stored, for readers of other languages.
///
/// # Errors
/// When it is damaged, or not compressed as segments are; a line by itself when it cannot be decompressed.
pub fn segment_lines<'a>(
    segment: &str,
    bytes: &'a [u8],
) -> Result<impl Iterator<Item = Result<String, SegmentError>> + 'a, SegmentError> {
    let text = |line: Result<Vec<u8>, io::Error>| {
        let line = String::from_utf8(line?).map_err(|error| io::Error::other(error.utf8_error()))?;
        Ok(line.trim_end().to_owned())
    };
    Ok(lines(segment, bytes)?.map(text))
}

/// A line of a segment with every request in full, for readers that know no prefixes.
///
/// # Errors
/// When a prefix cannot be written out.
pub fn line_in_full(line: &str) -> Result<Cow<'_, str>, SegmentError> {
    #[derive(Deserialize)]
    struct OfLine<'a> {
        #[serde(borrow)]
        transcript: &'a RawValue,
    }

    // A text has no such quotes.
    if !line.contains(r#"{"prefix":{"#) {
        return Ok(Cow::Borrowed(line));
    }
    let stored = serde_json::from_str::<OfLine<'_>>(line)?.transcript.get();
    let transcript: Transcript = serde_json::from_str(stored)?;
    // Nothing before it can have the same words, for the same reason.
    let Some((before, after)) = line.split_once(stored) else { return Ok(Cow::Borrowed(line)) };
    Ok(Cow::Owned(format!("{before}{}{after}", serde_json::to_string(&transcript)?)))
}

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

fn lines<'a>(
    segment: &str,
    bytes: &'a [u8],
) -> Result<impl Iterator<Item = Result<Vec<u8>, io::Error>> + 'a, SegmentError> {
    if !is_intact(segment, bytes) {
        return Err(SegmentError::Damaged { segment: segment.to_owned() });
    }
    let mut rest = Some(BufReader::new(zstd::Decoder::new(bytes)?));
    Ok(std::iter::from_fn(move || {
        match next_line(rest.as_mut()?, LINE_BYTES_MAX) {
            Ok(line) if line.is_empty() => None,
            Err(error) if error.kind() != io::ErrorKind::FileTooLarge => {
                // The decoder would give the same error for ever.
                rest = None;
                Some(Err(error))
            }
            read => Some(read),
        }
    }))
}

/// The next line, with its end; empty after the last. One of more than `most` bytes is an error, after which the one behind it is read: whoever
/// counts lines has the others where they are.
fn next_line(text: &mut impl BufRead, most: u64) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    text.by_ref().take(most).read_until(b'\n', &mut line)?;
    if line.len() as u64 == most && !line.ends_with(b"\n") {
        text.skip_until(b'\n')?;
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("a line has more than {most} bytes")));
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use regatta_proto::Event;

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
        let lines = read_segment(&written[0].segment, &bytes).unwrap();
        assert_eq!(lines.map(|line| line.unwrap().position).collect::<Vec<_>>(), [7, 8]);
        let mut some = Vec::new();
        let wanted = BTreeSet::from([1, 5]);
        read_lines_of_segment(&written[0].segment, &bytes, &wanted, |line, stored| some.push((line, stored.position)))
            .unwrap();
        assert_eq!(some, [(1, 8)]);
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

    #[tokio::test]
    async fn a_line_is_written_with_the_names_that_results_and_attempts_have() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::directory(folder.path()).unwrap();
        let (id, outcome): (ItemId, _) = ("os_92".parse().unwrap(), outcome(7));
        let sweep = outcome.key.sweep.clone();
        let written = write_segment(&blobs, &sweep, &[(&id, &outcome)]).await.unwrap();
        let bytes = blobs.get(&format!("sweeps/{sweep}/{}", written[0].segment)).await.unwrap().unwrap();
        let lines: Vec<String> =
            segment_lines(&written[0].segment, &bytes).unwrap().map(|line| line.unwrap()).collect();
        let line: serde_json::Value = serde_json::from_str(&lines[0]).unwrap();
        assert_eq!((&line["item"], &line["position"]), (&"os_92".into(), &7.into()), "{line}");
        let (cell, attempt) = (outcome.key.cell.0, outcome.attempt.number);
        assert_eq!((&line["cell"], &line["attempt"]), (&cell.into(), &attempt.into()), "{line}");
    }

    /// An event of a call with these texts of a user.
    fn call(said: &[&str]) -> serde_json::Value {
        let said: Vec<_> = said.iter().map(|text| serde_json::json!({ "role": "user", "content": text })).collect();
        serde_json::json!({ "call": {
            "role": "agent", "attempt": 2, "model": "sim/m", "request": { "messages": said },
            "reply": { "text": null, "finish": "stop" }, "usage": { "input": 1, "output": 1 }, "cost": null, "latency_us": 1
        }})
    }

    #[tokio::test]
    async fn a_line_has_each_message_once_and_is_given_in_full_to_those_who_know_no_prefixes() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::directory(folder.path()).unwrap();
        let id: ItemId = "tea".parse().unwrap();
        let events = [call(&["first {\"prefix\":{"]), call(&["first {\"prefix\":{", "second"]), call(&["third"])];
        let transcript: Transcript = serde_json::from_value(serde_json::json!({ "events": events })).unwrap();
        let told = [SessionOutcome { transcript, ..outcome(7) }, outcome(8)];
        let sweep = told[0].key.sweep.clone();
        let named: Vec<_> = told.iter().map(|outcome| (&id, outcome)).collect();
        let at = write_segment(&blobs, &sweep, &named).await.unwrap().remove(0);
        assert_eq!(read_transcript(&blobs, &sweep, &at).await.unwrap().transcript, told[0].transcript);

        let bytes = blobs.get(&format!("sweeps/{sweep}/{}", at.segment)).await.unwrap().unwrap();
        let lines: Vec<String> = segment_lines(&at.segment, &bytes).unwrap().map(|line| line.unwrap()).collect();
        assert_eq!(lines[0].matches("first").count(), 1, "{}", lines[0]);
        let whole = write_segment_in_full(&blobs, &sweep, &named).await.unwrap().remove(0);
        let bytes = blobs.get(&format!("sweeps/{sweep}/{}", whole.segment)).await.unwrap().unwrap();
        let all_in_full: Vec<String> =
            segment_lines(&whole.segment, &bytes).unwrap().map(|line| line.unwrap()).collect();
        assert_eq!(all_in_full, [&*line_in_full(&lines[0]).unwrap(), lines[1].as_str()]);
        let in_full = line_in_full(&lines[0]).unwrap();
        let written: serde_json::Value = serde_json::from_str(&in_full).unwrap();
        assert_eq!(written["transcript"], serde_json::to_value(&told[0].transcript).unwrap());
        assert_eq!((&written["item"], &written["position"]), (&"tea".into(), &7.into()));
        assert!(matches!(line_in_full(&lines[1]).unwrap(), Cow::Borrowed(line) if line == lines[1]));

        let broken = lines[0].replace("\"event\":0", "\"event\":7");
        let error = line_in_full(&broken).unwrap_err();
        assert!(error.is_loss() && error.to_string().contains("from event 7, which is not an earlier one"), "{error}");
    }

    #[tokio::test]
    async fn a_transcript_that_is_large_in_full_has_each_message_once_wherever_it_is_large() {
        let long = "x".repeat(9 << 20);
        let mut calls = call(&["x"]);
        calls["call"]["request"]["messages"][0]["tool_calls"] =
            serde_json::json!([{ "id": "1", "name": "write", "arguments": long }]);
        for (event, times) in [(call(&[&long]), 2), (calls, 2), (call(&[""; 1_000]), 600)] {
            let events: Vec<Event> = vec![serde_json::from_value(event).unwrap(); times];
            let told = SessionOutcome { transcript: Transcript { events }, ..outcome(7) };
            let blobs = Blobs::memory();
            let id: ItemId = "tea".parse().unwrap();
            let sweep = told.key.sweep.clone();
            let at = write_segment_in_full(&blobs, &sweep, &[(&id, &told)]).await.unwrap().remove(0);
            let bytes = blobs.get(&format!("sweeps/{sweep}/{}", at.segment)).await.unwrap().unwrap();
            let line = segment_lines(&at.segment, &bytes).unwrap().next().unwrap().unwrap();
            assert!(line.len() < 10 << 20, "{} bytes", line.len());
            assert!(read_transcript(&blobs, &sweep, &at).await.unwrap().transcript == told.transcript);
        }
    }

    /// Name under which `bytes` are intact.
    fn name_of(bytes: &[u8]) -> String {
        format!("transcripts/{}.jsonl.zst", called(bytes))
    }

    #[tokio::test]
    async fn the_report_that_a_line_was_written_from_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::directory(folder.path()).unwrap();
        let (id, outcome): (ItemId, _) = ("tea".parse().unwrap(), outcome(7));
        let sweep = outcome.key.sweep.clone();
        let written = write_segment(&blobs, &sweep, &[(&id, &outcome)]).await.unwrap();
        let stored = read_transcript(&blobs, &sweep, &written[0]).await.unwrap();
        let reported = stored.reported.clone().unwrap();
        assert_eq!(stored.into_outcome(sweep, outcome.lock, reported), outcome);
    }

    #[test]
    fn a_line_that_says_only_in_part_how_its_attempt_ended_is_refused() {
        let line = r#"{"cell":1,"item":7,"attempt":2,"attempt_id":"w-7","worker":"w","transcript":{"events":[]}}"#;
        let error = serde_json::from_str::<StoredTranscript>(line).unwrap_err().to_string();
        assert!(error.contains("only in part"), "{error}");
    }

    #[test]
    fn a_line_that_is_too_long_moves_no_other_to_another_place() {
        let mut text = &b"first\nmuch too long\nthird\nlast\n"[..];
        let mut next = || next_line(&mut text, 6).map_err(|error| error.to_string());
        assert_eq!(next().unwrap(), b"first\n");
        assert_eq!(next().unwrap_err(), "a line has more than 6 bytes");
        assert_eq!(next().unwrap(), b"third\n");
        assert_eq!(next().unwrap(), b"last\n");
        assert_eq!(next().unwrap(), b"");
    }

    #[test]
    fn segments_that_are_none_are_errors() {
        let plain = b"not compressed";
        let lines: Vec<_> = read_segment(&name_of(plain), plain).unwrap().collect();
        assert!(matches!(lines[..], [Err(SegmentError::Compression(_))]));
        let compressed = zstd::bulk::compress(b"{}\n{}\n", 1).unwrap();
        let lines: Vec<_> = read_segment(&name_of(&compressed), &compressed).unwrap().collect();
        assert!(matches!(lines[..], [Err(SegmentError::Json(_)), Err(SegmentError::Json(_))]));
    }

    #[tokio::test]
    async fn nothing_is_read_from_a_segment_of_which_a_byte_has_changed() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::directory(folder.path()).unwrap();
        let (id, outcome): (ItemId, _) = ("tea".parse().unwrap(), outcome(7));
        let sweep = outcome.key.sweep.clone();
        let written = write_segment(&blobs, &sweep, &[(&id, &outcome)]).await.unwrap().remove(0);
        let key = format!("sweeps/s/{}", written.segment);
        let whole = blobs.get(&key).await.unwrap().unwrap();
        for at in 0..whole.len() {
            let mut changed = whole.to_vec();
            changed[at] ^= 1;
            assert!(!is_intact(&written.segment, &changed));
            blobs.put(&key, Bytes::from(changed)).await.unwrap();
            let read = read_transcript(&blobs, &sweep, &written).await;
            assert!(matches!(read, Err(SegmentError::Damaged { .. })), "byte {at}");
        }
    }
}
