//! Prompts of the simulated user (docs/benchmarks/flowbench.md §3.6).

use crate::protocol::{HistoryLine, Side};

use super::section::marked;

/// Message with which the user ends a conversation.
pub(crate) const DONE: &str = "[DONE]";
/// Greatest length of an utterance that the prompt asks for, in characters.
const UTTERANCE_CHARS: usize = 200;

/// Renders the system text of the user simulator.
pub(crate) fn user_system(first_turn_hint: &str, datetime: &str) -> String {
    let rules = [
        "Play the user of an assistant. Everything that you write is said by that user, in spoken English: natural, varied, brief.",
        "Vary what you do: answer, tell something that belongs to it, change your mind, ask back, come back to something said \
         before. Mostly give one piece of information at a time. Never contradict yourself.",
        "Where a value is needed that your description does not tell, invent a realistic and concrete one. Never write a \
         placeholder.",
        "In the first turn, greet the assistant and say what you need.",
    ]
    .into_iter()
    .map(str::to_owned)
    .chain([
        format!("When the assistant says goodbye, or fails you twice in a row, write {DONE} and nothing else."),
        first_turn_hint.to_owned(),
        format!("It is now {datetime}."),
        "Reach the end in as few turns as you can, and keep strictly to your description.".to_owned(),
    ]);
    rules.enumerate().map(|(number, rule)| format!("{}. {rule}", number + 1)).collect::<Vec<_>>().join("\n")
}

/// Renders the user text of the user simulator: persona, conversation, and task.
pub(crate) fn user_text(every_turn_hint: &str, history: &[HistoryLine<'_>]) -> String {
    format!(
        "User's Persona: {every_turn_hint}\n\nThe dialogue so far:\n{}\n\nWrite what the user says next, in English and in at most \
         {UTTERANCE_CHARS} characters.",
        marked("dialogue", &lines(history))
    )
}

/// Renders a conversation for simulators, one line for each utterance.
pub(super) fn lines(history: &[HistoryLine<'_>]) -> String {
    let spoken: Vec<String> = history
        .iter()
        .map(|line| match line.side {
            Side::User => format!("User: {}", line.text),
            Side::Assistant => format!("Assistant: {}", line.text),
        })
        .collect();
    spoken.join("\n")
}
