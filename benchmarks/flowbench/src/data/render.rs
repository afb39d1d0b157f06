//! Texts of an item for models and judges. Texts that the record lacks are rendered on request.

use std::sync::Arc;

use serde_json::json;

use super::conversation::{Line, Message, Session, Speaker};
use super::entry::{Content, Entry, Function, Script};
use super::tool_text::time_in;
use crate::prompts::{
    self, AgentPrompt, agent_system, call_blocks, calls_with_results, every_turn_hint, first_turn_hint, user_target,
    workflow_info,
};
use crate::setting::Format;

impl Entry {
    /// Returns the agent's system prompt in `format`: the record's own, else ours. `None` when the record has none
    /// and the scenarios of its tools are not known. At turn level [`prompts::thought_first`] is added to it.
    pub(crate) fn system(&self, format: Format) -> Option<Arc<str>> {
        let own = match &self.content {
            Content::TurnRecord(record) => record.variants.get(&format).map(|variant| &variant.system),
            Content::SessionRecord(record) => record.systems.get(&format),
            Content::SessionTurn(..) | Content::Session(_) => None,
        };
        own.cloned().or_else(|| self.rendered(format))
    }

    /// Returns the system prompt in which evaluators look up tools and time; it does not depend on the setting, so
    /// scores depend on the item alone. It is the one with flowcharts, or the only one; empty when there is none.
    pub(crate) fn reference_system(&self) -> Arc<str> {
        let first = match &self.content {
            Content::TurnRecord(record) => record.variants.values().next().map(|variant| &variant.system),
            Content::SessionRecord(record) => record.systems.values().next(),
            Content::SessionTurn(..) | Content::Session(_) => None,
        };
        let flowchart = match (&self.content, first) {
            (Content::TurnRecord(record), Some(_)) => {
                record.variants.get(&Format::Flowchart).map(|variant| Arc::clone(&variant.system))
            }
            (Content::SessionRecord(record), Some(_)) => record.systems.get(&Format::Flowchart).cloned(),
            _ => self.rendered(Format::Flowchart),
        };
        flowchart.or_else(|| first.cloned()).unwrap_or_default()
    }

    /// Returns the time of the item, from its prompt or record.
    pub(crate) fn datetime(&self) -> Option<Arc<str>> {
        match &self.content {
            Content::SessionTurn(session, _) | Content::Session(session) => Some(Arc::clone(&session.datetime)),
            Content::TurnRecord(record) => record.datetime.clone(),
            Content::SessionRecord(record) => {
                let in_prompt = record.systems.values().next().and_then(|system| time_in(system));
                Some(in_prompt.map_or_else(|| Arc::clone(&record.script.datetime), Arc::from))
            }
        }
    }

    /// Returns the gold history of a turn (docs/benchmarks/flowbench.md §2.5): an earlier agent turn that calls a
    /// tool is given in full, any other as its response. Empty for a session.
    pub(crate) fn history(&self, format: Format) -> Vec<Line> {
        match &self.content {
            Content::SessionTurn(session, position) => session.messages.iter().take(*position).map(line).collect(),
            Content::TurnRecord(record) => {
                record.variants.get(&format).map_or(&record.history, |variant| &variant.history).clone()
            }
            Content::Session(_) | Content::SessionRecord(_) => Vec::new(),
        }
    }

    /// Returns the workflows as prose for judges that are shown that format (docs/benchmarks/flowbench.md §8.2):
    /// those of the scenarios, or the workflows in the record's own prompt.
    pub(crate) fn workflow_text(&self) -> String {
        if self.group.scenarios.is_empty() {
            return workflow_info(&self.reference_system()).to_owned();
        }
        let texts = self.group.scenarios.iter().map(|scenario| format!("{}:\n{}", scenario.name, scenario.text.trim()));
        texts.collect::<Vec<_>>().join("\n\n")
    }

    /// Returns the texts for the simulators and the judge of a session; `None` for a turn.
    pub(crate) fn script(&self) -> Option<Script> {
        match &self.content {
            Content::Session(session) => Some(self.script_of(session)),
            Content::SessionRecord(record) => Some(record.script.clone()),
            Content::SessionTurn(..) | Content::TurnRecord(_) => None,
        }
    }

    fn rendered(&self, format: Format) -> Option<Arc<str>> {
        let datetime = self.datetime()?;
        let group = &self.group;
        if group.scenarios.is_empty() {
            return None;
        }
        let prompt = AgentPrompt {
            role: &group.role,
            background: group.background.as_deref(),
            scope: group.scope,
            format,
            scenarios: &group.scenarios,
            datetime: &datetime,
        };
        Some(agent_system(&prompt).into())
    }

    fn script_of(&self, session: &Session) -> Script {
        let functions = self.tools().into_iter().map(|tool| Function {
            name: Arc::clone(&tool.name),
            parameters: prompts::descriptions(&tool.inputs),
            result: if tool.outputs.is_empty() { json!({ "result": null }) } else { tool.outputs.clone().into() },
        });
        Script {
            datetime: Arc::clone(&session.datetime),
            first_turn_hint: first_turn_hint(session).into(),
            every_turn_hint: every_turn_hint(session).into(),
            functions: functions.collect(),
            function_prompt: calls_with_results(&session.invocations).into(),
            user_target: user_target(session, &self.group.role).into(),
            gold_actions: call_blocks(&session.invocations).into(),
        }
    }
}

/// Converts a message of a canonical session to a line of a later turn's history.
fn line(message: &Message) -> Line {
    match message {
        Message::User(content) => Line { speaker: Speaker::User, name: None, content: Arc::clone(content) },
        Message::Function(name, content) => {
            Line { speaker: Speaker::Function, name: Some(Arc::clone(name)), content: Arc::clone(content) }
        }
        Message::Agent(gold) => {
            let content = match &gold.content {
                Some(content) if gold.has_action() => Arc::clone(content),
                _ => format!("Response: {}", gold.response.as_deref().unwrap_or_default()).into(),
            };
            Line { speaker: Speaker::Assistant, name: None, content }
        }
    }
}
