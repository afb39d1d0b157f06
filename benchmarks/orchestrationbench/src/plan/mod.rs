//! Plans as graphs, and the distance of a predicted plan from the gold plan (docs/benchmarks/orchestrationbench.md
//! §5.1 to §5.3, §6 for `paper`).
//!
//! `official` searches as `networkx.graph_edit_distance` does, `paper` finds the exact edit distance. Both count
//! their steps and stop at a limit that does not depend on time; then the best cost found stands for the distance,
//! and [`Similarity::bounded`] is set.

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
mod pair;
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
