//! Runs that have ended, against each other: pure functions of the files that they have left behind.

mod cells;
mod contribution;
mod measures;

pub use self::cells::{ItemValues, MarginTest, PairedCells, SessionScores, Values, mean_difference};
pub use self::contribution::Contribution;
pub use self::measures::{BenchmarkMeasures, Measures, MetricDefinition};
use crate::report::numbers::{bounds, p_value, percent, signed};
use crate::statistics::Difference;

/// A difference as people read it, `+4.1 [+1.2, +7.0]`.
#[must_use]
pub fn rendered(difference: &Difference, unit: regatta_benchmarks::Unit) -> String {
    signed(difference, unit)
}

/// A sentence on what hangs on sessions without a score, with the difference of those that both have and its bounds; `None` where none is
/// missing.
#[must_use]
pub fn rendered_missing(difference: &Difference, unit: regatta_benchmarks::Unit) -> Option<String> {
    let missing = difference.missing?;
    let p = missing.complete_p.map_or_else(String::new, |p| match p_value(p) {
        small if small.starts_with('<') => format!(", p {small}"),
        other => format!(", p = {other}"),
    });
    let complete = signed(&difference.complete(), unit);
    Some(format!(
        "{} of the sessions have a score in both: {complete} over what is scored in both{p}; {} if all the rest were wrong in one and right in the other",
        percent(missing.coverage),
        bounds(&missing, unit)
    ))
}
