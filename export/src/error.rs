//! Failures of an export.

use std::path::{Path, PathBuf};

/// Reason why a run could not be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// A file of the run cannot be read.
    #[error("failed to read {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Cause, from the system.
        source: std::io::Error,
    },
    /// A file of the run is not what runs have.
    #[error("failed to read {path}: {problem}")]
    Content {
        /// The file, with the line where there is one.
        path: String,
        /// Problem, in words.
        problem: String,
    },
    /// A segment of transcripts cannot be read.
    #[error("failed to read {path}")]
    Segment {
        /// The segment.
        path: PathBuf,
        /// Cause, from the reader of segments.
        source: regatta_catalog::SegmentError,
    },
    /// A file of the export cannot be written.
    #[error("failed to write {path}")]
    Write {
        /// The file.
        path: PathBuf,
        /// Cause, from the system.
        source: std::io::Error,
    },
    /// A table cannot be written.
    #[error("failed to write the table {path}")]
    Parquet {
        /// The file.
        path: PathBuf,
        /// Cause, from the writer of Parquet.
        source: parquet::errors::ParquetError,
    },
    /// A number is beyond what a column holds.
    #[error("failed to write the table {path}: {value} in the column {column} is more than 2^63 - 1")]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// The number.
        value: u64,
    },
}

impl ExportError {
    pub(crate) fn read(path: &Path) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.to_owned();
        |source| Self::Read { path, source }
    }

    pub(crate) fn write<E: Into<std::io::Error>>(path: &Path) -> impl FnOnce(E) -> Self + use<E> {
        let path = path.to_owned();
        |source| Self::Write { path, source: source.into() }
    }

    pub(crate) fn parquet(path: &Path) -> impl FnOnce(parquet::errors::ParquetError) -> Self + use<> {
        let path = path.to_owned();
        |source| Self::Parquet { path, source }
    }

    pub(crate) fn content(path: &Path, problem: impl ToString) -> Self {
        Self::Content { path: path.display().to_string(), problem: problem.to_string() }
    }
}
