//! Data sets for the tests.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use regatta_benchmark_testing::read_folder;
use regatta_benchmarks::{Benchmark, Suite};
use regatta_proto::{FileSet, Setting};

pub(crate) fn flowbench() -> &'static dyn Benchmark {
    &regatta_flowbench::FlowBench
}

pub(crate) fn setting(name: &str) -> Setting {
    name.parse().unwrap()
}

pub(crate) fn miniature() -> Arc<dyn Suite> {
    flowbench().load(&regatta_benchmark_testing::miniature(flowbench())).unwrap()
}

/// The folder with the data and golden cases, if there is one.
pub(crate) fn shared() -> Option<PathBuf> {
    regatta_benchmark_testing::shared("flowbench")
}

pub(crate) fn shared_files(shared: &Path) -> FileSet {
    read_folder(&shared.join("data"), Some(flowbench()))
}
