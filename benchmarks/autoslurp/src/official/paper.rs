//! Accuracy as the paper defines it, from the verdicts of `eval/eval.py`: an item is right if a message says so and none says wrong, and
//! the accuracy is the share of such items (docs/benchmarks/autoslurp.md §6). It differs from the official one where no message of an item
//! was understood, and where there are not a hundred items.

use std::collections::BTreeMap;

use regatta_benchmarks::{Score, Table, flat_value};
use serde_json::{Value, json};

use super::scoring::{self, RIGHT};
use super::tabulation::number;

/// Heading of its one column.
const SUCCESS_RATE: &str = "success rate";

/// The score that follows from the official one.
pub(crate) fn of_official(official: &Score) -> Score {
    // Nobody judged the whole of what ended early.
    let is_aborted = official.detail.get("aborted").is_some_and(|aborted| *aborted == Value::Bool(true));
    let right = if is_aborted { 0.0 } else { flat_value(&official.values, RIGHT) };
    let verdict = official.detail.get("verdict").cloned().unwrap_or(Value::Null);
    let detail = json!({ "right": right > 0.5, "verdict": verdict });
    Score { values: BTreeMap::from([(RIGHT.to_owned(), right)]), detail }
}

/// The score of a session that the model itself made impossible.
pub(crate) fn failure() -> Score {
    of_official(&scoring::failure())
}

/// The share of right items in all trials together.
pub(crate) fn tabulate(trials: &[Vec<(u32, &Score)>]) -> Table {
    let scores: Vec<&Score> = trials.iter().flatten().map(|(_, score)| *score).collect();
    let right = scores.iter().filter(|score| score.values.get(RIGHT).is_some_and(|right| *right > 0.5)).count();
    let acc = number(scores.len()).map(|items| number(right).unwrap_or_default() / items);
    let aggregate = json!({ "acc": acc, "right": right, "items": scores.len() });
    Table { aggregate, columns: vec![(SUCCESS_RATE.to_owned(), acc)] }
}
