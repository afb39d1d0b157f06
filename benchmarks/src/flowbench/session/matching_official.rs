//! Which gold calls were made, as the released code decides it and as it would with the names it forgot to define (SPEC 6.5).

use super::all_agree;
use crate::flowbench::fuzzy::{self, Tool};
use crate::flowbench::judge::Judge;
use crate::flowbench::protocol::{braces_after_label, call_name};
use crate::flowbench::python::{Json, Object, equal, lower, parse, strip};

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    /// The code as it is. Comparing texts raises an exception, which makes the calls differ, equal texts or not.
    Undefined,
    /// With the names supplied.
    Supplied,
}

/// How many entries there are, and how many of the gold's are right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    pub(super) gold: usize,
    pub(super) predicted: usize,
    pub(super) right: usize,
}

/// Compares the blocks of two texts. A gold block is right when any predicted one equals it; that may be equal to others too.
/// While answers are missing, the counts mean nothing.
pub(super) fn count(gold: &str, predicted: &str, names: Names, prompt: &str, judge: &mut Judge<'_>) -> Counts {
    let (gold, predicted) = (blocks(gold), blocks(predicted));
    let mut right = 0;
    for gold in &gold {
        // Those of other names are never equal.
        let candidates = predicted.iter().filter(|predicted| predicted.lower_name == gold.lower_name);
        let compared: Vec<Comparison<'_>> = candidates.map(|predicted| compare(gold, predicted, names)).collect();
        // No judge is needed where an equal block is found without.
        let is_equal = compared.iter().any(|comparison| matches!(comparison, Comparison::Equal))
            || compared.iter().any(|comparison| comparison.ask(gold.name, prompt, judge));
        right += usize::from(is_equal);
    }
    Counts { gold: gold.len(), predicted: predicted.len(), right }
}

/// One entry of the list that the text is split into. Empty texts give one entry.
struct Block<'a> {
    name: &'a str,
    lower_name: String,
    /// In lower case, without what counts as left out; `None` when they are no JSON.
    arguments: Option<Object>,
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let block = |text| {
        let name = call_name(text).unwrap_or_default();
        let arguments = parse(&lower(braces_after_label(text).unwrap_or("{}"))).and_then(Json::into_object);
        Block { name, lower_name: lower(name), arguments }
    };
    strip(text).split("\n\n").map(block).collect()
}

/// What can be said of two blocks without a judge.
enum Comparison<'a> {
    Different,
    Equal,
    /// They are equal if these texts are: parameter, gold, predicted.
    IfAlike(Vec<(&'a str, &'a str, &'a str)>),
}

fn compare<'a>(gold: &'a Block<'_>, predicted: &'a Block<'_>, names: Names) -> Comparison<'a> {
    let (Some(gold), Some(predicted)) = (&gold.arguments, &predicted.arguments) else { return Comparison::Different };
    let mut unlike = Vec::new();
    let mut arguments: Vec<(&str, &Json)> = gold.iter().filter(|(_, value)| !value.is_left_out()).collect();
    arguments.sort_by_key(|(key, _)| *key);
    for (key, gold) in arguments {
        let Some(predicted) = predicted.get(key).filter(|value| !value.is_left_out()) else {
            return Comparison::Different;
        };
        match (gold, predicted) {
            (Json::String(_), Json::String(_)) if names == Names::Undefined => return Comparison::Different,
            (Json::String(gold), Json::String(predicted)) if fuzzy::alike(gold, predicted) => {}
            (Json::String(gold), Json::String(predicted)) => unlike.push((key, gold.as_str(), predicted.as_str())),
            _ if gold.kind() == predicted.kind() && equal(gold, predicted) => {}
            _ => return Comparison::Different,
        }
    }
    if unlike.is_empty() { Comparison::Equal } else { Comparison::IfAlike(unlike) }
}

impl Comparison<'_> {
    /// Whether the judge takes the blocks for equal. A question that cannot be asked, because the prompt lacks tool or time, is
    /// a refusal.
    fn ask(&self, name: &str, prompt: &str, judge: &mut Judge<'_>) -> bool {
        let Self::IfAlike(texts) = self else { return matches!(self, Self::Equal) };
        let tool = Tool::find(prompt, name);
        if tool.block.is_none() || tool.time.is_none() {
            return false;
        }
        all_agree(texts.iter().map(|(parameter, gold, predicted)| {
            let reply = judge.ask(tool.question(parameter, gold, predicted))?;
            Some(fuzzy::official_agrees(&reply))
        }))
    }
}
