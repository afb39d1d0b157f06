//! Data sets for the tests.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use regatta_benchmarks::{Benchmark, Suite, find};
use regatta_proto::{FileSet, Setting};

use crate::common::{self, read_folder};

pub(crate) fn autoslurp() -> &'static dyn Benchmark {
    find(&"autoslurp".parse().unwrap()).unwrap()
}

pub(crate) fn setting(name: &str) -> Setting {
    name.parse().unwrap()
}

pub(crate) fn miniature() -> Arc<dyn Suite> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/data/autoslurp");
    autoslurp().load(&read_folder(&root, Some(autoslurp()))).unwrap()
}

/// The folder with the data and golden cases, if there is one.
pub(crate) fn shared() -> Option<PathBuf> {
    common::shared("autoslurp")
}

pub(crate) fn shared_files(shared: &Path) -> FileSet {
    read_folder(&shared.join("data"), Some(autoslurp()))
}

pub(crate) fn published() -> Option<Arc<dyn Suite>> {
    Some(autoslurp().load(&shared_files(&shared()?)).unwrap())
}
