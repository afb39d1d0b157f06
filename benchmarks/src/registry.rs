//! The benchmarks that a build has.

use std::collections::BTreeMap;

use regatta_proto::{BenchmarkName, FileSet, Setting};
use serde_json::Value;

use crate::case::{Case, case_place};
use crate::{Benchmark, DataError, Suite};

/// Benchmarks by name, in the order in which they are listed to people.
#[derive(Clone, Copy)]
pub struct Registry {
    built_in: &'static [&'static dyn Benchmark],
    declared: Option<&'static dyn Benchmark>,
}

impl Registry {
    /// These benchmarks; their names are distinct.
    #[must_use]
    pub const fn new(built_in: &'static [&'static dyn Benchmark]) -> Self {
        Self { built_in, declared: None }
    }

    /// The same, and every other name is one of `declared`, which reads from a data set what benchmark it is.
    #[must_use]
    pub const fn with_declared(self, declared: &'static dyn Benchmark) -> Self {
        Self { declared: Some(declared), ..self }
    }

    /// Every built-in benchmark.
    #[must_use]
    pub const fn all(self) -> &'static [&'static dyn Benchmark] {
        self.built_in
    }

    /// The benchmark of this name, built-in or declared by its data.
    #[must_use]
    pub fn find(self, name: &BenchmarkName) -> Option<&'static dyn Benchmark> {
        self.find_built_in(name).or(self.declared)
    }

    /// The built-in benchmark of this name.
    #[must_use]
    pub fn find_built_in(self, name: &BenchmarkName) -> Option<&'static dyn Benchmark> {
        self.built_in.iter().copied().find(|benchmark| benchmark.name() == *name)
    }

    /// The names of all built-in benchmarks, for messages.
    #[must_use]
    pub fn names(self) -> String {
        self.built_in.iter().map(|benchmark| benchmark.name().to_string()).collect::<Vec<_>>().join(", ")
    }

    /// Scores a golden case: its outputs by file name, each `{"evaluator", "aggregate", "items"}`. A case without outputs (as
    /// vectors for single functions) gives none.
    ///
    /// # Errors
    /// When the benchmark is unknown, or the case, an input or the data cannot be read.
    pub fn score_case(self, case: &FileSet, data: &FileSet) -> Result<BTreeMap<String, Value>, DataError> {
        let read = Case::read(case)?;
        let Some(benchmark) = self.find_built_in(&read.benchmark) else {
            let problem = format!("{:?} is unknown; known: {}", read.benchmark.as_str(), self.names());
            return Err(case_place(case).error("benchmark", problem));
        };
        benchmark.score_case(case, data)
    }
}

/// The setting that sessions of `suite`, loaded by `benchmark`, run in where a spec names none.
#[must_use]
pub fn default_setting(benchmark: &dyn Benchmark, suite: &dyn Suite) -> Option<Setting> {
    suite.declared_settings().into_iter().chain(benchmark.settings()).next()
}
