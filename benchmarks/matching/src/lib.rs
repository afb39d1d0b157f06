//! Graph algorithms that the workflow benchmarks share. Each is exact and bounded by the size of the gold graph;
//! a prediction, which a model wrote, may have any size.

mod blossom_free;
mod chain;
mod clique;
mod lexicographic;
mod toposort;

pub use blossom_free::Matcher;
pub use chain::{descendants, longest_chain};
pub use clique::maximum_clique;
pub use lexicographic::lexicographic_matching;
pub use toposort::first_orders;

/// Most nodes of a graph that is kept as bit sets ([`NodeSet`]). Real gold graphs have at most 14.
pub const NODE_SET_CAPACITY: usize = 32;

/// A set of node indices below [`NODE_SET_CAPACITY`].
pub type NodeSet = u32;

/// Weights between predicted nodes (rows) and gold nodes (columns), in units of 1e-6. A pair can be matched if and
/// only if its weight is positive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weights {
    rows: usize,
    columns: usize,
    micro: Vec<i32>,
}

impl Weights {
    /// A matrix of `rows` × `columns` in which nothing can be matched.
    pub fn none(rows: usize, columns: usize) -> Self {
        Self { rows, columns, micro: vec![0; rows * columns] }
    }

    /// Number of predicted nodes.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of gold nodes.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The weight of a pair.
    ///
    /// # Panics
    /// Beyond the matrix.
    #[must_use]
    pub fn get(&self, row: usize, column: usize) -> i32 {
        self.micro[row * self.columns + column]
    }

    /// The weights of a predicted node, by gold node.
    ///
    /// # Panics
    /// Beyond the matrix.
    #[must_use]
    pub fn row(&self, row: usize) -> &[i32] {
        &self.micro[row * self.columns..(row + 1) * self.columns]
    }

    /// The same, to be filled in.
    ///
    /// # Panics
    /// Beyond the matrix.
    pub fn row_mut(&mut self, row: usize) -> &mut [i32] {
        &mut self.micro[row * self.columns..(row + 1) * self.columns]
    }
}

#[cfg(test)]
mod testing {
    //! Matrices for tests of the matchings.

    use proptest::prelude::*;

    use super::Weights;

    pub(crate) fn weights(rows: &[Vec<i32>]) -> Weights {
        let columns = rows.first().map_or(0, Vec::len);
        let mut out = Weights::none(rows.len(), columns);
        for (i, row) in rows.iter().enumerate() {
            out.row_mut(i).copy_from_slice(row);
        }
        out
    }

    /// Small matrices with few distinct weights, so that ties are the rule.
    pub(crate) fn tie_heavy() -> impl Strategy<Value = Weights> {
        let entry = prop_oneof![
            3 => Just(0),
            2 => Just(700_000),
            2 => Just(850_000),
            2 => Just(1_000_000),
            1 => 600_001..1_000_000_i32,
        ];
        (1..6_usize, 1..6_usize)
            .prop_flat_map(move |(r, c)| prop::collection::vec(prop::collection::vec(entry.clone(), c), r))
            .prop_map(|rows| weights(&rows))
    }

    /// The largest total weight over all matchings, by trying every one.
    pub(crate) fn best_total(weights: &Weights) -> i64 {
        fn from(weights: &Weights, row: usize, used: u32) -> i64 {
            if row == weights.rows() {
                return 0;
            }
            let mut best = from(weights, row + 1, used);
            for column in 0..weights.columns() {
                let w = weights.get(row, column);
                if w > 0 && used & (1 << column) == 0 {
                    best = best.max(i64::from(w) + from(weights, row + 1, used | 1 << column));
                }
            }
            best
        }
        from(weights, 0, 0)
    }

    /// The total weight of a mapping; panics if it is no matching of possible pairs.
    pub(crate) fn total(weights: &Weights, mapping: &[Option<usize>]) -> i64 {
        let mut used = vec![false; weights.columns()];
        let mut sum = 0;
        for (row, column) in mapping.iter().enumerate() {
            let Some(column) = *column else { continue };
            assert!(!used[column], "column {column} matched twice");
            assert!(weights.get(row, column) > 0, "({row}, {column}) cannot be matched");
            used[column] = true;
            sum += i64::from(weights.get(row, column));
        }
        sum
    }
}
