//! Tools, as the user's proxy executes them.

use std::sync::Arc;

use regatta_proto::{ChatMessage, ChatRole, ToolCall};
use regatta_pycompat::{Json, Refusal, parse_or_refuse};

use crate::policies::query::Query;
use crate::run::Run;
use crate::servers;

/// The tool that says what day it is.
pub(super) const DATE_TOOL: &str = "get_time";
/// The tool that sends a request.
pub(super) const REQUEST_TOOL: &str = "url_request";

/// Most calls of one message that are executed.
pub(super) const EXECUTED_MAX: usize = 16;

/// Result of a call.
#[derive(Debug)]
pub(super) struct ToolResult {
    /// Id of the call.
    pub(super) id: Arc<str>,
    /// Text that the tool returned.
    pub(super) text: String,
}

impl ToolResult {
    /// The result as a message for models.
    pub(super) fn as_sent(&self) -> ChatMessage {
        ChatMessage { tool_call_id: Some(self.id.clone()), ..ChatMessage::new(ChatRole::Tool, self.text.as_str()) }
    }
}

/// Executes the call, the one at `position` of its message. A request is noted in `run`, and the answer printed. `None` where the framework
/// raises.
pub(super) fn execute(call: &ToolCall, position: usize, query: &Query<'_>, run: &mut Run) -> Option<ToolResult> {
    let result = |text: String| Some(ToolResult { id: call.id.clone(), text });
    if position >= EXECUTED_MAX {
        return result(format!("Error: more than {EXECUTED_MAX} calls at once; this one was not executed."));
    }
    if ![DATE_TOOL, REQUEST_TOOL].contains(&&*call.name) {
        return result(format!("Error: there is no function {}.", call.name));
    }
    let arguments = match parse_or_refuse(&formatted(&call.arguments)) {
        // The framework then has no result to return, and notices too late.
        Ok(Json::Null) => return None,
        Ok(arguments) => arguments,
        Err(Refusal::NotJson) => return result("Error: the arguments are not JSON.".to_owned()),
        Err(Refusal::LongInteger(_) | Refusal::TooDeep) => return None,
    };
    run.log.push_str(&format!("\n>>>>>>>> EXECUTING FUNCTION {}...\n", call.name));
    let Json::Object(arguments) = arguments else {
        return result("Error: the arguments are no JSON object.".to_owned());
    };
    let accepted: &[&str] = if *call.name == *DATE_TOOL { &[] } else { &["url"] };
    if let Some((unknown, _)) = arguments.iter().find(|(name, _)| !accepted.contains(name)) {
        return result(format!("Error: {} takes no argument {unknown}.", call.name));
    }
    if *call.name == *DATE_TOOL {
        return result(query.today.to_string());
    }
    result(match arguments.get("url") {
        Some(Json::String(url)) => send(url, query, run),
        Some(_) => "Error: url has to be a text.".to_owned(),
        None => "Error: the argument url is missing.".to_owned(),
    })
}

fn send(url: &str, query: &Query<'_>, run: &mut Run) -> String {
    let exchange = servers::exchange("GET", url, None, query.today);
    let (status, body) = (exchange.status, exchange.response.clone());
    run.requests.push(exchange);
    if status == 0 {
        return "Error: no request can be sent to this URL.".to_owned();
    }
    run.log.push_str(&body);
    run.log.push('\n');
    format!("server response {body}")
}

/// A tool's name with only what such names may hold, and not too long.
pub(super) fn normalised(name: &str) -> String {
    let is_kept = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    name.chars().take(64).map(|c| if is_kept(c) { c } else { '_' }).collect()
}

/// Arguments as the framework prepares them for reading: line breaks between texts go, line breaks and tabs in texts are escaped. It takes any
/// quote that no backslash stands before for the begin or end of a text.
fn formatted(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let (mut in_text, mut previous) = (false, ' ');
    for c in json.chars() {
        if c == '"' && previous != '\\' {
            in_text = !in_text;
        }
        previous = c;
        match c {
            '\n' if !in_text => {}
            '\n' => out.push_str("\\n"),
            '\t' if in_text => out.push_str("\\t"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tools_are_normalised() {
        assert_eq!(normalised("no such.thing-é"), "no_such_thing-_");
        assert_eq!(normalised(&"a".repeat(100)).len(), 64);
    }

    #[test]
    fn line_breaks_are_no_obstacle() {
        assert_eq!(formatted("{\"url\":\n\"a\nb\t\\\"\n\"\t}"), "{\"url\":\"a\\nb\\t\\\"\\n\"\t}");
    }
}
