//! Transcripts by segment and line.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use regatta_catalog::{StoredTranscript, segment_lines};

use crate::error::ExportError;

/// Text of segments that is kept, in bytes. Sessions come in the order of the grid and segments in that of time; within a cell both are
/// nearly the same, so that a few segments at a time are enough.
const KEPT_BYTES_MAX: usize = 256 << 20;

/// The transcripts of a run.
pub(crate) struct Transcripts {
    directory: PathBuf,
    /// The one that was read last comes last.
    kept: VecDeque<Segment>,
    kept_bytes: usize,
}

struct Segment {
    name: String,
    lines: Vec<String>,
    bytes: usize,
}

impl Transcripts {
    /// Transcripts of the run in `directory`.
    pub(crate) fn of(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), kept: VecDeque::new(), kept_bytes: 0 }
    }

    /// `true` if the run has any at hand.
    pub(crate) fn are_there(&self) -> bool {
        self.directory.join("transcripts").is_dir()
    }

    /// The transcript at `line` of `segment`.
    pub(crate) fn read(&mut self, segment: &str, line: u32) -> Result<StoredTranscript, ExportError> {
        let path = self.directory.join(segment);
        let text = self.segment(segment, &path)?.lines.get(line as usize);
        let Some(text) = text else {
            return Err(ExportError::content(&path, format!("it has no line {line}, which attempts.jsonl names")));
        };
        serde_json::from_str(text).map_err(|error| ExportError::content(&path, format!("line {line}: {error}")))
    }

    fn segment(&mut self, name: &str, path: &Path) -> Result<&Segment, ExportError> {
        let found = self.kept.iter().position(|kept| kept.name == name).and_then(|at| self.kept.remove(at));
        let segment = match found {
            Some(segment) => segment,
            None => {
                let segment = Segment::read(name, path)?;
                self.kept_bytes += segment.bytes;
                while self.kept_bytes > KEPT_BYTES_MAX
                    && let Some(oldest) = self.kept.pop_front()
                {
                    self.kept_bytes -= oldest.bytes;
                }
                segment
            }
        };
        Ok(self.kept.push_back_mut(segment))
    }
}

impl Segment {
    fn read(name: &str, path: &Path) -> Result<Self, ExportError> {
        // The name comes from a file of the run, which may be anybody's.
        let is_plain = name.strip_prefix("transcripts/").is_some_and(|file| !file.contains(['/', '\\']));
        if !is_plain {
            return Err(ExportError::content(path, format!("{name:?} is no name of a segment")));
        }
        let compressed = std::fs::read(path).map_err(ExportError::read(path))?;
        let failed = |source| ExportError::Segment { path: path.to_owned(), source };
        let lines: Vec<String> =
            segment_lines(name, &compressed).map_err(failed)?.collect::<Result<_, _>>().map_err(failed)?;
        let bytes = lines.iter().map(String::len).sum();
        Ok(Self { name: name.to_owned(), lines, bytes })
    }
}
