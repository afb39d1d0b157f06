//! Prompts of the simulated tools (docs/benchmarks/flowbench.md §3.7).

use serde_json::{Map, Value};

use crate::data::{Function, one_line};
use crate::protocol::HistoryLine;

use super::section::marked;
use super::user::lines;

/// Greatest number of elements of a list in a result.
const LIST_ELEMENTS: usize = 3;

/// System text of the tool simulator. `function_prompt` lists the gold calls with their results.
pub(crate) fn environment_system(function_prompt: &str) -> String {
    format!(
        "Play a tool that an assistant calls. Write its result and nothing else: one realistic JSON value that a parser accepts, on \
         a single line, without explanation, code fence, ellipsis or masked value, and with at most {LIST_ELEMENTS} elements in a \
         list.\nWhen name and parameters of the call equal those of one of the following calls, the result is the one that is \
         listed there.\n{}",
        marked("calls", function_prompt)
    )
}

/// User text of the tool simulator: the tool, the time, the conversation, and the call. `arguments` is as the agent
/// wrote it.
pub(crate) fn environment_text(
    function: &Function,
    datetime: &str,
    history: &[HistoryLine<'_>],
    arguments: Option<&str>,
) -> String {
    format!(
        "Tool: {}\nIts parameters: {}\nWhat its result consists of: {}\nIt is now {datetime}.\n\nThe dialogue so far:\n{}\n\nThe \
         parameters of this call:\n{}",
        function.name,
        one_line(&function.parameters),
        one_line(&function.result),
        marked("dialogue", &lines(history)),
        marked("arguments", arguments.unwrap_or("null")),
    )
}

/// Returns the descriptions of parameters by name, from their specifications.
pub(crate) fn descriptions(specs: &Map<String, Value>) -> Map<String, Value> {
    let description = |spec: &Value| spec.get("description").cloned().unwrap_or_else(|| Value::String(String::new()));
    specs.iter().map(|(name, spec)| (name.clone(), description(spec))).collect()
}
