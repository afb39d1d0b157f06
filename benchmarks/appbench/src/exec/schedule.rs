//! When the calls of an executed plan can run: independent ones at the same time, the others after those whose values they need.

use petgraph::Direction;
use petgraph::graph::{DiGraph, NodeIndex};

use super::plan::Execution;

/// The calls of a plan in steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Schedule {
    /// Positions (among all calls of the plan) of the calls of each step. A call runs as soon as everything it needs is there.
    pub(crate) steps: Vec<Vec<usize>>,
}

impl Schedule {
    /// The schedule of what was executed.
    pub(crate) fn of(execution: &Execution) -> Self {
        let graph = dependencies(execution);
        let mut steps: Vec<Vec<usize>> = Vec::new();
        let mut step_of: Vec<usize> = Vec::with_capacity(graph.node_count());
        // A value only ever comes from an earlier call, so the order of the nodes is a topological one.
        for node in graph.node_indices() {
            let before = graph.neighbors_directed(node, Direction::Incoming);
            let step = before.filter_map(|needed| step_of.get(needed.index())).map(|step| step + 1).max().unwrap_or(0);
            step_of.push(step);
            if steps.len() == step {
                steps.push(Vec::new());
            }
            if let (Some(calls), Some(position)) = (steps.get_mut(step), graph.node_weight(node)) {
                calls.push(*position);
            }
        }
        Self { steps }
    }

    /// Number of steps of the plan: its duration when every call takes one step and none waits without need.
    pub(crate) const fn makespan(&self) -> usize {
        self.steps.len()
    }
}

/// The graph of the executed calls: an edge leads from a call to one that was given a value of it.
pub(crate) fn dependencies(execution: &Execution) -> DiGraph<usize, ()> {
    let mut graph = DiGraph::with_capacity(execution.calls.len(), execution.calls.len());
    for (at, done) in execution.calls.iter().enumerate() {
        let node = graph.add_node(done.position);
        for producer in done.needs.iter().filter(|producer| **producer < at) {
            graph.add_edge(NodeIndex::new(*producer), node, ());
        }
    }
    graph
}
