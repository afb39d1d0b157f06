//! Benchmarks of people's own: a folder with `benchmark.yaml` and its data is one, without code, or with a program that answers the
//! functions of the interface (`coded`).
//!
//! The file and the data are the data set, so they reach every process by their digests, as those of the built-in benchmarks do. Whatever
//! the file says is held against the data when it is loaded: templates are filled, golds are made, sessions are played. What is wrong is
//! told with its line, before anything is paid.

mod answer;
mod coded;
mod data;
mod definition;
mod few_shot;
mod images;
mod import;
mod items;
mod predictions;
mod rendering;
mod scoring;
mod session;
mod setting;
mod simulate;
mod suite;
mod tables;
mod template;
mod tools;

use std::sync::Arc;

use regatta_benchmarks::{Benchmark, DataError, RemoteFile, Suite};
use regatta_proto::{BenchmarkName, Evaluator, FileSet, Setting};

use self::definition::{FILE, Source};
pub use self::import::{
    Imported, InspectBenchmark, InspectField, InspectFields, InspectOptions, InspectStep, inspect, lm_eval,
};
pub use regatta_coded::{CodedRules, Permissions};

/// Every benchmark that is declared in a file. Its name is the one that a spec gives it.
#[derive(Debug, Clone)]
pub struct Declared {
    /// Programs that answer the functions of benchmarks, and may be started here.
    permissions: Permissions,
}

impl Declared {
    /// Every benchmark; those with a program where `permissions` let it run.
    #[must_use]
    pub const fn new(permissions: Permissions) -> Self {
        Self { permissions }
    }
}

impl Benchmark for Declared {
    #[expect(clippy::expect_used, reason = "the literal is a valid name, which a test loads")]
    fn name(&self) -> BenchmarkName {
        BenchmarkName::new("declared").expect("letters only")
    }

    fn wants(&self, path: &str) -> bool {
        path == FILE
    }

    fn further_files(&self, files: &FileSet) -> Result<Vec<String>, DataError> {
        let source = Source::of(files)?;
        if source.names_program() {
            return coded::files(&source);
        }
        let definition = source.read()?;
        let mut paths = data::files(&source, &definition)?;
        paths.extend(images::files(&source, &definition, files)?);
        Ok(paths)
    }

    fn remote_files(&self, files: &FileSet) -> Result<Vec<RemoteFile>, DataError> {
        let source = Source::of(files)?;
        if source.names_program() { Ok(Vec::new()) } else { data::remote(&source, &source.read()?) }
    }

    /// A program reads its files as they are.
    fn as_stored(&self, files: &FileSet, path: &str, content: Vec<u8>) -> Result<Vec<u8>, DataError> {
        if Source::of(files)?.names_program() { Ok(content) } else { data::as_stored(files.origin(), path, content) }
    }

    /// Each file declares its own.
    fn settings(&self) -> Vec<Setting> {
        Vec::new()
    }

    fn evaluators(&self) -> Vec<Evaluator> {
        vec![Evaluator::Declared]
    }

    fn load(&self, files: &FileSet) -> Result<Arc<dyn Suite>, DataError> {
        let source = Source::of(files)?;
        if source.names_program() {
            return Ok(Arc::new(coded::CodedSuite::load(source, &self.permissions, files)?));
        }
        Ok(Arc::new(suite::Loaded::load(source, files)?))
    }
}

#[cfg(test)]
mod tests;
