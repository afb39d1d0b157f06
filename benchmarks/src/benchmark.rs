//! A benchmark: what it is called, how it can run, and how its data set is read.

use std::collections::BTreeMap;
use std::sync::Arc;

use regatta_proto::{BenchmarkName, Evaluator, FileSet, Setting};
use serde_json::Value;

use crate::case::case_place;
use crate::{DataError, RemoteFile, Suite};

/// A benchmark: its name, settings and evaluators, and the function that loads a data set.
pub trait Benchmark: Send + Sync {
    /// Name in specs, paths and tables, such as `appbench`.
    fn name(&self) -> BenchmarkName;

    /// Returns `true` if the file at `path` (relative to the data directory) belongs to the data set. Other files are
    /// neither read nor stored.
    fn wants(&self, path: &str) -> bool;

    /// Returns further files of the data set that are named in `files`, as relative paths within the data directory. The first
    /// time these are the [wanted](Self::wants) ones; it is asked once more when there are also the files that it named,
    /// and the [remote](Self::remote_files) ones, which may name files themselves.
    ///
    /// # Errors
    /// When `files` cannot be parsed, or name a path outside of the directory.
    fn further_files(&self, files: &FileSet) -> Result<Vec<String>, DataError> {
        let _ = files;
        Ok(Vec::new())
    }

    /// Returns the files of the data set that the [wanted](Self::wants) ones name by their addresses.
    ///
    /// # Errors
    /// As [`further_files`](Self::further_files)'.
    fn remote_files(&self, files: &FileSet) -> Result<Vec<RemoteFile>, DataError> {
        let _ = files;
        Ok(Vec::new())
    }

    /// Returns what the data set has of a further file at `path` whose content is `content`: of a format that only its owner's machine
    /// should read, another one.
    ///
    /// # Errors
    /// When the content cannot be read.
    fn as_stored(&self, files: &FileSet, path: &str, content: Vec<u8>) -> Result<Vec<u8>, DataError> {
        let _ = (files, path);
        Ok(content)
    }

    /// Returns the official files of the data set, with repository, commit, sizes and digests (`sources.yaml`); `None`
    /// where nobody publishes one.
    fn sources(&self) -> Option<&'static str> {
        None
    }

    /// Returns the settings that the benchmark can run in, the default first; empty where each data set declares its
    /// own ([`Dataset::declared_settings`](crate::Dataset::declared_settings)).
    fn settings(&self) -> Vec<Setting>;

    /// Returns the benchmark's evaluators, the default first.
    fn evaluators(&self) -> Vec<Evaluator>;

    /// Returns the evaluators that are used when a spec names none.
    fn usual_evaluators(&self) -> Vec<Evaluator> {
        self.evaluators()
    }

    /// Reads the data set.
    ///
    /// # Errors
    /// With the file, record and field of the first malformed value; no record is skipped.
    fn load(&self, files: &FileSet) -> Result<Arc<dyn Suite>, DataError>;

    /// Scores one golden case from `case.json` and its inputs. The expected files are never read.
    ///
    /// # Errors
    /// When the case or an input cannot be read, or the benchmark has no golden cases, as by default.
    fn score_case(&self, case: &FileSet, data: &FileSet) -> Result<BTreeMap<String, Value>, DataError> {
        let _ = data;
        Err(case_place(case).problem("golden cases are of built-in benchmarks; score predictions with --predictions"))
    }
}
