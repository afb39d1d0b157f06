//! Logs of Inspect (`.eval`): a zip with a header, a file for each sample, and their summaries. One for each benchmark, setting and model;
//! a session is a sample, a trial an epoch.
//!
//! `archive` writes the zip, `header` what is said of the whole, `sample` one session; `messages`, `events`, `usage` and `tools` are parts
//! of samples. The shapes are those of version 2 of the format, which readers since 0.3 know.

mod archive;
mod events;
mod header;
mod messages;
mod sample;
mod summaries;
mod tools;
mod usage;

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use regatta_proto::Cell;

use self::archive::Archive;
use self::header::Header;
use crate::error::ExportError;
use crate::run::{Run, Session};

/// Logs of a run, of which one is open at a time: sessions come in the order of the grid.
pub(crate) struct Logs {
    directory: PathBuf,
    open: Option<Log>,
    written: Vec<PathBuf>,
}

/// The log of a benchmark, setting and model.
struct Log {
    archive: Archive,
    header: Header,
}

impl Logs {
    pub(crate) fn create(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), open: None, written: Vec::new() }
    }

    /// Adds `session`, of whose answer `target` is a right one.
    pub(crate) fn push(&mut self, run: &Run, session: &Session, target: Option<&str>) -> Result<(), ExportError> {
        let is_open = self.open.as_ref().is_some_and(|log| log.header.is_of(&session.cell));
        if !is_open {
            self.close(run)?;
            self.open = Some(Log::create(&self.directory, run, &session.cell)?);
        }
        let Some(log) = &mut self.open else { return Ok(()) };
        if session.attempts.is_empty() && session.transcripts.is_empty() {
            // Nothing was tried, so there is no sample; the header counts it among the total.
            return Ok(());
        }
        let sample = sample::sample(run, session, target);
        log.header.add(&sample);
        log.archive.sample(&sample)
    }

    pub(crate) fn finish(mut self, run: &Run, written: &mut Vec<PathBuf>) -> Result<(), ExportError> {
        self.close(run)?;
        written.append(&mut self.written);
        Ok(())
    }

    fn close(&mut self, run: &Run) -> Result<(), ExportError> {
        if let Some(Log { archive, header }) = self.open.take() {
            self.written.push(archive.finish(&header.document(run))?);
        }
        Ok(())
    }
}

impl Log {
    fn create(directory: &Path, run: &Run, cell: &Cell) -> Result<Self, ExportError> {
        let header = Header::new(run, cell)?;
        let archive = Archive::create(directory.join(header.file_name(run)), &header.start(run))?;
        Ok(Self { archive, header })
    }
}

/// `time` as the format writes it.
fn moment(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00").to_string()
}
