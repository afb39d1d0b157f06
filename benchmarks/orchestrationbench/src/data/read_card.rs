//! Parser of agent cards (docs/benchmarks/orchestrationbench.md §2.3).

use std::sync::Arc;

use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::{SourceLocation, kind_of};
use regatta_proto::Tool;
use serde_json::Value;

use super::card::{Card, Skill};

/// Parses the agent of one file.
///
/// # Errors
/// With the field that is missing or of the wrong type.
pub(super) fn read_card(file: &SourceLocation<'_>, content: &[u8]) -> Result<Card, DataError> {
    let value: Value = serde_json::from_slice(content).map_err(|error| file.json(&error))?;
    let card = object_at(file, value.get("agent_card"), "agent_card")?;
    let text = |field: &str| text_at(file, card.get(field), &format!("agent_card.{field}"));
    let skills = list_at(file, card.get("skills"), "agent_card.skills")?;
    let tools = list_at(file, value.get("tools"), "tools")?;
    Ok(Card {
        agent_id: text("agent_id")?,
        name: text("name")?,
        description: text("description")?,
        skills: skills.iter().enumerate().map(|(at, skill)| read_skill(file, at, skill)).collect::<Result<_, _>>()?,
        tools: tools.iter().enumerate().map(|(at, tool)| read_tool(file, at, tool)).collect::<Result<_, _>>()?,
    })
}

fn read_skill(file: &SourceLocation<'_>, at: usize, skill: &Value) -> Result<Skill, DataError> {
    let text = |field: &str| text_at(file, skill.get(field), &format!("agent_card.skills[{at}].{field}"));
    Ok(Skill { id: text("id")?, description: text("description")? })
}

fn read_tool(file: &SourceLocation<'_>, at: usize, tool: &Value) -> Result<Tool, DataError> {
    let field = |field: &str| format!("tools[{at}].{field}");
    let name = text_at(file, tool.get("name"), &field("name"))?;
    let description = match tool.get("description") {
        None | Some(Value::Null) => None,
        given => Some(text_at(file, given, &field("description"))?),
    };
    object_at(file, tool.get("parameters"), &field("parameters"))?;
    let parameters = Arc::new(tool.get("parameters").cloned().unwrap_or_default());
    Ok(Tool { name, description, parameters })
}

fn text_at(file: &SourceLocation<'_>, value: Option<&Value>, field: &str) -> Result<Arc<str>, DataError> {
    file.text_at(value, field).map(Into::into)
}

fn object_at<'v>(file: &SourceLocation<'_>, value: Option<&'v Value>, field: &str) -> Result<&'v Value, DataError> {
    match value {
        Some(object @ Value::Object(_)) => Ok(object),
        Some(other) => Err(file.error(field, format!("must be an object, is {}", kind_of(other)))),
        None => Err(file.error(field, "is missing; it must be an object")),
    }
}

/// Returns the list in `value`; a missing or `null` value is an empty list.
fn list_at<'v>(file: &SourceLocation<'_>, value: Option<&'v Value>, field: &str) -> Result<&'v [Value], DataError> {
    match value {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(values)) => Ok(values),
        Some(other) => Err(file.error(field, format!("must be an array, is {}", kind_of(other)))),
    }
}
