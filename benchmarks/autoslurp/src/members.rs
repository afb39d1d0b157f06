//! The members of the teams (docs/benchmarks/autoslurp.md §3.2 to §3.6), by the one name that they have in specs, transcripts and tables.

use regatta_proto::MemberName;

/// Leads: the supervisor of LangGraph, the product manager of AutoGen, the manager of AgentLite, a worker like others in CamelAI.
pub(crate) const MANAGER: &str = "manager";
/// Predicts domain, intent and slots.
pub(crate) const INTENT: &str = "intent";
/// Normalises dates and times.
pub(crate) const TIME: &str = "time";
/// Normalises places.
pub(crate) const LOCATION: &str = "location";
/// Chooses the server and writes the URL.
pub(crate) const URL: &str = "url";
/// Sends the request; AgentLite's execution agent chooses the URL as well.
pub(crate) const REQUEST: &str = "request";
/// Turns the server's answer into a reply.
pub(crate) const RESPONSE: &str = "response";
/// Selects AutoGen's next speaker.
pub(crate) const SELECTOR: &str = "selector";
/// Decomposes CamelAI's task, and composes the answer.
pub(crate) const PLANNER: &str = "planner";
/// Assigns CamelAI's sub-tasks to workers.
pub(crate) const COORDINATOR: &str = "coordinator";
/// Made by CamelAI's coordinator for a task that no other worker could do.
pub(crate) const WORKER: &str = "worker";

/// Every name.
pub(crate) const ALL: [&str; 11] =
    [MANAGER, INTENT, TIME, LOCATION, URL, REQUEST, RESPONSE, SELECTOR, PLANNER, COORDINATOR, WORKER];

/// One of the names above.
pub(crate) fn member(name: &'static str) -> Option<MemberName> {
    MemberName::new(name).ok()
}
