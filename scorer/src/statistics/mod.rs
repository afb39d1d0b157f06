//! Estimates with intervals, coverage and bounds; pure functions of scores.

mod clusters;
mod difference;
mod estimate;
mod groups;
mod interval;
mod level;
mod linear;
mod passes;
mod ratio;
mod reruns;
mod sample;
mod student;

pub(crate) use clusters::{Influence, Spread, spread};
pub use difference::Difference;
pub(crate) use difference::difference;
pub use estimate::{Estimate, estimate};
pub(crate) use interval::interval_of;
pub(crate) use level::{LEVEL, level};
pub use passes::Pass;
pub(crate) use passes::passes;
pub use reruns::Reruns;
pub use sample::{Sample, Trials};
pub(crate) use sample::{leaves, missing, sample};
