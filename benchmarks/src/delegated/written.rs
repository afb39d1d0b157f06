//! The answer in what an external agent wrote, as JSON or as text.

use std::sync::Arc;

use regatta_proto::{Reply, ToolCall};
use serde_json::Value;

/// Field of an agent's JSON that holds its answer.
const ANSWER: &str = "answer";
/// Field of an agent's JSON that holds the calls of tools which are its answer.
const TOOL_CALLS: &str = "tool_calls";

/// The answer as text: the field `answer` of JSON, or all of it; `None` if the agent wrote nothing.
pub(super) fn text(output: &str) -> Option<Arc<str>> {
    let last_line = last_line(output)?;
    let named = |text: &str| {
        let value: Value = serde_json::from_str(text.trim()).ok()?;
        value.get(ANSWER)?.as_str().map(Arc::<str>::from)
    };
    named(output).or_else(|| named(last_line)).or_else(|| Some(output.into()))
}

/// The answer as calls, with the text beside them, where the JSON has the field `tool_calls`; otherwise as text; `None` if the agent wrote
/// nothing.
pub(super) fn reply(output: &str) -> Option<Reply> {
    calls(output).or_else(|| calls(last_line(output)?)).or_else(|| text(output).map(Reply::said))
}

fn last_line(output: &str) -> Option<&str> {
    output.lines().rev().find(|line| !line.trim().is_empty())
}

/// The calls in a JSON object; `None` if it has none, or one that names no tool.
fn calls(json: &str) -> Option<Reply> {
    let value: Value = serde_json::from_str(json.trim()).ok()?;
    let calls = (1..).zip(value.get(TOOL_CALLS)?.as_array()?);
    let calls: Vec<ToolCall> = calls.map(|(number, call)| tool_call(number, call)).collect::<Option<_>>()?;
    let text = value.get(ANSWER).and_then(Value::as_str).filter(|text| !text.is_empty());
    (!calls.is_empty()).then(|| Reply::calling(text, calls))
}

/// A call as OpenAI's clients have it, in `function`, or as plain `name` and `arguments`; `None` if it names no tool.
pub(super) fn tool_call(number: usize, call: &Value) -> Option<ToolCall> {
    let function = call.get("function").unwrap_or(call);
    let name = function.get("name")?.as_str()?;
    let arguments = match function.get("arguments") {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => "{}".to_owned(),
    };
    let id = call.get("id").and_then(Value::as_str).map_or_else(|| format!("call_{number}"), str::to_owned);
    Some(ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() })
}
