//! A whole run: items are counted by hundreds, each hundred as a test set of its own (docs/benchmarks/autoslurp.md §5.2).

use std::collections::BTreeMap;

use regatta_benchmarks::{Score, Table};
use regatta_proto::Script;
use serde_json::{Value, json};

use super::rules::Rules;
use super::scoring::{RIGHT, UNPARSABLE, WRONG};
use super::stat::{Counts, DIVISOR, Verdict};

/// The column of what `stat.py` prints: no success rate, where there are not a hundred items.
const PRINTED: &str = "printed accuracy";

/// The aggregate of some trials together, each with its scores by ascending number among the items that were run. Every hundred numbers of
/// a trial are counted as one run of the official code: over a hundred, however many of them there are, and with its last item right unless
/// it is wrong. [`Score::detail`] is not read.
pub(crate) fn tabulate(script: Option<Script>, trials: &[Vec<(u32, &Score)>]) -> Table {
    let rules = Rules::of(script);
    let mut chunks = Vec::new();
    for trial in trials {
        let mut items: BTreeMap<u32, Vec<(Verdict, u32)>> = BTreeMap::new();
        for (number, score) in trial {
            items.entry(number / DIVISOR).or_default().push(counted(score));
        }
        chunks.extend(items.into_iter().map(|(chunk, items)| Chunk::new(&rules, chunk, &items)));
    }
    table(&chunks)
}

fn counted(score: &Score) -> (Verdict, u32) {
    let is = |name: &str| score.values.get(name).is_some_and(|value| *value > 0.5);
    let verdict = match (is(WRONG), is(RIGHT)) {
        (true, _) => Verdict::Wrong,
        (false, true) => Verdict::Right,
        (false, false) => Verdict::Error,
    };
    (verdict, UNPARSABLE.into_iter().map(|name| u32::from(is(name))).sum())
}

/// Counts of the items that were run as one test set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chunk {
    number: u32,
    items: usize,
    counts: Counts,
}

impl Chunk {
    /// Counts its items: the verdict of each, and how many of its messages were not understood.
    pub(super) fn new(rules: &Rules, number: u32, items: &[(Verdict, u32)]) -> Self {
        Self { number, items: items.len(), counts: Counts::of_items(rules.first_separator_is_an_error, items) }
    }

    fn value(&self) -> Value {
        let Counts { right, wrong, error_lines, verdicts } = &self.counts;
        let verdicts: BTreeMap<&str, u32> =
            verdicts.iter().map(|(verdict, count)| (verdict.as_str(), *count)).collect();
        json!({
            "chunk": self.number,
            "items": self.items,
            "acc": self.counts.accuracy(),
            "right": right,
            "wrong": wrong,
            "error_lines": error_lines,
            "verdicts": verdicts,
        })
    }
}

/// The aggregate of all chunks.
pub(super) fn table(chunks: &[Chunk]) -> Table {
    let sum = |count: fn(&Chunk) -> u32| chunks.iter().map(count).sum::<u32>();
    let (right, wrong) = (sum(|chunk| chunk.counts.right), sum(|chunk| chunk.counts.wrong));
    let items: usize = chunks.iter().map(|chunk| chunk.items).sum();
    let accuracies = chunks.iter().map(|chunk| chunk.counts.accuracy()).sum::<f64>();
    let mean = number(chunks.len()).map(|count| accuracies / count);
    let mut aggregate = json!({
        "acc": mean.filter(|_| chunks.len() == 1),
        "right": right,
        "wrong": wrong,
        "items": items,
        "chunks": chunks.iter().map(Chunk::value).collect::<Vec<_>>(),
    });
    if chunks.len() > 1 {
        aggregate["mean_of_chunk_acc"] = json!(mean);
        aggregate["right_over_items"] = json!(number(items).map(|items| f64::from(right) / items));
    }
    Table { aggregate, columns: vec![(PRINTED.to_owned(), mean)] }
}

/// A number to divide by.
pub(super) fn number(count: usize) -> Option<f64> {
    u32::try_from(count).ok().filter(|count| *count > 0).map(f64::from)
}

#[cfg(test)]
mod tests {
    use super::super::scoring::ERROR;
    use super::*;

    fn score(names: &[&str]) -> Score {
        let values = names.iter().map(|name| ((*name).to_owned(), 1.0)).collect();
        Score { values, detail: Value::Null }
    }

    #[test]
    fn the_last_item_of_every_hundred_rows_is_right_unless_it_is_wrong() {
        let error = score(&[ERROR, UNPARSABLE[0], UNPARSABLE[1]]);
        let wrong = score(&[WRONG]);
        let trial = vec![(3, &wrong), (98, &error), (99, &error), (100, &error), (250, &wrong)];
        let table = tabulate(None, &[trial]);
        assert_eq!(
            table.aggregate,
            json!({
                "acc": null, "right": 2, "wrong": 2, "items": 5, "mean_of_chunk_acc": 0.02 / 3.0, "right_over_items": 0.4,
                "chunks": [
                    {"chunk": 0, "items": 3, "acc": 0.01, "right": 1, "wrong": 1, "error_lines": 6,
                     "verdicts": {"wrong": 1, "error": 2}},
                    {"chunk": 1, "items": 1, "acc": 0.01, "right": 1, "wrong": 0, "error_lines": 3, "verdicts": {"error": 1}},
                    {"chunk": 2, "items": 1, "acc": 0.0, "right": 0, "wrong": 1, "error_lines": 1, "verdicts": {"wrong": 1}},
                ],
            })
        );
    }

    #[test]
    fn a_run_of_ten_items_is_divided_by_a_hundred() {
        let right = score(&[RIGHT]);
        let table = tabulate(Some(Script::Agentlite), &[(0..10).map(|row| (row, &right)).collect()]);
        assert_eq!(table.columns, [(PRINTED.to_owned(), Some(0.1))]);
        assert_eq!(table.aggregate["acc"], json!(0.1));
    }

    #[test]
    fn trials_are_chunks_of_their_own_and_none_have_no_rate() {
        let right = score(&[RIGHT]);
        let table = tabulate(None, &[vec![(0, &right)], vec![(0, &right), (1, &right)]]);
        assert_eq!(table.columns[0].1, Some(0.015));
        assert_eq!(tabulate(None, &[]).columns[0].1, None);
    }
}
