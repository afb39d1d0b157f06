//! Aggregates of the scores of many turns: sums over all items (docs/benchmarks/flowbench.md §5.6, §6.1 to §6.3).

use std::collections::BTreeMap;

use regatta_benchmarks::Score;
use regatta_proto::Evaluator;
use serde_json::{Map, Value, json};

/// Converts a count to a flat value; counts of parameters stay far below 2^53.
pub(super) fn to_value(count: usize) -> f64 {
    count as f64
}

/// Makes the `aggregate` of the golden files: micro averages with their counts. Null for an official run that crashed.
pub(crate) fn aggregate(evaluator: Evaluator, scores: &[&Score]) -> Value {
    let sums = Sums::of(scores);
    match evaluator {
        Evaluator::Official if sums.crashed => Value::Null,
        Evaluator::Official => {
            let ratios = sums.ratios(official_ratio);
            let mut entries = ratios.official();
            sums.add_counts(&mut entries);
            entries.insert("derived_f1_call".to_owned(), json!(f1(ratios.call_precision, ratios.call_recall)));
            entries.insert("derived_f1_params".to_owned(), json!(f1(ratios.param_precision, ratios.param_recall)));
            Value::Object(entries)
        }
        Evaluator::OfficialFixed => {
            let mut entries = sums.ratios(official_ratio).named();
            sums.add_counts(&mut entries);
            Value::Object(entries)
        }
        _ => {
            let mut entries = sums.ratios(ratio).named();
            sums.add_counts(&mut entries);
            sums.add_judgements(&mut entries);
            Value::Object(entries)
        }
    }
}

/// Makes `by_file` of the golden files: the ratios of each group of turns. Null for an official run in which any turn
/// crashed.
pub(crate) fn by_file(evaluator: Evaluator, scores: &[(&str, &Score)]) -> Value {
    let mut files: BTreeMap<&str, Vec<&Score>> = BTreeMap::new();
    for (file, score) in scores {
        files.entry(file).or_default().push(score);
    }
    let mut entries = Map::new();
    for (file, scores) in files {
        let sums = Sums::of(&scores);
        let ratios = match evaluator {
            Evaluator::Official if sums.crashed => return Value::Null,
            Evaluator::Official => sums.ratios(official_ratio).official(),
            Evaluator::OfficialFixed => sums.ratios(official_ratio).named(),
            _ => sums.ratios(ratio).named(),
        };
        entries.insert(file.to_owned(), Value::Object(ratios));
    }
    Value::Object(entries)
}

/// The official division: a denominator of 0 is replaced by −1, so 0 / 0 is −0.0.
fn official_ratio(part: f64, whole: f64) -> f64 {
    part / if whole == 0.0 { -1.0 } else { whole }
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole == 0.0 { 0.0 } else { part / whole }
}

fn f1(precision: f64, recall: f64) -> f64 {
    ratio(2.0 * precision * recall, precision + recall)
}

struct Ratios {
    call_precision: f64,
    call_recall: f64,
    param_precision: f64,
    param_recall: f64,
}

impl Ratios {
    /// Returns the ratios under the names that the official code prints.
    fn official(&self) -> Map<String, Value> {
        entries([
            ("turn_call_pre", self.call_precision),
            ("turn_call_rec", self.call_recall),
            ("turn_params_pre", self.param_precision),
            ("turn_params_rec", self.param_recall),
        ])
    }

    /// Returns the ratios and F1 under plain names.
    fn named(&self) -> Map<String, Value> {
        entries([
            ("tool_precision", self.call_precision),
            ("tool_recall", self.call_recall),
            ("tool_f1", f1(self.call_precision, self.call_recall)),
            ("param_precision", self.param_precision),
            ("param_recall", self.param_recall),
            ("param_f1", f1(self.param_precision, self.param_recall)),
        ])
    }
}

fn entries<const N: usize>(values: [(&str, f64); N]) -> Map<String, Value> {
    values.into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect()
}

/// Sums of flat values; floats hold these counts exactly.
struct Sums<'a> {
    sums: BTreeMap<&'a str, f64>,
    /// Number of scores that have the value.
    numbers: BTreeMap<&'a str, u32>,
    crashed: bool,
}

impl<'a> Sums<'a> {
    fn of(scores: &[&'a Score]) -> Self {
        let mut sums = Self { sums: BTreeMap::new(), numbers: BTreeMap::new(), crashed: false };
        for (name, value) in scores.iter().flat_map(|score| &score.values) {
            *sums.sums.entry(name).or_default() += value;
            *sums.numbers.entry(name).or_default() += 1;
        }
        sums.crashed = sums.sum("crashed") > 0.0;
        sums
    }

    fn sum(&self, name: &str) -> f64 {
        self.sums.get(name).copied().unwrap_or_default()
    }

    fn number(&self, name: &str) -> u32 {
        self.numbers.get(name).copied().unwrap_or_default()
    }

    fn mean(&self, name: &str) -> Option<f64> {
        let number = self.number(name);
        (number > 0).then(|| self.sum(name) / f64::from(number))
    }

    fn ratios(&self, ratio: fn(f64, f64) -> f64) -> Ratios {
        let of = |part: &str, whole: &str| ratio(self.sum(part), self.sum(whole));
        Ratios {
            call_precision: of("right_function", "all_function_pred"),
            call_recall: of("right_function", "all_function"),
            param_precision: of("right_params", "all_params_pred"),
            param_recall: of("right_params", "all_params"),
        }
    }

    fn add_counts(&self, entries: &mut Map<String, Value>) {
        for (name, value) in [
            ("call_right", "right_function"),
            ("call_all_gt", "all_function"),
            ("call_all_pred", "all_function_pred"),
            ("params_right", "right_params"),
            ("params_all_gt", "all_params"),
            ("params_all_pred", "all_params_pred"),
        ] {
            entries.insert(name.to_owned(), whole(self.sum(value)));
        }
    }

    fn add_judgements(&self, entries: &mut Map<String, Value>) {
        entries.insert("node_accuracy".to_owned(), json!(self.mean("node_right")));
        entries.insert("node_total".to_owned(), json!(self.number("node_right")));
        entries.insert("response_score_mean".to_owned(), json!(self.mean("response_score")));
        entries.insert("response_scored".to_owned(), json!(self.number("response_score")));
        entries.insert("response_unscored".to_owned(), json!(self.number("response_unscored")));
    }
}

/// Serialises a sum of counts as an integer.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sums of counts are neither negative nor huge"
)]
fn whole(sum: f64) -> Value {
    json!(sum as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(values: &[(&str, f64)]) -> Score {
        Score { values: values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(), detail: Value::Null }
    }

    #[test]
    fn nothing_of_nothing_is_minus_zero_officially_and_zero_for_the_paper() {
        let official = aggregate(Evaluator::Official, &[]);
        assert!(official["turn_call_pre"].as_f64().is_some_and(|zero| zero == 0.0 && zero.is_sign_negative()));
        let paper = aggregate(Evaluator::Paper, &[]);
        assert!(paper["tool_precision"].as_f64().is_some_and(|zero| zero == 0.0 && zero.is_sign_positive()));
        assert_eq!((&paper["response_score_mean"], &paper["node_accuracy"]), (&Value::Null, &Value::Null));
        assert_eq!(official["derived_f1_call"], 0.0);
    }

    #[test]
    fn a_run_that_crashes_anywhere_has_no_numbers() {
        let (good, bad) = (score(&[("all_function", 1.0), ("crashed", 0.0)]), score(&[("crashed", 1.0)]));
        assert_eq!(aggregate(Evaluator::Official, &[&good, &bad]), Value::Null);
        assert_eq!(by_file(Evaluator::Official, &[("a", &good), ("b", &bad)]), Value::Null);
        assert_eq!(aggregate(Evaluator::Official, &[&good])["call_all_gt"], 1);
    }

    #[test]
    fn sums_are_taken_before_ratios() {
        let (a, b) = (
            score(&[("right_function", 1.0), ("all_function", 1.0), ("response_score", 4.0)]),
            score(&[("right_function", 1.0), ("all_function", 3.0), ("response_score", 7.0)]),
        );
        let table = aggregate(Evaluator::Paper, &[&a, &b]);
        assert_eq!((table["tool_recall"].as_f64(), table["response_score_mean"].as_f64()), (Some(0.5), Some(5.5)));
        assert_eq!(by_file(Evaluator::Paper, &[("x", &a), ("y", &b)])["x"]["tool_recall"], 1.0);
    }
}
