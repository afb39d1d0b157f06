//! Selection of the next speaker: a conversation of its own with a model.

use regatta_proto::{ChatMessage, ChatRole, Reply};
use regatta_pycompat::{is_word, repr_texts};

use super::message::Message;
use super::participant::Participant;

/// Most requests to the selector for one turn.
pub(super) const ATTEMPTS_MAX: usize = 3;

/// Questions and answers of this turn's selection, when the first answer named no speaker.
#[derive(Debug, Default)]
pub(super) struct Asked(Vec<ChatMessage>);

impl Asked {
    /// Messages of the next request to the selector.
    pub(super) fn messages(&self, said: &[Message]) -> Vec<ChatMessage> {
        let described: Vec<String> =
            Participant::ALL.map(|participant| format!("{}: {}", participant.name(), participant.described())).to_vec();
        let first = format!(
            "Several roles work on a task in one conversation. They are:\n{}\n\nYou decide who is the next to speak. Here is the conversation so \
             far.",
            described.join("\n")
        );
        let last =
            format!("That was the conversation. Who of {} is next? Answer with the name and nothing else.", names());
        let mut messages = vec![ChatMessage::new(ChatRole::System, first)];
        messages.extend(said.iter().flat_map(|message| message.as_sent(None)));
        messages.push(ChatMessage::new(ChatRole::System, last));
        messages.extend(self.0.iter().cloned());
        messages
    }

    /// Notes that `reply` held `found` names, which is not one.
    pub(super) fn again(&mut self, reply: &Reply, found: usize) {
        let text = reply.text.clone().unwrap_or_default();
        let problem = if found == 0 { "That was the name of nobody" } else { "That was more than one name" };
        let correction =
            format!("{problem}. Answer with exactly one of {}, in this spelling, and with nothing else.", names());
        self.0.push(ChatMessage { reasoning: reply.reasoning.clone(), ..ChatMessage::new(ChatRole::Assistant, text) });
        self.0.push(ChatMessage::new(ChatRole::System, correction));
    }
}

fn names() -> String {
    repr_texts(&Participant::ALL.map(Participant::name))
}

/// Participants whose names stand in the text, as whole words; underscores may be blanks or escaped.
pub(super) fn named_in(text: &str) -> Vec<Participant> {
    let is_named = |participant: &Participant| {
        let name = participant.name();
        [name.to_owned(), name.replace('_', " "), name.replace('_', "\\_")].iter().any(|name| has_word(text, name))
    };
    Participant::ALL.into_iter().filter(is_named).collect()
}

fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|after| after.chars().next());
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_whole_words_in_their_spelling() {
        let named = |text| named_in(text).into_iter().map(Participant::name).collect::<Vec<_>>();
        assert_eq!(named("intent"), ["intent"]);
        assert_eq!(named("**url assistant**"), ["url_assistant"]);
        assert_eq!(named("next: Time\\_assistant."), ["Time_assistant"]);
        assert_eq!(named("Product_manager and Product manager"), ["Product_manager"]);
        assert_eq!(named("intent, then Location"), ["intent", "Location"]);
        for nobody in ["", "The intent_x", "Intent", "intents", "aRequest", "request", "éintent", "LOCATION"] {
            assert!(named(nobody).is_empty(), "{nobody}");
        }
        assert_eq!(named("intents intent"), ["intent"]);
        assert_eq!(named("好。Request。"), ["Request"]);
    }
}
