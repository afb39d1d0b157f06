//! The four ways to orchestrate (docs/benchmarks/autoslurp.md §3), each a function of the replies so far.

pub(crate) mod agentlite;
pub(crate) mod autogen;
pub(crate) mod camelai;
pub(crate) mod langgraph;
mod naming;
#[cfg(test)]
mod sessions;

use std::fmt;

use jiff::civil::Date;
use regatta_proto::{ChatRequest, Reply};

use crate::run::Run;
use crate::simulate::Gold;

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

/// Task of a team.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Query<'a> {
    /// Column `id`.
    pub(crate) iid: &'a str,
    /// The person's request.
    pub(crate) text: &'a str,
    /// Answer of the date tool; it is 10:00 in New York (docs/benchmarks/autoslurp.md §3.2).
    pub(crate) today: Date,
}

/// The replies that a session has had so far. A policy asks for one after the other as if they were all there; where they end, what it
/// asks is what the session does next.
#[derive(Debug)]
pub(crate) struct Replies<'t> {
    left: std::slice::Iter<'t, &'t Reply>,
}

/// The replies have ended: this is to be asked now.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Asking(pub(crate) Box<ChatRequest>);

impl<'t> Replies<'t> {
    pub(crate) fn new(replies: &'t [&'t Reply]) -> Self {
        Self { left: replies.iter() }
    }

    /// The reply to `request`, which is only made when there is none yet. Its `member` says who asks.
    ///
    /// # Errors
    /// When it has not been asked yet.
    pub(crate) fn ask(&mut self, request: impl FnOnce() -> ChatRequest) -> Result<&'t Reply, Asking> {
        self.left.next().copied().ok_or_else(|| Asking(Box::new(request())))
    }

    /// Number of replies that were not asked for.
    pub(crate) fn left(&self) -> usize {
        self.left.len()
    }
}

/// Plays the session of `query` as far as `replies` go: to its end, or to what is asked next. What a model says that a framework would
/// raise on ends the run as it would end there; it is never an error here.
///
/// # Errors
/// With the next request, when `replies` are used up.
pub(crate) fn play(policy: Policy, query: &Query<'_>, replies: &mut Replies<'_>) -> Result<Run, Asking> {
    match policy {
        Policy::LangGraph => langgraph::play(query, replies),
        Policy::AutoGen => autogen::play(query, replies),
        Policy::CamelAi => camelai::play(query, replies),
        Policy::AgentLite => agentlite::play(query, replies),
    }
}

/// Reply of a simulated model that believes `gold` to `request`, as the member of `policy` that the request names.
pub(crate) fn simulated(policy: Policy, gold: &Gold, request: &ChatRequest) -> Reply {
    match policy {
        Policy::LangGraph => langgraph::simulated::reply(request, gold),
        Policy::AutoGen => autogen::simulated::reply(request, gold),
        Policy::CamelAi => camelai::simulated::reply(request, gold),
        Policy::AgentLite => agentlite::simulated::reply(request, gold),
    }
}
