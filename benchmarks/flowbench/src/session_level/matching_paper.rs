//! Matching of gold calls with predicted ones by the paper's definition (docs/benchmarks/flowbench.md §6.1, §6.4).

use regatta_pycompat::{Json, Object, equal_by_kind, parse_prefix, strip};

use super::comparison::{Comparison, Counts, Texts, any_equal};
use super::entries::entries;
use crate::fuzzy::{self, Tool};
use crate::judge::Judge;
use crate::protocol::Message;
use crate::turn_level::{ParameterSchema, ToolSchema};

/// A call with its arguments.
#[derive(Debug, Clone)]
pub(super) struct Call<'a> {
    /// Name of the tool as written; empty when there is none.
    pub(super) name: &'a str,
    /// JSON object directly after the label; empty when there is another value, or none.
    arguments: Object,
}

/// Parses the calls in a text: the gold's blocks, or a message of the agent.
fn calls(text: &str) -> impl Iterator<Item = Call<'_>> {
    entries(text).into_iter().map(|entry| {
        let arguments = parse_prefix(entry.input).and_then(Json::into_object).unwrap_or_default();
        Call { name: entry.name(), arguments }
    })
}

/// Parses the calls in the gold's blocks; none for an empty text.
pub(super) fn gold_calls(actions: &str) -> Vec<Call<'_>> {
    calls(actions).collect()
}

/// Parses the calls in the agent's messages. Messages of users and tools do not count.
pub(super) fn made_calls(messages: &[Message]) -> Vec<Call<'_>> {
    messages.iter().filter(|message| message.is_assistant()).flat_map(|message| calls(message.text())).collect()
}

/// Compares gold calls with the calls that were made; one of these may match several gold calls. The counts are
/// meaningless while answers are missing.
pub(super) fn count(
    gold: &[Call<'_>],
    made: &[Call<'_>],
    tools: &[ToolSchema],
    prompt: &str,
    judge: &mut Judge<'_>,
) -> Counts {
    let mut right = 0;
    for gold in gold {
        let schema = tools.iter().find(|tool| tool.name == gold.name);
        let candidates = made.iter().filter(|made| made.name == gold.name);
        let compared: Vec<Comparison<'_>> = candidates.map(|made| compare(gold, made, schema)).collect();
        right += usize::from(any_equal(&compared, &Tool::find(prompt, gold.name), judge, fuzzy::paper_agrees));
    }
    Counts { gold: gold.len(), predicted: made.len(), right }
}

/// Compares the gold's required arguments, except those that were left out.
fn compare<'a>(gold: &'a Call<'_>, made: &'a Call<'_>, schema: Option<&ToolSchema>) -> Comparison<'a> {
    let mut unlike = Vec::new();
    for (key, gold) in gold.arguments.iter().filter(|(_, value)| !value.is_left_out()) {
        let parameter = schema.and_then(|schema| schema.parameters.iter().find(|parameter| parameter.name == key));
        if parameter.is_some_and(|parameter| !parameter.required) {
            continue;
        }
        let Some(made) = made.arguments.get(key) else { return Comparison::Different };
        match (gold, made) {
            (Json::String(gold), Json::String(made)) if !parameter.is_some_and(ParameterSchema::is_enumeration) => {
                if strip(gold) != strip(made) {
                    unlike.push(Texts { parameter: key, gold, predicted: made });
                }
            }
            _ if equal_by_kind(gold, made) => {}
            _ => return Comparison::Different,
        }
    }
    Comparison::but_for(unlike)
}
