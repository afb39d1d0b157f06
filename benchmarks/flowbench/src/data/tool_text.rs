//! Blocks of tools in a prompt: a block begins with `API: <name>` and ends with a blank line
//! (docs/benchmarks/flowbench.md §2.2). The label `API Desciption:` is misspelt in the real data, and no evaluator
//! searches for it.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::one_line::one_line;
use super::scenario::Tool;

/// The label in front of a tool's name. Evaluators search for it.
pub(crate) const NAME_LABEL: &str = "API: ";
const DESCRIPTION_LABEL: &str = "API Desciption: ";
const INPUTS_LABEL: &str = "Input parameters: ";
const OUTPUTS_LABEL: &str = "Output parameters: ";
/// Label of the line with the time. Evaluators search for it; the time follows without a space.
pub(crate) const TIME_LABEL: &str = "Please note that the current time is:";

/// Renders a tool's block from its parts.
pub(super) fn block(
    name: &str,
    description: &str,
    inputs: &Map<String, Value>,
    outputs: &Map<String, Value>,
) -> String {
    format!(
        "{NAME_LABEL}{name}\n{DESCRIPTION_LABEL}{description}\n{INPUTS_LABEL}{}\n{OUTPUTS_LABEL}{}",
        one_line(inputs),
        one_line(outputs)
    )
}

/// Removes the text after a block that was cut out of a prompt too generously: in 23 of the real ones the line with
/// the time (docs/benchmarks/flowbench.md §2.6, oddity 1), which is returned as the second part.
pub(super) fn repaired(raw: &str) -> (&str, Option<&str>) {
    raw.find(TIME_LABEL).map_or((raw.trim_end(), None), |at| {
        let (block, rest) = raw.split_at(at);
        (block.trim_end(), time_in(rest))
    })
}

/// Returns the time that a prompt states.
pub(crate) fn time_in(prompt: &str) -> Option<&str> {
    let (_, after) = prompt.split_once(TIME_LABEL)?;
    let time = after.lines().next().unwrap_or("").trim();
    (!time.is_empty()).then_some(time)
}

/// Parses the tools whose blocks are in a text, in order. The error names the malformed tool.
pub(super) fn tools_in(text: &str) -> Result<Vec<Tool>, String> {
    let mut tools = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(name) = line.strip_prefix(NAME_LABEL) else { continue };
        let mut block = vec![line];
        while let Some(line) = lines.next_if(|line| !line.trim().is_empty() && !line.starts_with(NAME_LABEL)) {
            block.push(line);
        }
        let after = |label: &str| block.iter().find_map(|line| line.strip_prefix(label)).map(str::trim);
        let specs = |label: &str| -> Result<Map<String, Value>, String> {
            let Some(text) = after(label).filter(|text| !text.is_empty()) else { return Ok(Map::new()) };
            serde_json::from_str(text).map_err(|error| {
                let label = label.trim_end_matches([':', ' ']);
                format!("the tool {:?} of the prompt: the {label} are no JSON object: {error}", name.trim())
            })
        };
        tools.push(Tool {
            name: name.trim().into(),
            description: after(DESCRIPTION_LABEL).or_else(|| after("API Description: ")).unwrap_or("").into(),
            inputs: specs(INPUTS_LABEL)?,
            outputs: specs(OUTPUTS_LABEL)?,
            block: Arc::from(block.join("\n")),
        });
    }
    Ok(tools)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_block_says_everything_of_a_tool_and_can_be_read_back() {
        let specs = |value: Value| value.as_object().cloned().unwrap_or_default();
        let inputs = specs(json!({"size": {"type": "string", "description": "as \"M\"", "required": true}}));
        let text = block("findTent", "Finds a tent", &inputs, &Map::new());
        let prompt =
            format!("call API: nothing\n\n{text}\n\nAPI: other\nwords\n\n\n{TIME_LABEL}2040-01-02 03:04:05 Monday\n");
        let tools = tools_in(&prompt).unwrap_or_default();
        assert_eq!(tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), ["findTent", "other"]);
        assert_eq!((&*tools[0].description, &tools[0].inputs, &*tools[0].block), ("Finds a tent", &inputs, &*text));
        assert_eq!(time_in(&prompt), Some("2040-01-02 03:04:05 Monday"));
    }

    #[test]
    fn a_line_with_the_time_is_cut_off_a_block() {
        let raw = format!("API: a\nOutput parameters: {{}}\n\n\n{TIME_LABEL}2040-01-02 03:04:05 Monday");
        assert_eq!(repaired(&raw), ("API: a\nOutput parameters: {}", Some("2040-01-02 03:04:05 Monday")));
        assert_eq!(repaired("API: a"), ("API: a", None));
    }
}
