//! The four ways to orchestrate (docs/benchmarks/autoslurp.md §3), each a function of the replies so far.

pub(crate) mod agentlite;
pub(crate) mod autogen;
pub(crate) mod camelai;
pub(crate) mod langgraph;
mod naming;
mod query;
mod replies;
#[cfg(test)]
mod sessions;

use regatta_proto::{ChatRequest, Reply};

pub(crate) use self::query::Query;
pub(crate) use self::replies::{Asking, Replies};
use crate::policy::Policy;
use crate::run::Run;
use crate::simulate::Gold;

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
