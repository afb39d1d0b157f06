//! The benchmarks that this build contains.

use std::collections::BTreeMap;

use regatta_proto::{BenchmarkName, FileSet, Setting, did_you_mean, nearest};
use serde_json::Value;

use crate::case::{Case, case_place};
use crate::{Benchmark, DataError, Dataset};

/// Benchmarks by name, in the order in which they are listed to people.
#[derive(Clone, Copy)]
pub struct Registry {
    built_in: &'static [&'static dyn Benchmark],
    declared: Option<&'static dyn Benchmark>,
}

impl Registry {
    /// Makes a registry of these benchmarks; their names must be distinct.
    #[must_use]
    pub const fn new(built_in: &'static [&'static dyn Benchmark]) -> Self {
        Self { built_in, declared: None }
    }

    /// Adds the benchmark that declared data sets run with; every name that is not built in finds it.
    #[must_use]
    pub const fn with_declared(self, declared: &'static dyn Benchmark) -> Self {
        Self { declared: Some(declared), ..self }
    }

    /// Returns the built-in benchmarks.
    #[must_use]
    pub const fn all(self) -> &'static [&'static dyn Benchmark] {
        self.built_in
    }

    /// Finds a benchmark by name. Names that are not built in find the declared benchmark, if there is one.
    #[must_use]
    pub fn find(self, name: &BenchmarkName) -> Option<&'static dyn Benchmark> {
        self.find_built_in(name).or(self.declared)
    }

    /// Finds a built-in benchmark by name.
    #[must_use]
    pub fn find_built_in(self, name: &BenchmarkName) -> Option<&'static dyn Benchmark> {
        self.built_in.iter().copied().find(|benchmark| benchmark.name() == *name)
    }

    /// Returns the names of the built-in benchmarks, separated by commas, for messages.
    #[must_use]
    pub fn names(self) -> String {
        self.built_in.iter().map(|benchmark| benchmark.name().to_string()).collect::<Vec<_>>().join(", ")
    }

    /// The built-in benchmark that may have been meant by the unknown name `wanted`.
    #[must_use]
    pub fn nearest(self, wanted: &str) -> Option<&'static dyn Benchmark> {
        let names = self.names();
        let meant = nearest(wanted, names.split(", "))?;
        self.built_in.iter().copied().find(|benchmark| benchmark.name().as_str() == meant)
    }

    /// The end of a message about the unknown benchmark `wanted`: those there are, and the one that may have been meant.
    #[must_use]
    pub fn known(self, wanted: &str) -> String {
        let names = self.names();
        let meant = did_you_mean(wanted, names.split(", "));
        format!("known: {names}{meant}")
    }

    /// Scores a golden case and returns its outputs by file name, each `{"evaluator", "aggregate", "items"}`. A case
    /// without outputs (test vectors of single functions, for example) returns an empty map.
    ///
    /// # Errors
    /// When the benchmark is unknown, or the case, an input or the data cannot be read.
    pub fn score_case(self, case: &FileSet, data: &FileSet) -> Result<BTreeMap<String, Value>, DataError> {
        let read = Case::read(case)?;
        let Some(benchmark) = self.find_built_in(&read.benchmark) else {
            let name = read.benchmark.as_str();
            let problem = format!("{name:?} is unknown; {}", self.known(name));
            return Err(case_place(case).error("benchmark", problem));
        };
        benchmark.score_case(case, data)
    }
}

/// Returns the setting of sessions whose spec names none: the first that the data set declares, or else the
/// benchmark's first.
#[must_use]
pub fn default_setting(benchmark: &dyn Benchmark, suite: &dyn Dataset) -> Option<Setting> {
    suite.declared_settings().into_iter().chain(benchmark.settings()).next()
}
