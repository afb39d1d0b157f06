//! The aggregate of a cell, as the official code has it.

use std::collections::BTreeMap;

use regatta_proto::ItemIndex;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Score;

/// The aggregate of one cell, or of all trials of a setting and model, under one evaluator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// The aggregate (`aggregate`) in the shape and with the names of the golden files.
    pub aggregate: serde_json::Value,
    /// Columns of the paper's main table in order: label and value in 0..=1 (`None` when there are no items).
    pub columns: Vec<(String, Option<f64>)>,
}

impl Table {
    /// Plain means of all values, each over the sessions that have it, whose number stands beside it where these are not all. There is no paper
    /// whose columns a table could fill.
    #[must_use]
    pub fn of_means(trials: &[Vec<(ItemIndex, &Score)>]) -> Self {
        let mut sums: BTreeMap<&str, (f64, u32)> = BTreeMap::new();
        for (name, value) in trials.iter().flatten().flat_map(|(_, score)| &score.values) {
            let (sum, count) = sums.entry(name).or_default();
            *sum += value;
            *count += 1;
        }
        let means: BTreeMap<&str, f64> =
            sums.iter().map(|(name, (sum, count))| (*name, sum / f64::from(*count))).collect();
        let sessions = trials.iter().map(Vec::len).sum::<usize>();
        let is_part = |count: &u32| *count as usize != sessions;
        let parts: BTreeMap<&str, u32> =
            sums.iter().filter(|(_, (_, count))| is_part(count)).map(|(name, (_, count))| (*name, *count)).collect();
        let mut aggregate = json!({ "sessions": sessions, "means": means });
        if !parts.is_empty() {
            aggregate["sessions_of"] = json!(parts);
        }
        Self { aggregate, columns: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_says_over_how_many_sessions_it_is_where_not_all_have_the_value() {
        let score = |values: &[(&str, f64)]| Score {
            values: values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
            detail: serde_json::Value::Null,
        };
        let (graded, ungraded) = (score(&[("grade", 1.0), ("right", 1.0)]), score(&[("right", 0.0)]));
        let trial = vec![(ItemIndex(0), &graded), (ItemIndex(1), &ungraded)];
        let found = Table::of_means(&[trial]).aggregate;
        let expected = json!({ "sessions": 2, "means": { "grade": 1.0, "right": 0.5 }, "sessions_of": { "grade": 1 } });
        assert_eq!(found, expected);
        assert_eq!(Table::of_means(&[vec![(ItemIndex(0), &graded)]]).aggregate["sessions_of"], serde_json::Value::Null);
    }
}
