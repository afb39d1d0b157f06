//! Estimates with intervals, coverage and bounds, and differences with tests; pure functions of scores.

mod clusters;
mod components;
mod difference;
mod estimate;
mod few_clusters;
mod flips;
mod groups;
mod holm;
mod linear;
mod mcnemar;
mod normal;
mod power;
mod ranks;
mod ratio;
mod sample;
mod shares;
mod student;

pub use components::Components;
#[cfg(test)]
pub(crate) use difference::difference;
pub use difference::{Difference, Test};
pub(crate) use difference::{Paired, by_trial, paired_difference};
pub use estimate::Estimate;
pub(crate) use estimate::estimate;
pub(crate) use holm::holm;
pub(crate) use power::{Design, Threshold};
pub use ranks::Rank;
pub(crate) use ranks::ranks;
pub(crate) use sample::{Sample, Trials, leaves, missing, sample};
