//! Transcripts by segment and line.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use regatta_catalog::{StoredTranscript, segment_lines};

use crate::error::ExportError;

/// Text of segments that is kept, in bytes. Sessions come in the order of the grid and segments in that of time; within a cell both are
/// nearly the same, so that a few segments at a time are enough.
const KEPT_BYTES_MAX: usize = 256 << 20;
/// Longest text of one segment, in bytes in memory. A file of a megabyte, which may be anybody's, can be compressed from thousands of times as
/// much.
const SEGMENT_BYTES_MAX: usize = 2 << 30;

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
                let segment = Segment::read(name, path, SEGMENT_BYTES_MAX)?;
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
    fn read(name: &str, path: &Path, bytes_max: usize) -> Result<Self, ExportError> {
        // The name comes from a file of the run, which may be anybody's.
        let is_plain = name.strip_prefix("transcripts/").is_some_and(|file| !file.contains(['/', '\\']));
        if !is_plain {
            return Err(ExportError::content(path, format!("{name:?} is no name of a segment")));
        }
        let compressed = std::fs::read(path).map_err(ExportError::read(path))?;
        let failed = |source| ExportError::Segment { path: path.to_owned(), source };
        let mut segment = Self { name: name.to_owned(), lines: Vec::new(), bytes: 0 };
        for line in segment_lines(name, &compressed).map_err(failed)? {
            let line = line.map_err(failed)?;
            segment.bytes += size_of::<String>() + line.len();
            if segment.bytes > bytes_max {
                return Err(ExportError::content(path, format!("its text is larger than {bytes_max} bytes")));
            }
            segment.lines.push(line);
        }
        Ok(segment)
    }
}

#[cfg(test)]
mod tests {
    use regatta_proto::Digest;

    use super::*;

    #[test]
    fn a_segment_that_is_compressed_from_too_much_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let compressed = zstd::bulk::compress(&b"\n".repeat(100_000), 1).unwrap();
        let name = format!("transcripts/{}.jsonl.zst", &Digest::of(&compressed).to_string()[..16]);
        std::fs::create_dir(folder.path().join("transcripts")).unwrap();
        std::fs::write(folder.path().join(&name), compressed).unwrap();
        let read = |bytes_max| Segment::read(&name, &folder.path().join(&name), bytes_max);
        assert_eq!(read(10_000_000).unwrap().lines.len(), 100_000);
        let error = read(1_000_000).err().unwrap().to_string();
        assert!(error.contains("larger than 1000000 bytes"), "{error}");
    }
}
