//! Next request of a session (docs/benchmarks/orchestrationbench.md §3): one request at a single step, requests up to
//! the end in a whole scenario; or the agent that does a step.

use regatta_benchmarks::{Item, Step, delegated};
use regatta_proto::{AgentName, ChatRequest, Role, Transcript};

use super::scoring;
use super::whole::Whole;

/// Asks once; the session is over at once where the agent does not exist.
pub(crate) fn next_of_step(step: &scoring::Step<'_>, transcript: &Transcript) -> Step {
    let is_answered = transcript.replies(Role::Agent).next().is_some();
    asks(if is_answered { None } else { step.request() })
}

/// Has `agent` do the step, which is `item`; the session is over at once where the agent of the step's card does not exist.
pub(crate) fn delegated_step(
    step: &scoring::Step<'_>,
    item: &Item,
    agent: &AgentName,
    transcript: &Transcript,
) -> Step {
    match step.request() {
        Some(request) => delegated::step(agent, &item.id, &item.task, &request, transcript),
        None => Step::Done,
    }
}

/// Asks for the next call, with the own answers of whoever gives them as history.
pub(crate) fn next_of_scenario(whole: &Whole<'_>, transcript: &Transcript) -> Step {
    asks(whole.session(transcript).request())
}

fn asks(request: Option<ChatRequest>) -> Step {
    request.map_or(Step::Done, |request| Step::Ask(Role::Agent, request))
}
