//! The next request of a session (docs/benchmarks/orchestrationbench.md §3): once at a step; until it is over in a whole scenario.

use regatta_benchmarks::Step;
use regatta_proto::{ChatRequest, Role, Transcript};

use super::scoring;
use super::whole::Whole;

/// Asks once; nobody where there is no such agent.
pub(crate) fn next_of_step(step: &scoring::Step<'_>, transcript: &Transcript) -> Step {
    let is_answered = transcript.replies(Role::Agent).next().is_some();
    asks(if is_answered { None } else { step.request() })
}

/// Asks on, with what the models said before as the history.
pub(crate) fn next_of_scenario(whole: &Whole<'_>, transcript: &Transcript) -> Step {
    asks(whole.session(transcript).request())
}

fn asks(request: Option<ChatRequest>) -> Step {
    request.map_or(Step::Done, |request| Step::Ask(Role::Agent, request))
}
