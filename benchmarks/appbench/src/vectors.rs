//! Official and miniature data, for the tests of the parts.

use regatta_proto::FileSet;

use super::AppBench;
use super::data::{Data, load};

/// The official data set, if it is there.
pub(crate) fn data() -> Option<Data> {
    Some(read(&regatta_benchmark_testing::published(&AppBench)?))
}

/// The miniature data set.
pub(crate) fn miniature() -> Data {
    read(&regatta_benchmark_testing::miniature(&AppBench))
}

fn read(files: &FileSet) -> Data {
    load(files).unwrap_or_else(|error| unreachable!("{error}"))
}
