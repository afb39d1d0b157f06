//! The interface of a loaded data set, in parts that match what each role of the pipeline may touch.
//!
//! No I/O, no clock, no async, no randomness except from seeds. A session is a function of its transcript: calling
//! [`Sessions::next`] with the transcript so far continues it on any machine, and calling [`Evaluation::score`] scores
//! it again.

mod dataset;
mod evaluation;
mod pictures;
mod predictions;
mod sessions;
mod simulated;
mod tables;

pub use self::dataset::Dataset;
pub use self::evaluation::Evaluation;
pub use self::pictures::Pictures;
pub use self::predictions::Predictions;
pub use self::sessions::Sessions;
pub use self::simulated::{Simulated, Unplayed};
pub use self::tables::Tables;

/// A loaded data set: the sum of all parts, of which functions take those that they need. Benchmarks implement the
/// parts; of [`Predictions`], [`Simulated`], [`Pictures`] and [`Tables`] each method has a default.
pub trait Suite: Dataset + Sessions + Evaluation + Tables + Predictions + Simulated + Pictures {}

impl<S: Dataset + Sessions + Evaluation + Tables + Predictions + Simulated + Pictures> Suite for S {}

#[cfg(test)]
mod tests;
