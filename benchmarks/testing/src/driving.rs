//! Sessions driven without a pipeline: the suite itself simulates every model.

use regatta_benchmarks::{DelegatedTask, Persona, Sessions, Step, Suite};
use regatta_proto::{
    Call, ChatRequest, Event, ItemIndex, Lane, Reply, Role, Served, SessionSeed, Setting, Transcript, Usage,
};
use serde_json::{Value, json};

/// Makes the event of an answered call.
#[must_use]
pub fn answered(role: Role, request: ChatRequest, reply: Reply) -> Event {
    Event::Call(Box::new(Call {
        role,
        attempt: 1,
        model: "sim/any".parse().unwrap(),
        request,
        reply,
        tries: Vec::new(),
        usage: Usage::default(),
        raw_usage: None,
        cost: None,
        reported_cost: None,
        served: Served::default(),
        latency_us: 1,
        first_token_us: None,
        waited_us: 0,
        at: None,
        lane: Lane::Live,
        from_cache: false,
        saved: None,
    }))
}

/// Makes the event of an agent that has written `output` and ended.
#[must_use]
pub fn ended(output: &str) -> Value {
    json!({"ended": {"how": {"exited": 0}, "output": output}})
}

/// Makes the session of an agent in which `events` came after its start.
///
/// # Panics
/// If one of them is no event.
#[must_use]
pub fn session_of_agent(events: &[Value]) -> Transcript {
    let started = json!({"started": {"agent": "mine", "attempt": 1}});
    let events: Vec<&Value> = std::iter::once(&started).chain(events).collect();
    serde_json::from_value(json!({ "events": events })).unwrap()
}

/// Drives a session to its end with the replies of `reply`.
///
/// # Panics
/// If the session does not end within 1,000 calls.
#[must_use]
pub fn drive_with(
    suite: &dyn Sessions,
    item: ItemIndex,
    setting: &Setting,
    mut reply: impl FnMut(Role, &ChatRequest) -> Reply,
) -> Transcript {
    let mut transcript = Transcript::default();
    while let Step::Ask(role, request) = suite.next(item, setting, &transcript) {
        let reply = reply(role, &request);
        transcript.events.push(answered(role, request, reply));
        assert!(transcript.events.len() < 1000, "a session ends");
    }
    transcript
}

/// Drives a session to its end; `agent` plays the agent and the oracle every other role.
#[must_use]
pub fn drive(suite: &dyn Suite, item: ItemIndex, setting: &Setting, agent: Persona, seed: u64) -> Transcript {
    drive_with(suite, item, setting, |role, request| {
        let persona = if role == Role::Agent { agent } else { Persona::Oracle };
        suite.simulate(item, setting, role, persona, SessionSeed(seed), request)
    })
}

/// Drives a session to its end in which an external agent has the agent's turns: it writes what `output` says, and the oracle plays every other
/// role.
///
/// # Panics
/// If the session does not end within 1,000 events.
#[must_use]
pub fn drive_agent(
    suite: &dyn Suite,
    item: ItemIndex,
    setting: &Setting,
    mut output: impl FnMut(&DelegatedTask) -> String,
) -> Transcript {
    let mut transcript = Transcript::default();
    loop {
        match suite.next(item, setting, &transcript) {
            Step::Ask(role, request) => {
                let reply = suite.simulate(item, setting, role, Persona::Oracle, SessionSeed(1), &request);
                transcript.events.push(answered(role, request, reply));
            }
            Step::Delegate(task) => transcript.events.extend(session_of_agent(&[ended(&output(&task))]).events),
            Step::Done | Step::Unfit(_) | Step::Failed(_) => return transcript,
        }
        assert!(transcript.events.len() < 1000, "a session ends");
    }
}
