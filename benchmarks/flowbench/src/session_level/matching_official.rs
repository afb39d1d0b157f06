//! Matching of gold calls with predicted ones: as the released code does it, and as it would with the names that it
//! forgot to define (docs/benchmarks/flowbench.md §5.4, §7).

use regatta_pycompat::{Json, Object, equal, lower, parse, strip};

use super::comparison::{Comparison, Counts, Texts, any_equal};
use crate::fuzzy::{self, Tool};
use crate::judge::Judge;
use crate::protocol::{braces_after_label, call_name};

/// Variant of the released code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    /// The code as it is. Comparing texts raises an exception, so the calls count as different even when the texts
    /// are equal.
    Undefined,
    /// The code with the missing names supplied.
    Supplied,
}

/// Compares the blocks of two texts. A gold block is right when any predicted block equals it; a predicted one may
/// equal several. The counts are meaningless while answers are missing.
pub(super) fn count(gold: &str, predicted: &str, names: Names, prompt: &str, judge: &mut Judge<'_>) -> Counts {
    let (gold, predicted) = (blocks(gold), blocks(predicted));
    let mut right = 0;
    for gold in &gold {
        let tool = Tool::find(prompt, gold.name);
        // A question that cannot be asked because the prompt lacks the tool or the time counts as a refusal.
        let has_judge = tool.block.is_some() && tool.time.is_some();
        // Calls of other tools are never equal, so they are not compared.
        let compared: Vec<Comparison<'_>> = predicted
            .iter()
            .filter(|predicted| predicted.lower_name == gold.lower_name)
            .map(|predicted| compare(gold, predicted, names))
            .filter(|comparison| has_judge || *comparison == Comparison::Equal)
            .collect();
        right += usize::from(any_equal(&compared, &tool, judge, fuzzy::official_agrees));
    }
    Counts { gold: gold.len(), predicted: predicted.len(), right }
}

/// An entry of the list that the text is split into. Empty texts give one entry.
struct Block<'a> {
    name: &'a str,
    lower_name: String,
    /// Arguments in lower case; `None` when they are not JSON.
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

/// Compares every gold argument that was not left out. The keys are sorted, so that questions come in the order of
/// the released code.
fn compare<'a>(gold: &'a Block<'_>, predicted: &'a Block<'_>, names: Names) -> Comparison<'a> {
    let (Some(gold), Some(predicted)) = (&gold.arguments, &predicted.arguments) else { return Comparison::Different };
    let mut arguments: Vec<(&str, &Json)> = gold.iter().filter(|(_, value)| !value.is_left_out()).collect();
    arguments.sort_by_key(|(key, _)| *key);
    let mut unlike = Vec::new();
    for (parameter, gold) in arguments {
        let Some(predicted) = predicted.get(parameter).filter(|value| !value.is_left_out()) else {
            return Comparison::Different;
        };
        match (gold, predicted) {
            (Json::String(_), Json::String(_)) if names == Names::Undefined => return Comparison::Different,
            (Json::String(gold), Json::String(predicted)) if fuzzy::alike(gold, predicted) => {}
            (Json::String(gold), Json::String(predicted)) => unlike.push(Texts { parameter, gold, predicted }),
            _ if gold.kind() == predicted.kind() && equal(gold, predicted) => {}
            _ => return Comparison::Different,
        }
    }
    Comparison::but_for(unlike)
}
