//! Decisions of sub agents and the quality of their calls (docs/benchmarks/orchestrationbench.md §2.5, §4.2, §5.4,
//! §5.5): pure functions of an answer and the gold.
//!
//! Limits: arguments are read to a depth of 990, and a canonical text has at most 64 times the size of its value plus
//! 1 KiB, so time and memory are linear in the answer.

mod answer;
mod arguments;
mod canonical;
mod class;
mod confusion;
mod crash;
mod integer;
mod pattern;
mod quality;
mod reason;
mod schema;
mod score_official;
mod score_paper;
#[cfg(test)]
mod tests;

pub(crate) use self::answer::{Answer, Arguments, Call, Name};
#[cfg(test)]
pub(crate) use self::arguments::Aggregated;
#[cfg(test)]
pub(crate) use self::class::Class;
pub(crate) use self::class::{Called, Decided, decided};
pub(crate) use self::confusion::Confusion;
pub(crate) use self::crash::{Crash, Exception};
pub(crate) use self::quality::{KeyCounts, Quality, Unsettled, f1};
pub(crate) use self::score_official::{DecisionStep, score_official};
pub(crate) use self::score_paper::score_paper;
