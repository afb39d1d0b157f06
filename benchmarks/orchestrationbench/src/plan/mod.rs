//! Plans as graphs, and how far a predicted plan is from the gold one (docs/benchmarks/orchestrationbench.md §5.1 to §5.3, §6 for `paper`).
//!
//! `official` searches as `networkx.graph_edit_distance` does, `paper` finds the edit distance itself. Both count what they do and stop at a
//! bound that no time measures; then the best that was found stands for the distance, and [`Similarity::bounded`] says so.

mod assignment;
mod case;
mod compare;
mod component;
mod dependencies;
mod distance;
mod drawing;
mod exact;
mod graph;
mod inexact;
mod reading;
mod run;
mod step;
mod structure;
mod sum;
mod work;

#[cfg(test)]
mod golden;
#[cfg(test)]
mod tests;

pub(crate) use self::case::score_unit_ged;
pub(crate) use self::distance::Costs;
pub(crate) use self::drawing::drawings;
pub(crate) use self::run::{RunScore, ScenarioScore};
pub(crate) use self::step::{Extracted, PlanStep, score_step_official, score_step_paper};
pub(crate) use self::sum::python_sum;
