//! Estimates with intervals, coverage and bounds, and differences with tests; pure functions of scores.

mod clusters;
mod difference;
mod estimate;
mod few_clusters;
mod flips;
mod groups;
mod holm;
mod linear;
mod mcnemar;
mod ranks;
mod ratio;
mod sample;
mod shares;
mod student;

#[cfg(test)]
pub(crate) use difference::difference;
pub use difference::{Difference, Test};
pub(crate) use difference::{Paired, paired_difference, shared};
pub use estimate::Estimate;
pub(crate) use estimate::estimate;
pub(crate) use flips::Flips;
pub use holm::holm;
pub use ranks::Rank;
pub(crate) use ranks::ranks;
pub(crate) use sample::{Sample, Trials, leaves, missing, sample, void_all};
pub(crate) use shares::{Share, beyond};
