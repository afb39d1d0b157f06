//! Conversations: the lines of a gold history, the gold of one agent turn, and sessions in canonical form
//! (docs/benchmarks/flowbench.md §2.5).

use std::sync::Arc;

use serde_json::{Map, Value};

use super::scenario::Scenario;

/// Who wrote a line of a conversation.
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
    /// As in the records.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Function => "function",
        }
    }

    /// The speaker of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::User, Self::Assistant, Self::Function].into_iter().find(|speaker| speaker.name() == name)
    }
}

/// One line of a conversation as a model sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// Who wrote it.
    pub(crate) speaker: Speaker,
    /// The tool whose result it is; of functions only.
    pub(crate) name: Option<Arc<str>>,
    /// What it says.
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
    /// A text of the thought, as `current_node`.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.thought.get(key)?.as_str()
    }

    /// The tool that is called: `Action`, whatever it holds.
    pub(crate) fn action(&self) -> Option<&str> {
        self.text("Action")
    }

    /// The call's arguments, as written: `Action Input`.
    pub(crate) fn action_input(&self) -> Option<&str> {
        self.text("Action Input")
    }

    /// `true` if the thought has the key `Action`. (Whether the evaluator counts it as a call is a matter of
    /// docs/benchmarks/flowbench.md §4.1.)
    pub(crate) fn has_action(&self) -> bool {
        self.thought.contains_key("Action")
    }
}

/// One message of a canonical session.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Message {
    /// The user speaks.
    User(Arc<str>),
    /// The agent's gold turn.
    Agent(GoldTurn),
    /// The result of a call: tool and text.
    Function(Arc<str>, Arc<str>),
}

/// A gold call and its result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Invocation {
    /// The tool.
    pub(crate) action: Arc<str>,
    /// Its arguments.
    pub(crate) input: Map<String, Value>,
    /// Its result, as the tool's line in the conversation says it: compact JSON, or the text where it is none.
    pub(crate) result: Arc<str>,
}

/// Who the user is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UserProfile {
    /// What they are called.
    pub(crate) name: Arc<str>,
    /// How they speak.
    pub(crate) tone: Arc<str>,
    /// Who they are, in a sentence.
    pub(crate) background: Arc<str>,
}

/// A session in canonical form. Every turn record and every prompt is derived from it.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    /// Its id, as `syn-s-0001`.
    pub(crate) id: Arc<str>,
    /// What time it is in it: `YYYY-MM-DD HH:MM:SS Weekday`.
    pub(crate) datetime: Arc<str>,
    /// Who the user is; the paper's session does not say.
    pub(crate) profile: Option<UserProfile>,
    /// What the user wants.
    pub(crate) goals: Vec<Arc<str>>,
    /// The scenarios that occur, in the order in which they do.
    pub(crate) scenarios: Vec<Arc<Scenario>>,
    /// The gold calls.
    pub(crate) invocations: Vec<Invocation>,
    /// What is said.
    pub(crate) messages: Vec<Message>,
}

impl Session {
    /// The agent's gold turns with their positions among the messages.
    pub(crate) fn agent_turns(&self) -> impl Iterator<Item = (usize, &GoldTurn)> {
        self.messages.iter().enumerate().filter_map(|(position, message)| match message {
            Message::Agent(gold) => Some((position, gold)),
            Message::User(_) | Message::Function(..) => None,
        })
    }
}
