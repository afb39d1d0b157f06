//! Estimates with intervals, coverage and bounds; pure functions of scores.

mod estimate;
mod student;

pub(crate) use estimate::{Estimate, ItemScores, estimate};
