//! Contributions of a step to the scores, as flat numbers.

use regatta_benchmarks::flat_value;
use std::collections::BTreeMap;

use crate::decision::{Confusion, Crash, Exception};
use crate::plan::PlanStep;

/// A step of the official evaluator.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum StepValues {
    /// A planning step.
    Plan(PlanValues),
    /// A decision step.
    Decision(DecisionValues),
}

/// A planning step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct PlanValues {
    /// The step has a gold plan; others do not count.
    pub(crate) has_gold: bool,
    /// Exception that drops the step's run.
    pub(crate) exception: Option<Exception>,
    /// The exception comes from parsing the answer, which the official code does for all steps of a run before it
    /// compares any.
    pub(crate) is_unreadable: bool,
    /// Failures that the step adds, 0..=2.
    pub(crate) failures: u32,
    /// Similarity of the plans.
    pub(crate) overall: f64,
    /// Similarity of the structure graphs.
    pub(crate) structure: f64,
    /// Similarity of the component graphs.
    pub(crate) component: f64,
}

/// A decision step.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct DecisionValues {
    /// The step has an answer; others do not count.
    pub(crate) is_answered: bool,
    /// Crash that sets the scenario's scores to 0. Only its class survives the conversion to numbers.
    pub(crate) crash: Option<Crash>,
    /// Counts of the decision against the gold.
    pub(crate) confusion: Confusion,
    /// Scores of the call, where gold and answer are calls.
    pub(crate) call: Option<CallValues>,
}

/// Scores of a predicted call against the gold call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CallValues {
    /// F1 of tool names.
    pub(crate) name_f1: f64,
    /// F1 of argument keys.
    pub(crate) key_f1: f64,
    /// F1 of argument values; a judge's counts can make it larger than 1.
    pub(crate) value_f1: f64,
    /// A judge was asked; the official code lists judged steps first.
    pub(crate) is_judged: bool,
}

/// A step of the paper's evaluator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum PaperStepValues {
    /// Similarity of a planning step; `None` without a gold plan.
    Plan(Option<f64>),
    /// A decision step.
    Decision(PaperDecisionValues),
}

/// A decision step of the paper's evaluator.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct PaperDecisionValues {
    /// The gold is a call and not a rejection.
    pub(crate) is_gold_call: bool,
    /// A call was answered with a call, or a rejection with a rejection.
    pub(crate) is_right: bool,
    /// The answer is neither a call nor a rejection.
    pub(crate) has_failed: bool,
    /// The rejection is of the gold's type.
    pub(crate) is_right_type: bool,
    /// F1 of names, keys and values, where gold and answer are calls.
    pub(crate) call: Option<[f64; 3]>,
}

/// Names of values with their numbers.
type Values = BTreeMap<String, f64>;

fn values<const N: usize>(entries: [(&str, f64); N]) -> Values {
    entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn flag(is_so: bool) -> f64 {
    f64::from(u8::from(is_so))
}

fn is_set(values: &Values, name: &str) -> bool {
    number(values, name) != 0.0
}

fn number(values: &Values, name: &str) -> f64 {
    flat_value(values, name)
}

/// Reads a count back: sums of ones, so whole and small.
fn count(values: &Values, name: &str) -> u32 {
    number(values, name).clamp(0.0, f64::from(u32::MAX)) as u32
}

impl StepValues {
    /// Converts to flat values by name.
    pub(crate) fn to_values(&self) -> BTreeMap<String, f64> {
        match self {
            Self::Plan(plan) => plan.to_values(),
            Self::Decision(decision) => decision.to_values(),
        }
    }

    /// Converts back from flat values; `None` if they are not those of a step.
    pub(crate) fn from_values(values: &BTreeMap<String, f64>) -> Option<Self> {
        if values.contains_key("plan_gold") {
            Some(Self::Plan(PlanValues::from_values(values)))
        } else if values.contains_key("answered") {
            Some(Self::Decision(DecisionValues::from_values(values)))
        } else {
            None
        }
    }
}

impl PlanValues {
    /// Takes the values from a scored step.
    pub(crate) fn of(step: &PlanStep) -> Self {
        let compared = step
            .compared
            .map(|compared| [compared.overall, compared.structure.similarity, compared.component.similarity]);
        let [overall, structure, component] = compared.unwrap_or_default();
        Self {
            has_gold: step.has_gold,
            exception: step.exception.map(Exception::named),
            is_unreadable: step.failure() == Some("exception"),
            failures: step.failed,
            overall,
            structure,
            component,
        }
    }

    fn to_values(self) -> Values {
        values([
            ("plan_gold", flag(self.has_gold)),
            ("plan_exception", self.exception.map_or(0.0, Exception::code)),
            ("plan_unreadable", flag(self.is_unreadable)),
            ("plan_failures", f64::from(self.failures)),
            ("plan_overall", self.overall),
            ("plan_structure", self.structure),
            ("plan_component", self.component),
        ])
    }

    fn from_values(values: &Values) -> Self {
        Self {
            has_gold: is_set(values, "plan_gold"),
            exception: Exception::from_code(number(values, "plan_exception")),
            is_unreadable: is_set(values, "plan_unreadable"),
            failures: count(values, "plan_failures"),
            overall: number(values, "plan_overall"),
            structure: number(values, "plan_structure"),
            component: number(values, "plan_component"),
        }
    }
}

impl DecisionValues {
    fn to_values(&self) -> Values {
        let mut all = values([
            ("answered", flag(self.is_answered)),
            ("crashed", self.crash.as_ref().map_or(0.0, |crash| crash.exception.code())),
            ("reject_tp", f64::from(self.confusion.tp_reject)),
            ("reject_tn", f64::from(self.confusion.tn_reject)),
            ("reject_fp", f64::from(self.confusion.fp_reject)),
            ("reject_fn", f64::from(self.confusion.fn_reject)),
            ("reject_other_type", f64::from(self.confusion.type_mismatch)),
        ]);
        if let Some(call) = self.call {
            all.extend(values([
                ("name_f1", call.name_f1),
                ("key_f1", call.key_f1),
                ("value_f1", call.value_f1),
                ("judged", flag(call.is_judged)),
            ]));
        }
        all
    }

    fn from_values(values: &Values) -> Self {
        let crash = Exception::from_code(number(values, "crashed"));
        Self {
            is_answered: is_set(values, "answered"),
            crash: crash.map(|exception| Crash::new(exception, exception.name())),
            confusion: Confusion {
                tp_reject: count(values, "reject_tp"),
                tn_reject: count(values, "reject_tn"),
                fp_reject: count(values, "reject_fp"),
                fn_reject: count(values, "reject_fn"),
                type_mismatch: count(values, "reject_other_type"),
            },
            call: values.contains_key("name_f1").then(|| CallValues {
                name_f1: number(values, "name_f1"),
                key_f1: number(values, "key_f1"),
                value_f1: number(values, "value_f1"),
                is_judged: is_set(values, "judged"),
            }),
        }
    }
}

impl PaperStepValues {
    /// Converts to flat values by name.
    pub(crate) fn to_values(self) -> BTreeMap<String, f64> {
        match self {
            Self::Plan(score) => {
                let mut all = values([("plan_gold", flag(score.is_some()))]);
                all.extend(score.map(|score| ("plan".to_owned(), score)));
                all
            }
            Self::Decision(decision) => decision.to_values(),
        }
    }

    /// Converts back from flat values; `None` if they are not those of a step.
    pub(crate) fn from_values(values: &BTreeMap<String, f64>) -> Option<Self> {
        if values.contains_key("plan_gold") {
            return Some(Self::Plan(values.get("plan").copied()));
        }
        values.contains_key("gold_call").then(|| Self::Decision(PaperDecisionValues::from_values(values)))
    }
}

impl PaperDecisionValues {
    fn to_values(self) -> Values {
        let mut all = values([
            ("gold_call", flag(self.is_gold_call)),
            ("right", flag(self.is_right)),
            ("failed", flag(self.has_failed)),
            ("right_type", flag(self.is_right_type)),
        ]);
        if let Some([name, key, value]) = self.call {
            all.extend(values([("name_f1", name), ("key_f1", key), ("value_f1", value)]));
        }
        all
    }

    fn from_values(values: &Values) -> Self {
        Self {
            is_gold_call: is_set(values, "gold_call"),
            is_right: is_set(values, "right"),
            has_failed: is_set(values, "failed"),
            is_right_type: is_set(values, "right_type"),
            call: values
                .contains_key("name_f1")
                .then(|| ["name_f1", "key_f1", "value_f1"].map(|name| number(values, name))),
        }
    }
}
