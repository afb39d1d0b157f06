//! A flowchart as a graph.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;

/// A node of a flowchart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    /// Id of two letters and three digits.
    pub(crate) id: Arc<str>,
    /// Shape in the drawing.
    pub(crate) shape: Shape,
    /// Text in the node; `Start` for the start node.
    pub(crate) text: Arc<str>,
}

/// Shape of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Start of every conversation: `XX000(Start)`.
    Start,
    /// `[text]`: usually a message.
    Box,
    /// `>text]`: usually a call of a tool, or a decision by its result.
    Flag,
}

/// A node that can follow another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Next<'f> {
    /// Intent or condition of the edge; `None` when it has no label.
    pub(crate) intent: Option<&'f str>,
    /// The node.
    pub(crate) node: &'f Node,
}

/// A flowchart.
#[derive(Debug, Clone)]
pub(crate) struct Flowchart {
    /// Nodes in the order of their first mention; edges with their labels in the order of the source.
    pub(super) graph: DiGraph<Node, Option<Arc<str>>>,
    pub(super) start: NodeIndex,
    pub(super) by_id: BTreeMap<Arc<str>, NodeIndex>,
    /// Text after the statements, such as explanations of parameters; absent in most.
    pub(super) notes: Option<Arc<str>>,
}

impl Flowchart {
    /// Returns the nodes that can follow the node with this id, in the order of the edges. Empty for an unknown id
    /// and for a node where the workflow ends.
    pub(crate) fn next_nodes(&self, id: &str) -> Vec<Next<'_>> {
        let Some(&from) = self.by_id.get(id) else { return Vec::new() };
        let mut next: Vec<_> = self.graph.edges(from).collect();
        next.sort_by_key(|edge| edge.id());
        next.into_iter()
            .map(|edge| Next { intent: edge.weight().as_deref(), node: &self.graph[edge.target()] })
            .collect()
    }

    /// Returns the number of steps from the start to each node, by the shortest path; `None` for unreachable nodes.
    pub(super) fn depths(&self) -> Vec<Option<usize>> {
        self.distances(self.start, |_| true).into_iter().map(|found| found.map(|(steps, _)| steps)).collect()
    }

    /// Returns the nodes strictly between two on the shortest path that avoids the start; `None` when there is no path.
    pub(super) fn between(&self, from: NodeIndex, to: NodeIndex) -> Option<Vec<Arc<str>>> {
        let distances = self.distances(from, |index| index != self.start);
        distances[to.index()]?;
        let mut way = Vec::new();
        let mut at = to;
        while let Some((_, Some(before))) = distances[at.index()] {
            if before == from {
                break;
            }
            way.push(Arc::clone(&self.graph[before].id));
            at = before;
        }
        way.reverse();
        Some(way)
    }

    /// Returns the distance and predecessor of every node that can be reached from `from` over nodes that `open` accepts.
    fn distances(&self, from: NodeIndex, open: impl Fn(NodeIndex) -> bool) -> Vec<Option<(usize, Option<NodeIndex>)>> {
        let mut found = vec![None; self.graph.node_count()];
        found[from.index()] = Some((0, None));
        let mut waiting = VecDeque::from([(from, 0)]);
        while let Some((at, steps)) = waiting.pop_front() {
            let mut targets: Vec<_> = self.graph.edges(at).map(|edge| (edge.id(), edge.target())).collect();
            targets.sort_unstable();
            for (_, target) in targets {
                if found[target.index()].is_none() && open(target) {
                    found[target.index()] = Some((steps + 1, Some(at)));
                    waiting.push_back((target, steps + 1));
                }
            }
        }
        found
    }
}
