//! Official evaluation of a decision step: class, counters, and the quality of a call where a call is right.

use regatta_proto::Question;
use serde_json::{Map, Value, json};

use super::answer::Answer;
use super::class::{Called, Class, Decided, Gold, decided, gold};
use super::confusion::Confusion;
use super::crash::Crash;
use super::quality::{Quality, Unsettled};
use crate::aggregate::{CallValues, DecisionValues};
use crate::data::{Agents, Entry};
use crate::judge::{Conversation, Credit, Judging, ValueScore, value_score};

/// A decision step with its context.
#[derive(Clone, Copy)]
pub(crate) struct DecisionStep<'a> {
    /// Id of the item, such as `EN/1/2/7`.
    pub(crate) item: &'a str,
    /// Gold label, see `Scenario::gold`.
    pub(crate) gold: Option<&'a Entry>,
    /// Agents of the scenario's language.
    pub(crate) agents: &'a Agents,
}

/// Result of the official evaluator for a decision step.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum OfficialDecision {
    /// The step has no answer and does not count.
    Missing,
    /// The evaluator crashes, which sets the scenario's scores to 0.
    Crashed(Crash),
    /// The step was scored.
    Scored {
        /// Class of the gold.
        actual: Class,
        /// Class of the answer.
        decided: Class,
        /// Comparison of the calls, where gold and answer are calls.
        call: Option<OfficialCall>,
    },
}

/// A predicted call compared with the gold call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OfficialCall {
    /// Counts before the judge.
    pub(crate) quality: Quality,
    /// Value score with the judge's counts; for a panel, the mean over its members.
    pub(crate) value: ValueScore,
    /// A judge was asked.
    pub(crate) is_judged: bool,
}

/// Scores an answer; `None` when the call failed.
///
/// # Errors
/// With the question that a judge must answer first. Its conversation is built from the called tools and the
/// unsettled keys.
pub(crate) fn score_official(
    step: DecisionStep<'_>,
    answer: Option<&Answer>,
    judging: Judging<'_>,
    conversation: impl FnOnce(&Called, &[Unsettled<'_>]) -> Conversation,
) -> Result<OfficialDecision, Box<Question>> {
    let Some(answer) = answer else { return Ok(OfficialDecision::Missing) };
    let (gold, said) = match gold(step.gold).and_then(|gold| Ok((gold, decided(answer)?))) {
        Ok(both) => both,
        Err(crash) => return Ok(OfficialDecision::Crashed(crash)),
    };
    let call = match (&gold, &said) {
        (Gold::Call(gold), Decided::Call(called)) => {
            let quality = Quality::new(called, gold, step.agents);
            let unsettled = quality.unsettled();
            let is_judged = judging.is_asked() && !unsettled.is_empty();
            let judging = if unsettled.is_empty() { Judging::Skip } else { judging };
            let heard = judging.hear(step.item, || conversation(called, &unsettled))?;
            let scores: Vec<ValueScore> =
                heard.said().iter().map(|said| value_score(&quality, said, Credit::Lost)).collect();
            let value = ValueScore::mean(&scores);
            Some(OfficialCall { quality, value, is_judged })
        }
        _ => None,
    };
    Ok(OfficialDecision::Scored { actual: gold.class(), decided: said.class(), call })
}

impl OfficialDecision {
    /// Converts the result to the step's contribution to the scores.
    pub(crate) fn values(&self) -> DecisionValues {
        match self {
            Self::Missing => DecisionValues::default(),
            Self::Crashed(crash) => {
                DecisionValues { is_answered: true, crash: Some(crash.clone()), ..DecisionValues::default() }
            }
            Self::Scored { actual, decided, call } => DecisionValues {
                is_answered: true,
                crash: None,
                confusion: Confusion::of(*actual, *decided),
                call: call.as_ref().map(|call| CallValues {
                    name_f1: call.quality.name_f1,
                    key_f1: call.quality.key_f1,
                    value_f1: call.value.f1,
                    is_judged: call.is_judged,
                }),
            },
        }
    }

    /// Entry of the step in golden files, under `items`.
    pub(crate) fn entry(&self) -> Value {
        match self {
            Self::Missing => json!({ "kind": "decision", "predicted": "missing" }),
            Self::Crashed(crash) => {
                json!({ "kind": "decision", "exception": crash.exception.name(), "error": crash.message })
            }
            Self::Scored { actual, decided, call } => {
                let mut entry = json!({
                    "kind": "decision",
                    "actual": actual.name(),
                    "predicted": decided.name(),
                    "cm": Confusion::of(*actual, *decided).to_json(),
                });
                if let Some(call) = call {
                    entry["name_f1"] = call.quality.name_f1.into();
                    entry["key_f1"] = call.quality.key_f1.into();
                    entry["args"] = Value::Object(arguments(&call.quality));
                    entry["value_f1"] = call.value.f1.into();
                    entry["value_pr"] = json!([call.value.precision, call.value.recall]);
                    if call.value.is_error {
                        entry["value_error"] = true.into();
                    }
                }
                entry
            }
        }
    }
}

/// Counts by key before any judge, as the golden files have them.
pub(super) fn arguments(quality: &Quality) -> Map<String, Value> {
    let entry = |(key, counts): (&String, &super::quality::KeyCounts)| {
        (key.clone(), json!([counts.tp, counts.fp, counts.fn_, counts.reason.name()]))
    };
    quality.keys.iter().map(entry).collect()
}
