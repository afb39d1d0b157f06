//! The domain agents: what each is for, and its tools (docs/benchmarks/orchestrationbench.md §2.3).

use std::sync::Arc;

use regatta_proto::Tool;

/// One domain agent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Card {
    /// As plans name it, as `place_agent`.
    pub(crate) agent_id: Arc<str>,
    /// As people call it.
    pub(crate) name: Arc<str>,
    /// What it is for.
    pub(crate) description: Arc<str>,
    /// What it can do, as the main agent reads it.
    pub(crate) skills: Vec<Skill>,
    /// What it can call; `parameters` keeps the order of the file.
    pub(crate) tools: Vec<Tool>,
}

/// One thing that an agent can do. Its id mostly is the name of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Skill {
    /// Its id.
    pub(crate) id: Arc<str>,
    /// What it is.
    pub(crate) description: Arc<str>,
}

/// The agents of one language, by ascending id: the official code takes them as the directory lists them, which no two machines need do
/// alike (docs/benchmarks/orchestrationbench.md §3.2).
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Agents {
    cards: Vec<Card>,
}

impl Agents {
    /// These agents; ids are distinct.
    pub(crate) fn new(mut cards: Vec<Card>) -> Self {
        cards.sort_by(|a, b| a.agent_id.cmp(&b.agent_id));
        Self { cards }
    }

    /// All, by ascending id.
    pub(crate) fn cards(&self) -> &[Card] {
        &self.cards
    }

    /// The agent of this id; plans and scenarios name some that do not exist.
    pub(crate) fn card(&self, agent_id: &str) -> Option<&Card> {
        self.cards.iter().find(|card| *card.agent_id == *agent_id)
    }

    /// The tool of this name, whoever's it is.
    pub(crate) fn tool(&self, name: &str) -> Option<&Tool> {
        self.cards.iter().flat_map(|card| &card.tools).find(|tool| *tool.name == *name)
    }
}
