//! Plans that are really executed: a deterministic simulation of the phone (docs/benchmarks/appbench.md §7).
//!
//! Neither the paper nor the official repository executes anything; what is defined here is reported apart from their metrics.

mod aggregate;
mod counts;
mod outcome;
mod plan;
mod refusal;
mod schedule;
mod score;
mod served;
mod world;

pub(crate) use self::aggregate::aggregate;
pub(crate) use self::outcome::Outcome;
pub use self::refusal::Refusal;
pub(crate) use self::score::score;
pub use self::served::{ServedApps, SessionScore};
pub use self::world::{Executed, Warning, World};

#[cfg(test)]
mod golden;
#[cfg(test)]
mod tests;
