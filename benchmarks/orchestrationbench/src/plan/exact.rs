//! Exact edit distance by branch and bound over the substitutions for the nodes of the smaller graph.
//!
//! The bound is an assignment: every pending node pays in full for its edges to decided nodes, and half of the
//! difference in degree for each direction of its edges to pending ones, because an edge without a counterpart counts
//! at both its ends.

use super::assignment::Assigner;
use super::pair::{Found, Pair};
use super::work::{Exhausted, Work};

/// Costs that differ by less count as equal: they are sums of 0.2 and 0.8.
const TOLERANCE: f64 = 1e-9;

/// Searches until the limit on work is reached.
pub(super) fn edit_cost(pair: &Pair<'_>, work: Work) -> Found {
    let mut search = Search::new(pair, work);
    let complete = search.run().is_ok();
    Found { cost: search.best, complete }
}

/// One of the two graphs.
struct Graph {
    nodes: usize,
    edges: usize,
    adjacency: Vec<bool>,
}

impl Graph {
    fn new(shape: &super::pair::Shape) -> Self {
        Self { nodes: shape.nodes, edges: shape.edges.len(), adjacency: shape.adjacency() }
    }

    fn has(&self, source: usize, target: usize) -> bool {
        self.adjacency[source * self.nodes + target]
    }

    /// Edges from a node to others of `pending`, and from these to it; loops are neither.
    fn degrees(&self, node: usize, pending: &[usize]) -> [usize; 2] {
        let others = || pending.iter().filter(|other| **other != node);
        [
            others().filter(|other| self.has(node, **other)).count(),
            others().filter(|other| self.has(**other, node)).count(),
        ]
    }
}

struct Search<'a> {
    pair: &'a Pair<'a>,
    /// The smaller graph is the pair's right one. Costs are the same in both directions.
    swapped: bool,
    /// The smaller graph.
    small: Graph,
    /// The larger graph.
    large: Graph,
    /// Nodes of the smaller graph in the order of decisions: nodes with many edges first, so that costs appear early.
    order: Vec<usize>,
    /// Substitutions of the first of them; `None`: deleted.
    decided: Vec<Option<usize>>,
    best: Option<f64>,
    assigner: Assigner,
    work: Work,
}

/// A choice for the next node: the substituted node of the larger graph, or `None` for deletion, and the cost.
type Choice = (Option<usize>, f64);

/// A point of the search.
struct Point {
    cost: f64,
    choices: std::vec::IntoIter<Choice>,
}

/// Pending nodes with the costs between them.
struct Pending {
    small: Vec<usize>,
    large: Vec<usize>,
    /// Exact costs of substitution.
    sure: Vec<f64>,
    /// Costs of substitution with the halves for undecided edges.
    likely: Vec<f64>,
    /// Costs of deletion; exact, and with the halves.
    deletion: Vec<[f64; 2]>,
    /// Cost of insertion with the halves.
    insertion: Vec<f64>,
}

impl<'a> Search<'a> {
    fn new(pair: &'a Pair<'a>, work: Work) -> Self {
        let swapped = pair.left.nodes > pair.right.nodes;
        let (small, large) = if swapped { (pair.right, pair.left) } else { (pair.left, pair.right) };
        let (small, large) = (Graph::new(small), Graph::new(large));
        let mut order: Vec<usize> = (0..small.nodes).collect();
        let edges = |node: usize| small.degrees(node, &order).iter().sum::<usize>();
        let degrees: Vec<usize> = order.iter().map(|node| edges(*node)).collect();
        order.sort_by_key(|node| std::cmp::Reverse(degrees[*node]));
        Self {
            pair,
            swapped,
            small,
            large,
            order,
            decided: Vec::new(),
            best: None,
            assigner: Assigner::default(),
            work,
        }
    }

    fn run(&mut self) -> Result<(), Exhausted> {
        let mut points = Vec::new();
        self.arrive(&mut points, 0.0)?;
        while let Some(point) = points.last_mut() {
            let Some((node, cost)) = point.choices.next() else {
                points.pop();
                self.decided.pop();
                continue;
            };
            let cost = point.cost + cost;
            self.decided.push(node);
            self.arrive(&mut points, cost)?;
        }
        Ok(())
    }

    /// Continues from here, or undoes the last decision.
    fn arrive(&mut self, points: &mut Vec<Point>, cost: f64) -> Result<(), Exhausted> {
        if let Some(choices) = self.choices(cost)? {
            points.push(Point { cost, choices: choices.into_iter() });
        } else {
            self.decided.pop();
        }
        Ok(())
    }

    /// Returns the choices for the next node, the most promising first; `None` if none can improve on the best cost.
    fn choices(&mut self, cost: f64) -> Result<Option<Vec<Choice>>, Exhausted> {
        if self.decided.len() == self.order.len() {
            let cost = cost + self.insertions();
            if self.is_better(cost) {
                self.best = Some(cost);
            }
            return Ok(None);
        }
        if !self.is_better(cost) {
            return Ok(None);
        }
        let pending = self.pending()?;
        let (bound, assigned) = self.bound(&pending)?;
        if !self.is_better(cost + bound) {
            return Ok(None);
        }
        let mut choices: Vec<(f64, Choice)> = pending
            .large
            .iter()
            .enumerate()
            // The next node is the first row.
            .map(|(at, node)| (if at == assigned { -1.0 } else { pending.likely[at] }, (Some(*node), pending.sure[at])))
            .collect();
        if let Some([sure, likely]) = pending.deletion.first() {
            let is_assigned = assigned >= pending.large.len();
            choices.push((if is_assigned { -1.0 } else { *likely }, (None, *sure)));
        }
        choices.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(Some(choices.into_iter().map(|(_, choice)| choice).collect()))
    }

    fn is_better(&self, cost: f64) -> bool {
        self.best.is_none_or(|best| cost < best - TOLERANCE)
    }

    /// Returns a lower bound for all pending nodes, and the column of the next node in the assignment that gives it.
    fn bound(&mut self, pending: &Pending) -> Result<(f64, usize), Exhausted> {
        let (m, n) = (pending.small.len(), pending.large.len());
        let too_much = (self.pair.size() + 1) as f64;
        let cost = |row: usize, column: usize| match (row < m, column < n) {
            (true, true) => pending.likely[row * n + column],
            (true, false) if column - n == row => pending.deletion[row][1],
            (false, true) if row - m == column => pending.insertion[column],
            (false, false) => 0.0,
            _ => too_much,
        };
        let columns = self.assigner.solve(m + n, cost, &mut self.work)?;
        let bound = columns.iter().enumerate().map(|(row, column)| cost(row, *column)).sum();
        Ok((bound, columns.first().copied().unwrap_or_default()))
    }

    fn pending(&mut self) -> Result<Pending, Exhausted> {
        let small: Vec<usize> = self.order.iter().skip(self.decided.len()).copied().collect();
        let mut is_taken = vec![false; self.large.nodes];
        for node in self.decided.iter().flatten() {
            is_taken[*node] = true;
        }
        let large: Vec<usize> = (0..self.large.nodes).filter(|node| !is_taken[*node]).collect();
        let (m, n) = (small.len(), large.len());
        self.work.spend((m * n + m + n) * (self.decided.len() + 1) + m * m + n * n)?;
        let degrees_small: Vec<[usize; 2]> = small.iter().map(|node| self.small.degrees(*node, &small)).collect();
        let degrees_large: Vec<[usize; 2]> = large.iter().map(|node| self.large.degrees(*node, &large)).collect();
        let mut sure = Vec::with_capacity(m * n);
        let mut likely = Vec::with_capacity(m * n);
        for (node, [out, into]) in small.iter().zip(&degrees_small) {
            for (other, [other_out, other_into]) in large.iter().zip(&degrees_large) {
                let cost = self.substitution(*node, *other);
                sure.push(cost);
                likely.push(cost + (out.abs_diff(*other_out) + into.abs_diff(*other_into)) as f64 / 2.0);
            }
        }
        let deletion = small.iter().zip(&degrees_small).map(|(node, [out, into])| {
            let decided = self.order.iter().take(self.decided.len()).copied();
            let cost = 1.0 + edges_between(&self.small, *node, decided) as f64;
            [cost, cost + (out + into) as f64 / 2.0]
        });
        let insertion = large.iter().zip(&degrees_large).map(|(node, [out, into])| {
            let decided = self.decided.iter().copied().flatten();
            1.0 + edges_between(&self.large, *node, decided) as f64 + (out + into) as f64 / 2.0
        });
        let (deletion, insertion) = (deletion.collect(), insertion.collect());
        Ok(Pending { small, large, sure, likely, deletion, insertion })
    }

    /// Cost of substituting `other` for `node`: the nodes themselves, and the edges to decided nodes that only one of
    /// them has.
    fn substitution(&self, node: usize, other: usize) -> f64 {
        let mut edges = usize::from(self.small.has(node, node) != self.large.has(other, other));
        for (decided, with) in self.order.iter().zip(&self.decided) {
            let (out, into) = (self.small.has(node, *decided), self.small.has(*decided, node));
            let (other_out, other_into) =
                with.map_or((false, false), |with| (self.large.has(other, with), self.large.has(with, other)));
            edges += usize::from(out != other_out) + usize::from(into != other_into);
        }
        let (left, right) = if self.swapped { (other, node) } else { (node, other) };
        self.pair.substitution(left, right) + edges as f64
    }

    /// Cost of inserting the rest of the larger graph.
    fn insertions(&self) -> f64 {
        let kept: Vec<usize> = self.decided.iter().copied().flatten().collect();
        let among: usize =
            kept.iter().map(|node| kept.iter().filter(|other| self.large.has(*node, **other)).count()).sum();
        (self.large.nodes - kept.len() + self.large.edges - among) as f64
    }
}

/// Edges between a node and `others`, and its loop.
fn edges_between(graph: &Graph, node: usize, others: impl Iterator<Item = usize>) -> usize {
    let between = |other: usize| usize::from(graph.has(node, other)) + usize::from(graph.has(other, node));
    usize::from(graph.has(node, node)) + others.map(between).sum::<usize>()
}
