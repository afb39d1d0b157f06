//! The search of `networkx.graph_edit_distance` as the official evaluator uses it
//! (docs/benchmarks/orchestrationbench.md §5.1), for costs of 1 and free substitution of edges. Without loops it
//! finds the edit distance; with loops it may return a larger cost, and this code returns the same.
//!
//! Because substituting edges is free, the assignment problems of edges need not be solved. The least cost of all
//! pending edges is the difference of their numbers. A decision on a pair of nodes uses up all edges that it
//! concerns; their cost follows from how many of them correspond and how many are loops, which can be substituted by
//! any edge.

use super::assignment::{Assigner, sum};
use super::pair::{Found, Pair};
use super::work::{Exhausted, Work};

/// Searches until the limit on work is reached.
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
    /// Marks an impossible cell of the matrix; larger than any cost.
    too_much: f64,
    /// No result is above this.
    limit: f64,
    best: Option<f64>,
    left: Side,
    right: Side,
    /// Number of operations on nodes that are decided.
    decided: usize,
    left_adjacency: Vec<bool>,
    assigner: Assigner,
    work: Work,
}

/// State of the nodes of one graph.
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

    /// Returns `true` if the next decision, on `node`, uses this edge up.
    fn concerns(&self, (source, target): (usize, usize), node: Option<usize>) -> bool {
        if source == target {
            return Some(source) == node || self.is_decided(source);
        }
        (Some(source) == node && self.is_decided(target)) || (Some(target) == node && self.is_decided(source))
    }
}

/// Pending nodes with an assignment of their cost matrix: its rows are the left nodes and then insertions, its
/// columns the right nodes and then deletions.
#[derive(Debug, Clone)]
struct Nodes {
    left: Vec<usize>,
    right: Vec<usize>,
    /// Row and column, by row.
    assignment: Vec<(usize, usize)>,
    /// Cost of the assignment.
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

/// A decision on one or two nodes, with the nodes and edges that are pending after it.
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

/// A point of the search with pending nodes or edges.
struct Point {
    /// Operation that led here.
    came_by: Option<(Option<usize>, Option<usize>)>,
    nodes: Nodes,
    edges: Edges,
    cost: f64,
    next: Next,
}

/// Next operations to try.
enum Next {
    /// The operation of the assignment.
    Assigned,
    /// The alternatives, which are not computed yet.
    Alternatives,
    /// The remaining alternatives.
    Sorted(std::vec::IntoIter<Operation>),
}

impl Search<'_> {
    fn run(&mut self) -> Result<(), Exhausted> {
        let nodes = self.solved((0..self.pair.left.nodes).collect(), (0..self.pair.right.nodes).collect())?;
        let edges = Edges { left: self.pair.left.edges.clone(), right: self.pair.right.edges.clone() };
        if self.is_hopeless(nodes.least + edges.least()) {
            return Ok(());
        }
        // An explicit stack, because a model decides how many nodes its plan has.
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

    /// Pushes a point, or records the cost when no nodes are pending. Edges that are left then are ignored, as in the
    /// official code.
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

    /// Returns the first operation of the point's assignment, unless its cost is too high.
    fn assigned(&mut self, point: &Point) -> Result<Option<Operation>, Exhausted> {
        let nodes = &point.nodes;
        let Some((row, column)) = nodes.first_operation() else { return Ok(None) };
        let (left, right) = nodes.at(row, column);
        let (edges, of_edges) = self.decided_edges(left, right, &point.edges)?;
        if self.is_hopeless(point.cost + nodes.least + of_edges + edges.least()) {
            return Ok(None);
        }
        let of_nodes = self.cost(&nodes.left, &nodes.right, row, column);
        // No new assignment is needed: without the pair, the rest of an optimal one is optimal.
        let nodes = nodes.without(row, column, nodes.least - of_nodes);
        Ok(Some(Operation { left, right, cost: of_nodes + of_edges, nodes, edges }))
    }

    /// Returns all other operations on the node, of the smaller graph, that the first operation decides.
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

    /// Returns `true` if a path with this cost cannot improve on the result.
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

    /// Returns a cell of the cost matrix of these nodes.
    fn cost(&self, left: &[usize], right: &[usize], row: usize, column: usize) -> f64 {
        cell(self.pair, self.too_much, left, right, row, column)
    }

    /// Returns these nodes with an optimal assignment.
    fn solved(&mut self, left: Vec<usize>, right: Vec<usize>) -> Result<Nodes, Exhausted> {
        let (m, n) = (left.len(), right.len());
        let (pair, too_much) = (self.pair, self.too_much);
        let cost = |row: usize, column: usize| cell(pair, too_much, &left, &right, row, column);
        let columns = self.assigner.solve(m + n, cost, &mut self.work)?;
        let mut assignment: Vec<(usize, usize)> = columns.iter().copied().enumerate().collect();
        // A cell for neither node is tied to a substitution, so that both are taken out of the matrix together.
        let substitutions: Vec<(usize, usize)> =
            assignment.iter().copied().filter(|(row, column)| *row < m && *column < n).collect();
        let idle = assignment.iter_mut().filter(|(row, column)| *row >= m && *column >= n);
        for (idle, (row, column)) in idle.zip(substitutions) {
            *idle = (m + column, n + row);
        }
        let costs: Vec<f64> = assignment.iter().map(|(row, column)| cost(*row, *column)).collect();
        Ok(Nodes { left, right, assignment, least: sum(&costs) })
    }

    /// Returns the remaining edges after a decision on these nodes, and the cost of those that it uses up.
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
        // The largest matching: edges that correspond, and loops with any edge.
        let kept = of_left.len().min(of_right.len()).min(corresponding + loops);
        let cost = (of_left.len() + of_right.len() - 2 * kept) as f64;
        Ok((Edges { left: rest_left, right: rest_right }, cost))
    }

    /// Returns `true` if an edge at `right` has a counterpart at `left`.
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
    /// Returns the first pair of the assignment that is an operation.
    fn first_operation(&self) -> Option<(usize, usize)> {
        let (m, n) = (self.left.len(), self.right.len());
        self.assignment.iter().copied().filter(|(row, column)| *row < m || *column < n).min()
    }

    /// Returns the nodes of a row and a column.
    fn at(&self, row: usize, column: usize) -> (Option<usize>, Option<usize>) {
        (self.left.get(row).copied(), self.right.get(column).copied())
    }

    /// Removes a pair of the assignment, whose cost is `least` then.
    fn without(&self, row: usize, column: usize, least: f64) -> Self {
        let (m, n) = (self.left.len(), self.right.len());
        // A removed node also takes its own deletion or insertion cell along.
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

/// Returns the list without the element `at`, if it exists.
fn without(list: &[usize], at: usize) -> Vec<usize> {
    list.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, node)| *node).collect()
}
