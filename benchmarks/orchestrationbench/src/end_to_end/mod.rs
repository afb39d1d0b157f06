//! The end-to-end mode: a model sees its own earlier answers, so errors propagate to later steps. (The official
//! protocol and the paper rebuild the history of every step from the gold; the paper names this mode as future work,
//! so the rules are ours.)
//!
//! A session is one scenario. It takes only the user's messages from the gold, and the information which of them are
//! new requests. It goes turn by turn:
//!
//! 1. The user's messages of the turn are added to the history. Where the gold has a plan in this turn, the main
//!    agent is asked for one. Elsewhere the user answers a question, and the waiting sub agents continue. If none
//!    waits although the gold continues, the main agent is asked again. Where the gold asks no model, none is asked,
//!    and the main agent's messages are those of the gold.
//! 2. A plan replaces the previous one. Its steps that are not `completed`, `paused` or cancelled, and were not done
//!    under the same workflow, position and agent, are done in order; a workflow waits for those that it depends on
//!    as long as any other can continue. The step's sub agent is asked with its refined query, or without it when it
//!    continues after a question, because the user spoke last. A step whose agent does not exist is skipped. An
//!    answer without a plan is added to the history, and the previous plan stays.
//! 3. A sub agent that calls tools gets results, see [`tools`], and its step is done. A rejection is passed to the
//!    user in the sub agent's words (the gold's histories omit it, but there the gold's main agent asks the user);
//!    its workflow, and those that depend on it, wait for the user's next message. Plain text is added to the
//!    history, and the step is done.
//! 4. When nothing can continue, the next turn begins. The session ends after the last turn, or after [`CALLS_MAX`]
//!    calls.
//!
//! Scores are those of the gold's steps, so each call is matched with one step or none: the plan of a turn with the
//! gold plan of that turn; the call of a sub agent with the first unmatched step of that agent in that turn, else
//! with the first unmatched one in the scenario. A step without a matched call has no answer. Calls without a step
//! are counted ([`Outcome::extra_calls`]).
//!
//! [`Outcome::first_divergence`] is the first call that diverged from the gold: a plan with other agents or another
//! order of them, a rejection for a call or the reverse, a call that did not get the recorded result of its step.
//! [`Outcome::changed`] are the later steps that were asked after other results than in the gold, in another turn, or
//! not at all.

mod outcome;
mod script;
mod session;
mod tasks;
#[cfg(test)]
mod tests;
mod tools;

pub(crate) use self::outcome::Outcome;
pub(crate) use self::session::Session;
