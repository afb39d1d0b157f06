//! Official aggregate of a language: `overall_statistics` (docs/benchmarks/orchestrationbench.md §5.7).

use serde_json::{Value, json};

use super::official::{GoldCases, ScenarioDecisions, ScenarioRuns};
use super::rounding::round4;
use crate::decision::{Confusion, f1};
use crate::plan::{ScenarioScore, python_sum};

/// The aggregate of a language.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OfficialAggregate {
    /// The four metrics of the tables.
    pub(crate) key: KeyMetrics,
    /// `overall_statistics`, in the shape of the golden files.
    pub(crate) overall_statistics: Value,
    /// `unrounded_means`, in the shape of the golden files.
    pub(crate) unrounded_means: Value,
}

/// The four metrics of the tables, in 0..=1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct KeyMetrics {
    /// Score of the plans.
    pub(crate) plan: f64,
    /// Score of the choice between call and rejection.
    pub(crate) call_rejection: f64,
    /// Score of the function calls.
    pub(crate) function_call: f64,
    /// Mean of the three; of rounded values where these are rounded.
    pub(crate) average: f64,
}

impl KeyMetrics {
    /// Means of two languages, not rounded.
    pub(crate) fn mean_with(self, other: Self) -> Self {
        Self {
            plan: f64::midpoint(self.plan, other.plan),
            call_rejection: f64::midpoint(self.call_rejection, other.call_rejection),
            function_call: f64::midpoint(self.function_call, other.function_call),
            average: f64::midpoint(self.average, other.average),
        }
    }
}

/// Precision, recall, F1 and accuracy with calls, or with rejections, as the positive class.
struct Performance {
    precision: f64,
    recall: f64,
    f1: f64,
    accuracy: f64,
}

impl Performance {
    fn new(tp: u32, tn: u32, fp: u32, fn_: u32) -> Self {
        let (precision, recall) = (share(tp, tp + fp), share(tp, tp + fn_));
        Self { precision, recall, f1: f1(precision, recall), accuracy: share(tp + tn, tp + tn + fp + fn_) }
    }

    fn to_json(&self) -> Value {
        json!({ "precision": self.precision, "recall": self.recall, "f1": self.f1, "accuracy": self.accuracy })
    }
}

fn share(part: u32, whole: u32) -> f64 {
    if whole == 0 { 0.0 } else { f64::from(part) / f64::from(whole) }
}

/// Means over scenarios. A scenario that crashed counts as zero.
struct Means {
    plan: [f64; 4],
    name: f64,
    key: f64,
    value: f64,
}

impl Means {
    fn new(plans: &[ScenarioScore], decisions: &[Option<ScenarioDecisions>]) -> Self {
        let count = plans.len();
        let mean = |sum: f64| if count == 0 { 0.0 } else { sum / count as f64 };
        let plan = |value: fn(&ScenarioScore) -> f64| mean(python_sum(plans.iter().map(value)));
        let decision = |value: fn(&ScenarioDecisions) -> f64| {
            mean(python_sum(decisions.iter().map(|scores| scores.as_ref().map_or(0.0, value))))
        };
        Self {
            plan: [
                plan(|scores| scores.with_failure),
                plan(|scores| scores.without_failure),
                plan(|scores| scores.structural),
                plan(|scores| scores.component),
            ],
            name: decision(|scores| scores.name),
            key: decision(|scores| scores.key),
            value: decision(|scores| scores.value),
        }
    }
}

/// Aggregates the scenarios of one language.
pub(crate) fn aggregate_official(scenarios: &[ScenarioRuns]) -> OfficialAggregate {
    let plans: Vec<ScenarioScore> = scenarios.iter().map(ScenarioRuns::plan).collect();
    let decisions: Vec<Option<ScenarioDecisions>> =
        scenarios.iter().map(|scenario| scenario.decisions().ok()).collect();
    let means = Means::new(&plans, &decisions);
    let mut c = Confusion::default();
    let mut gold = GoldCases::default();
    for scores in decisions.iter().flatten() {
        c += scores.confusion;
        gold.rejections += scores.gold.rejections;
        gold.calls += scores.gold.calls;
    }
    let reject = Performance::new(c.tp_reject, c.tn_reject, c.fp_reject, c.fn_reject);
    let call = Performance::new(c.tn_reject, c.tp_reject, c.fn_reject, c.fp_reject);
    let key = key_metrics(&means, &reject, &call);
    let [with_failure, without_failure, structural, component] = means.plan;
    let errors = c.fp_reject + c.fn_reject;
    let failed_calls = f64::from(gold.calls) - f64::from(c.tn_reject);
    let failed_rate = if gold.calls == 0 { 0.0 } else { round4(failed_calls / f64::from(gold.calls)) };
    let overall_statistics = json!({
        "total_files": scenarios.len(),
        "successful_evaluations": scenarios.len(),
        "failed_evaluations": 0,
        "total_failed_workflow_generation": plans.iter().map(|scores| u64::from(scores.failed)).sum::<u64>(),
        "total_comparison_steps_evaluated": plans.iter().map(|scores| u64::from(scores.compared)).sum::<u64>(),
        "key_metrics": {
            "Average": key.average,
            "Call Rejection Classification Accuracy": key.call_rejection,
            "FC": key.function_call,
            "Plan": key.plan,
        },
        "score_details": {
            "workflow_scores": {
                "workflow_evaluation_with_failure": round4(with_failure),
                "workflow_evaluation_without_failure": round4(without_failure),
                "average_structural_GED": round4(structural),
                "average_component_GED": round4(component),
            },
            "function_call_scores": {
                "function_name_accuracy": round4(means.name),
                "arguments_key_score": round4(means.key),
                "arguments_value_score_not_count_rejection": round4(means.value),
                "overall_function_call_failed_rate": failed_rate,
                "total_fc_successful_calls": c.tn_reject,
                "total_function_call_cases": gold.calls,
            },
            "call_rejection_scores": {
                "total_rejection_cases": gold.rejections,
                "reject_decision_performance": reject.to_json(),
                "fc_decision_performance": call.to_json(),
                "error_patterns": {
                    "overaction_rate": share(c.fn_reject, errors),
                    "underaction_rate": share(c.fp_reject, errors),
                    "type_mismatch_rate": 0.0,
                },
                // The official code counts mismatches of rejection types, but does not use the counts.
                "rejection_type_accuracy": if c.tp_reject > 0 { 1.0 } else { 0.0 },
                "total_rejection_type_mismatch": 0,
                "total_failed_generation": 0,
            },
            "raw_confusion_matrix": {
                "total_true_positive_reject": c.tp_reject, "total_true_negative_reject": c.tn_reject,
                "total_false_positive_reject": c.fp_reject, "total_false_negative_reject": c.fn_reject,
                "total_true_positive_fc": c.tn_reject, "total_false_positive_fc": c.fn_reject,
                "total_false_negative_fc": c.fp_reject, "total_true_negative_fc": c.tp_reject,
            },
        },
    });
    let unrounded_means = json!({
        "workflow_evaluation_with_failure": with_failure,
        "workflow_evaluation_without_failure": without_failure,
        "average_structural_GED": structural,
        "average_component_GED": component,
        "arguments_key_score": means.key,
        "arguments_value_score_not_count_rejection": means.value,
        "function_name_accuracy": means.name,
    });
    OfficialAggregate { key, overall_statistics, unrounded_means }
}

fn key_metrics(means: &Means, reject: &Performance, call: &Performance) -> KeyMetrics {
    let call_rejection = round4((reject.f1 + call.f1) / 2.0);
    let function_call = round4((means.name + means.key + means.value) / 3.0);
    let [with_failure, ..] = means.plan;
    let plan = round4(with_failure);
    KeyMetrics { plan, call_rejection, function_call, average: round4((call_rejection + function_call + plan) / 3.0) }
}
