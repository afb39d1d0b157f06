//! The agent's system prompt (docs/benchmarks/flowbench.md §3.2): task, rules, output format, workflows, tools, time.
//!
//! Evaluators search the prompt for three things (docs/benchmarks/flowbench.md §2.2), so no earlier text may look
//! like them: [`KNOWLEDGE_LINE`], the tools' blocks, and the line with the time.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use crate::data::{NAME_LABEL, Scenario, TIME_LABEL, Tool, one_line};
use crate::setting::{Format, Scope};

/// Begins the agent's knowledge, which extends to the time. Evaluators search for this line.
pub(crate) const KNOWLEDGE_LINE: &str = "Your capabilities are based on the following workflows and API information:";
/// Text at which evaluators end the agent's knowledge.
const KNOWLEDGE_END: &str = "Please note that the current time";
/// Ends the heading of a flowchart in the real prompts.
const FULL_WIDTH_COLON: char = '：';

/// Inputs of an agent's system prompt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AgentPrompt<'p> {
    /// Role, such as `hotel_reception`.
    pub(crate) role: &'p str,
    /// Description of the role, a paragraph, if there is one.
    pub(crate) background: Option<&'p str>,
    /// Scope of the knowledge: one scenario, or all of the role.
    pub(crate) scope: Scope,
    /// Format of the workflows.
    pub(crate) format: Format,
    /// Scenarios that the agent knows, in order.
    pub(crate) scenarios: &'p [Arc<Scenario>],
    /// Time: `YYYY-MM-DD HH:MM:SS Weekday`.
    pub(crate) datetime: &'p str,
}

/// Renders the agent's system prompt.
pub(crate) fn agent_system(prompt: &AgentPrompt<'_>) -> String {
    let mut parts = vec![task(prompt), rules(prompt), output_format(prompt.format)];
    parts.push(KNOWLEDGE_LINE.to_owned());
    for (number, scenario) in prompt.scenarios.iter().enumerate() {
        let title = match prompt.scope {
            Scope::Single => format!("the scenario \"{}\"", scenario.name),
            Scope::Cross => format!("scenario {} \"{}\"", number + 1, scenario.name),
        };
        parts.extend(workflows(prompt.format, scenario, &title));
    }
    // A block that several scenarios share is given once.
    let mut seen = BTreeSet::new();
    for tool in prompt.scenarios.iter().flat_map(|scenario| &scenario.tools) {
        let block = match prompt.format {
            Format::NoneWithoutTools => names_only(tool),
            _ => tool.block.to_string(),
        };
        if seen.insert(block.clone()) {
            parts.push(block);
        }
    }
    // Two blank lines before the time, as in the real prompts.
    format!("{}\n\n\n{TIME_LABEL}{}", parts.join("\n\n"), prompt.datetime)
}

/// Adds the demand that the thought comes first, which follows the time in the system prompts of turns
/// (docs/benchmarks/flowbench.md §3.2).
pub(crate) fn thought_first(system: &str) -> String {
    format!("{system}\nBegin every output with its Thought part; never leave it out.")
}

/// Returns the workflows and tools of a system prompt, for judges: the text between the lines that mark them
/// (docs/benchmarks/flowbench.md §2.2). Empty when the prompt lacks these lines.
pub(crate) fn workflow_info(system: &str) -> &str {
    let after = system.split_once(KNOWLEDGE_LINE).map(|(_, after)| after);
    after.and_then(|after| after.split_once(KNOWLEDGE_END)).map_or("", |(info, _)| info.trim())
}

fn task(prompt: &AgentPrompt<'_>) -> String {
    let role = prompt.role.replace('_', " ");
    let background = prompt.background.map(|text| format!("\n{text}")).unwrap_or_default();
    let several = match prompt.scope {
        Scope::Single => "",
        Scope::Cross => {
            " You serve several scenarios; find out which one the user needs, and change when the user does."
        }
    };
    format!("You are an assistant that talks with a user. Your role: {role}.{several}{background}")
}

fn rules(prompt: &AgentPrompt<'_>) -> String {
    let knowledge = match prompt.format {
        Format::None => "No workflow is given: decide by common sense and by what the tools need.",
        Format::NoneWithoutTools => {
            "No workflow is given, and of the tools only names: decide by common sense what they do and what they need."
        }
        Format::Text => {
            "Follow the workflow, which is written as prose: its steps, what they depend on, and what comes after them."
        }
        Format::Code => {
            "Follow the workflow, which is written as pseudo-code: its lines are steps, questions, tool calls and branches over \
             what the user wants or a tool returned."
        }
        Format::Flowchart => {
            "Follow the workflow, which is a Mermaid flowchart. A node is a step, a decision or a tool call; an edge is the \
             condition for going on: an intent of the user, or the value of a parameter or of a result."
        }
        Format::Ensemble => {
            "Follow the workflow, which is given three times: as prose, as pseudo-code and as a Mermaid flowchart. A node of the \
             flowchart is a step, a decision or a tool call; an edge is the condition for going on: an intent of the user, or the \
             value of a parameter or of a result."
        }
    };
    let rules = [
        knowledge,
        "Where a step has a goal and several parts, do them one by one and ask one question at a time.",
        "Decline politely whatever lies outside of what you know and can do.",
        "Collect from the user what a tool needs, in the form that the tool demands. Never invent a value; when one is malformed, \
         ask for it again.",
        "When the user wants several things, do one and say that the others come next. Come back to what was left unfinished.",
        "Call at most one tool in an output.",
        "When the user needs nothing more, say goodbye.",
    ];
    let numbered: Vec<String> = rules.iter().enumerate().map(|(n, rule)| format!("{}. {rule}", n + 1)).collect();
    format!("Rules:\n{}", numbered.join("\n"))
}

fn output_format(format: Format) -> String {
    let (thought, explained) = if matches!(format, Format::Flowchart | Format::Ensemble) {
        (
            "Thought: Previous node last_node=<node>, Current intention intent=<intent>, Current node current_node=<node>. <next step>",
            "In the thought, a node is an id of the flowchart, and an intent is the label of an edge, or UNK when the request is \
             outside of the workflow (the node is UNK then, too). When the current node calls a tool, the next step names the \
             parameters that are required and that are optional, the values that are known, and those that are missing. Join \
             several intents or nodes by \" AND \" when all of them hold, and by \" OR \" when it is not clear which one does; \
             then ask.",
        )
    } else {
        (
            "Thought: Current intention intent=<intent>, <next step>",
            "In the thought, say what the user wants now, or UNK when it is outside of what you can do, and what you do next. \
             Join several intents by \" AND \" when all of them hold, and by \" OR \" when it is not clear which one does; then ask.",
        )
    };
    format!(
        "Write exactly one of these two forms and nothing else.\nTo say something to the user:\n{thought}\nResponse: <what you \
         say>\nTo call a tool:\n{thought}\nAction: <the tool's name alone, without \"functions.\">\nAction Input: <the parameters as \
         strict JSON>\n{explained}"
    )
}

/// Renders the workflow of a scenario under its heading, once or (for an ensemble) three times.
fn workflows(format: Format, scenario: &Scenario, title: &str) -> Vec<String> {
    let text = || format!("Workflow of {title} as text:\n{}", scenario.text.trim());
    let code = || format!("Workflow of {title} as pseudo-code:\n{}", scenario.code.trim());
    let flowchart = || {
        // The real flowcharts begin with the colon of their heading.
        let chart = scenario.flowchart.trim_start().trim_start_matches(FULL_WIDTH_COLON).trim();
        format!("Workflow of {title} as a flowchart{FULL_WIDTH_COLON}\n{chart}")
    };
    match format {
        Format::None | Format::NoneWithoutTools => Vec::new(),
        Format::Text => vec![text()],
        Format::Code => vec![code()],
        Format::Flowchart => vec![flowchart()],
        Format::Ensemble => vec![text(), code(), flowchart()],
    }
}

/// Renders a tool without descriptions: its name and the names of its parameters and results.
fn names_only(tool: &Tool) -> String {
    let names = |specs: &serde_json::Map<String, Value>| one_line(&specs.keys().collect::<Vec<_>>());
    let (inputs, outputs) = (names(&tool.inputs), names(&tool.outputs));
    format!("{NAME_LABEL}{}\nInput parameters: {inputs}\nOutput parameters: {outputs}", tool.name)
}
