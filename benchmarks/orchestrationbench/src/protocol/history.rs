//! The conversation before a step, rebuilt from the gold (docs/benchmarks/orchestrationbench.md §3.1).

use regatta_proto::{ChatMessage, ChatRole};

use crate::data::{Content, Entry, Labels, Speaker, Suffix};

/// The history of a call at `step`. Plans are told as they were written, and of sub agents nothing but what their tools returned.
pub(crate) fn history(labels: &Labels, step: u32) -> Vec<ChatMessage> {
    labels.range(..(step, Suffix::Message)).filter_map(|(_, entry)| told(entry)).collect()
}

/// How a history tells an entry; nothing for those that it leaves out.
pub(crate) fn told(entry: &Entry) -> Option<ChatMessage> {
    match (entry.speaker, &entry.agent, &entry.content) {
        (Speaker::Tool, Some(_), result) => Some(ChatMessage::new(ChatRole::Assistant, result.to_json())),
        (Speaker::User, None, Content::Text(text)) => Some(ChatMessage::new(ChatRole::User, text.clone())),
        (Speaker::Assistant, None, Content::Text(text)) => Some(ChatMessage::new(ChatRole::Assistant, text.clone())),
        _ => None,
    }
}
