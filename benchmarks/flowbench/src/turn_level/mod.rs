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

/// One turn to be scored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TurnRecord<'a> {
    /// Id of the item: judgements about its response are recorded under it.
    pub(crate) id: &'a str,
    /// The system message of the record: the official evaluator looks for tools and the current time in it.
    pub(crate) system_prompt: &'a str,
    /// What the turn should have been.
    pub(crate) gold: GoldTurn<'a>,
    /// The toolbox: of the scenario, or of all scenarios of the role in their order.
    pub(crate) tools: &'a [ToolSchema],
    /// The workflow of the scenarios in text format, for the judge of responses.
    pub(crate) workflow_text: &'a str,
    /// What judges are told officially, where that is known.
    pub(crate) official: Option<&'a OfficialJudges>,
}

/// What a turn should have been.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct GoldTurn<'a> {
    /// The call, if it is one.
    pub(crate) call: Option<GoldCall<'a>>,
    /// `current_node` of the gold thought, if it has one.
    pub(crate) current_node: Option<&'a str>,
    /// `gt_response`: the text for the user, or the call as text.
    pub(crate) response: &'a str,
}

/// A gold call. A thought whose `Action` or `Action Input` is an empty text is no call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GoldCall<'a> {
    /// `Action`: name of the tool.
    pub(crate) action: &'a str,
    /// `Action Input`: the arguments as the text that holds them, which may be broken JSON.
    pub(crate) input: &'a str,
}

/// A tool as the paper's evaluator needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolSchema {
    /// Its name.
    pub(crate) name: String,
    /// Its input parameters.
    pub(crate) parameters: Vec<ParameterSchema>,
}

/// An input parameter of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParameterSchema {
    /// Its name.
    pub(crate) name: String,
    /// Whether a call must have it.
    pub(crate) required: bool,
    /// Its description, which also tells an enumeration's values.
    pub(crate) description: String,
}

/// The exception that ends a run of the official evaluator (docs/benchmarks/flowbench.md §5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Crash {
    /// `ValueError`: the tool that the judge should be told about is not in the prompt.
    Value,
    /// `AttributeError`: the current time is not in the prompt, or braces are not balanced.
    Attribute,
    /// `TypeError`: a prediction or thought has a type that nobody expected.
    Type,
    /// `KeyError`: a field is not there.
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

/// Scores one output with `evaluators`, or says everything that judges must be asked before. The evaluators share questions.
///
/// `None` is a prediction that is no text: the official evaluator crashes, for the others it is empty.
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

/// One evaluator's score. It means nothing when the judge could not answer everything.
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
