//! Starts of external agents in a session: one for each answer that it wants of them.

use regatta_benchmarks::{Persona, Step, Suite, delegated};
use regatta_proto::{
    Ended, Event, HowEnded, ItemIndex, ModelRef, Reply, Role, SessionSeed, Setting, Started, Transcript,
};
use serde_json::json;

use super::{CALLS_MAX, answered};

/// Number of times that an agent is started in the session of `item`, if it answers as the gold does. What it asks its own model nobody knows.
pub(super) fn starts(suite: &dyn Suite, setting: &Setting, item: ItemIndex, model: &ModelRef) -> u64 {
    let (mut transcript, mut starts) = (Transcript::default(), 0);
    for _ in 0..CALLS_MAX {
        match suite.next(item, setting, &transcript) {
            Step::Ask(role, request) => {
                let reply = suite.simulate(item, setting, role, Persona::Oracle, SessionSeed(0), &request);
                transcript.events.push(answered(model, role, request, reply));
            }
            Step::Delegate(task) => {
                starts += 1;
                // A task of another kind is that of the whole session.
                let Some(request) = delegated::asked(&task) else { break };
                let reply = suite.simulate(item, setting, Role::Agent, Persona::Oracle, SessionSeed(0), &request);
                transcript.events.push(Event::Started(Started { agent: task.agent, attempt: 1 }));
                transcript.events.push(written(&reply));
            }
            Step::Done | Step::Unfit(_) | Step::Failed(_) => break,
        }
    }
    starts
}

/// The end of an agent that has written `reply`.
fn written(reply: &Reply) -> Event {
    let answer = json!({"answer": reply.text.as_deref().unwrap_or_default(), "tool_calls": &reply.tool_calls});
    let (how, output) = (HowEnded::Exited(0), answer.to_string().into());
    Event::Ended(Box::new(Ended { how, output, is_cut: false, errors: "".into() }))
}
