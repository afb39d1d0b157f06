//! Estimates with intervals, coverage and bounds; pure functions of scores.

mod clusters;
mod difference;
mod estimate;
mod groups;
mod linear;
mod ratio;
mod sample;
mod student;

pub use difference::Difference;
pub(crate) use difference::difference;
pub use estimate::Estimate;
pub(crate) use estimate::estimate;
pub(crate) use sample::{Sample, Trials, leaves, missing, sample};
