//! Similarity of two plans (docs/benchmarks/orchestrationbench.md §5.1, §6 for `paper`).

use regatta_pycompat::yaml::Dict;

use super::distance::{self, Costs, Search, Similarity};
use super::reading::{Raised, Workflows};
use super::{component, structure};

/// Comparison of a predicted plan with the gold plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Compared {
    /// Weighted mean of the two similarities.
    pub(crate) overall: f64,
    /// Similarity of the structure graphs.
    pub(crate) structure: Similarity,
    /// Similarity of the component graphs.
    pub(crate) component: Similarity,
}

/// Compares two plans as the official code does.
pub(super) fn official(plan: &Dict, gold: &Dict, costs: &Costs) -> Result<Compared, Raised> {
    let (plan, gold) = (Workflows::of(plan)?, Workflows::of(gold)?);
    let (left, right) = (structure::official(&plan)?.shape(), structure::official(&gold)?.shape());
    let structure = distance::compare(&left, &right, Search::Inexact, |_, _| 0.0);
    let (left, right) = (component::official(&plan)?, component::official(&gold)?);
    let component = of_components(&left, &right, Search::Inexact, costs);
    Ok(Compared::of(structure, component, costs))
}

/// Compares two plans as the paper describes it.
pub(super) fn paper(plan: &Dict, gold: &Dict, costs: &Costs) -> Result<Compared, Raised> {
    let (plan, gold) = (Workflows::of(plan)?, Workflows::of(gold)?);
    let (left, right) = (structure::paper(&plan)?.shape(), structure::paper(&gold)?.shape());
    let components = (component::paper(&plan)?, component::paper(&gold)?);
    let structure = distance::compare(&left, &right, Search::Exact, |_, _| 0.0);
    let component = of_components(&components.0, &components.1, Search::Exact, costs);
    Ok(Compared::of(structure, component, costs))
}

/// The similarity of two component graphs.
pub(super) fn of_components(
    left: &component::ComponentGraph,
    right: &component::ComponentGraph,
    search: Search,
    costs: &Costs,
) -> Similarity {
    let (left_shape, right_shape) = (left.shape(), right.shape());
    distance::compare(&left_shape, &right_shape, search, |of_left, of_right| {
        left.labels[of_left].substitution(&right.labels[of_right], costs)
    })
}

impl Compared {
    fn of(structure: Similarity, component: Similarity, costs: &Costs) -> Self {
        let weight = costs.structure_weight;
        let overall = structure.similarity * weight + component.similarity * (1.0 - weight);
        Self { overall, structure, component }
    }
}
