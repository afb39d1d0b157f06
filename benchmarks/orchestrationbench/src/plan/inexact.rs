//! The search of `networkx.graph_edit_distance` as the official evaluator uses it (docs/benchmarks/orchestrationbench.md §5.1), for costs
//! of 1 and free substitution of edges. Without loops it finds the edit distance; with loops it finds what it finds, and so does this.
//!
//! Because every edge may become every other for nothing, the matrices of edges need not be solved. The least cost of all pending edges is
//! the difference of their numbers. Of the edges that a pair of nodes decides on, all are used up; what they cost follows from how many of
//! them correspond and how many are loops, which may become anything.

use super::assignment::{Assigner, sum};
use super::distance::{Found, Pair};
use super::work::{Exhausted, Work};

/// Searches until the work is used up.
pub(super) fn edit_cost(pair: &Pair<'_>, work: Work) -> Found {
    let mut search = Search {
        pair,
        too_much: sum(&pair.substitution) + (pair.left.nodes + pair.right.nodes + 1) as f64,
        limit: pair.size() as f64,
        best: None,
        left: Side::new(pair.left.nodes),
        right: Side::new(pair.right.nodes),
        decided: 0,
        left_adjacency: pair.left.adjacency(),
        assigner: Assigner::default(),
        work,
    };
    let complete = search.run().is_ok();
    Found { cost: search.best, complete }
}

struct Search<'a> {
    pair: &'a Pair<'a>,
    /// Stands in the matrix where something cannot be.
    too_much: f64,
    /// No result is above this.
    limit: f64,
    best: Option<f64>,
    left: Side,
    right: Side,
    /// How many operations on nodes have been decided on.
    decided: usize,
    left_adjacency: Vec<bool>,
    assigner: Assigner,
    work: Work,
}

/// What became of the nodes of one graph.
struct Side {
    fates: Vec<Fate>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Pending,
    /// Deleted, or inserted.
    Alone,
    /// Becomes this node of the other graph.
    With(usize),
}

impl Side {
    fn new(nodes: usize) -> Self {
        Self { fates: vec![Fate::Pending; nodes] }
    }

    fn is_decided(&self, node: usize) -> bool {
        self.fates[node] != Fate::Pending
    }

    /// Whether the next decision, on `node`, uses this edge up.
    fn concerns(&self, (source, target): (usize, usize), node: Option<usize>) -> bool {
        if source == target {
            return Some(source) == node || self.is_decided(source);
        }
        (Some(source) == node && self.is_decided(target)) || (Some(target) == node && self.is_decided(source))
    }
}

/// Pending nodes, and an assignment of the matrix of their costs: left nodes and then insertions are its rows, right nodes and then
/// deletions its columns.
#[derive(Debug, Clone)]
struct Nodes {
    left: Vec<usize>,
    right: Vec<usize>,
    /// Row and column, by row.
    assignment: Vec<(usize, usize)>,
    /// What the assignment costs.
    least: f64,
}

/// Pending edges.
#[derive(Debug, Clone)]
struct Edges {
    left: Vec<(usize, usize)>,
    right: Vec<(usize, usize)>,
}

impl Edges {
    fn least(&self) -> f64 {
        self.left.len().abs_diff(self.right.len()) as f64
    }
}

/// A decision on one or two nodes, and what is pending after it.
#[derive(Debug)]
struct Operation {
    left: Option<usize>,
    right: Option<usize>,
    cost: f64,
    nodes: Nodes,
    edges: Edges,
}

impl Operation {
    fn least(&self) -> f64 {
        self.cost + self.nodes.least + self.edges.least()
    }
}

/// A point of the search at which something is pending.
struct Point {
    /// The operation that led here.
    came_by: Option<(Option<usize>, Option<usize>)>,
    nodes: Nodes,
    edges: Edges,
    cost: f64,
    next: Next,
}

/// What is to be tried next.
enum Next {
    /// What the assignment says.
    Assigned,
    /// The alternatives, yet to be found.
    Alternatives,
    /// Those that are left.
    Sorted(std::vec::IntoIter<Operation>),
}

impl Search<'_> {
    fn run(&mut self) -> Result<(), Exhausted> {
        let nodes = self.solved((0..self.pair.left.nodes).collect(), (0..self.pair.right.nodes).collect())?;
        let edges = Edges { left: self.pair.left.edges.clone(), right: self.pair.right.edges.clone() };
        if self.is_hopeless(nodes.least + edges.least()) {
            return Ok(());
        }
        // A stack of its own: plans have as many nodes as a model cares to write.
        let mut points = Vec::new();
        self.arrive(&mut points, None, nodes, edges, 0.0);
        while let Some(point) = points.last_mut() {
            let Some(operation) = self.next_operation(point)? else {
                if let Some((left, right)) = point.came_by {
                    self.undo(left, right);
                }
                points.pop();
                continue;
            };
            let cost = point.cost + operation.cost;
            if self.is_hopeless(cost + operation.nodes.least + operation.edges.least()) {
                continue;
            }
            let Operation { left, right, nodes, edges, .. } = operation;
            self.decide(left, right);
            self.arrive(&mut points, Some((left, right)), nodes, edges, cost);
        }
        Ok(())
    }

    /// At the end of a path nothing is pending, and what it costs is the best so far. Edges that are left over then are forgotten.
    fn arrive(
        &mut self,
        points: &mut Vec<Point>,
        came_by: Option<(Option<usize>, Option<usize>)>,
        nodes: Nodes,
        edges: Edges,
        cost: f64,
    ) {
        if !nodes.left.is_empty() || !nodes.right.is_empty() {
            points.push(Point { came_by, nodes, edges, cost, next: Next::Assigned });
            return;
        }
        self.best = Some(cost);
        if let Some((left, right)) = came_by {
            self.undo(left, right);
        }
    }

    fn next_operation(&mut self, point: &mut Point) -> Result<Option<Operation>, Exhausted> {
        if matches!(point.next, Next::Assigned) {
            point.next = Next::Alternatives;
            if let Some(operation) = self.assigned(point)? {
                return Ok(Some(operation));
            }
        }
        if matches!(point.next, Next::Alternatives) {
            let mut alternatives = self.alternatives(point)?;
            alternatives.sort_by(|a, b| a.least().total_cmp(&b.least()));
            point.next = Next::Sorted(alternatives.into_iter());
        }
        Ok(match &mut point.next {
            Next::Sorted(operations) => operations.next(),
            Next::Assigned | Next::Alternatives => None,
        })
    }

    /// The first operation of the point's assignment, unless it is hopeless.
    fn assigned(&mut self, point: &Point) -> Result<Option<Operation>, Exhausted> {
        let nodes = &point.nodes;
        let Some((row, column)) = nodes.first_operation() else { return Ok(None) };
        let (left, right) = nodes.at(row, column);
        let (edges, of_edges) = self.decided_edges(left, right, &point.edges)?;
        if self.is_hopeless(point.cost + nodes.least + of_edges + edges.least()) {
            return Ok(None);
        }
        let of_nodes = self.cost(&nodes.left, &nodes.right, row, column);
        // No new solution: without the pair, the rest of an optimal assignment is optimal.
        let nodes = nodes.without(row, column, nodes.least - of_nodes);
        Ok(Some(Operation { left, right, cost: of_nodes + of_edges, nodes, edges }))
    }

    /// Everything else that could be done with the node that the first operation decides on in the smaller graph.
    fn alternatives(&mut self, point: &Point) -> Result<Vec<Operation>, Exhausted> {
        let nodes = &point.nodes;
        let Some((row, column)) = nodes.first_operation() else { return Ok(Vec::new()) };
        let (m, n) = (nodes.left.len(), nodes.right.len());
        let candidates: Vec<(usize, usize)> = if m <= n {
            (0..m + n).filter(|t| *t != row && (*t < m || *t == m + column)).map(|t| (t, column)).collect()
        } else {
            (0..m + n).filter(|t| *t != column && (*t < n || *t == n + row)).map(|t| (row, t)).collect()
        };
        let mut operations = Vec::new();
        for (row, column) in candidates {
            let of_node = self.cost(&nodes.left, &nodes.right, row, column);
            if self.is_hopeless(point.cost + of_node + point.edges.least()) {
                continue;
            }
            let (left, right) = nodes.at(row, column);
            let rest = self.solved(without(&nodes.left, row), without(&nodes.right, column))?;
            if self.is_hopeless(point.cost + of_node + rest.least + point.edges.least()) {
                continue;
            }
            let (edges, of_edges) = self.decided_edges(left, right, &point.edges)?;
            if self.is_hopeless(point.cost + of_node + rest.least + of_edges)
                || self.is_hopeless(point.cost + of_node + rest.least + of_edges + edges.least())
            {
                continue;
            }
            operations.push(Operation { left, right, cost: of_node + of_edges, nodes: rest, edges });
        }
        Ok(operations)
    }

    /// Whether a path that costs this much leads nowhere.
    fn is_hopeless(&self, cost: f64) -> bool {
        cost > self.limit || self.best.is_some_and(|best| cost >= best)
    }

    fn decide(&mut self, left: Option<usize>, right: Option<usize>) {
        if let Some(left) = left {
            self.left.fates[left] = right.map_or(Fate::Alone, Fate::With);
        }
        if let Some(right) = right {
            self.right.fates[right] = left.map_or(Fate::Alone, Fate::With);
        }
        self.decided += 1;
    }

    fn undo(&mut self, left: Option<usize>, right: Option<usize>) {
        if let Some(left) = left {
            self.left.fates[left] = Fate::Pending;
        }
        if let Some(right) = right {
            self.right.fates[right] = Fate::Pending;
        }
        self.decided -= 1;
    }

    /// A cell of the matrix of these nodes.
    fn cost(&self, left: &[usize], right: &[usize], row: usize, column: usize) -> f64 {
        cell(self.pair, self.too_much, left, right, row, column)
    }

    /// These nodes with an optimal assignment.
    fn solved(&mut self, left: Vec<usize>, right: Vec<usize>) -> Result<Nodes, Exhausted> {
        let (m, n) = (left.len(), right.len());
        let (pair, too_much) = (self.pair, self.too_much);
        let cost = |row: usize, column: usize| cell(pair, too_much, &left, &right, row, column);
        let columns = self.assigner.solve(m + n, cost, &mut self.work)?;
        let mut assignment: Vec<(usize, usize)> = columns.iter().copied().enumerate().collect();
        // What stands for neither node goes with a substitution, so that both can be taken out of the matrix together.
        let substitutions: Vec<(usize, usize)> =
            assignment.iter().copied().filter(|(row, column)| *row < m && *column < n).collect();
        let idle = assignment.iter_mut().filter(|(row, column)| *row >= m && *column >= n);
        for (idle, (row, column)) in idle.zip(substitutions) {
            *idle = (m + column, n + row);
        }
        let costs: Vec<f64> = assignment.iter().map(|(row, column)| cost(*row, *column)).collect();
        Ok(Nodes { left, right, assignment, least: sum(&costs) })
    }

    /// What is left of the edges after a decision on these nodes, and what those cost that it uses up.
    fn decided_edges(
        &mut self,
        left: Option<usize>,
        right: Option<usize>,
        edges: &Edges,
    ) -> Result<(Edges, f64), Exhausted> {
        self.work.spend(edges.left.len() + edges.right.len())?;
        if self.decided == 0 {
            return Ok((edges.clone(), 0.0));
        }
        let is_loop = |(source, target): &(usize, usize)| source == target;
        let (of_left, rest_left): (Vec<_>, Vec<_>) =
            edges.left.iter().copied().partition(|edge| self.left.concerns(*edge, left));
        let (of_right, rest_right): (Vec<_>, Vec<_>) =
            edges.right.iter().copied().partition(|edge| self.right.concerns(*edge, right));
        let corresponding =
            of_right.iter().filter(|edge| !is_loop(edge) && self.corresponds(**edge, left, right)).count();
        let loops = of_left.iter().chain(&of_right).filter(|edge| is_loop(edge)).count();
        // The largest matching: edges that correspond, and loops with anything.
        let kept = of_left.len().min(of_right.len()).min(corresponding + loops);
        let cost = (of_left.len() + of_right.len() - 2 * kept) as f64;
        Ok((Edges { left: rest_left, right: rest_right }, cost))
    }

    /// Whether an edge at `right` has a counterpart at `left`.
    fn corresponds(&self, (source, target): (usize, usize), left: Option<usize>, right: Option<usize>) -> bool {
        let Some(left) = left else { return false };
        let at_left = |node: usize| if Some(node) == right { Fate::With(left) } else { self.right.fates[node] };
        match (at_left(source), at_left(target)) {
            (Fate::With(source), Fate::With(target)) => self.left_adjacency[source * self.pair.left.nodes + target],
            _ => false,
        }
    }
}

impl Nodes {
    /// The first pair of the assignment that is an operation.
    fn first_operation(&self) -> Option<(usize, usize)> {
        let (m, n) = (self.left.len(), self.right.len());
        self.assignment.iter().copied().filter(|(row, column)| *row < m || *column < n).min()
    }

    /// The nodes of a row and a column.
    fn at(&self, row: usize, column: usize) -> (Option<usize>, Option<usize>) {
        (self.left.get(row).copied(), self.right.get(column).copied())
    }

    /// Without a pair of its assignment, which costs `least` then.
    fn without(&self, row: usize, column: usize, least: f64) -> Self {
        let (m, n) = (self.left.len(), self.right.len());
        // A node takes the row or column along that stands for it alone.
        let gone_row = |at: usize| at == row || (column < n && at == m + column);
        let gone_column = |at: usize| at == column || (row < m && at == n + row);
        let rows = (row, if column < n { m + column } else { row });
        let columns = (column, if row < m { n + row } else { column });
        let moved = |at: usize, gone: (usize, usize)| {
            at - usize::from(at > gone.0) - usize::from(gone.0 != gone.1 && at > gone.1)
        };
        let kept = self.assignment.iter().filter(|(row, column)| !gone_row(*row) && !gone_column(*column));
        Self {
            left: without(&self.left, row),
            right: without(&self.right, column),
            assignment: kept.map(|(row, column)| (moved(*row, rows), moved(*column, columns))).collect(),
            least,
        }
    }
}

fn cell(pair: &Pair<'_>, too_much: f64, left: &[usize], right: &[usize], row: usize, column: usize) -> f64 {
    let (m, n) = (left.len(), right.len());
    match (left.get(row), right.get(column)) {
        (Some(left), Some(right)) => pair.substitution(*left, *right),
        (Some(_), None) if column - n == row => 1.0,
        (None, Some(_)) if row - m == column => 1.0,
        (Some(_), None) | (None, Some(_)) => too_much,
        (None, None) => 0.0,
    }
}

/// The list without its element `at`, if it has that many.
fn without(list: &[usize], at: usize) -> Vec<usize> {
    list.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, node)| *node).collect()
}
