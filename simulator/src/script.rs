//! Scripted answers: a JSONL file of rules.

use std::collections::HashMap;
use std::sync::Arc;

use regatta_proto::ChatRequest;
use serde::Deserialize;

/// The rules of the model `scripted`, one JSON object a line:
/// `{"match": {"item": ID, "trial": N, "contains": TEXT}, "reply": TEXT}`.
///
/// Every condition of `match` that is given must hold; without any the rule always applies. The first rule that applies answers.
/// `contains` looks into the last message of the conversation. Blank lines are skipped.
#[derive(Debug, Clone, Default)]
pub struct Script {
    rules: Vec<Rule>,
    /// Rules that name an item, by item; positions ascend.
    by_item: HashMap<String, Vec<usize>>,
    /// The others.
    for_any_item: Vec<usize>,
}

/// A script that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error(
    "{origin}, line {line}: failed to read a rule: {source}; expected {{\"match\": {{\"item\"?, \"trial\"?, \"contains\"?}}, \"reply\": text}}"
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
    reply: Arc<str>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Conditions {
    item: Option<String>,
    trial: Option<u16>,
    contains: Option<String>,
}

impl Script {
    /// Reads the JSON lines of `text`; `origin` (a path, say) appears in errors.
    ///
    /// # Errors
    /// With the line of a rule that cannot be read.
    pub fn parse(origin: &str, text: &str) -> Result<Self, ScriptError> {
        let mut script = Self::default();
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let rule: Rule = serde_json::from_str(line).map_err(|source| ScriptError {
                origin: origin.to_owned(),
                line: index + 1,
                source,
            })?;
            let position = script.rules.len();
            match &rule.conditions.item {
                Some(item) => script.by_item.entry(item.clone()).or_default().push(position),
                None => script.for_any_item.push(position),
            }
            script.rules.push(rule);
        }
        Ok(script)
    }

    /// The reply to `request`, in the session of `item` if that is known.
    pub(crate) fn reply(&self, item: Option<&str>, trial: u16, request: &ChatRequest) -> Option<&Arc<str>> {
        let last = request.messages.last().map_or("", |message| &message.content);
        let applies = |position: &&usize| {
            let Conditions { item: _, trial: wanted, contains } = &self.rules[**position].conditions;
            wanted.is_none_or(|wanted| wanted == trial) && contains.as_ref().is_none_or(|text| last.contains(text))
        };
        let own = item.and_then(|item| self.by_item.get(item)).and_then(|rules| rules.iter().find(applies));
        let general = self.for_any_item.iter().find(applies);
        let first = own.into_iter().chain(general).min()?;
        Some(&self.rules[*first].reply)
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
        let reply = |item, trial, text| script.reply(item, trial, &asked(text)).unwrap().to_string();
        assert_eq!(reply(Some("a"), 1, "hello"), "second try at a");
        assert_eq!(reply(Some("a"), 0, "hello"), "greeting");
        assert_eq!(reply(Some("a"), 0, "bye"), "a");
        assert_eq!(reply(Some("b"), 0, "bye"), "anything");
        assert_eq!(reply(None, 0, "oh hello there"), "greeting");
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
