//! Estimates with intervals, coverage and bounds; pure functions of scores.

mod estimate;
mod student;

pub use estimate::Estimate;
pub(crate) use estimate::{ItemScores, estimate};
