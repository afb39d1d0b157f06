//! The transcripts that a run has left in its directory.

use std::path::{Path, PathBuf};

use anyhow::Context;
use regatta_catalog::{StoredTranscript, line_in_full, read_segment, segment_lines};
use regatta_proto::Transcript;

use crate::exit::bad_configuration;

/// A session of the run: its cell and its item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Session {
    pub(crate) cell: u32,
    pub(crate) item: u32,
}

/// Hands every transcript of the run in `directory` to `each`, one at a time. A session that was repeated has several.
pub(crate) fn read(directory: &Path, mut each: impl FnMut(Session, Transcript)) -> anyhow::Result<()> {
    read_stored(directory, |stored| each(Session { cell: stored.cell, item: stored.position }, stored.transcript))
}

/// The same with the attempts that the transcripts are of.
pub(crate) fn read_stored(directory: &Path, mut each: impl FnMut(StoredTranscript)) -> anyhow::Result<()> {
    for path in segments(directory)? {
        read_file(&path, &mut each)?;
    }
    Ok(())
}

/// The same of one segment.
pub(crate) fn read_file(path: &Path, mut each: impl FnMut(StoredTranscript)) -> anyhow::Result<()> {
    let failed = || format!("failed to read {}", path.display());
    let bytes = std::fs::read(path).with_context(failed)?;
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    for (number, stored) in (1..).zip(read_segment(&name, &bytes).with_context(failed)?) {
        each(stored.with_context(|| format!("line {number}")).with_context(failed)?);
    }
    Ok(())
}

/// Hands every transcript of the run in `directory` to `each` as a line of JSON, as it is stored but with every request in full.
pub(crate) fn each_line(directory: &Path, mut each: impl FnMut(&str)) -> anyhow::Result<()> {
    for path in segments(directory)? {
        let failed = || format!("failed to read {}", path.display());
        let bytes = std::fs::read(&path).with_context(failed)?;
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        for line in segment_lines(&name, &bytes).with_context(failed)? {
            each(&line_in_full(&line.with_context(failed)?).with_context(failed)?);
        }
    }
    Ok(())
}

/// The segments of the run in `directory`, each with the transcripts of some hundred sessions.
pub(crate) fn segments(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    list(&directory.join("transcripts")).map_err(bad_configuration)
}

fn list(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
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
