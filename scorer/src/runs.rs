//! Runs that have ended, against each other: pure functions of the files that they have left behind.

mod cells;
mod measures;

pub use self::cells::{ItemValues, MarginTest, PairedCells, SessionScores, Values, mean_difference};
pub use self::measures::{BenchmarkMeasures, Measures, MetricDefinition};
use crate::report::numbers::signed;
use crate::statistics::Difference;

/// A difference as people read it, `+4.1 [+1.2, +7.0]`.
#[must_use]
pub fn rendered(difference: &Difference, unit: regatta_benchmarks::Unit) -> String {
    signed(difference, unit)
}
