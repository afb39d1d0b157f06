//! Maximum-weight bipartite matching that resolves ties as the published evaluator's library does
//! (docs/benchmarks/worfbench.md §5.3).
//!
//! The library matches general graphs with blossoms. In a bipartite graph no blossom arises, and what remains is the
//! primal-dual search below. Which of several equally heavy matchings it finds depends on the order of every scan, so
//! the order of vertices, neighbours, the stack and the strict comparisons are part of the contract.

const NONE: usize = usize::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Label {
    Free,
    S,
    T,
}

#[derive(Debug, Clone, Copy)]
struct Edge {
    row: usize,
    column: usize,
    weight: f64,
    /// Known to be tight in the current stage.
    allowed: bool,
}

/// Result of a dual step: nothing can improve, or an edge becomes tight and its end `from` is searched again.
enum DualStep {
    Finished,
    Tight { edge: usize, from: usize },
}

/// The matcher keeps its buffers from one call to the next.
///
/// Vertices are numbered rows first: row `i` is vertex `i`, column `j` is vertex `rows + j`.
#[derive(Debug, Default)]
pub struct Matcher {
    rows: usize,
    edges: Vec<Edge>,
    /// Edges of a vertex are `incident[starts[v]..starts[v + 1]]`, neighbours ascending.
    starts: Vec<usize>,
    incident: Vec<usize>,
    /// Vertices with an edge, in the order in which the pairs, row by row, first name them.
    order: Vec<usize>,
    dual: Vec<f64>,
    mate: Vec<usize>,
    label: Vec<Label>,
    parent: Vec<usize>,
    best: Vec<usize>,
    stack: Vec<usize>,
    mapping: Vec<Option<usize>>,
}

impl Matcher {
    /// Matches `rows` with `columns`; `weight(i, j)` is positive for the pairs that can be matched. Returns the column
    /// of each row.
    pub fn solve(&mut self, rows: usize, columns: usize, weight: impl Fn(usize, usize) -> f64) -> &[Option<usize>] {
        self.build(rows, columns, weight);
        if !self.edges.is_empty() {
            while self.stage() {}
        }
        self.mapping.clear();
        self.mapping.extend(self.mate[..rows].iter().map(|&mate| (mate != NONE).then(|| mate - rows)));
        &self.mapping
    }

    /// Dual value of each row and column after [`Self::solve`], on twice the scale of the weights: a pair of an optimal
    /// matching has `row + column = 2 · weight`, and every vertex with a positive value is matched in all of them.
    pub fn duals(&self) -> (&[f64], &[f64]) {
        self.dual.split_at(self.rows)
    }

    fn build(&mut self, rows: usize, columns: usize, weight: impl Fn(usize, usize) -> f64) {
        let vertices = rows + columns;
        self.rows = rows;
        self.edges.clear();
        self.order.clear();
        self.starts.clear();
        self.starts.resize(vertices + 1, 0);
        self.mate.clear();
        self.mate.resize(vertices, NONE);
        let mut heaviest = 0.0_f64;
        for row in 0..rows {
            for column in 0..columns {
                let weight = weight(row, column);
                if weight <= 0.0 {
                    continue;
                }
                heaviest = heaviest.max(weight);
                for vertex in [row, rows + column] {
                    if self.starts[vertex + 1] == 0 {
                        self.order.push(vertex);
                    }
                    self.starts[vertex + 1] += 1;
                }
                self.edges.push(Edge { row, column: rows + column, weight, allowed: false });
            }
        }
        for vertex in 0..vertices {
            self.starts[vertex + 1] += self.starts[vertex];
        }
        self.incident.clear();
        self.incident.resize(2 * self.edges.len(), 0);
        // `best` is free until the first stage: here it holds where a vertex's next edge goes.
        self.best.clear();
        self.best.extend_from_slice(&self.starts[..vertices]);
        for (id, edge) in self.edges.iter().enumerate() {
            for vertex in [edge.row, edge.column] {
                self.incident[self.best[vertex]] = id;
                self.best[vertex] += 1;
            }
        }
        self.dual.clear();
        self.dual.resize(vertices, heaviest);
        for vertex in 0..vertices {
            // A vertex without edges takes no part.
            if self.starts[vertex] == self.starts[vertex + 1] {
                self.dual[vertex] = 0.0;
            }
        }
    }

    /// Looks for one augmenting path; false when the matching is optimal.
    fn stage(&mut self) -> bool {
        let vertices = self.mate.len();
        self.label.clear();
        self.label.resize(vertices, Label::Free);
        self.parent.clear();
        self.parent.resize(vertices, NONE);
        self.best.clear();
        self.best.resize(vertices, NONE);
        self.stack.clear();
        for edge in &mut self.edges {
            edge.allowed = false;
        }
        for &vertex in &self.order {
            if self.mate[vertex] == NONE {
                self.label[vertex] = Label::S;
                self.stack.push(vertex);
            }
        }
        loop {
            while let Some(vertex) = self.stack.pop() {
                if self.search(vertex) {
                    return true;
                }
            }
            match self.dual_step() {
                DualStep::Finished => return false,
                DualStep::Tight { edge, from } => {
                    self.edges[edge].allowed = true;
                    self.stack.push(from);
                }
            }
        }
    }

    /// Scans the edges of an S vertex; true if an augmenting path was found and applied.
    fn search(&mut self, vertex: usize) -> bool {
        for at in self.starts[vertex]..self.starts[vertex + 1] {
            let id = self.incident[at];
            let slack = self.slack(id);
            if slack <= 0.0 {
                self.edges[id].allowed = true;
            }
            let other = self.other_end(id, vertex);
            match (self.edges[id].allowed, self.label[other]) {
                (_, Label::T) => {}
                (true, Label::S) => {
                    self.augment(vertex, other);
                    return true;
                }
                (true, Label::Free) => {
                    // A vertex without label is matched: unmatched ones are S from the start.
                    let mate = self.mate[other];
                    self.set_label(other, Label::T, vertex);
                    self.set_label(mate, Label::S, other);
                    self.stack.push(mate);
                }
                (false, Label::S) => self.offer(vertex, id, slack),
                (false, Label::Free) => self.offer(other, id, slack),
            }
        }
        false
    }

    fn set_label(&mut self, vertex: usize, label: Label, parent: usize) {
        self.label[vertex] = label;
        self.parent[vertex] = parent;
        self.best[vertex] = NONE;
    }

    /// Remembers the edge as the vertex's best unless one with at most this slack is known.
    fn offer(&mut self, vertex: usize, edge: usize, slack: f64) {
        if self.best[vertex] == NONE || slack < self.slack(self.best[vertex]) {
            self.best[vertex] = edge;
        }
    }

    fn dual_step(&mut self) -> DualStep {
        let mut delta = self.order.iter().map(|&v| self.dual[v]).fold(f64::INFINITY, f64::min);
        let mut step = DualStep::Finished;
        for &vertex in &self.order {
            let edge = self.best[vertex];
            if edge != NONE && self.label[vertex] == Label::Free {
                let slack = self.slack(edge);
                if slack < delta {
                    delta = slack;
                    step = DualStep::Tight { edge, from: self.other_end(edge, vertex) };
                }
            }
        }
        for &vertex in &self.order {
            let edge = self.best[vertex];
            if edge != NONE && self.label[vertex] == Label::S {
                let half = self.slack(edge) / 2.0;
                if half < delta {
                    delta = half;
                    step = DualStep::Tight { edge, from: vertex };
                }
            }
        }
        for &vertex in &self.order {
            match self.label[vertex] {
                Label::S => self.dual[vertex] -= delta,
                Label::T => self.dual[vertex] += delta,
                Label::Free => {}
            }
        }
        step
    }

    /// Flips the alternating paths from both ends of the tight edge to their roots.
    fn augment(&mut self, v: usize, w: usize) {
        for (mut s, mut j) in [(v, w), (w, v)] {
            loop {
                self.mate[s] = j;
                let t = self.parent[s];
                if t == NONE {
                    break;
                }
                let above = self.parent[t];
                self.mate[t] = above;
                s = above;
                j = t;
            }
        }
    }

    fn slack(&self, edge: usize) -> f64 {
        let Edge { row, column, weight, .. } = self.edges[edge];
        (self.dual[row] + self.dual[column]) - 2.0 * weight
    }

    fn other_end(&self, edge: usize, vertex: usize) -> usize {
        let Edge { row, column, .. } = self.edges[edge];
        if vertex == row { column } else { row }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Weights;
    use crate::testing::{best_total, tie_heavy, total, weights};

    fn solve(weights: &Weights) -> Vec<Option<usize>> {
        Matcher::default().solve(weights.rows(), weights.columns(), |i, j| f64::from(weights.get(i, j)) / 1e6).to_vec()
    }

    #[test]
    fn nothing_possible_leaves_everything_unmatched() {
        assert_eq!(solve(&Weights::none(3, 2)), [None, None, None]);
        assert_eq!(solve(&Weights::none(0, 2)), []);
    }

    #[test]
    fn weight_counts_before_cardinality() {
        let weights = weights(&[vec![0, 620_000, 0], vec![610_000, 0, 0], vec![0, 1_000_000, 0]]);
        assert_eq!(solve(&weights), [None, Some(0), Some(1)]);
    }

    #[test]
    fn a_tie_goes_to_the_column_scanned_last() {
        assert_eq!(solve(&weights(&[vec![950_070; 5]])), [Some(4)]);
    }

    #[test]
    fn thousands_of_equal_rows_are_matched_in_bounded_time() {
        let mut matcher = Matcher::default();
        let matched = matcher.solve(20_000, 26, |_, _| 1.0).iter().flatten().count();
        assert_eq!(matched, 26);
    }

    proptest! {
        #[test]
        fn total_weight_is_the_optimum(weights in tie_heavy()) {
            prop_assert_eq!(total(&weights, &solve(&weights)), best_total(&weights));
        }

        #[test]
        fn reused_buffers_do_not_change_the_result(first in tie_heavy(), second in tie_heavy()) {
            let mut matcher = Matcher::default();
            let of = |w: &Weights, m: &mut Matcher| m.solve(w.rows(), w.columns(), |i, j| f64::from(w.get(i, j))).to_vec();
            of(&first, &mut matcher);
            prop_assert_eq!(of(&second, &mut matcher), of(&second, &mut Matcher::default()));
        }

        #[test]
        fn duals_of_integer_weights_prove_the_optimum(weights in tie_heavy()) {
            let mut matcher = Matcher::default();
            matcher.solve(weights.rows(), weights.columns(), |i, j| f64::from(weights.get(i, j)));
            let (rows, columns) = matcher.duals();
            prop_assert!(rows.iter().chain(columns).all(|&u| u >= 0.0 && u.fract() == 0.0));
            for (i, row) in rows.iter().enumerate() {
                for (j, column) in columns.iter().enumerate() {
                    if weights.get(i, j) > 0 {
                        prop_assert!(row + column >= 2.0 * f64::from(weights.get(i, j)));
                    }
                }
            }
            let sum: f64 = rows.iter().chain(columns).sum();
            prop_assert_eq!(sum, 2.0 * best_total(&weights) as f64);
        }
    }
}
