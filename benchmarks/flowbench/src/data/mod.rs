//! The data set (docs/benchmarks/flowbench.md §2): scenarios, sessions in canonical form, and records in the official form.
//!
//! Derived texts are not stored: the 5313 turns of the canonical set are positions in 536 sessions, and their prompts
//! are rendered on request.

mod archive;
mod conversation;
mod entry;
mod files;
mod groups;
mod load;
mod official_prompt;
mod one_line;
mod read_official;
mod read_samples;
mod read_scenarios;
mod read_sessions;
mod render;
mod scenario;
mod tool_text;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use regatta_proto::{ItemId, ItemIndex};

use super::prompts::OfficialPrompts;
use super::setting::Scope;

pub(crate) use self::conversation::{GoldTurn, Invocation, Line, Message, Session, Speaker, UserProfile};
pub(crate) use self::entry::{Content, Entry, Function, Origin, Script};
pub(crate) use self::files::wants;
pub(crate) use self::load::load;
pub(crate) use self::one_line::one_line;
pub(crate) use self::scenario::{Scenario, Tool};
pub(crate) use self::tool_text::{NAME_LABEL, TIME_LABEL};

/// The loaded data set.
#[derive(Debug)]
pub(crate) struct Data {
    /// Items: the main set before samples, turns before sessions, single before cross, and otherwise as in the files.
    /// The position is the [`ItemIndex`].
    pub(crate) entries: Vec<Entry>,
    /// Least lengths of sessions that are evaluated as sessions.
    pub(crate) lengths: SessionLengths,
    /// Official prompts of simulators and judges, when the data contain them.
    pub(crate) official: Option<OfficialPrompts>,
    /// Bytes of the files that were in archives.
    pub(crate) unpacked_bytes: u64,
    by_id: HashMap<ItemId, ItemIndex>,
}

/// Least numbers of gold agent turns of sessions that are evaluated as such, unless the setting wants all. The paper
/// evaluates the longer sessions without saying which these are, so this is our choice (docs/benchmarks/flowbench.md
/// §2.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SessionLengths {
    /// Sessions with one scenario.
    pub(crate) single: usize,
    /// Sessions across the scenarios of a role.
    pub(crate) cross: usize,
}

impl Default for SessionLengths {
    fn default() -> Self {
        Self { single: 8, cross: 10 }
    }
}

impl SessionLengths {
    /// Returns `true` if a session is long enough. One of unknown length comes from a file that contains only long ones.
    pub(crate) fn admit(self, session: &Entry) -> bool {
        let least = match session.group.scope {
            Scope::Single => self.single,
            Scope::Cross => self.cross,
        };
        session.agent_turns().is_none_or(|turns| turns >= least)
    }
}

impl Data {
    fn new(entries: Vec<Entry>, official: Option<OfficialPrompts>) -> Self {
        let by_id = (0_u32..).map(ItemIndex).zip(&entries).map(|(index, entry)| (entry.id.clone(), index)).collect();
        Self { entries, lengths: SessionLengths::default(), official, unpacked_bytes: 0, by_id }
    }

    /// Returns the item at this position.
    pub(crate) fn entry(&self, item: ItemIndex) -> Option<&Entry> {
        self.entries.get(usize::try_from(item.0).ok()?)
    }

    /// Finds the position of an item by its id.
    pub(crate) fn position(&self, id: &str) -> Option<ItemIndex> {
        self.by_id.get(&ItemId::new(id).ok()?).copied()
    }

    /// Returns the items with their positions.
    pub(crate) fn indexed(&self) -> impl Iterator<Item = (ItemIndex, &Entry)> {
        (0_u32..).map(ItemIndex).zip(&self.entries)
    }

    /// Returns `true` if a program generated any of the items; every report must say so then.
    pub(crate) fn is_synthetic(&self) -> bool {
        self.entries.iter().any(|entry| entry.synthetic)
    }
}
