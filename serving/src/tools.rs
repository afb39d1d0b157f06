//! The tools that a request offers.

use std::sync::Arc;

use regatta_proto::Tool;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::error::ApiError;
use crate::fields::{Fields, shallow};
use crate::reader::Reader;
use crate::refused::{PROVIDERS_TOOL, UNREAD_ANSWER};

/// A tool. Chat completions put its name into a `function`, the other formats beside its type.
#[derive(Deserialize)]
struct WireTool {
    name: Option<Arc<str>>,
    function: Option<Named>,
}

#[derive(Deserialize)]
struct Named {
    name: Arc<str>,
}

/// The named tools of a request, without descriptions and schemas, which no simulated model reads. Tools without a name, such as a
/// provider's own, are skipped, and so is a value that is no list.
pub(crate) fn offered(tools: Option<&RawValue>) -> Vec<Tool> {
    let tools: Vec<WireTool> = tools.and_then(|tools| serde_json::from_str(tools.get()).ok()).unwrap_or_default();
    let names = tools.into_iter().filter_map(|tool| tool.name.or_else(|| tool.function.map(|function| function.name)));
    names.map(|name| Tool { name, description: None, parameters: Arc::default() }).collect()
}

/// Reads a function whole; its schema is called `schema`.
///
/// `strict` is left out, and reported: the model is asked to follow the schema, but the provider may not enforce it.
pub(crate) fn function(mut fields: Fields<'_>, schema: &str, reader: &mut Reader) -> Result<Tool, ApiError> {
    let name = fields.need_text("name")?;
    let description = fields.text("description")?;
    let parameters = fields.take::<Value>(schema)?;
    if parameters.as_ref().is_some_and(|parameters| !parameters.is_object()) {
        return Err(fields.refuse(schema, "is no object"));
    }
    let parameters = parameters.map(|parameters| shallow(parameters, &fields.path_of(schema))).transpose()?;
    if fields.take::<bool>("strict")? == Some(true) {
        reader.left_out.insert("tools.strict");
    }
    // It changes the price, and nothing else.
    fields.pass_over(&["cache_control"]);
    fields.finish(reader)?;
    Ok(Tool {
        name: name.into(),
        description: description.map(Into::into),
        parameters: Arc::new(parameters.unwrap_or_else(|| json!({"type": "object", "properties": {}}))),
    })
}

/// Kinds of tools that the client runs, and whose calls are of a form that is not recorded.
const UNREAD: [&str; 6] = ["custom", "local_shell", "shell", "apply_patch", "namespace", "computer"];

/// The reason why a tool of the kind `kind` is refused.
pub(crate) fn foreign(kind: &str) -> &'static str {
    if UNREAD.contains(&kind) || kind.starts_with("computer_") { UNREAD_ANSWER } else { PROVIDERS_TOOL }
}

/// `true` for a tool whose schema the provider knows and that the client runs, as Anthropic's shell and its editor: its calls are those of
/// a function.
pub(crate) fn is_clients_own(kind: &str) -> bool {
    ["bash_", "text_editor_", "computer_", "memory_"].iter().any(|family| kind.starts_with(family))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(tools: &str) -> Vec<String> {
        let tools: Box<RawValue> = serde_json::from_str(tools).unwrap();
        offered(Some(&tools)).into_iter().map(|tool| tool.name.to_string()).collect()
    }

    #[test]
    fn tools_have_their_names_in_every_format() {
        let chat = r#"[{"type": "function", "function": {"name": "look", "parameters": {}}}]"#;
        let others = r#"[{"type": "function", "name": "look"}, {"name": "take", "input_schema": {}}]"#;
        assert_eq!(names(chat), ["look"]);
        assert_eq!(names(others), ["look", "take"]);
    }

    #[test]
    fn what_has_no_name_is_passed_over() {
        assert_eq!(names(r#"[{"type": "web_search"}, {"name": "take"}]"#), ["take"]);
        assert_eq!(names("{}"), Vec::<String>::new());
        assert_eq!(names("[1]"), Vec::<String>::new());
        assert!(offered(None).is_empty());
    }
}
