//! Scripted answers: a JSONL file of rules.

use std::collections::HashMap;
use std::sync::Arc;

use regatta_proto::{ChatRequest, Finish, Reply, ToolCall};
use serde::Deserialize;
use serde_json::Value;

/// The rules of the model `scripted`, one JSON object per line: `{"match": {"item": ID, "trial": N, "contains": TEXT}, "reply": TEXT,
/// "tool_calls": [{"name": NAME, "arguments": OBJECT}]}`, with a reply, calls, or both. Arguments may also be a text, which is sent
/// unchanged, and a call may have an `id`; the default is `call_N`, where N is the number of earlier calls in the conversation.
///
/// All conditions in `match` must hold; a rule without conditions always applies. The first rule that applies answers. `contains` searches
/// the last message of the conversation. Blank lines are skipped.
#[derive(Debug, Clone, Default)]
pub struct Script {
    rules: Vec<Rule>,
    /// Rules with an item, by item; positions ascend.
    by_item: HashMap<String, Vec<usize>>,
    /// Positions of the other rules.
    for_any_item: Vec<usize>,
}

/// A script that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error(
    "{origin}, line {line}: failed to read a rule: {source}; expected {{\"match\": {{\"item\"?, \"trial\"?, \"contains\"?}}, \"reply\"?: text, \"tool_calls\"?: [{{\"name\", \"arguments\", \"id\"?}}]}}"
)]
pub struct ScriptError {
    origin: String,
    line: usize,
    source: serde_json::Error,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    #[serde(default, rename = "match")]
    conditions: Conditions,
    reply: Option<Arc<str>>,
    #[serde(default)]
    tool_calls: Vec<ScriptedCall>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedCall {
    id: Option<Arc<str>>,
    name: Arc<str>,
    arguments: Value,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Conditions {
    item: Option<String>,
    trial: Option<u16>,
    contains: Option<String>,
}

impl Script {
    /// Parses the JSON lines of `text`; `origin`, such as a path, appears in errors.
    ///
    /// # Errors
    /// The first line that is no rule.
    pub fn parse(origin: &str, text: &str) -> Result<Self, ScriptError> {
        let mut script = Self::default();
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let error = |source| ScriptError { origin: origin.to_owned(), line: index + 1, source };
            let rule: Rule = serde_json::from_str(line).map_err(error)?;
            if rule.reply.is_none() && rule.tool_calls.is_empty() {
                return Err(error(serde::de::Error::custom("neither `reply` nor `tool_calls` is there")));
            }
            let position = script.rules.len();
            match &rule.conditions.item {
                Some(item) => script.by_item.entry(item.clone()).or_default().push(position),
                None => script.for_any_item.push(position),
            }
            script.rules.push(rule);
        }
        Ok(script)
    }

    /// The reply to `request`, in the session of `item` if known; `None` if no rule applies.
    pub(crate) fn reply(&self, item: Option<&str>, trial: u16, request: &ChatRequest) -> Option<Reply> {
        let last = request.messages.last().map_or("", |message| &message.content);
        let applies = |position: &&usize| {
            let Conditions { item: _, trial: wanted, contains } = &self.rules[**position].conditions;
            wanted.is_none_or(|wanted| wanted == trial) && contains.as_ref().is_none_or(|text| last.contains(text))
        };
        let own = item.and_then(|item| self.by_item.get(item)).and_then(|rules| rules.iter().find(applies));
        let general = self.for_any_item.iter().find(applies);
        let first = own.into_iter().chain(general).min()?;
        Some(self.rules[*first].answer(request))
    }
}

impl Rule {
    fn answer(&self, request: &ChatRequest) -> Reply {
        let text = self.reply.as_deref();
        if self.tool_calls.is_empty() {
            return Reply::of_text(text, Finish::Stop);
        }
        let before: usize = request.messages.iter().map(|message| message.tool_calls.len()).sum();
        let calls =
            self.tool_calls.iter().zip(before..).map(|(ScriptedCall { id, name, arguments }, number)| ToolCall {
                id: id.clone().unwrap_or_else(|| format!("call_{number}").into()),
                name: name.clone(),
                arguments: match arguments {
                    Value::String(text) => text.as_str().into(),
                    other => other.to_string().into(),
                },
            });
        Reply::calling(text, calls.collect())
    }
}

#[cfg(test)]
mod tests {
    use regatta_proto::{ChatMessage, ChatRole, Sampling};

    use super::*;

    fn asked(text: &str) -> ChatRequest {
        ChatRequest::new(vec![ChatMessage::new(ChatRole::User, text)], Sampling::default())
    }

    fn script() -> Script {
        let text = r#"
            {"match": {"item": "a", "trial": 1}, "reply": "second try at a"}
            {"match": {"contains": "hello"}, "reply": "greeting"}
            {"match": {"item": "a"}, "reply": "a"}

            {"reply": "anything"}
        "#;
        Script::parse("script.jsonl", text).unwrap()
    }

    #[test]
    fn the_first_rule_whose_conditions_all_hold_answers() {
        let script = script();
        let reply = |item, trial, text| script.reply(item, trial, &asked(text)).unwrap().text.unwrap().to_string();
        assert_eq!(reply(Some("a"), 1, "hello"), "second try at a");
        assert_eq!(reply(Some("a"), 0, "hello"), "greeting");
        assert_eq!(reply(Some("a"), 0, "bye"), "a");
        assert_eq!(reply(Some("b"), 0, "bye"), "anything");
        assert_eq!(reply(None, 0, "oh hello there"), "greeting");
    }

    #[test]
    fn calls_are_numbered_through_the_conversation_and_their_arguments_kept_to_the_letter() {
        let script = Script::parse(
            "s",
            r#"{"tool_calls": [{"name": "look", "arguments": {"b": 1, "a": "나"}}, {"name": "take", "arguments": "no JSON", "id": "x"}]}"#,
        );
        let first = script.as_ref().unwrap().reply(None, 0, &asked("go")).unwrap();
        let call = |id: &str, name: &str, arguments: &str| ToolCall {
            id: id.into(),
            name: name.into(),
            arguments: arguments.into(),
        };
        let calls = |first: &str| vec![call(first, "look", r#"{"b":1,"a":"나"}"#), call("x", "take", "no JSON")];
        assert_eq!(first, Reply::calling(None, calls("call_0")));
        let mut later = asked("go");
        later.messages.push(ChatMessage { tool_calls: first.tool_calls, ..ChatMessage::new(ChatRole::Assistant, "") });
        assert_eq!(script.unwrap().reply(None, 0, &later).unwrap().tool_calls, calls("call_2"));
    }

    #[test]
    fn a_rule_without_an_answer_is_refused() {
        let error = Script::parse("s", r#"{"match": {"item": "a"}}"#).unwrap_err();
        assert!(
            error.to_string().starts_with("s, line 1: failed to read a rule: neither `reply` nor `tool_calls`"),
            "{error}"
        );
    }

    #[test]
    fn a_script_may_leave_requests_unanswered() {
        let script = Script::parse("s", r#"{"match": {"item": "a"}, "reply": "x"}"#).unwrap();
        assert!(script.reply(Some("b"), 0, &asked("hi")).is_none());
    }

    #[test]
    fn a_rule_that_cannot_be_read_is_named_by_file_and_line() {
        let error =
            Script::parse("replies.jsonl", "{\"reply\": \"x\"}\n\n{\"macth\": {}, \"reply\": \"y\"}").unwrap_err();
        insta::assert_snapshot!(error);
    }
}
