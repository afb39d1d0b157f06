//! The conversation of agent, user and tools as a pure function of the replies so far (docs/benchmarks/flowbench.md §3.5 to §3.8).

use std::collections::BTreeSet;

use regatta_proto::Role;
use regatta_pycompat::{parse, strip};

use super::agent_call::{Attempt, CALLS_MAX, Tries};
use super::reading::Output;
use super::{
    Ending, EnvironmentInput, Exchange, Failure, Limit, Limits, Message, Speaker, ToolCall, Unexpected, UserInput,
};

/// Reply of the user simulator that ends the conversation.
const DONE: &str = "[DONE]";

/// Greatest number of replies in which the tool simulator may fail to write JSON.
const RESULTS_MAX: u8 = 5;

/// Greatest number of times that the user simulator may end the conversation before it has begun. The released code
/// has no limit.
const BEGINNINGS_MAX: u8 = 100;

/// Parameters of a conversation, besides the replies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Limits that stop the conversation.
    pub(crate) limits: Limits,
    /// Names of the existing tools.
    pub(crate) tools: BTreeSet<String>,
}

/// Next step of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Next<'a> {
    /// Ask the agent: its system prompt, then these messages.
    Agent(&'a [Message]),
    /// Ask the user simulator.
    User(UserInput<'a>),
    /// Ask the tool simulator.
    Environment(EnvironmentInput<'a>),
    /// The conversation is over.
    Over(&'a Ending),
}

/// Role whose reply is awaited, with its failures so far.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Awaited {
    User { tries: Tries, beginnings: u8 },
    Agent { tries: Tries, calls: u8 },
    Environment { tries: Tries, results: u8 },
    Nothing(Ending),
}

/// State of a conversation after some exchanges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conversation<'p> {
    plan: &'p Plan,
    messages: Vec<Message>,
    exchanges: usize,
    calls: u32,
    calls_in_turn: u32,
    agent_turns: u32,
    awaited: Awaited,
}

impl<'p> Conversation<'p> {
    /// Begins a conversation without messages.
    pub(crate) fn new(plan: &'p Plan) -> Self {
        let awaited = Awaited::User { tries: Tries::default(), beginnings: 0 };
        Self { plan, messages: Vec::new(), exchanges: 0, calls: 0, calls_in_turn: 0, agent_turns: 0, awaited }
    }

    /// Replays `exchanges` in order.
    ///
    /// # Errors
    /// If an exchange is with a role that is not asked at that point.
    #[cfg(test)]
    pub(crate) fn replay<'a>(
        plan: &'p Plan,
        exchanges: impl IntoIterator<Item = Exchange<'a>>,
    ) -> Result<Self, Unexpected> {
        let mut conversation = Self::new(plan);
        for exchange in exchanges {
            conversation.push(exchange)?;
        }
        Ok(conversation)
    }

    /// Returns the next step.
    pub(crate) fn next(&self) -> Next<'_> {
        match &self.awaited {
            Awaited::User { .. } => Next::User(UserInput::of(&self.messages)),
            Awaited::Agent { .. } => Next::Agent(&self.messages),
            Awaited::Environment { .. } => match self.messages.last().and_then(|message| message.call.as_ref()) {
                Some(call) => Next::Environment(EnvironmentInput::of(call, &self.messages)),
                // A tool's result is awaited only after a call, so this does not happen.
                None => Next::Agent(&self.messages),
            },
            Awaited::Nothing(ending) => Next::Over(ending),
        }
    }

    /// Returns the messages so far; at the end without a result that the agent did not answer.
    pub(crate) fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Returns the ending, once the conversation is over.
    pub(crate) const fn ending(&self) -> Option<&Ending> {
        match &self.awaited {
            Awaited::Nothing(ending) => Some(ending),
            _ => None,
        }
    }

    /// Adds the reply to the request of [`Self::next`].
    ///
    /// # Errors
    /// If the exchange is with another role; the conversation then stays unchanged.
    pub(crate) fn push(&mut self, exchange: Exchange<'_>) -> Result<(), Unexpected> {
        let expected = self.expected();
        if expected != Some(exchange.role) {
            return Err(Unexpected { at: self.exchanges, expected, got: exchange.role });
        }
        self.exchanges += 1;
        match self.awaited {
            Awaited::User { tries, beginnings } => self.take_user(exchange.reply, tries, beginnings),
            Awaited::Agent { tries, calls } => self.take_agent(exchange.reply, tries, calls),
            Awaited::Environment { tries, results } => self.take_result(exchange.reply, tries, results),
            Awaited::Nothing(_) => {}
        }
        Ok(())
    }

    const fn expected(&self) -> Option<Role> {
        match &self.awaited {
            Awaited::User { .. } => Some(Role::User),
            Awaited::Agent { .. } => Some(Role::Agent),
            Awaited::Environment { .. } => Some(Role::Environment),
            Awaited::Nothing(_) => None,
        }
    }

    fn take_user(&mut self, reply: Option<&str>, mut tries: Tries, beginnings: u8) {
        let Some(reply) = reply else {
            return match tries.fail(self.plan.limits.tries_max()) {
                true => self.fail(Failure::NoUserReply),
                false => self.awaited = Awaited::User { tries, beginnings },
            };
        };
        let said = reply.replace("User:", "");
        let said = strip(&said);
        if !said.contains(DONE) {
            self.messages.push(Message::user(said));
            self.calls_in_turn = 0;
            self.await_agent();
        } else if !self.messages.is_empty() {
            self.end(Ending::Finished);
        } else if beginnings >= BEGINNINGS_MAX {
            self.fail(Failure::UserNeverBegan);
        } else {
            self.awaited = Awaited::User { tries: Tries::default(), beginnings: beginnings + 1 };
        }
    }

    fn take_agent(&mut self, reply: Option<&str>, mut tries: Tries, calls: u8) {
        let calls = calls + 1;
        match Attempt::of(reply, &mut tries, self.plan.limits.tries_max()) {
            Attempt::Again => self.awaited = Awaited::Agent { tries, calls: calls - 1 },
            Attempt::Output(output) if output.content.contains("Thought:") => self.take_output(output),
            Attempt::Output(output) if calls >= CALLS_MAX => {
                self.take_output(Output { content: format!("Thought:{}", output.content), ..output });
            }
            // Outputs of earlier calls are dropped, even when the last call fails.
            Attempt::Failed if calls >= CALLS_MAX => self.fail(Failure::NoAgentOutput),
            Attempt::Output(_) | Attempt::Failed => self.awaited = Awaited::Agent { tries: Tries::default(), calls },
        }
    }

    fn take_output(&mut self, output: Output) {
        let called = output.call.as_ref().map(|call| call.name.clone());
        self.messages.push(Message::assistant(output.content, output.call));
        self.agent_turns += 1;
        if let Limits::Paper { agent_turns_max } = self.plan.limits
            && self.agent_turns >= agent_turns_max
        {
            return self.end(Ending::Stopped(Limit::AgentTurns));
        }
        match called {
            None => self.begin_user_turn(),
            Some(name) if self.plan.tools.contains(&name) => {
                self.awaited = Awaited::Environment { tries: Tries::default(), results: 0 };
            }
            Some(name) => match self.plan.limits {
                Limits::Code => self.fail(Failure::UnknownTool(name)),
                Limits::Paper { .. } => self.take_tool_message(unknown_tool(name)),
            },
        }
    }

    fn take_result(&mut self, reply: Option<&str>, mut tries: Tries, results: u8) {
        let Some(reply) = reply else {
            return match tries.fail(self.plan.limits.tries_max()) {
                true => self.fail(Failure::NoToolReply),
                false => self.awaited = Awaited::Environment { tries, results },
            };
        };
        if parse(reply).is_some() {
            let called = self.messages.last().and_then(|message| message.call.as_ref());
            let name = called.map_or_else(String::new, |call: &ToolCall| call.name.clone());
            self.take_tool_message(Message::function(name, reply));
        } else if results + 1 >= RESULTS_MAX {
            let ends_turn = self.plan.limits == Limits::Code && self.calls_in_turn + 1 >= Limits::CALLS_IN_TURN_MAX;
            self.fail(Failure::ToolWroteNoJson { ends_turn });
        } else {
            self.awaited = Awaited::Environment { tries: Tries::default(), results: results + 1 };
        }
    }

    fn take_tool_message(&mut self, message: Message) {
        self.messages.push(message);
        self.calls += 1;
        self.calls_in_turn += 1;
        match self.plan.limits {
            Limits::Code if self.calls_in_turn >= Limits::CALLS_IN_TURN_MAX => self.begin_user_turn(),
            Limits::Code | Limits::Paper { .. } => self.await_agent(),
        }
    }

    fn await_agent(&mut self) {
        self.awaited = Awaited::Agent { tries: Tries::default(), calls: 0 };
    }

    fn begin_user_turn(&mut self) {
        if self.plan.limits == Limits::Code {
            if self.messages.len() > Limits::MESSAGES_MAX {
                return self.end(Ending::Stopped(Limit::Messages));
            }
            if self.calls >= Limits::CALLS_MAX {
                return self.end(Ending::Stopped(Limit::Calls));
            }
            if self.messages.last().is_some_and(|message| !message.is_assistant()) {
                return self.fail(Failure::NeverReplied);
            }
        }
        self.awaited = Awaited::User { tries: Tries::default(), beginnings: 0 };
    }

    fn end(&mut self, ending: Ending) {
        if self.messages.last().is_some_and(|message| matches!(message.speaker, Speaker::User | Speaker::Function(_))) {
            self.messages.pop();
        }
        self.awaited = Awaited::Nothing(ending);
    }

    fn fail(&mut self, failure: Failure) {
        self.awaited = Awaited::Nothing(Ending::Failed(failure));
    }
}

/// Message that the agent gets in place of a result (docs/benchmarks/flowbench.md §3.8).
fn unknown_tool(name: String) -> Message {
    let result = serde_json::json!({"error": format!("there is no tool named {name}")});
    Message::function(name, result.to_string())
}
