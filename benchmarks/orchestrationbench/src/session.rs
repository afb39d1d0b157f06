//! Next request of a session (docs/benchmarks/orchestrationbench.md §3): one request at a single step, requests up to
//! the end in a whole scenario.

use regatta_benchmarks::Step;
use regatta_proto::{ChatRequest, Role, Transcript};

use super::scoring;
use super::whole::Whole;

/// Asks once; the session is over at once where the agent does not exist.
pub(crate) fn next_of_step(step: &scoring::Step<'_>, transcript: &Transcript) -> Step {
    let is_answered = transcript.replies(Role::Agent).next().is_some();
    asks(if is_answered { None } else { step.request() })
}

/// Asks for the next call, with the models' own answers as history.
pub(crate) fn next_of_scenario(whole: &Whole<'_>, transcript: &Transcript) -> Step {
    asks(whole.session(transcript).request())
}

fn asks(request: Option<ChatRequest>) -> Step {
    request.map_or(Step::Done, |request| Step::Ask(Role::Agent, request))
}
