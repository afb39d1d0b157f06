//! `paper`: the paper's scoring of one turn (docs/benchmarks/flowbench.md §6.1 to §6.3).

use std::sync::LazyLock;

use regatta_benchmarks::Score;
use regatta_pycompat::{Json, Object, equal_by_kind, parse, strip};
use regex::Regex;
use serde::Serialize;

use super::{GoldCall, ParameterSchema, ToolSchema, TurnRecord, node, response};
use crate::extraction;
use crate::fuzzy::{self, Tool};
use crate::judge::Judge;

/// Marks an enumeration in a parameter's description, such as "Enumeration type, [a, b]".
static ENUMERATION: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"[Ee]numerat(?:ed|ion) types?,?[^\[]{0,14}\[").ok());

/// Counts and judgements of one turn.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub(super) struct TurnScore {
    all_function: u8,
    all_function_pred: u8,
    right_function: u8,
    all_params: usize,
    all_params_pred: usize,
    right_params: usize,
    #[serde(flatten)]
    node: Option<NodeScore>,
    #[serde(flatten)]
    response: Option<ResponseScore>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct NodeScore {
    node_pred: Option<String>,
    node_right: u8,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct ResponseScore {
    /// Grade in 0..=10; `None` when no reply of the judge could be parsed.
    response_score: Option<f64>,
}

impl TurnScore {
    #[expect(clippy::expect_used, reason = "a score without its detail could not be looked into")]
    pub(super) fn entry(&self) -> Score {
        let counts = [
            ("all_function", usize::from(self.all_function)),
            ("all_function_pred", usize::from(self.all_function_pred)),
            ("right_function", usize::from(self.right_function)),
            ("all_params", self.all_params),
            ("all_params_pred", self.all_params_pred),
            ("right_params", self.right_params),
        ];
        let mut score = Score {
            values: counts.map(|(name, count)| (name.to_owned(), super::aggregate::to_value(count))).into(),
            detail: serde_json::to_value(self).expect("counts, texts and finite numbers are JSON"),
        };
        if let Some(node) = &self.node {
            score.values.insert("node_right".to_owned(), f64::from(node.node_right));
        }
        match self.response {
            Some(ResponseScore { response_score: Some(points) }) => {
                score.values.insert("response_score".to_owned(), points)
            }
            Some(ResponseScore { response_score: None }) => score.values.insert("response_unscored".to_owned(), 1.0),
            None => None,
        };
        score
    }
}

/// Scores one output; the error message of a failed call counts as an empty output.
pub(super) fn score(record: &TurnRecord<'_>, output: &str, judge: &mut Judge<'_>) -> TurnScore {
    let output = if extraction::is_call_error(output) { "" } else { strip(output) };
    let mut score = match record.gold.call {
        Some(gold) => score_call(record, gold, output, judge),
        None => TurnScore {
            response: Some(ResponseScore { response_score: response::ask(record, output, judge) }),
            ..TurnScore::default()
        },
    };
    score.all_function_pred = u8::from(extraction::action(output).is_some());
    score.node = record.gold.current_node.map(|gold| {
        let predicted = node::predicted(output);
        NodeScore {
            node_pred: predicted.map(str::to_owned),
            node_right: u8::from(predicted.is_some_and(|predicted| node::same(gold, predicted))),
        }
    });
    score
}

fn score_call(record: &TurnRecord<'_>, gold: GoldCall<'_>, output: &str, judge: &mut Judge<'_>) -> TurnScore {
    let action = extraction::action(output);
    let name = action.map(extraction::tool_name).unwrap_or_default();
    let (expected, predicted) = (arguments(gold.input), arguments(extraction::action_input(output).text()));
    let tool = Tool::find(record.system_prompt, name);
    let schema = record.tools.iter().find(|tool| tool.name == gold.action);

    let mut right_params = 0;
    let mut right_call = name == gold.action;
    for (key, gold) in expected.iter() {
        let parameter = schema.and_then(|schema| schema.parameter(key));
        let right =
            predicted.get(key).is_some_and(|predicted| same_value(&tool, key, parameter, gold, predicted, judge));
        right_params += usize::from(right);
        let checked = parameter.is_none_or(|parameter| parameter.required) && !gold.is_left_out();
        right_call &= right || !checked;
    }
    TurnScore {
        all_function: 1,
        right_function: u8::from(right_call),
        all_params: expected.len(),
        all_params_pred: predicted.len(),
        right_params,
        ..TurnScore::default()
    }
}

fn arguments(text: &str) -> Object {
    parse(text).and_then(Json::into_object).unwrap_or_default()
}

fn same_value(
    tool: &Tool<'_>,
    key: &str,
    parameter: Option<&ParameterSchema>,
    gold: &Json,
    predicted: &Json,
    judge: &mut Judge<'_>,
) -> bool {
    match (gold, predicted) {
        (Json::String(gold), Json::String(predicted)) => {
            strip(gold) == strip(predicted)
                || !parameter.is_some_and(ParameterSchema::is_enumeration)
                    && judge
                        .ask(tool.question(judge.official(), key, gold, predicted))
                        .is_some_and(|heard| heard.agrees(fuzzy::paper_agrees))
        }
        _ => equal_by_kind(gold, predicted),
    }
}

impl ToolSchema {
    fn parameter(&self, name: &str) -> Option<&ParameterSchema> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }
}

impl ParameterSchema {
    /// Returns `true` if the description lists all possible values; then no judge is asked if two values are equivalent.
    pub(crate) fn is_enumeration(&self) -> bool {
        ENUMERATION.as_ref().is_some_and(|enumeration| enumeration.is_match(&self.description))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_enumeration_is_recognised_by_its_description() {
        let is_enumeration = |description: &str| {
            ParameterSchema { name: String::new(), required: true, description: description.to_owned() }
                .is_enumeration()
        };
        assert!(is_enumeration("Whether it is so. Enumeration type, [Yes, No]. Default is \"Yes\""));
        assert!(is_enumeration("enumerated types including: [a, b]"));
        assert!(!is_enumeration("Enumeration type, one of the following [a, b]"));
        assert!(!is_enumeration("Type [a, b]"));
    }
}
