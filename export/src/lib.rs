//! Runs in the formats of others, and predictions out of theirs.
//!
//! [`Export`] goes through the sessions of a run's directory once, in the order of its grid, and writes each into every format that is
//! wished for: Inspect's logs (`inspect`), Parquet and CSV tables (`tables`), OpenTelemetry traces (`otlp`). Memory holds the attempts of
//! one cell and a bounded part of the transcripts, however many sessions there are. The same run makes the same bytes. [`predictions`] reads
//! what other harnesses have recorded. A new format is a folder here and a variant of [`Format`]; pages of a run are the viewer's to make.
//!
//! Numbers are those of the run's documents, unchanged. What is not known is absent or null in every format, never 0.

mod documents;
mod error;
mod ids;
mod inspect;
mod otlp;
pub mod predictions;
mod run;
mod tables;
mod transcripts;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub use self::documents::{AttemptLine, ResultLine};
pub use self::error::ExportError;
use self::inspect::Logs;
use self::otlp::Traces;
use self::run::Sessions;
pub use self::run::{Run, Session};
pub use self::tables::VerdictRow;
use self::tables::{Form, Tables};

/// A format of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// Logs of Inspect, one for each benchmark, setting and model.
    Eval,
    /// Tables as Parquet.
    Parquet,
    /// Tables as CSV.
    Csv,
    /// OpenTelemetry traces, as lines of OTLP's JSON.
    Otlp,
}

impl Format {
    /// `true` if it is made of transcripts; tables have a part that is not.
    #[must_use]
    pub const fn needs_transcripts(self) -> bool {
        match self {
            Self::Eval | Self::Otlp => true,
            Self::Parquet | Self::Csv => false,
        }
    }
}

/// Facts about a session that are not in the files of its run: they take its data set and its ledger.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Beside {
    /// A right answer.
    pub target: Option<String>,
    /// Questions to judges about it.
    pub verdicts: Vec<VerdictRow>,
}

/// An export that is under way.
pub struct Export {
    run: Run,
    sessions: Sessions,
    tables: Option<Tables>,
    logs: Option<Logs>,
    traces: Option<Traces>,
}

impl Export {
    /// Begins to write `run` into `directory`, which exists, in `formats`. With `has_verdicts` there is a table of verdicts, which
    /// [`Beside`] has for each session.
    ///
    /// # Errors
    /// When a file of the run cannot be read, or one of the export not be written.
    pub fn begin(
        run: Run,
        directory: &Path,
        formats: &BTreeSet<Format>,
        has_verdicts: bool,
    ) -> Result<Self, ExportError> {
        let form = |format: &Format| match format {
            Format::Parquet => Some(Form::Parquet),
            Format::Csv => Some(Form::Csv),
            Format::Eval | Format::Otlp => None,
        };
        let forms: Vec<Form> = formats.iter().filter_map(form).collect();
        let tables = (!forms.is_empty()).then(|| Tables::create(&run, directory, &forms, has_verdicts));
        let traces = formats.contains(&Format::Otlp).then(|| Traces::create(directory));
        Ok(Self {
            tables: tables.transpose()?,
            logs: formats.contains(&Format::Eval).then(|| Logs::create(directory)),
            traces: traces.transpose()?,
            sessions: run.sessions()?,
            run,
        })
    }

    /// The next session of the run, to be handed to [`Self::write`]; `None` when all were.
    ///
    /// # Errors
    /// When a file of the run cannot be read, or contradicts another.
    pub fn next_session(&mut self) -> Result<Option<Session>, ExportError> {
        self.sessions.next()
    }

    /// Writes `session`, of which `beside` is known too.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&mut self, session: &Session, beside: &Beside) -> Result<(), ExportError> {
        if let Some(tables) = &mut self.tables {
            tables.push(session, &beside.verdicts)?;
        }
        if let Some(logs) = &mut self.logs {
            logs.push(&self.run, session, beside.target.as_deref())?;
        }
        if let Some(traces) = &mut self.traces {
            traces.push(&self.run, session)?;
        }
        Ok(())
    }

    /// Completes all files, and names them.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn finish(self) -> Result<Vec<PathBuf>, ExportError> {
        let mut written = Vec::new();
        if let Some(tables) = self.tables {
            tables.finish(&mut written)?;
        }
        if let Some(logs) = self.logs {
            logs.finish(&self.run, &mut written)?;
        }
        if let Some(traces) = self.traces {
            traces.finish(&mut written)?;
        }
        Ok(written)
    }
}

#[cfg(test)]
mod tests;
