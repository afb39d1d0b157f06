//! A decision step by the paper's evaluator (docs/benchmarks/orchestrationbench.md §6, points 5 and 6).

use regatta_proto::Question;
use serde_json::{Value, json};

use super::answer::Answer;
use super::class::{Called, Class, Decided, Gold, decided_by_paper, gold};
use super::quality::{Quality, Unsettled};
use super::score_official::{DecisionStep, arguments};
use crate::aggregate::PaperDecisionValues;
use crate::judge::{Conversation, Credit, Judging, value_score};

/// Result of the paper's evaluator for a decision step.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PaperDecision {
    /// Class of the gold.
    pub(crate) actual: Class,
    /// Class of the answer.
    pub(crate) decided: Class,
    /// Comparison of the calls, where gold and answer are calls.
    pub(crate) call: Option<PaperCall>,
}

/// A predicted call compared with the gold call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PaperCall {
    /// Counts before the judges; `None` when the arguments cannot be merged, which makes all scores 0.
    pub(crate) quality: Option<Quality>,
    /// F1 of values by each judge; one element when no judge is needed.
    pub(crate) by_judge: Vec<f64>,
    /// Judges are needed.
    pub(crate) is_judged: bool,
}

/// Scores an answer; `None` when the call failed.
///
/// # Errors
/// With the question that judges must answer first.
pub(crate) fn score_paper(
    step: DecisionStep<'_>,
    answer: Option<&Answer>,
    judging: Judging<'_>,
    conversation: impl FnOnce(&Called, &[Unsettled<'_>]) -> Conversation,
) -> Result<PaperDecision, Box<Question>> {
    let (gold, decided) = (gold(step.gold), decided_by_paper(answer));
    // Calls whose arguments cannot be merged are calls all the same.
    let actual = gold.as_ref().map_or(Class::Call, Gold::class);
    let class = decided.as_ref().map_or(Class::Call, Decided::class);
    let call = match (actual, class) {
        (Class::Call, Class::Call) => match (gold, decided) {
            (Ok(Gold::Call(gold)), Ok(Decided::Call(called))) => {
                Some(PaperCall::new(step, &gold, &called, judging, conversation)?)
            }
            _ => Some(PaperCall { quality: None, by_judge: vec![0.0], is_judged: false }),
        },
        _ => None,
    };
    Ok(PaperDecision { actual, decided: class, call })
}

impl PaperCall {
    fn new(
        step: DecisionStep<'_>,
        gold: &Called,
        called: &Called,
        judging: Judging<'_>,
        conversation: impl FnOnce(&Called, &[Unsettled<'_>]) -> Conversation,
    ) -> Result<Self, Box<Question>> {
        let quality = Quality::new(called, gold, step.agents);
        let unsettled = quality.unsettled();
        let is_judged = !unsettled.is_empty();
        let judging = if is_judged { judging } else { Judging::Skip };
        let heard = judging.hear(step.item, || conversation(called, &unsettled))?;
        let by_judge = heard.said().iter().map(|said| value_score(&quality, said, Credit::Kept).f1).collect();
        Ok(Self { quality: Some(quality), by_judge, is_judged })
    }

    /// Returns the F1 of names, keys and values, the last as a mean over judges.
    pub(crate) fn scores(&self) -> [f64; 3] {
        let (name, key) = self.quality.as_ref().map_or((0.0, 0.0), |quality| (quality.name_f1, quality.key_f1));
        let count = self.by_judge.len().max(1);
        [name, key, self.by_judge.iter().sum::<f64>() / count as f64]
    }
}

impl PaperDecision {
    /// Converts the result to the step's contribution to the scores.
    pub(crate) fn values(&self) -> PaperDecisionValues {
        let is_gold_call = self.actual == Class::Call;
        let is_rejection = !matches!(self.decided, Class::Call | Class::Failed);
        PaperDecisionValues {
            is_gold_call,
            is_right: if is_gold_call { self.decided == Class::Call } else { is_rejection },
            has_failed: self.decided == Class::Failed,
            is_right_type: !is_gold_call && self.decided == self.actual,
            call: self.call.as_ref().map(PaperCall::scores),
        }
    }

    /// Entry of the step in golden files, under `items`, with a score for each of `judges`.
    pub(crate) fn entry(&self, judges: usize) -> Value {
        let values = self.values();
        let actual = if values.is_gold_call { self.actual.name() } else { "REJECT" };
        let mut entry = json!({ "kind": "decision", "actual": actual, "predicted": self.decided.name() });
        if values.is_right && !values.is_gold_call {
            entry["type_ok"] = values.is_right_type.into();
        }
        if let (Some(call), Some([name, key, value])) = (&self.call, values.call) {
            // Without anything to judge, all judges have the same score.
            let by_judge = if call.is_judged { call.by_judge.clone() } else { call.by_judge.repeat(judges.max(1)) };
            entry["name_f1"] = name.into();
            entry["key_f1"] = key.into();
            entry["judge_f1"] = by_judge.into();
            entry["value_f1"] = value.into();
            if let Some(quality) = &call.quality {
                entry["args"] = Value::Object(arguments(quality));
            }
        }
        entry
    }
}
