//! Typed tables: a row each for sessions, attempts, model calls and verdicts, as Parquet, CSV, or both.
//!
//! A table is a list of columns and a function that makes its rows; both forms are written from the same rows. What is not known is
//! null (an empty field of a CSV), never 0. Money is in integers of 10⁻⁹ dollars, time in UTC.

mod attempts;
mod calls;
mod csv_file;
mod parquet_file;
mod sessions;
mod verdicts;

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use regatta_proto::{Money, Usage};

use self::csv_file::CsvFile;
use self::parquet_file::ParquetFile;
pub use self::verdicts::VerdictRow;
use crate::documents::ResultLine;
use crate::error::ExportError;
use crate::run::{Run, Session};

/// Type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    /// 64 bits, signed.
    Integer,
    /// 64 bits.
    Float,
    Boolean,
    /// In microseconds, UTC.
    Time,
}

/// A column: its name and its type. Every one may hold nulls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

/// A field of a row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Text(String),
    Integer(u64),
    Float(f64),
    Boolean(bool),
    Time(Timestamp),
}

impl Value {
    pub(crate) fn text(text: impl ToString) -> Self {
        Self::Text(text.to_string())
    }

    pub(crate) fn of<T: Into<Self>>(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Integer(value)
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Integer(value.into())
    }
}

impl From<u16> for Value {
    fn from(value: u16) -> Self {
        Self::Integer(value.into())
    }
}

impl From<Money> for Value {
    fn from(Money(nanodollars): Money) -> Self {
        Self::Integer(nanodollars)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Boolean(value)
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<Timestamp> for Value {
    fn from(value: Timestamp) -> Self {
        Self::Time(value)
    }
}

fn columns(named: &[(&str, Kind)]) -> Vec<Column> {
    named.iter().map(|(name, kind)| Column { name: (*name).to_owned(), kind: *kind }).collect()
}

/// First fields of a row about a session: its cell, benchmark, setting, model, trial and item.
fn session_fields(line: &ResultLine) -> [Value; 6] {
    [
        line.cell.into(),
        Value::text(&line.benchmark),
        Value::text(&line.setting),
        Value::text(&line.model),
        line.trial.into(),
        Value::text(&line.item),
    ]
}

/// Numbers of tokens, in the order of the columns; nulls where they are unknown.
fn token_fields(usage: Option<&Usage>) -> [Value; 6] {
    let tokens = |count: fn(&Usage) -> u64| Value::of(usage.map(count));
    [
        tokens(|usage| usage.input),
        tokens(|usage| usage.cached_input),
        tokens(|usage| usage.cache_write),
        tokens(|usage| usage.cache_write_1h),
        tokens(|usage| usage.output),
        tokens(|usage| usage.reasoning),
    ]
}

/// Form of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Form {
    Parquet,
    Csv,
}

/// One table in one or both forms.
struct Table {
    columns: usize,
    files: Vec<TableFile>,
}

enum TableFile {
    Parquet(Box<ParquetFile>),
    Csv(Box<CsvFile>),
}

impl Table {
    fn create(directory: &Path, name: &str, columns: &[Column], forms: &[Form]) -> Result<Self, ExportError> {
        let mut files = Vec::new();
        for form in forms {
            files.push(match form {
                Form::Parquet => {
                    let file = ParquetFile::create(directory.join(format!("{name}.parquet")), name, columns)?;
                    TableFile::Parquet(Box::new(file))
                }
                Form::Csv => TableFile::Csv(Box::new(CsvFile::create(directory.join(format!("{name}.csv")), columns)?)),
            });
        }
        Ok(Self { columns: columns.len(), files })
    }

    fn push(&mut self, row: Vec<Value>) -> Result<(), ExportError> {
        debug_assert_eq!(row.len(), self.columns, "a row has a field for each column");
        for file in &mut self.files {
            match file {
                TableFile::Parquet(file) => file.push(&row)?,
                TableFile::Csv(file) => file.push(&row)?,
            }
        }
        Ok(())
    }

    fn finish(self, written: &mut Vec<PathBuf>) -> Result<(), ExportError> {
        for file in self.files {
            written.push(match file {
                TableFile::Parquet(file) => file.finish()?,
                TableFile::Csv(file) => file.finish()?,
            });
        }
        Ok(())
    }
}

/// The tables of a run.
pub(crate) struct Tables {
    scores: Vec<sessions::ScoreColumn>,
    sessions: Table,
    attempts: Table,
    /// Table of calls; `None` unless transcripts are available.
    calls: Option<Table>,
    /// Table of verdicts; `None` unless verdicts are available.
    verdicts: Option<Table>,
}

impl Tables {
    /// Begins the tables of `run` in `directory`. Attempts are written at once: those of no session have a row too.
    pub(crate) fn create(run: &Run, directory: &Path, forms: &[Form], has_verdicts: bool) -> Result<Self, ExportError> {
        let scores = sessions::score_columns(run)?;
        let mut attempts = Table::create(directory, "attempts", &attempts::columns(), forms)?;
        let mut lines = run.attempts()?;
        while let Some(line) = lines.next()? {
            attempts.push(attempts::row(run, &line))?;
        }
        let calls = run.has_transcripts()?.then(|| Table::create(directory, "calls", &calls::columns(), forms));
        let verdicts = has_verdicts.then(|| Table::create(directory, "verdicts", &verdicts::columns(), forms));
        Ok(Self {
            sessions: Table::create(directory, "sessions", &sessions::columns(&scores), forms)?,
            scores,
            attempts,
            calls: calls.transpose()?,
            verdicts: verdicts.transpose()?,
        })
    }

    pub(crate) fn push(&mut self, session: &Session, verdicts: &[VerdictRow]) -> Result<(), ExportError> {
        self.sessions.push(sessions::row(session, &self.scores))?;
        if let Some(calls) = &mut self.calls {
            for row in calls::rows(session) {
                calls.push(row)?;
            }
        }
        if let Some(table) = &mut self.verdicts {
            for verdict in verdicts {
                table.push(verdicts::row(session, verdict))?;
            }
        }
        Ok(())
    }

    pub(crate) fn finish(self, written: &mut Vec<PathBuf>) -> Result<(), ExportError> {
        self.sessions.finish(written)?;
        self.attempts.finish(written)?;
        for table in self.calls.into_iter().chain(self.verdicts) {
            table.finish(written)?;
        }
        Ok(())
    }
}
