//! Output of the framework (docs/benchmarks/autoslurp.md §3.6): colours, blocks, and observations cut to a hundred characters.

use regatta_pycompat::yaml::Value;
use regatta_pycompat::{display, repr};

use super::action::Action;

/// Most characters of an observation that are printed.
const OBSERVATION_CHARS: usize = 100;

const BLUE: &str = "94";
const CYAN: &str = "96";
const GREEN: &str = "92";
const UNDERLINE: &str = "4";

fn colour(code: &str, text: &str) -> String {
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

/// An agent gets a task. `id` is the same for all tasks of a process, by a slip of the library.
pub(super) fn received(agent: &str, id: &str, instruction: &str) -> String {
    let task = format!("[\n\tTask ID: {id}\n\tInstruction: {instruction}\n]");
    format!(
        "Agent {} receives the following {}:\n{}\n",
        colour(BLUE, agent),
        colour(UNDERLINE, "TaskPackage"),
        colour(CYAN, &task)
    )
}

/// Line printed when an agent starts on a task package.
pub(super) fn started(agent: &str, id: &str) -> String {
    format!("===={} starts execution on TaskPackage {id}====\n", colour(BLUE, agent))
}

/// It has chosen what to do in its step `step`, counted from 0.
pub(super) fn acted(agent: &str, step: usize, action: &Action) -> String {
    let block = format!("{{\n\tname: {}\n\tparams: {}\n}}", action.name, repr(&action.params));
    format!(
        "Agent {} takes {step}-step {}:\n{}\n",
        colour(BLUE, agent),
        colour(UNDERLINE, "Action"),
        colour(BLUE, &block)
    )
}

/// An observation as it is printed; `None` where printing it raises, because it has no length or is too long for its type.
pub(super) fn observed(observation: &Value) -> Option<String> {
    let shown = match observation {
        Value::Str(text) => match text.char_indices().nth(OBSERVATION_CHARS) {
            Some((end, _)) => format!("{}[TLDR]", text.get(..end)?),
            None => text.clone(),
        },
        Value::List(values) if values.len() <= OBSERVATION_CHARS => display(observation),
        Value::Dict(dict) if dict.len() <= OBSERVATION_CHARS => display(observation),
        _ => return None,
    };
    Some(format!("Observation: {}\n", colour(GREEN, &shown)))
}

/// It ends, with an answer or without.
pub(super) fn ended(agent: &str, id: &str, answer: Option<&Value>) -> String {
    let completion = if answer.is_some() { "completed" } else { "active" };
    let answer = answer.map(display).unwrap_or_default();
    let status = format!("[\n\tcompletion: {completion}\n\tanswer: {answer}\n]");
    let agent = colour(BLUE, agent);
    format!("========={agent} finish execution. TaskPackage[ID:{id}] status:\n{}\n==========\n", colour(CYAN, &status))
}
