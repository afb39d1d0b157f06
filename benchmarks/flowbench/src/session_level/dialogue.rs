//! A conversation as one text, and the values that the released code extracts from it (docs/benchmarks/flowbench.md
//! §3.5).

use regatta_pycompat::strip;

use crate::protocol::Message;

/// `gen_dialog_str`: every message with its role, separated by blank lines.
pub(crate) fn dialogue(messages: &[Message]) -> String {
    let mut text = String::new();
    for message in messages {
        text.push_str("\n\n");
        text.push_str(message.speaker.as_str());
        text.push_str(":\n");
        text.push_str(message.content.as_deref().unwrap_or("THOUGHT IS NULL"));
    }
    strip(&text).to_owned()
}

/// `gen_intents_list`: all matches of `intent=([^,]+),` anywhere, of any length.
pub(crate) fn intents(dialogue: &str) -> Vec<&str> {
    labelled(dialogue, "intent=", ',')
}

/// `gen_nodes_list`: all matches of `current_node=([^.]+)\.`.
pub(crate) fn nodes(dialogue: &str) -> Vec<&str> {
    labelled(dialogue, "current_node=", '.')
}

fn labelled<'a>(text: &'a str, label: &str, end: char) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(label) {
        rest = &rest[at + label.len()..];
        // Without an end here, later labels have none either.
        let Some(length) = rest.find(end) else { break };
        if length > 0 {
            found.push(&rest[..length]);
            rest = &rest[length + end.len_utf8()..];
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_without_content_says_so() {
        let silent = Message { content: None, ..Message::assistant("", None) };
        let messages = [Message::user(" hi "), silent, Message::function("f", "{}\n")];
        assert_eq!(dialogue(&messages), "user:\n hi \n\nassistant:\nTHOUGHT IS NULL\n\nfunction:\n{}");
        assert_eq!(dialogue(&[]), "");
    }

    #[test]
    fn intents_run_to_the_next_comma_and_nodes_to_the_next_full_stop() {
        let text = "intent=a, intent=,intent=b\nc, current_node=X1. current_node=.current_node=Y AND Z.intent=open";
        assert_eq!(intents(text), ["a", "b\nc"]);
        assert_eq!(nodes(text), ["X1", "Y AND Z"]);
    }
}
