//! The turn level: one output of an agent against the gold turn (docs/benchmarks/flowbench.md §4.1, §5.1 to §5.3, §5.6, §6.1 to §6.3).
//!
//! [`score`] scores one turn, [`aggregate`] many. A folder of predictions in the official form is read and scored by [`folder`].

mod aggregate;
pub(crate) mod folder;
mod node;
mod official;
mod paper;
mod response;
mod row;
mod table;

#[cfg(test)]
mod golden;
#[cfg(test)]
mod tests;

use std::fmt;

use regatta_proto::Evaluator;

pub(crate) use self::aggregate::{aggregate, by_file};
use super::judge::Judge;
use super::prompts::OfficialJudges;
use regatta_benchmarks::{Score, Scores, Scoring, Verdicts};

/// Flat values that a judge's verdict can change.
pub(crate) const JUDGED: [&str; 4] = ["right_api", "right_params", "response_score", "response_unscored"];

/// One turn to be scored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TurnRecord<'a> {
    /// Id of the item, under which judgements of its response are recorded.
    pub(crate) id: &'a str,
    /// System message of the record, in which the official evaluator looks up tools and the current time.
    pub(crate) system_prompt: &'a str,
    /// Gold of the turn.
    pub(crate) gold: GoldTurn<'a>,
    /// Tools of the scenario, or of all scenarios of the role in order.
    pub(crate) tools: &'a [ToolSchema],
    /// Workflow of the scenarios in text format, for the judge of responses.
    pub(crate) workflow_text: &'a str,
    /// Official prompts of the judges, where they are known.
    pub(crate) official: Option<&'a OfficialJudges>,
}

/// Gold of a turn.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct GoldTurn<'a> {
    /// The call, if the gold turn is one.
    pub(crate) call: Option<GoldCall<'a>>,
    /// `current_node` of the gold thought, if it has one.
    pub(crate) current_node: Option<&'a str>,
    /// `gt_response`: the reply to the user, or the call as text.
    pub(crate) response: &'a str,
}

/// A gold call. A thought whose `Action` or `Action Input` is an empty text is not a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GoldCall<'a> {
    /// `Action`: name of the tool.
    pub(crate) action: &'a str,
    /// `Action Input`: the arguments as text, which may be broken JSON.
    pub(crate) input: &'a str,
}

/// Schema of a tool, as far as the paper's evaluator uses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolSchema {
    /// Name of the tool.
    pub(crate) name: String,
    /// Input parameters.
    pub(crate) parameters: Vec<ParameterSchema>,
}

/// An input parameter of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParameterSchema {
    /// Name of the parameter.
    pub(crate) name: String,
    /// A call must have the parameter.
    pub(crate) required: bool,
    /// Description, in which the values of an enumeration are listed.
    pub(crate) description: String,
}

/// The exception that ends a run of the official evaluator (docs/benchmarks/flowbench.md §5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Crash {
    /// `ValueError`: the prompt lacks the tool that the judge needs a description of.
    Value,
    /// `AttributeError`: the prompt lacks the current time, or braces are not balanced.
    Attribute,
    /// `TypeError`: a prediction or thought has an unexpected type.
    Type,
    /// `KeyError`: a field is missing.
    Key,
    /// `IndexError`: there is no first message.
    Index,
}

impl fmt::Display for Crash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Value => "ValueError",
            Self::Attribute => "AttributeError",
            Self::Type => "TypeError",
            Self::Key => "KeyError",
            Self::Index => "IndexError",
        })
    }
}

/// Scores one output with `evaluators`, or returns all questions that judges must answer first. The evaluators share
/// questions.
///
/// `None` is a prediction that is not a text: the official evaluator crashes on it, the others treat it as empty.
pub(crate) fn score(
    record: &TurnRecord<'_>,
    output: Option<&str>,
    evaluators: &[Evaluator],
    verdicts: &dyn Verdicts,
) -> Scoring {
    let mut judge = Judge::new(verdicts, record.official);
    let scores: Scores =
        evaluators.iter().map(|&evaluator| (evaluator, score_one(record, output, evaluator, &mut judge))).collect();
    let missing = judge.into_missing();
    if missing.is_empty() { Scoring::Scored(scores) } else { Scoring::Needs(missing) }
}

/// Computes one evaluator's score, which is meaningless while answers of the judge are missing.
fn score_one(record: &TurnRecord<'_>, output: Option<&str>, evaluator: Evaluator, judge: &mut Judge<'_>) -> Score {
    match evaluator {
        Evaluator::Official => match output.ok_or(Crash::Type) {
            Ok(output) => {
                official::score(&record.into(), output, judge).map_or_else(official::crashed, |score| score.entry())
            }
            Err(crash) => official::crashed(crash),
        },
        Evaluator::OfficialFixed => {
            official::score_fixed(&record.into(), output.unwrap_or_default(), judge).entry_fixed()
        }
        _ => paper::score(record, output.unwrap_or_default(), judge).entry(),
    }
}
