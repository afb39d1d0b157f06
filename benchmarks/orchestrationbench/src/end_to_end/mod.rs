//! The end-to-end mode: what the models say is what they see next, so that errors reach later steps. (The official protocol, and the
//! paper, ask every step with a history rebuilt from the gold; the paper names this mode as future work, so the rules are ours.)
//!
//! A session is one scenario. Of the gold it uses what the user says, and which of the user's words are new requests; everything else is
//! the models'. It goes turn by turn:
//!
//! 1. The user's words of the turn are told. Where the gold writes a plan in this turn, the main agent is asked for one. Elsewhere the
//!    user answers a question: the sub agents that wait go on. If none waits though the gold goes on, the main agent is asked again.
//!    Where the gold asks nobody, nobody is asked, and the main agent's words are the gold's.
//! 2. A plan replaces the one before. Its steps that are not `completed`, `paused` or cancelled, and were not done under the same
//!    workflow, position and agent, are done in order: a workflow waits for those that it depends on as long as any other can go on.
//!    The step's sub agent is asked with its refined query; when it goes on after a question, without: the user spoke last. A step
//!    whose agent does not exist is passed over. An answer without a plan is told, and the plan before stays.
//! 3. A sub agent that calls tools gets results, see [`tools`]: its step is done. One that rejects is told to the user in its own words
//!    (the gold's histories leave that out, but there the gold's main agent asks the user); its workflow, and those that depend on it,
//!    wait for the user's next words. Plain text is told, and the step is done.
//! 4. When nothing can go on, the next turn begins; after the last the session is over, and after [`CALLS_MAX`] calls.
//!
//! Scores are those of the gold's steps, so each call stands for one, or for none: the plan of a turn for the gold plan of that turn;
//! the call of a sub agent for the first step of that agent in that turn that no call stands for yet, else for the first in the
//! scenario. A step that no call stands for has no answer. A call that stands for no step is counted ([`Outcome::extra_calls`]).
//!
//! [`Outcome::first_divergence`] is the first call that led elsewhere than the gold: a plan with other agents or another order of them,
//! a rejection for a call or the other way round, a call that did not get the recorded result of its step. [`Outcome::changed`] are the
//! later steps that were then asked with other results before them than the gold's, in another turn, or not at all.

mod outcome;
mod script;
mod session;
mod tasks;
#[cfg(test)]
mod tests;
mod tools;

pub(crate) use self::outcome::Outcome;
pub(crate) use self::session::Session;
