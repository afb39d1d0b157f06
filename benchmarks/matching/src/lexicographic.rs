//! The maximum-weight matching whose assignment vector is lexicographically smallest: rows in order, each takes the
//! smallest column that still allows the maximum, and stays unmatched only if no column does.
//!
//! Exact optimal duals say which matchings are optimal: those that use tight pairs only and cover every vertex of
//! positive dual. So no optimum is computed twice: the matching in hand is changed along cycles of the exchange graph,
//! one row after the other.

use super::{Matcher, Weights};

/// The assignment vector. Exact: weights are integers far below 2^53, and so are all sums of them.
pub fn lexicographic_matching(weights: &Weights, matcher: &mut Matcher) -> Vec<Option<usize>> {
    let (rows, columns) = (weights.rows(), weights.columns());
    let mapping = matcher.solve(rows, columns, |i, j| f64::from(weights.get(i, j))).to_vec();
    let mut exchange = Exchange::new(weights, mapping, matcher.duals());
    if exchange.has_choice {
        for row in 0..rows {
            exchange.settle(row);
        }
    }
    exchange.column_of
}

/// A vertex of the exchange graph besides the rows. The hub closes the paths that change which vertices are covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    Column(usize),
    Hub,
}

/// Next move from a stop on the way to the row that is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Nothing known: the row cannot be reached.
    Unknown,
    /// Gives up the row being settled.
    Arrive,
    /// The row that is given up takes another column.
    Take { row: usize, column: usize },
    /// On through the hub: a column without row needs none, or its row stays unmatched.
    ThroughHub,
    /// A column of dual zero is given up by its row.
    Uncover { column: usize },
}

struct Exchange {
    column_of: Vec<Option<usize>>,
    row_of: Vec<Option<usize>>,
    /// Columns a row may have in an optimal matching, ascending.
    row_choices: Vec<Vec<usize>>,
    /// The same by column, rows ascending.
    column_choices: Vec<Vec<usize>>,
    /// Rows and columns that may stay unmatched.
    row_optional: Vec<bool>,
    column_optional: Vec<bool>,
    settled: Vec<bool>,
    has_choice: bool,
    next: Vec<Step>,
    next_of_hub: Step,
    queue: Vec<Stop>,
}

impl Exchange {
    fn new(weights: &Weights, column_of: Vec<Option<usize>>, (row_duals, column_duals): (&[f64], &[f64])) -> Self {
        let (rows, columns) = (weights.rows(), weights.columns());
        let mut row_of = vec![None; columns];
        for (row, column) in column_of.iter().enumerate() {
            if let Some(column) = *column {
                row_of[column] = Some(row);
            }
        }
        let mut row_choices = vec![Vec::new(); rows];
        let mut column_choices = vec![Vec::new(); columns];
        let mut optional_seen = vec![0; columns];
        let mut has_choice = false;
        for row in 0..rows {
            for (column, &weight) in weights.row(row).iter().enumerate() {
                if weight <= 0 || row_duals[row] + column_duals[column] > 2.0 * f64::from(weight) {
                    continue;
                }
                let matched = column_of[row] == Some(column);
                if row_duals[row] == 0.0 && !matched {
                    // Of the rows that may stay unmatched, a column never needs more than the first `columns`: one of
                    // them is always left over, and it comes earlier. This bounds the work for huge predictions.
                    if optional_seen[column] >= columns {
                        continue;
                    }
                    optional_seen[column] += 1;
                }
                has_choice |= !matched;
                row_choices[row].push(column);
                column_choices[column].push(row);
            }
        }
        Self {
            row_optional: row_duals.iter().map(|&u| u == 0.0).collect(),
            column_optional: column_duals.iter().map(|&u| u == 0.0).collect(),
            settled: vec![false; columns],
            next: vec![Step::Unknown; columns],
            next_of_hub: Step::Unknown,
            queue: Vec::new(),
            column_of,
            row_of,
            row_choices,
            column_choices,
            has_choice,
        }
    }

    /// Gives the row its smallest possible column; rows before it keep theirs.
    fn settle(&mut self, row: usize) {
        let now = self.column_of[row];
        let first = self.row_choices[row].iter().copied().find(|&column| !self.settled[column]);
        if first.is_some() && first != now {
            self.search(row);
            let better = self.row_choices[row]
                .iter()
                .copied()
                .take_while(|&column| Some(column) != now)
                .find(|&column| !self.settled[column] && self.next[column] != Step::Unknown);
            if let Some(column) = better {
                self.take(row, column);
            }
        }
        if let Some(column) = self.column_of[row] {
            self.settled[column] = true;
        }
    }

    /// Finds, backwards from `row`, every stop from which `row` can be reached through later rows.
    fn search(&mut self, row: usize) {
        self.next.fill(Step::Unknown);
        self.next_of_hub = Step::Unknown;
        self.queue.clear();
        match self.column_of[row] {
            Some(column) => self.reach(Stop::Column(column), Step::Arrive),
            None => self.reach(Stop::Hub, Step::Arrive),
        }
        let mut done = 0;
        while let Some(&stop) = self.queue.get(done) {
            done += 1;
            match stop {
                Stop::Column(column) => {
                    for at in 0..self.column_choices[column].len() {
                        let taker = self.column_choices[column][at];
                        if taker > row && self.column_of[taker] != Some(column) {
                            let from = self.column_of[taker].map_or(Stop::Hub, Stop::Column);
                            self.reach(from, Step::Take { row: taker, column });
                        }
                    }
                    if self.row_of[column].is_some() && self.column_optional[column] {
                        self.reach(Stop::Hub, Step::Uncover { column });
                    }
                }
                Stop::Hub => {
                    for column in 0..self.row_of.len() {
                        let free = self.row_of[column].is_none_or(|owner| owner > row && self.row_optional[owner]);
                        if free && !self.settled[column] {
                            self.reach(Stop::Column(column), Step::ThroughHub);
                        }
                    }
                }
            }
        }
    }

    fn reach(&mut self, stop: Stop, step: Step) {
        let slot = match stop {
            Stop::Column(column) => &mut self.next[column],
            Stop::Hub => &mut self.next_of_hub,
        };
        if *slot == Step::Unknown {
            *slot = step;
            self.queue.push(stop);
        }
    }

    /// Matches `row` with `column` and follows the steps until the old partner of `row` is free again.
    fn take(&mut self, row: usize, column: usize) {
        let mut stop = Stop::Column(column);
        // Who the column at the current stop belongs to from now on.
        let mut owner = Some(row);
        loop {
            let (given_up, step) = match stop {
                Stop::Column(column) => (std::mem::replace(&mut self.row_of[column], owner), self.next[column]),
                Stop::Hub => (None, self.next_of_hub),
            };
            match step {
                Step::Unknown | Step::Arrive => break,
                Step::Take { row, column } => {
                    self.column_of[row] = Some(column);
                    owner = Some(row);
                    stop = Stop::Column(column);
                }
                Step::ThroughHub => {
                    if let Some(unmatched) = given_up {
                        self.column_of[unmatched] = None;
                    }
                    stop = Stop::Hub;
                }
                Step::Uncover { column } => {
                    owner = None;
                    stop = Stop::Column(column);
                }
            }
        }
        self.column_of[row] = Some(column);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{best_total, tie_heavy, weights};

    fn solve(weights: &Weights) -> Vec<Option<usize>> {
        lexicographic_matching(weights, &mut Matcher::default())
    }

    /// The definition, by trying every matching.
    fn smallest_of_all(weights: &Weights) -> Vec<Option<usize>> {
        fn all(weights: &Weights, prefix: &mut Vec<Option<usize>>, sum: i64, out: &mut Vec<(i64, Vec<usize>)>) {
            let row = prefix.len();
            if row == weights.rows() {
                let vector = prefix.iter().map(|c| c.unwrap_or(usize::MAX)).collect();
                out.push((-sum, vector));
                return;
            }
            for column in (0..weights.columns()).map(Some).chain([None]) {
                let weight = column.map_or(0, |c| weights.get(row, c));
                if column.is_some() && (weight <= 0 || prefix.contains(&column)) {
                    continue;
                }
                prefix.push(column);
                all(weights, prefix, sum + i64::from(weight), out);
                prefix.pop();
            }
        }
        let mut out = Vec::new();
        all(weights, &mut Vec::new(), 0, &mut out);
        let (sum, vector) = out.into_iter().min().unwrap();
        assert_eq!(-sum, best_total(weights));
        vector.into_iter().map(|c| (c != usize::MAX).then_some(c)).collect()
    }

    #[test]
    fn the_first_row_takes_the_first_of_equal_columns() {
        assert_eq!(solve(&weights(&[vec![950_070; 5]])), [Some(0)]);
        assert_eq!(solve(&weights(&vec![vec![700_000]; 3])), [Some(0), None, None]);
    }

    #[test]
    fn the_maximum_is_never_given_up_for_order() {
        assert_eq!(solve(&weights(&[vec![700_000, 900_000], vec![600_001, 0]])), [Some(1), Some(0)]);
    }

    #[test]
    fn thousands_of_equal_rows_are_matched_in_bounded_time() {
        let mapping = solve(&weights(&vec![vec![1_000_000; 26]; 5_000]));
        assert!(mapping.iter().take(26).copied().eq((0..26).map(Some)));
        assert!(mapping.iter().skip(26).all(Option::is_none));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn equals_the_smallest_of_all_optimal_matchings(weights in tie_heavy()) {
            prop_assert_eq!(solve(&weights), smallest_of_all(&weights));
        }
    }
}
