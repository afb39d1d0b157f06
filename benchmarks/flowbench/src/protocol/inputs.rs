//! Inputs of the simulators' prompts.

use super::{Message, Speaker, ToolCall};

/// Speaker of a line in a simulator's view of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// `User: …`.
    User,
    /// `Assistant: …`.
    Assistant,
}

/// One line of a simulator's view of the conversation. Calls and their results are hidden from simulators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HistoryLine<'a> {
    /// Speaker of the line.
    pub(crate) side: Side,
    /// Text of the line.
    pub(crate) text: &'a str,
}

/// Conversation in the prompt of the user simulator (docs/benchmarks/flowbench.md §3.6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UserInput<'a> {
    /// Messages of the user, and the text after the last `Response: ` of the agent's replies. Empty at the beginning.
    pub(crate) history: Vec<HistoryLine<'a>>,
}

/// Conversation in the prompt of the tool simulator (docs/benchmarks/flowbench.md §3.7).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EnvironmentInput<'a> {
    /// The call whose result is wanted.
    pub(crate) call: &'a ToolCall,
    /// Messages of the user and replies of the agent, thoughts included.
    pub(crate) history: Vec<HistoryLine<'a>>,
}

impl<'a> UserInput<'a> {
    pub(super) fn of(messages: &'a [Message]) -> Self {
        let spoken = |text: &'a str| text.rfind("Response: ").map_or(text, |at| &text[at + "Response: ".len()..]);
        Self { history: history(messages, spoken) }
    }
}

impl<'a> EnvironmentInput<'a> {
    pub(super) fn of(call: &'a ToolCall, messages: &'a [Message]) -> Self {
        Self { call, history: history(messages, |text| text) }
    }
}

fn history<'a>(messages: &'a [Message], of_reply: impl Fn(&'a str) -> &'a str) -> Vec<HistoryLine<'a>> {
    let line = |message: &'a Message| match message.speaker {
        Speaker::User => Some(HistoryLine { side: Side::User, text: message.text() }),
        Speaker::Assistant if message.call.is_none() => {
            Some(HistoryLine { side: Side::Assistant, text: of_reply(message.text()) })
        }
        Speaker::Assistant | Speaker::Function(_) => None,
    };
    messages.iter().filter_map(line).collect()
}
