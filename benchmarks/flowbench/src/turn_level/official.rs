//! `official`: the released code's scoring of one turn, crashes included; and `official_fixed`, which only repairs
//! these (docs/benchmarks/flowbench.md §4.1, §5.1 to §5.3).

use regatta_benchmarks::Score;
use regatta_pycompat::{Json, Kind, Object, equal, lower, parse, strip};
use serde::Serialize;
use serde_json::json;

use super::{Crash, TurnRecord};
use crate::extraction::{self, Input};
use crate::fuzzy::{self, Tool};
use crate::judge::Judge;

/// Fields of a record that the released code uses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn<'a> {
    /// The system message, if it is a text.
    pub(super) system_prompt: Option<&'a str>,
    /// The gold call, if the gold turn is one.
    pub(super) call: Option<Call<'a>>,
}

/// A gold call, whose fields may be anything except empty texts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call<'a> {
    /// `Action`, if it is a text; otherwise it matches no tool.
    pub(super) action: Option<&'a str>,
    /// `Action Input`, if it is a text; otherwise it has no arguments.
    pub(super) input: Option<&'a str>,
}

impl<'a> From<&TurnRecord<'a>> for Turn<'a> {
    fn from(record: &TurnRecord<'a>) -> Self {
        let call = record.gold.call.map(|call| Call { action: Some(call.action), input: Some(call.input) });
        Self { system_prompt: Some(record.system_prompt), call }
    }
}

/// Result of a comparison in the official report: `"1"`, `"0"`, or empty when there was no comparison or an exception
/// was caught.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub(super) enum Flag {
    /// Empty.
    #[default]
    #[serde(rename = "")]
    Nothing,
    /// Wrong.
    #[serde(rename = "0")]
    Wrong,
    /// Right.
    #[serde(rename = "1")]
    Right,
}

/// Counts of one turn, and its cells of the official report.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(super) struct TurnScore {
    all_function: u8,
    all_function_pred: u8,
    right_function: u8,
    right_api: u8,
    all_params: usize,
    all_params_pred: usize,
    right_params: usize,
    skipped: bool,
    right_api_name: Flag,
    right_api_flag: Flag,
    #[serde(skip_serializing_if = "Option::is_none")]
    predict_action: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    predict_action_input: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    predict_response: Option<String>,
}

impl TurnScore {
    /// Makes the entry of `official`; a skipped item has only the flag.
    pub(super) fn entry(&self) -> Score {
        let mut score = self.entry_fixed();
        score.values.insert("crashed".to_owned(), 0.0);
        if self.skipped {
            score.detail = json!({ "skipped": true });
        }
        score
    }

    /// Makes the entry of `official_fixed`.
    #[expect(clippy::expect_used, reason = "a score without its detail could not be looked into")]
    pub(super) fn entry_fixed(&self) -> Score {
        let counts = [
            ("all_function", usize::from(self.all_function)),
            ("all_function_pred", usize::from(self.all_function_pred)),
            ("right_function", usize::from(self.right_function)),
            ("right_api", usize::from(self.right_api)),
            ("all_params", self.all_params),
            ("all_params_pred", self.all_params_pred),
            ("right_params", self.right_params),
        ];
        Score {
            values: counts.map(|(name, count)| (name.to_owned(), super::aggregate::to_value(count))).into(),
            detail: serde_json::to_value(self).expect("counts, texts and finite numbers are JSON"),
        }
    }
}

/// Score of a turn that is skipped because its prediction is an error message.
pub(super) fn skipped() -> TurnScore {
    TurnScore { skipped: true, ..TurnScore::default() }
}

/// Entry of a turn that ended the run.
pub(super) fn crashed(crash: Crash) -> Score {
    Score { values: [("crashed".to_owned(), 1.0)].into(), detail: json!({ "error": crash.to_string() }) }
}

/// Handling of exceptions of the official code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repair {
    /// The exception is raised.
    Nothing,
    /// The question is asked without the missing parts, and an unbalanced input counts as empty.
    Everything,
}

/// Scores a turn as the released code does.
///
/// # Errors
/// The exception that ends the released code.
pub(super) fn score(turn: &Turn<'_>, output: &str, judge: &mut Judge<'_>) -> Result<TurnScore, Crash> {
    repaired(turn, output, Repair::Nothing, judge)
}

/// Scores a turn with all crashes repaired.
#[expect(clippy::expect_used, reason = "a turn without a score would drop out of every sum")]
pub(super) fn score_fixed(turn: &Turn<'_>, output: &str, judge: &mut Judge<'_>) -> TurnScore {
    repaired(turn, output, Repair::Everything, judge).expect("where everything is repaired, nothing is raised")
}

fn repaired(turn: &Turn<'_>, output: &str, repair: Repair, judge: &mut Judge<'_>) -> Result<TurnScore, Crash> {
    if extraction::is_call_error(output) {
        return Ok(skipped());
    }
    let output = strip(output);
    let mut score = match turn.call {
        Some(gold) => score_call(turn, gold, output, repair, judge)?,
        None => score_reply(output, repair)?,
    };
    score.predict_response = Some(extraction::response(output).into_owned());
    Ok(score)
}

/// Scores a turn whose gold is a reply: a call in the output only counts as a false positive.
fn score_reply(output: &str, repair: Repair) -> Result<TurnScore, Crash> {
    let shown = |text: &str| Some(text.to_owned());
    if !extraction::mentions_call(output) {
        return Ok(TurnScore { predict_action: shown(""), predict_action_input: shown(""), ..TurnScore::default() });
    }
    let action = extraction::action(output);
    let input = extraction::action_input(output);
    if input == Input::Unbalanced && repair == Repair::Nothing {
        return Err(Crash::Attribute);
    }
    Ok(TurnScore {
        all_function_pred: u8::from(action.is_some()),
        right_api_name: Flag::Wrong,
        right_api_flag: Flag::Wrong,
        predict_action: shown(action.unwrap_or_default()),
        predict_action_input: shown(input.text()),
        ..TurnScore::default()
    })
}

fn score_call(
    turn: &Turn<'_>,
    gold: Call<'_>,
    output: &str,
    repair: Repair,
    judge: &mut Judge<'_>,
) -> Result<TurnScore, Crash> {
    let action = extraction::action(output);
    let name = action.map(extraction::tool_name).unwrap_or_default();
    let input = extraction::action_input(output).text();
    let mut comparison = Comparison {
        tool: Tool::find(turn.system_prompt.unwrap_or_default(), name),
        is_prompt_text: turn.system_prompt.is_some(),
        on_missing: if repair == Repair::Everything { OnMissing::Ask } else { OnMissing::Raise },
        asked_without: false,
        judge,
    };

    let expected = match gold_arguments(gold.input) {
        Err(crash) if repair == Repair::Nothing => return Err(crash),
        expected => expected.unwrap_or_default(),
    };
    let predicted = parse(input).and_then(Json::into_object).unwrap_or_default();
    let mut score = TurnScore {
        all_function: 1,
        all_function_pred: u8::from(action.is_some()),
        all_params: expected.len(),
        all_params_pred: predicted.len(),
        right_api_name: Flag::Wrong,
        right_api_flag: Flag::Wrong,
        predict_action: Some(name.to_owned()),
        predict_action_input: Some(input.to_owned()),
        ..TurnScore::default()
    };
    score.right_params = comparison.right_arguments(&expected, &predicted)?;

    if gold.action == Some(name) {
        score.right_api = 1;
        score.right_api_name = Flag::Right;
        // The repair must not change a turn that did not crash, so it is made only if the first comparison needed it.
        if !comparison.asked_without {
            comparison.on_missing = OnMissing::Raise;
        }
        score.right_api_flag = match comparison.is_right_call(gold.input, input) {
            Ok(true) => Flag::Right,
            Ok(false) => Flag::Wrong,
            Err(Swallowed) => Flag::Nothing,
        };
        score.right_function = u8::from(score.right_api_flag == Flag::Right);
    }
    Ok(score)
}

/// Parses the arguments of the gold; empty for a broken text, or a value that is not a text.
///
/// # Errors
/// If the text contains a JSON value without a length or without keys.
fn gold_arguments(text: Option<&str>) -> Result<Object, Crash> {
    match text.and_then(parse) {
        None => Ok(Object::default()),
        Some(Json::Object(object)) => Ok(object),
        Some(other) => Err(match other.kind() {
            Kind::String | Kind::List => Crash::Attribute,
            Kind::Null | Kind::Bool | Kind::Int | Kind::Float | Kind::Object => Crash::Type,
        }),
    }
}

/// An exception that the official code catches: the call is wrong, and the report's cell stays empty.
struct Swallowed;

/// Behaviour when the prompt lacks a part of the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnMissing {
    Raise,
    Ask,
}

struct Comparison<'a, 'j, 'v> {
    tool: Tool<'a>,
    /// `true` if there is a system message, in which the tool may be described.
    is_prompt_text: bool,
    on_missing: OnMissing,
    /// A question was asked although the prompt lacks a part of it.
    asked_without: bool,
    judge: &'j mut Judge<'v>,
}

impl Comparison<'_, '_, '_> {
    /// Counts the gold arguments that the prediction has with the same type and value.
    fn right_arguments(&mut self, gold: &Object, predicted: &Object) -> Result<usize, Crash> {
        let mut right = 0;
        for (key, gold) in gold.iter() {
            let Some(predicted) = predicted.get(key).filter(|predicted| predicted.kind() == gold.kind()) else {
                continue;
            };
            let same = match (gold, predicted) {
                (Json::String(gold), Json::String(predicted)) => self.same_text(key, gold, predicted)?,
                _ => equal(gold, predicted),
            };
            right += usize::from(same);
        }
        Ok(right)
    }

    /// Returns `true` if the call is right: both inputs in lower case, without arguments that were left out.
    fn is_right_call(&mut self, gold: Option<&str>, predicted: &str) -> Result<bool, Swallowed> {
        let predicted = if strip(predicted).is_empty() { Object::default() } else { lower_arguments(predicted)? };
        let gold = lower_arguments(gold.ok_or(Swallowed)?)?;
        let mut keys: Vec<(&str, &Json)> = gold.iter().filter(|(_, value)| !value.is_left_out()).collect();
        keys.sort_by_key(|(key, _)| *key);

        let mut right = true;
        for (key, gold) in keys {
            let Some(predicted) = predicted.get(key).filter(|value| !value.is_left_out()) else {
                right = false;
                continue;
            };
            match (gold, predicted) {
                (Json::String(gold), Json::String(predicted)) => {
                    right &= self.same_text(key, gold, predicted).map_err(|_| Swallowed)?;
                }
                _ if gold.kind() == predicted.kind() && equal(gold, predicted) => {}
                _ => return Ok(false),
            }
        }
        Ok(right)
    }

    fn same_text(&mut self, parameter: &str, gold: &str, predicted: &str) -> Result<bool, Crash> {
        if fuzzy::alike(gold, predicted) {
            return Ok(true);
        }
        let missing = match self.tool {
            Tool { .. } if !self.is_prompt_text => Some(Crash::Type),
            Tool { block: None, .. } => Some(Crash::Value),
            Tool { time: None, .. } => Some(Crash::Attribute),
            Tool { .. } => None,
        };
        if let Some(crash) = missing {
            if self.on_missing == OnMissing::Raise {
                return Err(crash);
            }
            self.asked_without = true;
        }
        let heard = self.judge.ask(self.tool.question(self.judge.official(), parameter, gold, predicted));
        Ok(heard.is_some_and(|heard| heard.agrees(fuzzy::official_agrees)))
    }
}

fn lower_arguments(text: &str) -> Result<Object, Swallowed> {
    parse(&lower(text)).and_then(Json::into_object).ok_or(Swallowed)
}
