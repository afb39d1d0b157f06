//! Estimates with intervals, coverage and bounds, and differences with tests; pure functions of scores.

mod beta_binomial;
mod clusters;
mod components;
mod difference;
mod discordance;
mod estimate;
mod flips;
mod groups;
mod holm;
mod interval;
mod judge;
mod linear;
mod mcnemar;
mod mixture;
mod normal;
mod passes;
mod population;
mod power;
mod ranks;
mod ratio;
mod reruns;
mod sample;
mod shares;
mod student;

pub(crate) use clusters::{Influence, Spread, spread};
pub use components::Components;
#[cfg(test)]
pub(crate) use difference::difference;
pub use difference::{Difference, Test};
pub(crate) use difference::{Paired, by_trial, paired_difference, shared, tests_of_margin};
pub use estimate::{Estimate, estimate};
pub use holm::holm;
pub(crate) use interval::interval_of;
pub use judge::JudgePart;
pub(crate) use judge::judge_part;
pub use passes::Pass;
pub(crate) use passes::passes;
pub(crate) use power::{Design, Threshold};
pub use ranks::Rank;
pub(crate) use ranks::ranks;
pub use reruns::Reruns;
pub use sample::{Sample, Trials};
pub(crate) use sample::{are_right_or_wrong, leaves, missing, sample, void_all};
