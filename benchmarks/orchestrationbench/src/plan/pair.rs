//! Inputs and result of both searches for an edit distance.

/// A directed graph without labels; nodes are numbers from 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Shape {
    /// Number of nodes.
    pub(super) nodes: usize,
    /// Edges (source, target), each once, in the order in which the official search visits them.
    pub(super) edges: Vec<(usize, usize)>,
}

impl Shape {
    /// Cost of deleting the whole graph.
    pub(super) fn size(&self) -> usize {
        self.nodes + self.edges.len()
    }

    /// Adjacency matrix; the index is source × nodes + target.
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
    /// Cost of substituting a right node for a left one; row by row.
    pub(super) substitution: Vec<f64>,
}

impl Pair<'_> {
    /// Returns the cost of substituting the right node for the left one.
    pub(super) fn substitution(&self, left: usize, right: usize) -> f64 {
        self.substitution[left * self.right.nodes + right]
    }

    /// Cost of deleting one graph and inserting the other.
    pub(super) fn size(&self) -> usize {
        self.left.size() + self.right.size()
    }
}

/// Result of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Found {
    /// Best edit cost; `None` if none was found.
    pub(super) cost: Option<f64>,
    /// The search was completed, so the cost is the minimum that the algorithm finds.
    pub(super) complete: bool,
}
