//! Calls of tools, as LangChain reads them and LangGraph executes them.

use std::sync::Arc;

use regatta_proto::{Reply, ToolCall};
use regatta_pycompat::{Json, Object, parse};

use super::worker::{REQUEST_TOOL, TIME_TOOL, Worker};
use crate::policies::query::Query;
use crate::run::Run;
use crate::servers;

/// Most calls of one reply that are executed.
pub(super) const EXECUTED_MAX: usize = 16;

/// A call with arguments that can be read.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: Arc<str>,
    pub(super) name: Arc<str>,
    /// As the model wrote them.
    written: Arc<str>,
    pub(super) arguments: Object,
}

impl Call {
    /// As it is sent back to the model that made it.
    pub(super) fn as_sent(&self) -> ToolCall {
        let arguments = if self.arguments.is_empty() { "{}".into() } else { self.written.clone() };
        ToolCall { id: self.id.clone(), name: self.name.clone(), arguments }
    }
}

/// The calls of a reply that can be read; the others are as if they had not been made. `None` where reading them raises: what is JSON, but no
/// object, cannot be arguments, unless Python takes it for nothing.
pub(super) fn calls(reply: &Reply) -> Option<Vec<Call>> {
    let mut calls = Vec::new();
    for call in &reply.tool_calls {
        let arguments = match parse(&with_escapes(&call.arguments)) {
            None => continue,
            Some(Json::Object(arguments)) => arguments,
            Some(other) if is_nothing(&other) => Object::default(),
            Some(_) => return None,
        };
        let written = call.arguments.clone();
        calls.push(Call { id: call.id.clone(), name: call.name.clone(), written, arguments });
    }
    Some(calls)
}

/// Result of the call at `position` of its reply. A request is recorded in `run`, and the answer printed.
pub(super) fn execute(worker: Worker, call: &Call, position: usize, query: &Query<'_>, run: &mut Run) -> String {
    match worker.tool() {
        Some(_) if position >= EXECUTED_MAX => {
            format!("Error: more than {EXECUTED_MAX} calls at once; this one was not executed.")
        }
        Some(TIME_TOOL) if *call.name == *TIME_TOOL => query.today.to_string(),
        Some(REQUEST_TOOL) if *call.name == *REQUEST_TOOL => match call.arguments.get("url") {
            Some(Json::String(url)) => send(url, query, run),
            Some(_) => "Error: url has to be a text. Correct the call.".to_owned(),
            None => "Error: url is missing. Correct the call.".to_owned(),
        },
        known => format!("Error: there is no tool {}; there is only {}.", call.name, known.unwrap_or("none")),
    }
}

fn send(url: &str, query: &Query<'_>, run: &mut Run) -> String {
    let exchange = servers::exchange("GET", url, None, query.today);
    let (status, body) = (exchange.status, exchange.response.to_string());
    run.requests.push(exchange);
    if status == 0 {
        return "Error: no request can be sent to this URL. Correct the call.".to_owned();
    }
    run.log.push_str(&body);
    run.log.push('\n');
    body
}

/// Python's `bool` of it is false.
fn is_nothing(value: &Json) -> bool {
    match value {
        Json::Null | Json::Bool(false) => true,
        Json::Int(int) => int.equals_bool(false),
        Json::Float(float) => *float == 0.0,
        Json::String(text) => text.is_empty(),
        Json::List(values) => values.is_empty(),
        Json::Object(object) => object.is_empty(),
        Json::Bool(true) => false,
    }
}

/// The same JSON with escapes for the control characters that stand in its texts as they are: LangChain reads these, though JSON has them not.
fn with_escapes(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let (mut in_text, mut escaped) = (false, false);
    for c in json.chars() {
        if in_text && c < ' ' {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
        if c == '"' && !escaped {
            in_text = !in_text;
        }
        escaped = in_text && c == '\\' && !escaped;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &[&str]) -> Option<Vec<usize>> {
        let calls = arguments.iter().map(|arguments| ToolCall {
            id: "c".into(),
            name: "t".into(),
            arguments: (*arguments).into(),
        });
        super::calls(&Reply::calling(None, calls.collect()))
            .map(|calls| calls.iter().map(|c| c.arguments.len()).collect())
    }

    #[test]
    fn calls_that_are_not_json_were_not_made() {
        assert_eq!(read(&["{\"a\":1}", "{bad", "", "{}"]), Some(vec![1, 0]));
    }

    #[test]
    fn what_is_nothing_to_python_is_no_arguments_and_what_is_no_object_raises() {
        assert_eq!(read(&["null", "0", "0.0", "-0", "\"\"", "[]", "false"]), Some(vec![0; 7]));
        for raising in ["5", "[1]", "\"a\"", "true", "NaN"] {
            assert_eq!(read(&["{}", raising]), None, "{raising}");
        }
    }

    #[test]
    fn control_characters_in_texts_are_read() {
        assert_eq!(read(&["{\"a\":\n\"b\nc\t\\\"\u{1}\"}", "{\"a\\\\\":\"\n\"}"]), Some(vec![1, 1]));
        assert_eq!(with_escapes("{\n\"a\nb\"}"), "{\n\"a\\u000ab\"}");
    }
}
