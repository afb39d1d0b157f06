//! The domain agents with their descriptions and tools (docs/benchmarks/orchestrationbench.md §2.3).

use std::sync::Arc;

use regatta_proto::Tool;

/// Card of a domain agent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Card {
    /// Id used in plans, such as `place_agent`.
    pub(crate) agent_id: Arc<str>,
    /// Name for people.
    pub(crate) name: Arc<str>,
    /// Purpose of the agent.
    pub(crate) description: Arc<str>,
    /// Skills, as the main agent sees them.
    pub(crate) skills: Vec<Skill>,
    /// Tools that the agent can call; `parameters` keeps the order of the file.
    pub(crate) tools: Vec<Tool>,
}

/// A skill of an agent. Its id is usually the name of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Skill {
    /// Id, usually the name of a tool.
    pub(crate) id: Arc<str>,
    /// Description for the main agent.
    pub(crate) description: Arc<str>,
}

/// The agents of one language by ascending id. The official code takes them in the order of the directory listing,
/// which differs between machines (docs/benchmarks/orchestrationbench.md §3.2).
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Agents {
    cards: Vec<Card>,
}

impl Agents {
    /// Sorts agents by id; ids must be distinct.
    pub(crate) fn new(mut cards: Vec<Card>) -> Self {
        cards.sort_by(|a, b| a.agent_id.cmp(&b.agent_id));
        Self { cards }
    }

    /// Returns all agents by ascending id.
    pub(crate) fn cards(&self) -> &[Card] {
        &self.cards
    }

    /// Finds an agent by id. Plans and scenarios name some that do not exist.
    pub(crate) fn card(&self, agent_id: &str) -> Option<&Card> {
        self.cards.iter().find(|card| *card.agent_id == *agent_id)
    }

    /// Finds a tool by name among the tools of all agents.
    pub(crate) fn tool(&self, name: &str) -> Option<&Tool> {
        self.cards.iter().flat_map(|card| &card.tools).find(|tool| *tool.name == *name)
    }
}
