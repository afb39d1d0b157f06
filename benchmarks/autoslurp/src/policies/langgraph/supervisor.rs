//! The supervisor: who is next.

use std::sync::Arc;

use regatta_proto::{ChatMessage, ChatRequest, Reply, Tool, ToolChoice};
use regatta_pycompat::{Json, Object, parse, repr};
use serde_json::json;

use super::tools;
use super::worker::Worker;
use crate::members;

/// The tool whose arguments are the supervisor's answer.
pub(super) const ROUTER: &str = "Router";

/// The answer that nobody is next.
pub(super) const FINISH: &str = "FINISH";

/// Choice of the supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Nobody; the run is over.
    Finish,
    /// This worker.
    Worker(Worker),
}

/// The supervisor's answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// Text that is printed of it; `None` when it is not even read.
    pub(super) printed: Option<String>,
    /// The choice; `None` where the framework raises.
    pub(super) next: Option<Next>,
}

/// Request to the supervisor, given the list.
pub(super) fn request(list: &[ChatMessage]) -> ChatRequest {
    let choices: Vec<&str> = std::iter::once(FINISH).chain(Worker::ALL.map(Worker::name)).collect();
    let next = json!({"enum": choices, "type": "string"});
    let router = Tool {
        name: ROUTER.into(),
        description: None,
        parameters: Arc::new(json!({"type": "object", "properties": {"next": next}, "required": ["next"]})),
    };
    ChatRequest {
        tool_choice: ToolChoice::Named(ROUTER.into()),
        parallel_tool_calls: Some(false),
        ..super::request(members::MANAGER, list, &[], vec![router])
    }
}

/// Reads the answer: the arguments of the first call of the router, or a text that is JSON, in a fence or not
/// (docs/benchmarks/autoslurp.md §3.3).
pub(super) fn read(reply: &Reply) -> Answer {
    if reply.tool_calls.is_empty() {
        return match reply.text.as_deref() {
            Some(text) => Answer { printed: Some(text.to_owned()), next: next_of_text(text) },
            None => Answer { printed: Some("None".to_owned()), next: None },
        };
    }
    let mut calls = match tools::calls(reply) {
        Some(calls) if !calls.is_empty() => calls.into_iter(),
        _ => return Answer { printed: None, next: None },
    };
    match calls.find(|call| *call.name == *ROUTER) {
        Some(call) => {
            let next = next_of(&call.arguments);
            Answer { printed: Some(repr(&Json::Object(call.arguments).into())), next }
        }
        None => Answer { printed: Some("None".to_owned()), next: None },
    }
}

fn next_of_text(text: &str) -> Option<Next> {
    let text = text.strip_prefix("```json").unwrap_or(text);
    let text = text.strip_suffix("```").unwrap_or(text);
    next_of(parse(text)?.as_object()?)
}

fn next_of(answer: &Object) -> Option<Next> {
    let name = answer.get("next")?.as_str()?;
    if name == FINISH {
        return Some(Next::Finish);
    }
    Worker::ALL.into_iter().find(|worker| worker.name() == name).map(Next::Worker)
}

#[cfg(test)]
mod tests {
    use regatta_proto::ToolCall;

    use super::*;

    fn calling(calls: &[(&str, &str)]) -> Answer {
        let calls = calls.iter().map(|(name, arguments)| ToolCall {
            id: "c".into(),
            name: (*name).into(),
            arguments: (*arguments).into(),
        });
        read(&Reply::calling(None, calls.collect()))
    }

    fn answer(printed: &str, next: Option<Next>) -> Answer {
        Answer { printed: Some(printed.to_owned()), next }
    }

    #[test]
    fn the_router_says_who_is_next() {
        let next = Some(Next::Worker(Worker::Response));
        assert_eq!(calling(&[(ROUTER, "{\"next\":\"genresponse\"}")]), answer("{'next': 'genresponse'}", next));
        assert_eq!(calling(&[(ROUTER, "{\"next\": \"FINISH\"}")]), answer("{'next': 'FINISH'}", Some(Next::Finish)));
        let more = calling(&[(ROUTER, "{\"next\":\"genresponse\",\"why\":\"it's \\\"it\\\"\"}")]);
        assert_eq!(more, answer("{'next': 'genresponse', 'why': 'it\\'s \"it\"'}", next));
    }

    #[test]
    fn the_first_call_of_the_router_counts_that_can_be_read() {
        let calls = [("a", "{}"), (ROUTER, "{bad"), (ROUTER, "{\"next\":\"url\"}"), (ROUTER, "{\"next\":\"time\"}")];
        assert_eq!(calling(&calls), answer("{'next': 'url'}", Some(Next::Worker(Worker::Url))));
    }

    #[test]
    fn texts_are_read_as_json_in_a_fence_or_not() {
        for text in ["{\"next\": \"url\"}", "```json\n{\"next\": \"url\"}\n```", " {\"next\":\"url\", \"a\":1}\n"] {
            assert_eq!(read(&Reply::said(text)), answer(text, Some(Next::Worker(Worker::Url))));
        }
    }

    #[test]
    fn anything_else_raises() {
        for text in
            ["", "url", "[\"url\"]", "{\"next\":\"supervisor\"}", "{\"next\":null}", "{}", "```{\"next\":\"url\"}```"]
        {
            assert_eq!(read(&Reply::said(text)), answer(text, None));
        }
        let nobody = calling(&[(ROUTER, "{\"next\":\"nobody\"}")]);
        assert_eq!(nobody, answer("{'next': 'nobody'}", None));
        assert_eq!(calling(&[(ROUTER, "{\"next\":[\"url\"]}")]), answer("{'next': ['url']}", None));
        assert_eq!(calling(&[(ROUTER, "null")]), answer("{}", None));
        assert_eq!(calling(&[("url", "{}")]), answer("None", None));
        for broken in ["{bad", "", "[\"url\"]"] {
            assert_eq!(calling(&[(ROUTER, broken)]), Answer { printed: None, next: None }, "{broken}");
        }
        assert_eq!(read(&Reply::of_text(None, regatta_proto::Finish::Stop)), answer("None", None));
    }
}
