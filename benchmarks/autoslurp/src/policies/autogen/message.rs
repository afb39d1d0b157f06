//! Messages of the group chat.

use std::sync::Arc;

use regatta_proto::{ChatMessage, ChatRole, Reasoning, ToolCall};

use super::participant::Participant;
use super::tools::ToolResult;
use crate::policies::naming::named;

/// A message that everybody has.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) speaker: Participant,
    /// Text of the message; `None` is printed in another way than an empty text.
    pub(super) text: Option<Arc<str>>,
    /// Calls of tools.
    pub(super) calls: Vec<ToolCall>,
    /// Results of calls of tools.
    pub(super) results: Vec<ToolResult>,
    /// Reasoning of the model, which is sent to that model alone.
    pub(super) reasoning: Option<Reasoning>,
}

impl Message {
    pub(super) fn of(speaker: Participant, text: Option<Arc<str>>) -> Self {
        Self { speaker, text, calls: Vec::new(), results: Vec::new(), reasoning: None }
    }

    pub(super) fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// True if the word is in the text, or in a result of a tool.
    pub(super) fn holds(&self, word: &str) -> bool {
        self.text().contains(word) || self.results.iter().any(|result| result.text.contains(word))
    }

    /// Chat messages that `reader` is sent for this one; `None` is the selector. A reader's own texts have the role of the assistant.
    pub(super) fn as_sent(&self, reader: Option<Participant>) -> Vec<ChatMessage> {
        if !self.results.is_empty() {
            return self.results.iter().map(ToolResult::as_sent).collect();
        }
        let is_own = reader == Some(self.speaker);
        if self.calls.is_empty() && !is_own {
            return vec![named(self.speaker.name(), self.text())];
        }
        vec![ChatMessage {
            tool_calls: self.calls.clone(),
            reasoning: self.reasoning.clone().filter(|_| is_own),
            ..ChatMessage::new(ChatRole::Assistant, self.text())
        }]
    }
}
