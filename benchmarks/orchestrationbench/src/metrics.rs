//! Metrics: means, ratios and averages of the flat values of steps.
//!
//! The official code rounds on the way (docs/benchmarks/orchestrationbench.md §5.7); these are the numbers before
//! rounding, so that they can have intervals. The official ones, rounded to four digits, are in the aggregates. All
//! scenarios of both languages have equal weight here; the repository's table averages the languages.

use std::collections::BTreeMap;

use regatta_benchmarks::{Better, Measure, Metric, OverTrials, Unit};
use regatta_proto::Evaluator;

use super::setting::Mode;

/// Names of flat values beside those of the evaluators' steps.
pub(crate) mod value {
    /// Weight of a planning step: as a comparison, and for its failures (docs/benchmarks/orchestrationbench.md §5.3).
    pub(crate) const PLAN_WEIGHT: &str = "plan_weight";
    /// 1 for an answer that is a call where a call is right; absent in steps where a rejection is right.
    pub(crate) const CALL: &str = "call";
    /// 1 for such a call whose value F1 is above zero: the official mean leaves the others out
    /// (docs/benchmarks/orchestrationbench.md §5.6).
    pub(crate) const VALUED_CALL: &str = "valued_call";
    /// 1 for an answer that rejects.
    pub(crate) const REJECT_PREDICTED: &str = "reject_predicted";
    /// 1 where a rejection is right.
    pub(crate) const REJECT_GOLD: &str = "reject_gold";
    /// 1 for an answer that calls.
    pub(crate) const CALL_PREDICTED: &str = "call_predicted";
    /// 1 where a call is right.
    pub(crate) const CALL_GOLD: &str = "call_gold";
    /// 1 for a planning step.
    pub(crate) const PLANS: &str = "plans";
    /// 1 for a decision step.
    pub(crate) const DECISIONS: &str = "decisions";
    /// 1 for a decision step without an answer.
    pub(crate) const UNANSWERED: &str = "unanswered";
    /// 1 for a planning step without a readable plan.
    pub(crate) const PLAN_FAILED: &str = "plan_failed";
    /// 1 for an answer that rejects where a rejection is right.
    pub(crate) const RIGHT_REJECTION: &str = "right_rejection";
    /// 1 for a call where a rejection is right, or the reverse.
    pub(crate) const WRONG: &str = "wrong_decision";
}

/// Names of the values of whole scenarios, beside the sums over their steps.
pub(crate) mod scenario_value {
    /// 1 when a call diverged from the gold.
    pub(crate) const DIVERGED: &str = "diverged";
    /// Number of the gold's steps that were matched with a call.
    pub(crate) const REACHED: &str = "reached";
    /// Number of steps after the first divergence that were not asked as in the gold.
    pub(crate) const CHANGED: &str = "changed";
    /// Number of the gold's steps.
    pub(crate) const STEPS: &str = "steps";
    /// Number of calls without a step.
    pub(crate) const EXTRA_CALLS: &str = "extra_calls";
}

/// Adds to the values of a step those that metrics need. `is_gold_call` is `true` if a call is right there.
pub(crate) fn derive(values: &mut BTreeMap<String, f64>, is_gold_call: bool) {
    let number = |values: &BTreeMap<String, f64>, name: &str| values.get(name).copied().unwrap_or_default();
    let has = |values: &BTreeMap<String, f64>, name: &str| values.contains_key(name);
    let mut derived: Vec<(&str, f64)> = Vec::new();
    let is_planning = has(values, "plan_gold");
    derived.push((if is_planning { value::PLANS } else { value::DECISIONS }, 1.0));
    if has(values, "plan_failures") {
        let failures = number(values, "plan_failures");
        derived.push((value::PLAN_WEIGHT, number(values, "plan_gold") + failures));
        let is_failed = failures > 0.0 || number(values, "plan_exception") > 0.0;
        derived.push((value::PLAN_FAILED, f64::from(u8::from(is_failed))));
    }
    let is_call = f64::from(u8::from(has(values, "name_f1")));
    if is_gold_call {
        derived.push((value::CALL, is_call));
    }
    if has(values, "answered") {
        let of = |one: &str, other: &str| number(values, one) + number(values, other);
        let (reject_gold, call_gold) = match number(values, "answered") {
            // The official code leaves unanswered steps out. Here the model itself failed to answer, so the decision
            // counts as missed; a step that was not measured has no values at all.
            0.0 => (f64::from(u8::from(!is_gold_call)), f64::from(u8::from(is_gold_call))),
            _ => (of("reject_tp", "reject_fn"), of("reject_tn", "reject_fp")),
        };
        let valued = f64::from(u8::from(number(values, "value_f1") > 0.0));
        derived.extend([
            (value::REJECT_PREDICTED, of("reject_tp", "reject_fp")),
            (value::REJECT_GOLD, reject_gold),
            (value::CALL_PREDICTED, of("reject_tn", "reject_fn")),
            (value::CALL_GOLD, call_gold),
            (value::WRONG, of("reject_fp", "reject_fn")),
            (value::UNANSWERED, 1.0 - number(values, "answered")),
        ]);
        if is_gold_call {
            derived.push((value::VALUED_CALL, valued));
        }
    }
    if has(values, "right") {
        let is_right_rejection = number(values, "gold_call") == 0.0 && number(values, "right") > 0.0;
        derived.push((value::RIGHT_REJECTION, f64::from(u8::from(is_right_rejection))));
    }
    values.extend(derived.into_iter().map(|(name, value)| (name.to_owned(), value)));
}

/// Returns `true` if a judge's verdict can change `value`: judges compare the values of arguments alone.
pub(crate) fn is_judged(value: &str) -> bool {
    ["value_f1", value::VALUED_CALL].contains(&value)
}

/// Metrics of `evaluator`; the first four are those of the tables.
pub(crate) fn metrics(mode: Mode, evaluator: Evaluator) -> Vec<Metric> {
    let mut metrics = match evaluator {
        Evaluator::Official | Evaluator::OfficialFixed => official(),
        _ => paper(),
    };
    if mode == Mode::EndToEnd {
        use scenario_value::{CHANGED, DIVERGED, EXTRA_CALLS, REACHED, STEPS};
        metrics.extend([
            wrong(DIVERGED, mean(DIVERGED)),
            detail(REACHED, pooled(ratio(REACHED, STEPS))),
            wrong(CHANGED, pooled(ratio(CHANGED, STEPS))),
            Metric { range: (0.0, f64::INFINITY), unit: Unit::Plain, ..wrong(EXTRA_CALLS, mean(EXTRA_CALLS)) },
        ]);
    }
    metrics
}

fn official() -> Vec<Metric> {
    let plan = || plan_mean("plan_overall", value::PLAN_WEIGHT);
    let compared = |numerator| plan_mean(numerator, "plan_gold");
    let reject = || decision_f1("reject_tp", value::REJECT_PREDICTED, value::REJECT_GOLD);
    let call = || decision_f1("reject_tn", value::CALL_PREDICTED, value::CALL_GOLD);
    let decided = || average([reject(), call()]);
    let called = || {
        average([
            call_mean("name_f1", value::CALL),
            call_mean("key_f1", value::CALL),
            call_mean("value_f1", value::VALUED_CALL),
        ])
    };
    vec![
        shown("score", average([plan(), decided(), called()])),
        shown("plan", plan()),
        shown("cr", decided()),
        shown("fc", called()),
        detail("plan_without_failure", compared("plan_overall")),
        detail("plan_structure", compared("plan_structure")),
        detail("plan_component", compared("plan_component")),
        wrong("plan_failed", pooled(ratio(value::PLAN_FAILED, value::PLANS))),
        detail("reject_f1", reject()),
        detail("call_f1", call()),
        wrong("overaction", of_errors("reject_fn")),
        wrong("underaction", of_errors("reject_fp")),
        wrong("unanswered", pooled(ratio(value::UNANSWERED, value::DECISIONS))),
        detail("name_f1", call_mean("name_f1", value::CALL)),
        detail("key_f1", call_mean("key_f1", value::CALL)),
        detail("value_f1", call_mean("value_f1", value::VALUED_CALL)),
    ]
}

fn paper() -> Vec<Metric> {
    let plan = || Measure::GroupMean {
        numerator: "plan".to_owned(),
        denominator: "plan_gold".to_owned(),
        of_item: true,
        trials: OverTrials::Pooled,
        drop_run_if: None,
        zero_group_if: None,
    };
    let right = || pooled(ratio("right", value::DECISIONS));
    let of_calls = |numerator| pooled(ratio(numerator, value::CALL));
    let called = || average([of_calls("name_f1"), of_calls("key_f1"), of_calls("value_f1")]);
    vec![
        shown("score", average([plan(), right(), called()])),
        shown("plan", plan()),
        shown("cr", right()),
        shown("fc", called()),
        detail("name_f1", of_calls("name_f1")),
        detail("key_f1", of_calls("key_f1")),
        detail("value_f1", of_calls("value_f1")),
        detail("rejection_type", pooled(ratio("right_type", value::RIGHT_REJECTION))),
        wrong("failed", pooled(ratio("failed", value::DECISIONS))),
    ]
}

/// Mean over scenarios with their runs taken together; a run whose plans crash the evaluator is left out.
fn plan_mean(numerator: &str, denominator: &str) -> Measure {
    Measure::GroupMean {
        numerator: numerator.to_owned(),
        denominator: denominator.to_owned(),
        of_item: false,
        trials: OverTrials::Pooled,
        drop_run_if: Some("plan_exception".to_owned()),
        zero_group_if: None,
    }
}

/// Mean over scenarios of the mean over runs; a scenario that crashes the evaluator counts as 0.
fn call_mean(numerator: &str, denominator: &str) -> Measure {
    Measure::GroupMean {
        numerator: numerator.to_owned(),
        denominator: denominator.to_owned(),
        of_item: false,
        trials: OverTrials::Mean,
        drop_run_if: None,
        zero_group_if: Some("crashed".to_owned()),
    }
}

fn decision_f1(right: &str, predicted: &str, gold: &str) -> Measure {
    pooled_unless_crashed(Measure::F1 {
        right: right.to_owned(),
        predicted: predicted.to_owned(),
        gold: gold.to_owned(),
    })
}

fn of_errors(numerator: &str) -> Measure {
    pooled_unless_crashed(ratio(numerator, value::WRONG))
}

fn pooled_unless_crashed(of: Measure) -> Measure {
    Measure::Pooled { of: Box::new(of), zero_group_if: Some("crashed".to_owned()) }
}

fn pooled(of: Measure) -> Measure {
    Measure::Pooled { of: Box::new(of), zero_group_if: None }
}

fn ratio(numerator: &str, denominator: &str) -> Measure {
    Measure::Ratio { numerator: numerator.to_owned(), denominator: denominator.to_owned(), of_item: false }
}

fn mean(value: &str) -> Measure {
    Measure::Mean { value: value.to_owned() }
}

fn average<const N: usize>(of: [Measure; N]) -> Measure {
    Measure::Average { of: of.into() }
}

fn shown(name: &str, measure: Measure) -> Metric {
    Metric { measure, unit: Unit::Percent, if_empty: Some(0.0), ..Metric::mean(name) }
}

fn detail(name: &str, measure: Measure) -> Metric {
    Metric { headline: false, ..shown(name, measure) }
}

fn wrong(name: &str, measure: Measure) -> Metric {
    Metric { better: Better::Lower, ..detail(name, measure) }
}
