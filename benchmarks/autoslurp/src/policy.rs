//! Names of the ways to orchestrate (docs/benchmarks/autoslurp.md §3), and the members that each asks.

use std::fmt;

/// A way to orchestrate the agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Policy {
    /// A workforce: decompose, assign, solve (docs/benchmarks/autoslurp.md §3.5).
    CamelAi,
    /// A supervisor over one list of messages (docs/benchmarks/autoslurp.md §3.3).
    LangGraph,
    /// A group chat whose next speaker a model selects (docs/benchmarks/autoslurp.md §3.4).
    AutoGen,
    /// A manager that thinks and acts, with agents as actions (docs/benchmarks/autoslurp.md §3.6).
    AgentLite,
}

impl Policy {
    /// In the order of the paper's tables.
    pub(crate) const ALL: [Self; 4] = [Self::CamelAi, Self::LangGraph, Self::AutoGen, Self::AgentLite];

    /// The word used in settings.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::CamelAi => "camelai",
            Self::LangGraph => "langgraph",
            Self::AutoGen => "autogen",
            Self::AgentLite => "agentlite",
        }
    }

    /// The members that it asks.
    pub(crate) const fn members(self) -> &'static [&'static str] {
        use crate::members::{
            COORDINATOR, INTENT, LOCATION, MANAGER, PLANNER, REQUEST, RESPONSE, SELECTOR, TIME, URL, WORKER,
        };
        match self {
            Self::CamelAi => &[PLANNER, COORDINATOR, MANAGER, INTENT, TIME, LOCATION, URL, REQUEST, RESPONSE, WORKER],
            Self::LangGraph => &[MANAGER, INTENT, TIME, LOCATION, URL, REQUEST, RESPONSE],
            Self::AutoGen => &[SELECTOR, MANAGER, INTENT, TIME, LOCATION, URL, REQUEST],
            Self::AgentLite => &[MANAGER, INTENT, TIME, LOCATION, REQUEST],
        }
    }

    /// As the paper writes it.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::CamelAi => "CamelAI",
            Self::LangGraph => "LangGraph",
            Self::AutoGen => "AutoGen",
            Self::AgentLite => "AgentLite",
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
