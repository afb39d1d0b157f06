//! The tools that a request offers, by name: simulated models tell by them what they are asked for.

use std::sync::Arc;

use regatta_proto::Tool;
use serde::Deserialize;
use serde_json::value::RawValue;

/// A tool: in chat completions it is a function within, in the other formats it has its name itself.
#[derive(Deserialize)]
struct WireTool {
    name: Option<Arc<str>>,
    function: Option<Named>,
}

#[derive(Deserialize)]
struct Named {
    name: Arc<str>,
}

/// The named tools of a request, without descriptions and schemas, which no simulated model reads. What has no name, as a provider's own
/// tools, is passed over; so is what is no list at all.
pub(super) fn offered(tools: Option<&RawValue>) -> Vec<Tool> {
    let tools: Vec<WireTool> = tools.and_then(|tools| serde_json::from_str(tools.get()).ok()).unwrap_or_default();
    let names = tools.into_iter().filter_map(|tool| tool.name.or_else(|| tool.function.map(|function| function.name)));
    names.map(|name| Tool { name, description: None, parameters: Arc::default() }).collect()
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
