//! Conversations: the lines of a gold history, the gold of one agent turn, and sessions in canonical form
//! (docs/benchmarks/flowbench.md §2.5).

use std::sync::Arc;

use serde_json::{Map, Value};

use super::scenario::Scenario;

/// Speaker of a line of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Speaker {
    /// The user.
    User,
    /// The agent.
    Assistant,
    /// A tool: the result of a call.
    Function,
}

impl Speaker {
    /// Name in the records.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Function => "function",
        }
    }

    /// Finds a speaker by name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::User, Self::Assistant, Self::Function].into_iter().find(|speaker| speaker.name() == name)
    }
}

/// One line of a conversation in a model's input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// Speaker of the line.
    pub(crate) speaker: Speaker,
    /// Tool whose result the line is; of [`Speaker::Function`] alone.
    pub(crate) name: Option<Arc<str>>,
    /// Text of the line.
    pub(crate) content: Arc<str>,
}

/// The gold of one agent turn (`gt_thought`, `gt_response`, `gt_content`).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GoldTurn {
    /// `last_node`, `intent`, `current_node`, and on call turns `Action` and `Action Input`. Every value of these keys is a text;
    /// the one of `Action Input` holds JSON and is kept as written.
    pub(crate) thought: Map<String, Value>,
    /// The reply's text, or the call's two lines. The record may lack it.
    pub(crate) response: Option<Arc<str>>,
    /// The whole gold output. The record may lack it.
    pub(crate) content: Option<Arc<str>>,
}

impl GoldTurn {
    /// Returns a text of the thought, such as `current_node`.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.thought.get(key)?.as_str()
    }

    /// Returns the called tool: `Action`, whatever it contains.
    pub(crate) fn action(&self) -> Option<&str> {
        self.text("Action")
    }

    /// Returns the arguments of the call as written: `Action Input`.
    pub(crate) fn action_input(&self) -> Option<&str> {
        self.text("Action Input")
    }

    /// Returns `true` if the thought has the key `Action`. (The evaluators count calls by their own rules,
    /// docs/benchmarks/flowbench.md §4.1.)
    pub(crate) fn has_action(&self) -> bool {
        self.thought.contains_key("Action")
    }
}

/// One message of a canonical session.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Message {
    /// A message of the user.
    User(Arc<str>),
    /// A gold turn of the agent.
    Agent(GoldTurn),
    /// The result of a call: tool and text.
    Function(Arc<str>, Arc<str>),
}

/// A gold call and its result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Invocation {
    /// Name of the tool.
    pub(crate) action: Arc<str>,
    /// Arguments of the call.
    pub(crate) input: Map<String, Value>,
    /// Result as in the tool's line of the conversation: compact JSON, or the text where it is not JSON.
    pub(crate) result: Arc<str>,
}

/// Profile of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UserProfile {
    /// Name of the user.
    pub(crate) name: Arc<str>,
    /// Tone in which the user speaks.
    pub(crate) tone: Arc<str>,
    /// Description of the user, in a sentence.
    pub(crate) background: Arc<str>,
}

/// A session in canonical form. Every turn record and every prompt is derived from it.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    /// Id, such as `syn-s-0001`.
    pub(crate) id: Arc<str>,
    /// Time at which the session takes place: `YYYY-MM-DD HH:MM:SS Weekday`.
    pub(crate) datetime: Arc<str>,
    /// Profile of the user; the paper's session has none.
    pub(crate) profile: Option<UserProfile>,
    /// Goals of the user, in order.
    pub(crate) goals: Vec<Arc<str>>,
    /// Scenarios of the session, in the order in which they occur.
    pub(crate) scenarios: Vec<Arc<Scenario>>,
    /// The gold calls.
    pub(crate) invocations: Vec<Invocation>,
    /// Messages in order.
    pub(crate) messages: Vec<Message>,
}

impl Session {
    /// Returns the agent's gold turns with their positions among the messages.
    pub(crate) fn agent_turns(&self) -> impl Iterator<Item = (usize, &GoldTurn)> {
        self.messages.iter().enumerate().filter_map(|(position, message)| match message {
            Message::Agent(gold) => Some((position, gold)),
            Message::User(_) | Message::Function(..) => None,
        })
    }
}
