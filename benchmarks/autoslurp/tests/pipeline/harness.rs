//! Data sets for the tests.

use std::sync::Arc;

pub(crate) use regatta_benchmark_testing::setting;
use regatta_benchmark_testing::{load_miniature, load_published};
use regatta_benchmarks::{Benchmark, Suite};

pub(crate) fn autoslurp() -> &'static dyn Benchmark {
    &regatta_autoslurp::AutoSlurp
}

pub(crate) fn miniature() -> Arc<dyn Suite> {
    load_miniature(autoslurp())
}

/// The published data, if they are there.
pub(crate) fn published() -> Option<Arc<dyn Suite>> {
    load_published(autoslurp())
}
