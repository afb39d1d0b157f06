//! The paper's evaluator (docs/benchmarks/orchestrationbench.md §6): nothing is rounded, and steps are pooled.

use serde_json::{Value, json};

use super::statistics::KeyMetrics;
use super::step_values::{PaperDecisionValues, PaperStepValues};
use crate::plan::python_sum;

/// All runs of a scenario.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct PaperScenario {
    /// Id without the language.
    pub(crate) id: String,
    /// Steps of all runs.
    pub(crate) steps: Vec<PaperStepValues>,
}

impl PaperScenario {
    /// Mean similarity of the plans; `None` without gold plans.
    pub(crate) fn plan(&self) -> Option<f64> {
        mean(self.steps.iter().filter_map(|step| match step {
            PaperStepValues::Plan(score) => *score,
            PaperStepValues::Decision(_) => None,
        }))
    }

    fn decisions(&self) -> impl Iterator<Item = &PaperDecisionValues> {
        self.steps.iter().filter_map(|step| match step {
            PaperStepValues::Decision(decision) => Some(decision),
            PaperStepValues::Plan(_) => None,
        })
    }
}

/// The aggregate of a language.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PaperAggregate {
    /// The four metrics of the paper's tables; 0 where there is nothing to count.
    pub(crate) key: KeyMetrics,
    /// `aggregate`, in the shape of the golden files.
    pub(crate) aggregate: Value,
}

/// Aggregates the scenarios of one language.
pub(crate) fn aggregate_paper(scenarios: &[PaperScenario]) -> PaperAggregate {
    let decisions = || scenarios.iter().flat_map(PaperScenario::decisions);
    let count = |counts: fn(&PaperDecisionValues) -> bool| decisions().filter(|decision| counts(decision)).count();
    let gold_call = count(|decision| decision.is_gold_call);
    let gold_rejection = count(|decision| !decision.is_gold_call);
    let right_calls = count(|decision| decision.is_right && decision.is_gold_call);
    let right_rejections = count(|decision| decision.is_right && !decision.is_gold_call);
    let right_types = count(|decision| decision.is_right_type);
    let f1 = |which: fn([f64; 3]) -> f64| {
        mean(decisions().filter_map(|decision| decision.call.map(which))).unwrap_or_default()
    };
    let (tool, key, argument) = (f1(|[tool, ..]| tool), f1(|[_, key, _]| key), f1(|[.., argument]| argument));
    let plan = mean(scenarios.iter().filter_map(PaperScenario::plan)).unwrap_or_default();
    let call_rejection = share(right_calls + right_rejections, gold_call + gold_rejection);
    let function_call = (tool + key + argument) / 3.0;
    let average = (plan + call_rejection + function_call) / 3.0;
    let aggregate = json!({
        "Plan": plan,
        "C/R": call_rejection,
        "FC": function_call,
        "Score": average,
        "tool_f1": tool,
        "key_f1": key,
        "argument_f1": argument,
        "counts": {
            "gold_fc": gold_call,
            "gold_reject": gold_rejection,
            "ok_fc": right_calls,
            "ok_reject": right_rejections,
            "failed": count(|decision| decision.has_failed),
            "type_ok": right_types,
        },
        "rejection_type_accuracy": share(right_types, right_rejections),
    });
    PaperAggregate { key: KeyMetrics { plan, call_rejection, function_call, average }, aggregate }
}

fn mean(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    let numbers: Vec<f64> = numbers.collect();
    (!numbers.is_empty()).then(|| python_sum(numbers.iter().copied()) / numbers.len() as f64)
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
