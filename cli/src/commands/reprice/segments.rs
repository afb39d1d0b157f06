//! The transcripts of a run, out of its segments: compressed files of one JSON line a transcript.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use regatta_proto::Transcript;
use serde::Deserialize;

use crate::exit::bad_configuration;

/// Longest transcript that is read, in bytes; more cannot come over the queue.
const LINE_BYTES_MAX: u64 = 256 << 20;

/// A session of the run: its cell and its item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Session {
    pub(super) cell: u32,
    pub(super) item: u32,
}

#[derive(Deserialize)]
struct Line {
    cell: u32,
    item: u32,
    transcript: Transcript,
}

/// Hands every transcript of the run in `directory` to `each`, one at a time. A session may have several.
pub(super) fn read(directory: &Path, mut each: impl FnMut(Session, Transcript)) -> anyhow::Result<()> {
    for path in segments(&directory.join("transcripts")).map_err(bad_configuration)? {
        read_segment(&path, &mut each).with_context(|| format!("failed to read {}", path.display()))?;
    }
    Ok(())
}

fn segments(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(directory).with_context(|| {
        format!("there are no transcripts in {}; a run has them once it has ended", directory.display())
    })?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("failed to list {}", directory.display()))?.path();
        if path.to_string_lossy().ends_with(".jsonl.zst") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn read_segment(path: &Path, each: &mut impl FnMut(Session, Transcript)) -> anyhow::Result<()> {
    let mut lines = BufReader::new(zstd::Decoder::new(File::open(path)?)?);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read = (&mut lines).take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(());
        }
        if read as u64 == LINE_BYTES_MAX && !line.ends_with(b"\n") {
            bail!("line {number} has more than {LINE_BYTES_MAX} bytes");
        }
        let Line { cell, item, transcript } =
            serde_json::from_slice(&line).with_context(|| format!("line {number} is no transcript"))?;
        each(Session { cell, item }, transcript);
    }
    Ok(())
}
