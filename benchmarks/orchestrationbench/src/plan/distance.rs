//! Edit distances of two graphs: what both searches start from.

use super::exact;
use super::inexact;
use super::work::{EDGES_MAX, NODES_MAX, UNITS_MAX, Work};

/// What it costs to turn a node into another one. Deleting or inserting a node or an edge costs 1, and any edge can become any other
/// for nothing (docs/benchmarks/orchestrationbench.md §5.1).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Costs {
    /// The agent differs (`agent_change_weight`).
    pub(crate) agent: f64,
    /// The status differs (`status_change_weight`).
    pub(crate) status: f64,
    /// Both differ.
    pub(crate) both: f64,
    /// What the similarity of structures counts; that of components counts the rest of 1.
    pub(crate) structure_weight: f64,
}

impl Costs {
    /// Those of the official configuration. No weight may be above 2: deletion and insertion would be cheaper.
    pub(crate) const OFFICIAL: Self = Self { agent: 0.8, status: 0.2, both: 1.0, structure_weight: 0.5 };
}

/// Which distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Search {
    /// That of `networkx.graph_edit_distance`, which loops lead astray.
    Inexact,
    /// The smallest there is.
    Exact,
}

/// A directed graph without labels; nodes are numbers from 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Shape {
    /// How many nodes.
    pub(super) nodes: usize,
    /// Edges, source first, each once; in the order in which the official search meets them.
    pub(super) edges: Vec<(usize, usize)>,
}

impl Shape {
    /// What it costs to delete all of it.
    pub(super) fn size(&self) -> usize {
        self.nodes + self.edges.len()
    }

    /// Whether there is an edge, by source × nodes + target.
    pub(super) fn adjacency(&self) -> Vec<bool> {
        let mut adjacency = vec![false; self.nodes * self.nodes];
        for (source, target) in &self.edges {
            adjacency[source * self.nodes + target] = true;
        }
        adjacency
    }
}

/// Two graphs to be compared.
#[derive(Debug)]
pub(super) struct Pair<'a> {
    /// The predicted one.
    pub(super) left: &'a Shape,
    /// The gold one.
    pub(super) right: &'a Shape,
    /// What it costs to turn a left node into a right one; row by row.
    pub(super) substitution: Vec<f64>,
}

impl Pair<'_> {
    /// What it costs to turn this left node into that right one.
    pub(super) fn substitution(&self, left: usize, right: usize) -> f64 {
        self.substitution[left * self.right.nodes + right]
    }

    /// What it costs to delete one graph and to insert the other.
    pub(super) fn size(&self) -> usize {
        self.left.size() + self.right.size()
    }
}

/// A distance, and how alike that makes the graphs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Similarity {
    /// The edit distance, or an upper bound of it when `bounded`.
    pub(crate) edit_cost: f64,
    /// What it costs to delete one graph and to insert the other.
    pub(crate) max_cost: f64,
    /// 1 − edit cost / max cost; 1 for two graphs without nodes.
    pub(crate) similarity: f64,
    /// Whether the graphs were too large, or the search too long, so that the best that was found by then stands for the distance;
    /// when nothing was found, `max_cost` does.
    pub(crate) bounded: bool,
}

/// What a search came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Found {
    /// The best edit cost; `None` if there is none.
    pub(super) cost: Option<f64>,
    /// Whether the search went to its end.
    pub(super) complete: bool,
}

/// Compares `pair`. The costs of substitution are only asked for when the graphs are small enough.
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
