//! Edit distances of two graphs: costs, and the similarity that follows from a distance.

use super::exact;
use super::inexact;
use super::pair::{Found, Pair, Shape};
use super::work::{EDGES_MAX, NODES_MAX, UNITS_MAX, Work};

/// Costs of substituting nodes. Deleting or inserting a node or an edge costs 1, and substituting an edge is free
/// (docs/benchmarks/orchestrationbench.md §5.1).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Costs {
    /// The agent differs (`agent_change_weight`).
    pub(crate) agent: f64,
    /// The status differs (`status_change_weight`).
    pub(crate) status: f64,
    /// Both differ.
    pub(crate) both: f64,
    /// Weight of the similarity of structures; that of components has the rest of 1.
    pub(crate) structure_weight: f64,
}

impl Costs {
    /// Costs of the official configuration. No cost may be above 2, since deletion and insertion would be cheaper.
    pub(crate) const OFFICIAL: Self = Self { agent: 0.8, status: 0.2, both: 1.0, structure_weight: 0.5 };
}

/// Algorithm of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Search {
    /// Search of `networkx.graph_edit_distance`, which may miss the minimum when there are loops.
    Inexact,
    /// The minimum.
    Exact,
}

/// A distance and the similarity that follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Similarity {
    /// The edit distance, or an upper bound of it when `bounded`.
    pub(crate) edit_cost: f64,
    /// Cost of deleting one graph and inserting the other.
    pub(crate) max_cost: f64,
    /// 1 − edit cost / max cost; 1 for two graphs without nodes.
    pub(crate) similarity: f64,
    /// The graphs were too large or the search too long. `edit_cost` then is the best cost found by then, or
    /// `max_cost` when none was found.
    pub(crate) bounded: bool,
}

/// Compares two graphs. Costs of substitution are computed only when the graphs are small enough.
pub(super) fn compare<'a>(
    left: &'a Shape,
    right: &'a Shape,
    search: Search,
    substitution: impl Fn(usize, usize) -> f64,
) -> Similarity {
    let found = if left.nodes + right.nodes > NODES_MAX || left.edges.len() + right.edges.len() > EDGES_MAX {
        Found { cost: None, complete: false }
    } else {
        let nodes = (0..left.nodes).flat_map(|left| (0..right.nodes).map(move |right| (left, right)));
        let pair = Pair { left, right, substitution: nodes.map(|(left, right)| substitution(left, right)).collect() };
        let work = Work::new(UNITS_MAX);
        match search {
            Search::Inexact => inexact::edit_cost(&pair, work),
            Search::Exact => exact::edit_cost(&pair, work),
        }
    };
    let max_cost = (left.size() + right.size()) as f64;
    let edit_cost = found.cost.unwrap_or(max_cost);
    let similarity = if max_cost > 0.0 { 1.0 - edit_cost / max_cost } else { 1.0 };
    Similarity { edit_cost, max_cost, similarity, bounded: !found.complete }
}
