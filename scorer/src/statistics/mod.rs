//! Estimates with intervals, coverage and bounds; pure functions of scores.

mod difference;
mod estimate;
mod student;

pub use difference::Difference;
pub(crate) use difference::difference;
pub use estimate::Estimate;
pub(crate) use estimate::{ItemScores, estimate};
