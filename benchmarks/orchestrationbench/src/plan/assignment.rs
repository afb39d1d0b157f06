//! Minimum-cost assignment by shortest augmenting paths (docs/benchmarks/orchestrationbench.md §5.1). The official
//! search first follows the assignment that is found among several optimal ones, so columns are visited in exactly
//! the order of SciPy's routine.

use super::work::{Exhausted, Work};

const NONE: usize = usize::MAX;

/// The routine with buffers that are reused by all calls.
#[derive(Debug, Default)]
pub(super) struct Assigner {
    matrix: Vec<f64>,
    row_dual: Vec<f64>,
    column_dual: Vec<f64>,
    shortest: Vec<f64>,
    before: Vec<usize>,
    row_of: Vec<usize>,
    column_of: Vec<usize>,
    remaining: Vec<usize>,
    row_seen: Vec<bool>,
    column_seen: Vec<bool>,
}

impl Assigner {
    /// Returns the column of every row of a square matrix with `size` rows.
    pub(super) fn solve(
        &mut self,
        size: usize,
        cost: impl Fn(usize, usize) -> f64,
        work: &mut Work,
    ) -> Result<&[usize], Exhausted> {
        work.spend(size * size)?;
        self.matrix.clear();
        for row in 0..size {
            self.matrix.extend((0..size).map(|column| cost(row, column)));
        }
        for (list, value) in
            [(&mut self.row_dual, 0.0), (&mut self.column_dual, 0.0), (&mut self.shortest, f64::INFINITY)]
        {
            list.clear();
            list.resize(size, value);
        }
        for list in [&mut self.before, &mut self.row_of, &mut self.column_of] {
            list.clear();
            list.resize(size, NONE);
        }
        for row in 0..size {
            let (sink, length) = self.shortest_path(size, row, work)?;
            self.update_duals(row, length);
            self.augment(row, sink);
        }
        Ok(&self.column_of)
    }

    /// Finds the shortest path from a free row to a free column: the column, and the length of the path.
    fn shortest_path(&mut self, size: usize, start: usize, work: &mut Work) -> Result<(usize, f64), Exhausted> {
        self.remaining.clear();
        self.remaining.extend((0..size).rev());
        self.shortest.fill(f64::INFINITY);
        for seen in [&mut self.row_seen, &mut self.column_seen] {
            seen.clear();
            seen.resize(size, false);
        }
        let (mut row, mut length) = (start, 0.0);
        loop {
            work.spend(self.remaining.len())?;
            self.row_seen[row] = true;
            let costs = &self.matrix[row * size..(row + 1) * size];
            let (mut lowest, mut at) = (f64::INFINITY, 0);
            for (position, &column) in self.remaining.iter().enumerate() {
                // The order of operations matters, because rounding breaks ties.
                let through = length + costs[column] - self.row_dual[row] - self.column_dual[column];
                if through < self.shortest[column] {
                    self.shortest[column] = through;
                    self.before[column] = row;
                }
                let shortest = self.shortest[column];
                if shortest < lowest || (shortest == lowest && self.row_of[column] == NONE) {
                    (lowest, at) = (shortest, position);
                }
            }
            length = lowest;
            let column = self.remaining.swap_remove(at);
            self.column_seen[column] = true;
            match self.row_of[column] {
                NONE => return Ok((column, length)),
                next => row = next,
            }
        }
    }

    fn update_duals(&mut self, start: usize, length: f64) {
        self.row_dual[start] += length;
        for row in (0..self.row_seen.len()).filter(|row| self.row_seen[*row] && *row != start) {
            self.row_dual[row] += length - self.shortest[self.column_of[row]];
        }
        for column in (0..self.column_seen.len()).filter(|column| self.column_seen[*column]) {
            self.column_dual[column] -= length - self.shortest[column];
        }
    }

    fn augment(&mut self, start: usize, sink: usize) {
        let mut column = sink;
        loop {
            let row = self.before[column];
            self.row_of[column] = row;
            std::mem::swap(&mut self.column_of[row], &mut column);
            if row == start {
                return;
            }
        }
    }
}

/// Sums as NumPy does: eight partial sums from eight numbers on, halves from 129 on. Sums of 0.2 and 0.8 depend on
/// the order.
pub(super) fn sum(numbers: &[f64]) -> f64 {
    let n = numbers.len();
    if n < 8 {
        return numbers.iter().fold(0.0, |sum, number| sum + number);
    }
    if n > 128 {
        let half = n / 2;
        let (first, second) = numbers.split_at(half - half % 8);
        return sum(first) + sum(second);
    }
    let mut partial = [0.0; 8];
    let (eights, rest) = numbers.as_chunks::<8>();
    for eight in eights {
        for (partial, number) in partial.iter_mut().zip(eight) {
            *partial += number;
        }
    }
    let [a, b, c, d, e, f, g, h] = partial;
    rest.iter().fold(((a + b) + (c + d)) + ((e + f) + (g + h)), |sum, number| sum + number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::work::UNITS_MAX;
    use super::*;

    fn cost_of(matrix: &[Vec<f64>], columns: &[usize]) -> f64 {
        matrix.iter().zip(columns).map(|(row, column)| row[*column]).sum()
    }

    fn cheapest(matrix: &[Vec<f64>], row: usize, free: &mut Vec<usize>) -> f64 {
        if row == matrix.len() {
            return 0.0;
        }
        let mut best = f64::INFINITY;
        for at in 0..free.len() {
            let column = free.remove(at);
            best = best.min(matrix[row][column] + cheapest(matrix, row + 1, free));
            free.insert(at, column);
        }
        best
    }

    #[test]
    fn among_equals_the_first_free_column_is_taken() {
        let mut assigner = Assigner::default();
        let columns = assigner.solve(3, |_, _| 0.0, &mut Work::new(UNITS_MAX)).unwrap();
        assert_eq!(columns, [0, 1, 2]);
        assert!(assigner.solve(0, |_, _| 0.0, &mut Work::new(UNITS_MAX)).unwrap().is_empty());
    }

    #[test]
    fn without_work_left_there_is_no_assignment() {
        assert!(Assigner::default().solve(100, |_, _| 0.0, &mut Work::new(10_010)).is_err());
    }

    #[test]
    fn eight_numbers_are_added_in_pairs() {
        let tenths = [0.1; 8];
        assert_eq!(sum(&tenths), 0.8);
        assert_eq!(tenths.iter().sum::<f64>(), 0.799_999_999_999_999_9);
        assert_eq!((sum(&[]), sum(&[0.5; 300])), (0.0, 150.0));
    }

    proptest! {
        #[test]
        fn no_assignment_is_cheaper(costs in prop::collection::vec(0..6_u8, 36), size in 1..7_usize) {
            let matrix: Vec<Vec<f64>> =
                costs.chunks(6).take(size).map(|row| row[..size].iter().map(|cost| f64::from(*cost)).collect()).collect();
            let mut assigner = Assigner::default();
            let columns = assigner.solve(size, |row, column| matrix[row][column], &mut Work::new(UNITS_MAX)).unwrap();
            let mut sorted = columns.to_vec();
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..size).collect::<Vec<_>>());
            prop_assert_eq!(cost_of(&matrix, columns), cheapest(&matrix, 0, &mut (0..size).collect()));
        }
    }
}
