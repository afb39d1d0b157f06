//! Runs and scenarios in the shape of the golden files.

use serde_json::{Value, json};

use super::official::{Run, ScenarioDecisions, ScenarioRuns};
use super::rounding::round4;
use crate::decision::Confusion;

/// Entry of a run, as `runs["EN/1/2"]` in the golden files.
pub(crate) fn run_record(run: &Run) -> Value {
    let decision = match run.decisions() {
        Err(crash) => json!({ "exception": crash.exception.name() }),
        Ok(scores) => {
            let c = scores.confusion;
            json!({
                "key_score": scores.key,
                "value_score_not_count_rejection": round4(scores.value),
                "function_name_score": scores.name,
                "total_perfect_function_calls": scores.perfect,
                "fc_successful_calls": c.tn_reject,
                "rejection_cases": run.gold.rejections,
                "function_call_cases": run.gold.calls,
                "true_positive_reject": c.tp_reject, "true_negative_reject": c.tn_reject,
                "false_positive_reject": c.fp_reject, "false_negative_reject": c.fn_reject,
                "true_positive_fc": c.tn_reject, "false_positive_fc": c.fn_reject,
                "false_negative_fc": c.fp_reject, "true_negative_fc": c.tp_reject,
                "rejection_type_mismatch": c.type_mismatch,
                "failed_generation": 0,
            })
        }
    };
    json!({ "plan": run.plan().entry(), "decision": decision })
}

/// Entry of a scenario, as `scenarios["1"]` in the golden files.
pub(crate) fn scenario_record(scenario: &ScenarioRuns) -> Value {
    let mut record = scenario.plan().entry();
    let decisions = scenario.decisions();
    let known = decisions.as_ref().ok();
    let score = |value: fn(&ScenarioDecisions) -> f64| known.map_or(0.0, value);
    let c = known.map_or_else(Confusion::default, |scores| scores.confusion);
    let gold = known.map(|scores| scores.gold).unwrap_or_default();
    let rest = json!({
        "function_name_accuracy": score(|scores| scores.name),
        "arguments_key_score": score(|scores| scores.key),
        "arguments_value_score_not_count_rejection": score(|scores| scores.value),
        "total_fc_successful_calls": c.tn_reject,
        "total_rejection_cases": gold.rejections,
        "total_function_call_cases": gold.calls,
        "total_true_positive_reject": c.tp_reject, "total_true_negative_reject": c.tn_reject,
        "total_false_positive_reject": c.fp_reject, "total_false_negative_reject": c.fn_reject,
        "total_true_positive_fc": c.tn_reject, "total_false_positive_fc": c.fn_reject,
        "total_false_negative_fc": c.fp_reject, "total_true_negative_fc": c.tp_reject,
        "arguments_error": decisions.as_ref().err().map(|crash| &crash.message),
        // Absent from the details of a scenario that crashed.
        "detail_total_rejection_type_mismatch": known.map(|_| c.type_mismatch),
        "detail_total_failed_generation": known.map(|_| 0),
        "detail_total_perfect_function_calls": known.map(|scores| scores.perfect),
    });
    if let (Value::Object(record), Value::Object(rest)) = (&mut record, rest) {
        record.extend(rest);
    }
    record
}
