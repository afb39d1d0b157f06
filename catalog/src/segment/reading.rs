//! Segments, and single transcripts of them, as they are read.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Read};

use futures::future::BoxFuture;
use regatta_backends::{Blobs, TranscriptRef};
use regatta_proto::{SweepId, Transcript};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{SegmentError, StoredTranscript, is_intact};

/// Longest line read, in bytes, so that a damaged segment cannot exhaust the memory of the process.
const LINE_BYTES_MAX: u64 = 256 << 20;

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
pub(super) fn next_line(text: &mut impl BufRead, most: u64) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    text.by_ref().take(most).read_until(b'\n', &mut line)?;
    if line.len() as u64 == most && !line.ends_with(b"\n") {
        text.skip_until(b'\n')?;
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("a line has more than {most} bytes")));
    }
    Ok(line)
}
