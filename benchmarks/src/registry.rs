//! The benchmarks that a build has.

use std::collections::BTreeMap;

use regatta_proto::{BenchmarkName, FileSet};
use serde_json::Value;

use crate::case::{Case, case_place};
use crate::{Benchmark, DataError};

/// Benchmarks by name, in the order in which they are listed to people.
#[derive(Clone, Copy)]
pub struct Registry(&'static [&'static dyn Benchmark]);

impl Registry {
    /// These benchmarks; their names are distinct.
    #[must_use]
    pub const fn new(benchmarks: &'static [&'static dyn Benchmark]) -> Self {
        Self(benchmarks)
    }

    /// Every benchmark.
    #[must_use]
    pub const fn all(self) -> &'static [&'static dyn Benchmark] {
        self.0
    }

    /// The benchmark of this name.
    #[must_use]
    pub fn find(self, name: &BenchmarkName) -> Option<&'static dyn Benchmark> {
        self.0.iter().copied().find(|benchmark| benchmark.name() == *name)
    }

    /// The names of all benchmarks, for messages.
    #[must_use]
    pub fn names(self) -> String {
        self.0.iter().map(|benchmark| benchmark.name().to_string()).collect::<Vec<_>>().join(", ")
    }

    /// Scores a golden case: its outputs by file name, each `{"evaluator", "aggregate", "items"}`. A case without outputs (as
    /// vectors for single functions) gives none.
    ///
    /// # Errors
    /// When the benchmark is unknown, or the case, an input or the data cannot be read.
    pub fn score_case(self, case: &FileSet, data: &FileSet) -> Result<BTreeMap<String, Value>, DataError> {
        let read = Case::read(case)?;
        let Some(benchmark) = self.find(&read.benchmark) else {
            let problem = format!("{:?} is unknown; known: {}", read.benchmark.as_str(), self.names());
            return Err(case_place(case).error("benchmark", problem));
        };
        benchmark.score_case(case, data)
    }
}
