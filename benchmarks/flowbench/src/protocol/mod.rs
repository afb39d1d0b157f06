//! Calls of the models: the agent's call with its retries, a single turn, and the conversation of agent, user and tools.
//!
//! Everything here is a function of the replies so far, so a session can continue on any machine with its transcript.
//! New ways to run a session belong here; wording of prompts does not: prompts are built from the plain inputs in
//! [`inputs`].

mod agent_call;
mod case;
mod conversation;
mod ending;
mod exchange;
mod inputs;
mod limits;
mod message;
mod reading;
mod recorded;
mod turn;

#[cfg(test)]
mod golden;
#[cfg(test)]
mod tests;

pub(crate) use case::{conversation_item, error_counts, turn_inference_item};
pub(crate) use conversation::{Conversation, Next, Plan};
pub(crate) use ending::{Ending, Failure, Limit};
pub(crate) use exchange::{Exchange, Unexpected};
pub(crate) use inputs::{EnvironmentInput, HistoryLine, Side, UserInput};
pub(crate) use limits::Limits;
pub(crate) use message::{Message, Speaker, ToolCall};
pub(crate) use reading::{braces_after_label, call_name, name_at};
pub(crate) use recorded::{read_messages, write_messages};
pub(crate) use turn::{TurnInference, TurnStep};
