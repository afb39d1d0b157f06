//! Readings of models' texts, as the framework reads them.

use regatta_pycompat::{Json, parse};

/// A worker's result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TaskResult {
    pub(super) content: String,
    pub(super) failed: bool,
}

/// A new worker, as the coordinator describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NewWorker {
    /// System prompt of the worker.
    pub(super) told: String,
    /// Description for planner and coordinator.
    pub(super) description: String,
}

/// The pieces that a planner makes: what stands between tags.
pub(super) fn pieces(text: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("<task>") {
        let Some((piece, after)) = after.split_once("</task>") else { break };
        pieces.push(piece.to_owned());
        rest = after;
    }
    pieces
}

/// Id of the worker that the coordinator gives a task to; `None` where the framework cannot read it.
pub(super) fn assignee(text: &str) -> Option<String> {
    text_of(&parse(text)?, "assignee_id")
}

/// The worker that the coordinator wants; its role is nowhere seen again.
pub(super) fn new_worker(text: &str) -> Option<NewWorker> {
    let json = parse(text)?;
    text_of(&json, "role")?;
    Some(NewWorker { told: text_of(&json, "sys_msg")?, description: text_of(&json, "description")? })
}

/// A worker's result. Whether it has failed may be said in all the ways in which the framework's validation takes a boolean.
pub(super) fn result(text: &str) -> Option<TaskResult> {
    let json = parse(text)?;
    let failed = match json.as_object()?.get("failed")? {
        Json::Bool(failed) => *failed,
        Json::Int(int) if int.decimal() == "0" => false,
        Json::Int(int) if int.decimal() == "1" => true,
        Json::Float(float) if *float == 0.0 => false,
        Json::Float(float) if (*float - 1.0).abs() < f64::EPSILON => true,
        Json::String(word) => match word.to_lowercase().as_str() {
            "0" | "off" | "f" | "false" | "n" | "no" => false,
            "1" | "on" | "t" | "true" | "y" | "yes" => true,
            _ => return None,
        },
        _ => return None,
    };
    Some(TaskResult { content: text_of(&json, "content")?, failed })
}

/// The arguments of a tool's call. The framework reads Python's words for constants as JSON's, wherever they stand.
pub(super) fn arguments(text: &str) -> Option<Json> {
    parse(&text.replace("None", "null").replace("True", "true").replace("False", "false"))
}

fn text_of(json: &Json, key: &str) -> Option<String> {
    json.as_object()?.get(key)?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_stand_between_tags() {
        assert_eq!(pieces("<tasks>\n<task>1. a</task>\n<task>\nb\nc</task></tasks>"), ["1. a", "\nb\nc"]);
        assert_eq!(pieces("<task>a <task>b</task></task><task>c"), ["a <task>b"]);
        assert!(pieces("1. a\n2. b").is_empty() && pieces("").is_empty() && pieces("</task><task>").is_empty());
    }

    #[test]
    fn results_are_validated_as_the_framework_does() {
        let read = |failed: &str| {
            result(&format!("{{\"content\": \"x\", \"failed\": {failed}, \"more\": 1}}")).map(|result| result.failed)
        };
        for failed in ["false", "0", "0.0", "\"no\"", "\"False\""] {
            assert_eq!(read(failed), Some(false), "{failed}");
        }
        for failed in ["true", "1", "1.0", "\"yes\"", "\"ON\""] {
            assert_eq!(read(failed), Some(true), "{failed}");
        }
        for failed in ["null", "2", "0.5", "\"maybe\"", "[]"] {
            assert_eq!(read(failed), None, "{failed}");
        }
        for text in [
            "",
            "done",
            "{\"content\": \"x\"}",
            "{\"failed\": false}",
            "{\"content\": 1, \"failed\": false}",
            "[]",
            "```json\n{}\n```",
        ] {
            assert_eq!(result(text), None, "{text}");
        }
    }

    #[test]
    fn an_assignee_is_a_text() {
        assert_eq!(assignee("{\"assignee_id\": \"140\"}").as_deref(), Some("140"));
        for text in ["140", "{\"assignee_id\": 140}", "{}", ""] {
            assert_eq!(assignee(text), None, "{text}");
        }
    }

    #[test]
    fn constants_of_python_are_read_in_arguments() {
        assert!(arguments("{\"a\": None, \"b\": [True, False]}").is_some());
        assert!(arguments("{'a': 1}").is_none());
    }
}
