//! The conversation before a step, rebuilt from the gold (docs/benchmarks/orchestrationbench.md §3.1).

use regatta_proto::{ChatMessage, ChatRole};

use crate::data::{Content, Entry, Labels, Speaker, Suffix};

/// Returns the history of a call at `step`. It contains plans as they were written, and of sub agents only the
/// results of tools.
pub(crate) fn history(labels: &Labels, step: u32) -> Vec<ChatMessage> {
    labels.range(..(step, Suffix::Message)).filter_map(|(_, entry)| told(entry)).collect()
}

/// Converts an entry to a message of a history; `None` for entries that histories omit.
pub(crate) fn told(entry: &Entry) -> Option<ChatMessage> {
    match (entry.speaker, &entry.agent, &entry.content) {
        (Speaker::Tool, Some(_), result) => Some(ChatMessage::new(ChatRole::Assistant, result.to_json())),
        (Speaker::User, None, Content::Text(text)) => Some(ChatMessage::new(ChatRole::User, text.clone())),
        (Speaker::Assistant, None, Content::Text(text)) => Some(ChatMessage::new(ChatRole::Assistant, text.clone())),
        _ => None,
    }
}
