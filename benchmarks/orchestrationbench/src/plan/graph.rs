//! Graphs of a plan with nodes and edges in the order of insertion, which determines the path of the official search.

use std::collections::HashMap;
use std::hash::Hash;

use petgraph::graphmap::DiGraphMap;

use super::pair::Shape;

/// A directed graph that is built up. Nodes are identified by key; adding a node or an edge twice has no effect.
#[derive(Debug)]
pub(super) struct Graph<K, L> {
    numbers: HashMap<K, usize>,
    /// Labels of the nodes, by number.
    pub(super) labels: Vec<L>,
    edges: DiGraphMap<usize, ()>,
}

impl<K: Hash + Eq, L> Graph<K, L> {
    pub(super) fn new() -> Self {
        Self { numbers: HashMap::new(), labels: Vec::new(), edges: DiGraphMap::new() }
    }

    /// Returns the number of the node; a new node gets `label`.
    pub(super) fn node(&mut self, key: K, label: impl FnOnce() -> L) -> usize {
        *self.numbers.entry(key).or_insert_with(|| {
            self.labels.push(label());
            self.edges.add_node(self.labels.len() - 1)
        })
    }

    /// Adds an edge between existing nodes.
    pub(super) fn edge(&mut self, source: usize, target: usize) {
        self.edges.add_edge(source, target, ());
    }

    /// Returns the graph without labels; edges by source, those of one source in the order of insertion.
    pub(super) fn shape(&self) -> Shape {
        let of = |source: usize| self.edges.neighbors(source).map(move |target| (source, target));
        Shape { nodes: self.labels.len(), edges: self.edges.nodes().flat_map(of).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_listed_by_source_and_each_once() {
        let mut graph = Graph::new();
        let [a, b, c] = ["a", "b", "c"].map(|name| graph.node(name, || name));
        for (source, target) in [(b, c), (a, c), (b, b), (a, b), (b, c), (a, c)] {
            graph.edge(source, target);
        }
        assert_eq!(graph.node("b", || "again"), b);
        assert_eq!(graph.labels, ["a", "b", "c"]);
        assert_eq!(graph.shape(), Shape { nodes: 3, edges: vec![(a, c), (a, b), (b, c), (b, b)] });
    }
}
