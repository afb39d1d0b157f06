//! Names of speakers in conversations of several.
//!
//! LangGraph and AutoGen give the speaker in a field beside each message of another agent. Our messages have no such field, and not every provider
//! has one, so the speaker stands in front of what is said: `intent: domain:alarm,…`.

use regatta_proto::{ChatMessage, ChatRole};

/// Message with the text of `speaker` for another member.
pub(super) fn named(speaker: &str, text: &str) -> ChatMessage {
    ChatMessage::new(ChatRole::User, format!("{speaker}: {text}"))
}

/// Text of `speaker` in `message`; `None` if the message is not theirs, or is the reader's own.
pub(super) fn said_by<'m>(speaker: &str, message: &'m ChatMessage) -> Option<&'m str> {
    let is_theirs = message.role == ChatRole::User;
    message.content.strip_prefix(speaker).and_then(|rest| rest.strip_prefix(": ")).filter(|_| is_theirs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_says_is_found_under_their_name_alone() {
        let message = named("intent", "domain:x: y");
        assert_eq!(said_by("intent", &message), Some("domain:x: y"));
        assert_eq!(said_by("int", &message), None);
        assert_eq!(said_by("intent", &ChatMessage::new(ChatRole::Assistant, "intent: x")), None);
    }
}
