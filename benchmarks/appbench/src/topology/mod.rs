//! The shape of a plan: which calls need which (docs/benchmarks/appbench.md §5.4; the paper's Table 2 and Figure 4).

mod edges;
mod scale;

#[cfg(test)]
mod tests;

pub(crate) use self::edges::Unreadable;
pub(crate) use self::scale::{Scale, buckets};

use petgraph::graph::DiGraph;
use petgraph::unionfind::UnionFind;
use petgraph::visit::Dfs;

/// Producer and consumer of each name among `calls`, by position; calls that the official code cannot read have none.
pub(crate) fn links(calls: &[&str]) -> Vec<(usize, usize)> {
    let read = calls.iter().enumerate().filter_map(|(at, call)| Some((at, edges::Call::read(call).ok()?)));
    let (places, readable): (Vec<usize>, Vec<edges::Call<'_>>) = read.unzip();
    edges::between(&readable).into_iter().map(|(from, to)| (places[from], places[to])).collect()
}

/// A plan as a graph: a node a call, an edge from each call that returns a name to each that takes it.
#[derive(Debug, Clone)]
pub(crate) struct Topology {
    graph: DiGraph<(), ()>,
}

impl Topology {
    /// The graph of `calls`, as far as each has an app. Its edges may be as many as the square of the calls, so this is for gold plans.
    ///
    /// # Errors
    /// When the official code cannot read a call.
    pub(crate) fn of<S: AsRef<str>>(apps: usize, calls: &[S]) -> Result<Self, Unreadable> {
        let calls: Vec<edges::Call<'_>> =
            calls.iter().take(apps).map(|call| edges::Call::read(call.as_ref())).collect::<Result<_, _>>()?;
        let mut graph = DiGraph::new();
        let nodes: Vec<_> = calls.iter().map(|_| graph.add_node(())).collect();
        for (from, to) in edges::between(&calls) {
            if let (Some(from), Some(to)) = (nodes.get(from), nodes.get(to)) {
                graph.add_edge(*from, *to, ());
            }
        }
        Ok(Self { graph })
    }

    /// Number of calls.
    pub(crate) fn calls(&self) -> usize {
        self.graph.node_count()
    }

    /// Producer and consumer of each edge, ascending.
    pub(crate) fn edges(&self) -> Vec<(usize, usize)> {
        self.graph.raw_edges().iter().map(|edge| (edge.source().index(), edge.target().index())).collect()
    }

    /// Sizes of the official components, in the order of their first calls: what can be reached along the edges from the first call that
    /// no component has yet. Two producers of one consumer make two of them.
    pub(crate) fn sizes(&self) -> Vec<usize> {
        let mut sizes = Vec::new();
        let mut search = Dfs::empty(&self.graph);
        for start in self.graph.node_indices() {
            search.move_to(start);
            let mut size = 0;
            while search.next(&self.graph).is_some() {
                size += 1;
            }
            if size > 0 {
                sizes.push(size);
            }
        }
        sizes
    }

    /// Sizes of the components that the paper means, the largest first: calls that are connected in whatever direction.
    pub(crate) fn weak_sizes(&self) -> Vec<usize> {
        let mut union = UnionFind::new(self.calls());
        for (from, to) in self.edges() {
            union.union(from, to);
        }
        let mut sizes = vec![0; self.calls()];
        for label in union.into_labeling() {
            sizes.get_mut(label).into_iter().for_each(|size| *size += 1);
        }
        sizes.sort_unstable_by(|one, other| other.cmp(one));
        sizes.retain(|size| *size > 0);
        sizes
    }

    /// Official scale of the plan.
    pub(crate) fn scale(&self) -> Scale {
        Scale { components: self.sizes().len(), calls: self.calls() }
    }
}
