//! Common parts of the stages on which coordinator, worker and scorer are tested one by one, over stores in memory and in a folder. Each role's
//! tests have a stage of their own with what only they know: the role's process, and those that they play themselves. A function panics where a
//! test cannot go on.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "only tests use it, where a panic is a failure"
)]

mod folder;
mod jobs;
mod locks;
mod records;
mod states;

use std::time::Duration;

use regatta_benchmarks::Registry;
use regatta_proto::FileSet;
use regatta_worfbench::WorfBench;

pub use self::folder::Folder;
pub use self::jobs::{queue_of, session_of, take_jobs};
pub use self::locks::{benchmark_lock, lock, new_sweep};
pub use self::records::{attempt, record};
pub use self::states::{state, transition};

/// The only benchmark of these tests.
pub const BENCHMARKS: Registry = Registry::new(&[&WorfBench]);

/// A test that waits longer than this has failed. Tests with paused time have worked off everything else by then.
const PATIENCE: Duration = Duration::from_secs(600);

/// The miniature data set of the only benchmark.
#[must_use]
pub fn miniature() -> FileSet {
    regatta_benchmark_testing::miniature(&WorfBench)
}

/// The output of `future`.
pub async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("it happens in time")
}
