//! Agents whose processes live for many sessions.

use std::collections::BTreeSet;

use regatta_proto::{Cause, Event, ExternalAgent, HowEnded, Outcome, SessionOutcome, Simulation};

use super::office::{Office, command, output, replies, story};

/// Tells what it heard in each session, and of which process the session is: a process makes up its name when it begins.
const AGENT: &str = r#"
import json, os, sys, urllib.request, uuid
name, done = uuid.uuid4().hex, 0
for line in sys.stdin:
    errand = json.loads(line)
    body = {"model": errand["model"], "messages": [{"role": "user", "content": errand["task"]}]}
    headers = {"content-type": "application/json", "authorization": "Bearer " + errand["api_key"]}
    url = errand["base_url"] + "/chat/completions"
    answer = json.load(urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)))
    done += 1
    if errand["task"] == "item-2-":
        sys.exit("no more")
    print(name, done, os.listdir(errand["directory"]), answer["choices"][0]["message"]["content"], flush=True)
    print(json.dumps({"done": errand["session"]}), flush=True)
"#;

/// Asks all its sessions at the address of the first, and has an answer to give all the same.
const STRAY: &str = r#"
import json, sys, urllib.error, urllib.request
first = None
for line in sys.stdin:
    errand = json.loads(line)
    first = first or errand
    body = {"model": first["model"], "messages": [{"role": "user", "content": errand["task"]}]}
    headers = {"content-type": "application/json", "authorization": "Bearer " + first["api_key"]}
    url = first["base_url"] + "/chat/completions"
    try:
        urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)).read()
    except urllib.error.HTTPError:
        pass
    print("tea", flush=True)
    print(json.dumps({"done": errand["session"]}), flush=True)
"#;

fn kept(sessions_max: u32) -> ExternalAgent {
    doing(AGENT, sessions_max)
}

fn doing(script: &str, sessions_max: u32) -> ExternalAgent {
    ExternalAgent { sessions_max, concurrency: 1, ..command(&["python3", "-c", script]) }
}

/// Name of the process that did a session, with the number of sessions that it had done then.
fn process(outcome: &SessionOutcome) -> (String, u32) {
    let mut words = output(&outcome.transcript).split(' ');
    (words.next().unwrap().to_owned(), words.next().unwrap().parse().unwrap())
}

#[tokio::test]
async fn sessions_of_one_process_are_recorded_and_paid_each_as_its_own() {
    let office = Office::with(6, kept(100), Simulation::default(), |_| {}).await;
    let outcomes = office.outcomes(6).await;
    assert!(outcomes.iter().all(|outcome| outcome.outcome == Outcome::Measured));
    for outcome in outcomes.iter().filter(|outcome| outcome.key.item.0 != 2) {
        let own = format!("item-{}-", outcome.key.item);
        let heard = replies(&outcome.transcript);
        assert_eq!(story(&outcome.transcript)[1..], [format!("attempt 1 asks {own}"), "ends: Exited(0)".to_owned()]);
        assert!(output(&outcome.transcript).ends_with(&format!("[] {}\n", heard[0])), "{own}");
    }
    // The one that left in a session took no other with it.
    let left = outcomes.iter().find(|outcome| outcome.key.item.0 == 2).unwrap();
    assert_eq!(story(&left.transcript)[2], "ends: Exited(1)");
    let others = outcomes.iter().filter(|outcome| outcome.key.item.0 != 2);
    let processes: BTreeSet<String> = others.map(|outcome| process(outcome).0).collect();
    assert!((1..=2).contains(&processes.len()), "{processes:?}");
}

#[tokio::test]
async fn a_session_that_asked_at_the_address_of_an_earlier_one_alone_is_not_scored() {
    let office = Office::with(2, doing(STRAY, 100), Simulation::default(), |_| {}).await;
    let outcomes = office.outcomes(2).await;
    let (measured, others): (Vec<_>, Vec<_>) =
        outcomes.iter().partition(|outcome| outcome.outcome == Outcome::Measured);
    assert_eq!((measured.len(), others.len()), (1, 1));
    assert_eq!(others[0].outcome, Outcome::NotMeasured { cause: Cause::AgentLost });
    let Some(Event::Ended(ended)) = others[0].transcript.events.last() else { panic!() };
    assert_eq!(ended.how, HowEnded::NotStarted);
    assert!(ended.errors.contains("at the address of an earlier session"), "{}", ended.errors);
}

#[tokio::test]
async fn no_process_does_more_sessions_than_it_may() {
    let office = Office::with(2, kept(2), Simulation::default(), |_| {}).await;
    let outcomes = office.outcomes(2).await;
    let (one, other) = (process(&outcomes[0]), process(&outcomes[1]));
    assert_eq!((one.0 == other.0, one.1 + other.1), (true, 3), "both of one process");
}
