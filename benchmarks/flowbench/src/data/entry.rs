//! Items: agent turns and whole sessions from any kind of file, behind one set of accessors.

use std::collections::BTreeMap;
use std::sync::Arc;

use regatta_proto::ItemId;
use serde_json::{Map, Value};

use super::conversation::{GoldTurn, Line, Session};
use super::scenario::{Scenario, Tool};
use crate::setting::{Format, Level, Scope};

/// Source of an item. A default selection takes the main set; samples run when they are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Origin {
    /// The data set itself: canonical sessions, or the official layout.
    Main,
    /// The few real turns that were published (docs/benchmarks/flowbench.md §2.3).
    RealSample,
    /// The session printed in the paper (docs/benchmarks/flowbench.md §2.4).
    Paper,
}

/// Attributes that the items of one file share.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    /// The grouping key of reports (`by_file` of the golden files), as `single__hotel_reception__Book_a_hotel.jsonl`.
    pub(crate) file: Arc<str>,
    /// Knowledge of the agent: one scenario or all of the role.
    pub(crate) scope: Scope,
    /// Domain; empty when the tools of an official record match no known role.
    pub(crate) domain: Arc<str>,
    /// Role; empty in the same case.
    pub(crate) role: Arc<str>,
    /// General description of the role, if there is one.
    pub(crate) background: Option<Arc<str>>,
    /// Scenarios whose knowledge the agent gets: one, or all of the role in the order of the file. Empty in the same
    /// case.
    pub(crate) scenarios: Vec<Arc<Scenario>>,
}

/// One item.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// Id: `syn-s-0001` for a session, `syn-s-0001_agent_turn-3` for a turn.
    pub(crate) id: ItemId,
    /// Attributes of the item's file.
    pub(crate) group: Arc<Group>,
    /// Source of the item.
    pub(crate) origin: Origin,
    /// `true` for items that a program generated; every report must say so.
    pub(crate) synthetic: bool,
    /// The turn or session itself.
    pub(crate) content: Content,
}

/// The turn or session behind an item, in the form of its file.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    /// The agent turn at this position of the session's messages.
    SessionTurn(Arc<Session>, usize),
    /// An agent turn from a turn record.
    TurnRecord(Arc<TurnRecord>),
    /// A session.
    Session(Arc<Session>),
    /// A session in the official form.
    SessionRecord(Arc<SessionRecord>),
}

/// An agent turn in the official form, or a real sample.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TurnRecord {
    /// The record's own system message and history by format. Empty for a real sample, whose system message is rendered.
    pub(crate) variants: BTreeMap<Format, Variant>,
    /// History for formats without a variant.
    pub(crate) history: Vec<Line>,
    /// The gold.
    pub(crate) gold: GoldTurn,
    /// Time in the prompt; `None` when the prompt has none.
    pub(crate) datetime: Option<Arc<str>>,
    /// The tools in the prompt.
    pub(crate) tools: Arc<[Arc<Tool>]>,
    /// Fields that are not used here.
    pub(crate) extra: Map<String, Value>,
}

/// A turn record in one format.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Variant {
    /// System message of the record.
    pub(crate) system: Arc<str>,
    /// History of the record.
    pub(crate) history: Vec<Line>,
}

/// A session in the official form.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SessionRecord {
    /// System message of the record by format.
    pub(crate) systems: BTreeMap<Format, Arc<str>>,
    /// Texts for the simulators and the judge.
    pub(crate) script: Script,
    /// The tools in the prompt.
    pub(crate) tools: Arc<[Arc<Tool>]>,
    /// Fields that are not used here.
    pub(crate) extra: Map<String, Value>,
}

/// Texts for the simulators and the judge of a session.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Script {
    /// Time of the session: `YYYY-MM-DD HH:MM:SS Weekday`.
    pub(crate) datetime: Arc<str>,
    /// Hint for the user's first message.
    pub(crate) first_turn_hint: Arc<str>,
    /// Hint for all messages of the user: profile and goals.
    pub(crate) every_turn_hint: Arc<str>,
    /// Tools of the environment; of several with the same name, the first is used.
    pub(crate) functions: Vec<Function>,
    /// The gold calls with their results.
    pub(crate) function_prompt: Arc<str>,
    /// Goals to be reached: profile, goals, expected calls.
    pub(crate) user_target: Arc<str>,
    /// The gold calls: blocks joined by a blank line; empty when there are none.
    pub(crate) gold_actions: Arc<str>,
}

/// A tool as the environment simulator knows it (docs/benchmarks/flowbench.md §3.7).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Function {
    /// Name of the tool.
    pub(crate) name: Arc<str>,
    /// Descriptions of the parameters by name.
    pub(crate) parameters: Map<String, Value>,
    /// Description of the result.
    pub(crate) result: Value,
}

impl Entry {
    /// Returns the level: turn or session.
    pub(crate) const fn level(&self) -> Level {
        match self.content {
            Content::SessionTurn(..) | Content::TurnRecord(_) => Level::Turn,
            Content::Session(_) | Content::SessionRecord(_) => Level::Session,
        }
    }

    /// Returns the gold of a turn; `None` for a session.
    pub(crate) fn gold(&self) -> Option<&GoldTurn> {
        match &self.content {
            Content::SessionTurn(session, position) => {
                session.agent_turns().find(|(at, _)| at == position).map(|(_, gold)| gold)
            }
            Content::TurnRecord(record) => Some(&record.gold),
            Content::Session(_) | Content::SessionRecord(_) => None,
        }
    }

    /// Returns the number of agent turns in the gold; `None` for a session in the official form, whose gold turns are
    /// not known.
    pub(crate) fn agent_turns(&self) -> Option<usize> {
        match &self.content {
            Content::SessionTurn(..) | Content::TurnRecord(_) => Some(1),
            Content::Session(session) => Some(session.agent_turns().count()),
            Content::SessionRecord(_) => None,
        }
    }

    /// Returns the tools: those of the scenario or the role in the order of the file, or those in the record's own
    /// prompt.
    pub(crate) fn tools(&self) -> Vec<&Arc<Tool>> {
        match &self.content {
            Content::TurnRecord(record) if !record.tools.is_empty() => record.tools.iter().collect(),
            Content::SessionRecord(record) => record.tools.iter().collect(),
            _ => self.group.scenarios.iter().flat_map(|scenario| &scenario.tools).collect(),
        }
    }

    /// Returns the canonical session that the item is or is a turn of.
    pub(crate) fn session(&self) -> Option<&Session> {
        match &self.content {
            Content::SessionTurn(session, _) | Content::Session(session) => Some(session),
            Content::TurnRecord(_) | Content::SessionRecord(_) => None,
        }
    }
}
