//! Aggregates of the scores of many sessions (docs/benchmarks/flowbench.md §5.6, §6.4 to §6.6).

use std::collections::BTreeMap;

use regatta_benchmarks::Score;
use regatta_proto::Evaluator;
use serde_json::{Map, Value, json};

use crate::statistics::FAILURE_TYPES;

/// Names of the flat values, all of which are summed.
pub(super) mod value {
    /// 1 for a successful session.
    pub(crate) const SUCCESS: &str = "success";
    /// Accomplished goals divided by all goals.
    pub(crate) const PROGRESS: &str = "progress";
    /// Number of gold calls; for the official evaluators the number of entries, which is at least one.
    pub(crate) const GOLD: &str = "gold_calls";
    /// Number of predicted calls; the number of entries likewise.
    pub(crate) const PREDICTED: &str = "predicted_calls";
    /// Number of gold calls that were made.
    pub(crate) const RIGHT: &str = "right_calls";
    /// Number of the agent's messages.
    pub(crate) const AGENT_TURNS: &str = "agent_turns";
    /// 1 for an unsuccessful session; like the categories, of the paper's evaluator alone.
    pub(crate) const FAILED: &str = "failed";

    /// Name of the value that is 1 when the session failed in this category, 1 to 5.
    pub(crate) fn failure(category: u8) -> String {
        format!("failure_{category}")
    }
}

/// Returns `true` if a judge's verdict can change the flat value `name` of a session.
pub(crate) fn is_judged(name: &str) -> bool {
    [value::SUCCESS, value::PROGRESS, value::RIGHT, value::FAILED].contains(&name)
        || (1..=FAILURE_TYPES).any(|category| value::failure(category) == name)
}

/// Makes the `aggregate` of the golden files.
pub(crate) fn aggregate(evaluator: Evaluator, scores: &[&Score]) -> Value {
    let sums = Sums::of(scores);
    if evaluator == Evaluator::Paper {
        return Value::Object(sums.paper());
    }
    let mut entries = sums.official();
    let count = |name| json!(sums.of_value(name) as u64);
    for (key, value) in [
        ("sessions", json!(sums.sessions)),
        ("right_api", count(value::RIGHT)),
        ("all_gt", count(value::GOLD)),
        ("all_pre", count(value::PREDICTED)),
        ("derived_tool_f1", json!(f1(sums.tool_precision(), sums.tool_recall()))),
    ] {
        entries.insert(key.to_owned(), value);
    }
    Value::Object(entries)
}

/// Makes `by_file` of the official evaluators, or `by_setting` and `by_domain` of the paper's, from scores with their
/// group.
pub(crate) fn by_group(evaluator: Evaluator, scores: &[(&str, &Score)]) -> Value {
    let mut groups: BTreeMap<&str, Vec<&Score>> = BTreeMap::new();
    for (group, score) in scores {
        groups.entry(group).or_default().push(score);
    }
    let entries = |scores: &[&Score]| match evaluator {
        Evaluator::Official | Evaluator::OfficialFixed => Sums::of(scores).official(),
        _ => Sums::of(scores).paper(),
    };
    groups.iter().map(|(group, scores)| ((*group).to_owned(), Value::Object(entries(scores)))).collect()
}

/// Sums of flat values; floats hold these counts exactly.
struct Sums<'a> {
    sessions: usize,
    sums: BTreeMap<&'a str, f64>,
}

impl<'a> Sums<'a> {
    fn of(scores: &[&'a Score]) -> Self {
        let mut sums = BTreeMap::new();
        for (name, value) in scores.iter().flat_map(|score| &score.values) {
            *sums.entry(name.as_str()).or_default() += value;
        }
        Self { sessions: scores.len(), sums }
    }

    fn of_value(&self, name: &str) -> f64 {
        self.sums.get(name).copied().unwrap_or_default()
    }

    fn mean(&self, name: &str) -> f64 {
        ratio(self.of_value(name), self.sessions as f64)
    }

    fn tool_precision(&self) -> f64 {
        ratio(self.of_value(value::RIGHT), self.of_value(value::PREDICTED))
    }

    fn tool_recall(&self) -> f64 {
        ratio(self.of_value(value::RIGHT), self.of_value(value::GOLD))
    }

    /// Metrics that the released code prints.
    fn official(&self) -> Map<String, Value> {
        let means = [
            ("success_rate", self.mean(value::SUCCESS)),
            ("avg_progress", self.mean(value::PROGRESS)),
            ("tool_precision", self.tool_precision()),
            ("tool_recall", self.tool_recall()),
        ];
        means.into_iter().map(|(name, mean)| (name.to_owned(), json!(mean))).collect()
    }

    /// Metrics that the paper reports.
    fn paper(&self) -> Map<String, Value> {
        let (precision, recall) = (self.tool_precision(), self.tool_recall());
        let failed = self.of_value(value::FAILED);
        let share = |category: u8| 100.0 * ratio(self.of_value(&value::failure(category)), failed);
        let shares: Map<String, Value> =
            (1..=FAILURE_TYPES).map(|category| (category.to_string(), json!(share(category)))).collect();
        let entries = [
            ("sessions", json!(self.sessions)),
            ("tool_precision", json!(precision)),
            ("tool_recall", json!(recall)),
            ("tool_f1", json!(f1(precision, recall))),
            ("success_rate", json!(self.mean(value::SUCCESS))),
            ("task_progress", json!(self.mean(value::PROGRESS))),
            ("avg_turns", json!(self.mean(value::AGENT_TURNS))),
            ("failures", json!(failed as u64)),
            ("failure_share_percent", Value::Object(shares)),
        ];
        entries.into_iter().map(|(name, entry)| (name.to_owned(), entry)).collect()
    }
}

/// Divides; 0 when `whole` is 0.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole == 0.0 { 0.0 } else { part / whole }
}

fn f1(precision: f64, recall: f64) -> f64 {
    ratio(2.0 * precision * recall, precision + recall)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(values: &[(&str, f64)]) -> Score {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        Score { values, detail: Value::Null }
    }

    #[test]
    fn no_sessions_give_zeros() {
        assert_eq!(
            aggregate(Evaluator::Official, &[]),
            json!({
                "success_rate": 0.0, "avg_progress": 0.0, "tool_precision": 0.0, "tool_recall": 0.0, "sessions": 0,
                "right_api": 0, "all_gt": 0, "all_pre": 0, "derived_tool_f1": 0.0,
            })
        );
        let paper = aggregate(Evaluator::Paper, &[]);
        assert_eq!(paper["failure_share_percent"], json!({"1": 0.0, "2": 0.0, "3": 0.0, "4": 0.0, "5": 0.0}));
        assert_eq!(by_group(Evaluator::Paper, &[]), json!({}));
    }

    #[test]
    fn calls_are_counted_over_all_sessions_and_success_by_session() {
        let good = score(&[("success", 1.0), ("gold_calls", 1.0), ("predicted_calls", 1.0), ("right_calls", 1.0)]);
        let bad = score(&[("success", 0.0), ("gold_calls", 3.0), ("predicted_calls", 1.0), ("right_calls", 0.0)]);
        let all = aggregate(Evaluator::OfficialFixed, &[&good, &bad]);
        assert_eq!((&all["tool_precision"], &all["tool_recall"]), (&json!(0.5), &json!(0.25)));
        assert_eq!(all["success_rate"], json!(0.5));
        let files = by_group(Evaluator::OfficialFixed, &[("b", &good), ("a", &bad)]);
        assert_eq!(files["a"]["tool_recall"], json!(0.0));
        assert_eq!(files["b"]["tool_recall"], json!(1.0));
    }

    #[test]
    fn shares_are_of_the_failed_sessions() {
        let failed = score(&[("failed", 1.0), ("failure_4", 1.0)]);
        let all = aggregate(Evaluator::Paper, &[&failed, &score(&[("failed", 0.0)])]);
        assert_eq!((&all["failures"], &all["failure_share_percent"]["4"]), (&json!(1), &json!(100.0)));
    }
}
