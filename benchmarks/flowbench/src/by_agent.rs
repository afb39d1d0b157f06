//! The tools of a conversation as definitions for an external agent, and the calls that it answers with, in the form of the prompt
//! (docs/benchmarks/flowbench.md §3.9).

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use regatta_proto::{Reply, Tool as Definition};
use serde_json::{Map, Value, json};

use super::data::{Entry, Tool};
use super::setting::Format;

/// Types of parameters that JSON Schema knows under the name that the data gives them.
const TYPES: [&str; 6] = ["string", "integer", "number", "boolean", "array", "object"];

/// Definitions of the tools in the agent's prompt. They say no more than the prompt does: in one format that is the names.
pub(crate) fn definitions(entry: &Entry, format: Format) -> Vec<Definition> {
    // Of several with the same name, the simulated environment knows the first.
    let mut seen = BTreeSet::new();
    let tools = entry.tools().into_iter().filter(|tool| seen.insert(&*tool.name));
    tools.map(|tool| definition(tool, format)).collect()
}

fn definition(tool: &Tool, format: Format) -> Definition {
    let is_described = match format {
        Format::NoneWithoutTools => false,
        Format::None | Format::Text | Format::Code | Format::Flowchart | Format::Ensemble => true,
    };
    if !is_described {
        let properties: Map<String, Value> = tool.inputs.keys().map(|name| (name.clone(), json!({}))).collect();
        let parameters = Arc::new(json!({"type": "object", "properties": properties}));
        return Definition { name: Arc::clone(&tool.name), description: None, parameters };
    }
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (name, spec) in &tool.inputs {
        let Some(parameter) = tool.parameter(name) else { continue };
        let mut schema = Map::new();
        if let Some(kind) = spec.get("type").and_then(Value::as_str).filter(|kind| TYPES.contains(kind)) {
            schema.insert("type".to_owned(), json!(kind));
        }
        schema.insert("description".to_owned(), json!(parameter.description()));
        properties.insert(name.clone(), Value::Object(schema));
        if parameter.required() {
            required.push(name.as_str());
        }
    }
    Definition {
        name: Arc::clone(&tool.name),
        description: Some(Arc::clone(&tool.description)),
        parameters: Arc::new(json!({"type": "object", "properties": properties, "required": required})),
    }
}

/// The text of an external agent's reply; `None` if it said nothing. A call of a tool is written down as the prompt wants calls written,
/// because a conversation knows no others; of several calls it is the first, as the prompt wants one.
pub(crate) fn written(reply: &Reply) -> Option<Cow<'_, str>> {
    let Some(call) = reply.tool_calls.first() else { return reply.text.as_deref().map(Cow::Borrowed) };
    let said = reply.text.as_deref().unwrap_or_default().trim();
    let thought = said.strip_prefix("Thought:").unwrap_or(said).trim();
    // A reply without a thought is asked for again.
    let thought = if thought.is_empty() { "The next step is a call." } else { thought };
    let arguments: Result<Value, _> = serde_json::from_str(&call.arguments);
    let arguments = arguments.map_or_else(|_| call.arguments.to_string(), |arguments| arguments.to_string());
    Some(format!("Thought: {thought}\nAction: {}\nAction Input: {arguments}", call.name).into())
}

#[cfg(test)]
mod tests {
    use regatta_proto::ToolCall;

    use super::*;

    #[test]
    fn a_call_is_written_as_the_prompt_wants_it_and_a_text_stays_as_it_is() {
        let call =
            |name: &str, arguments: &str| ToolCall { id: "c".into(), name: name.into(), arguments: arguments.into() };
        let text = |text: Option<&str>, calls: Vec<ToolCall>| {
            written(&Reply::calling(text, calls)).map(std::borrow::Cow::into_owned)
        };
        let book = || call("book", "{\n \"room\": 1\n}");
        let bare = "Thought: The next step is a call.\nAction: book\nAction Input: {\"room\":1}";
        assert_eq!(text(None, vec![book(), call("other", "{}")]).as_deref(), Some(bare));
        let thought = "Thought: They want a room.\nAction: book\nAction Input: {\"room\":1}";
        assert_eq!(text(Some("Thought: They want a room."), vec![book()]).as_deref(), Some(thought));
        let no_json = "Thought: They want a room.\nAction: book\nAction Input: one";
        assert_eq!(text(Some("They want a room."), vec![call("book", "one")]).as_deref(), Some(no_json));
        assert_eq!(written(&Reply::said("Response: x")).as_deref(), Some("Response: x"));
    }
}
