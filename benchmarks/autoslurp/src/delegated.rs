//! Results of sessions that an external agent ran, or that were recorded elsewhere.

use regatta_benchmarks::delegated::{end, last_start};
use regatta_proto::{Ended, Event, Exchange, Finish, HowEnded, Reply, Started, Transcript};
use serde_json::{Value, json};

use super::members;
use super::run::Run;

/// Result of the session; `None` while it has not ended.
///
/// The log is what the agent printed. The answer is the field `final` of a JSON object that it printed as its last line or answered with.
/// Without one it is the last text of the member `response`, or else of any member but those that only say whose turn it is; last in the
/// order of asking, which is that of the transcript. In the same way `intent_output` is told, or else the last text of the member `intent`.
pub(crate) fn run(transcript: &Transcript) -> Option<Run> {
    let events = last_start(transcript);
    let ended = end(transcript)?;
    let mut run = Run { log: ended.output.to_string(), hit_limit: stopped(ended), ..Run::default() };
    let mut spoke = std::collections::BTreeSet::new();
    let told = events.iter().rev().find_map(|event| match event {
        Event::Recorded(reply) => reply.text.as_deref().and_then(object),
        _ => None,
    });
    let is_recorded = told.is_some();
    let mut responded: Option<String> = None;
    for event in events {
        match event {
            Event::Exchange(exchange) => run.requests.push((**exchange).clone()),
            Event::Call(call) => {
                let text = call.reply.text.as_deref().filter(|text| !text.trim().is_empty()).map(str::to_owned);
                let member = call.request.member.as_ref().map(regatta_proto::MemberName::as_str);
                if member == Some(members::INTENT) {
                    run.intent_output = text.clone().or(run.intent_output);
                }
                if member == Some(members::RESPONSE) {
                    responded = text.clone().or(responded);
                }
                if !matches!(member, Some(members::SELECTOR | members::COORDINATOR)) {
                    run.final_text = text.or(run.final_text);
                }
                spoke.extend(call.request.member.clone());
            }
            _ => {}
        }
    }
    run.final_text = responded.or(run.final_text);
    // Nobody knows who the members of an agent are unless it says so. One that failed is known to have left undone what they are for: what it
    // does not tell would otherwise be left out of its accuracy, which then would be that of its better sessions.
    let has_failed = ended.how != HowEnded::Exited(0);
    run.members = (!spoke.is_empty() || has_failed).then_some(spoke);
    if let Some(told) =
        told.or_else(|| ended.output.lines().rev().find(|line| !line.trim().is_empty()).and_then(object))
    {
        let text = |field: &str| told.get(field).and_then(Value::as_str).map(str::to_owned);
        run.final_text = text("final").or(if is_recorded { None } else { run.final_text });
        run.intent_output = text("intent_output").or(if is_recorded { None } else { run.intent_output });
    }
    Some(run)
}

fn object(text: &str) -> Option<Value> {
    serde_json::from_str(text.trim()).ok().filter(Value::is_object)
}

const fn stopped(ended: &Ended) -> bool {
    matches!(ended.how, HowEnded::Deadline | HowEnded::TooMuchOutput)
}

/// The transcript of a session that was run elsewhere: the same events, as far as they are known.
pub(crate) fn transcript(run: &Run) -> Option<Transcript> {
    let started = Event::Started(Started { agent: "recorded".parse().ok()?, attempt: 0 });
    let exchanges = run.requests.iter().cloned().map(|exchange: Exchange| Event::Exchange(Box::new(exchange)));
    let told = json!({ "final": run.final_text, "intent_output": run.intent_output });
    let reply = Reply::of_text(Some(&told.to_string()), Finish::Stop);
    let ended = Ended { how: HowEnded::Exited(0), output: run.log.as_str().into(), is_cut: false, errors: "".into() };
    let end = [Event::Recorded(reply), Event::Ended(Box::new(ended))];
    Some(Transcript { events: std::iter::once(started).chain(exchanges).chain(end).collect() })
}

#[cfg(test)]
mod tests {
    use regatta_benchmarks::delegated::has_ended;

    use super::*;

    fn exchange(url: &str) -> Exchange {
        Exchange { method: "GET".into(), url: url.into(), body: None, status: 200, response: "{}".into() }
    }

    #[test]
    fn what_was_run_elsewhere_is_read_as_it_was_written() {
        for (answer, intent) in [(Some("it is done"), Some("intent:alarm_set")), (None, None)] {
            let run = Run {
                log: "line\n{\"final\": \"of the log\"}\n".to_owned(),
                requests: vec![exchange("http://127.0.0.1:3000/alarm")],
                final_text: answer.map(str::to_owned),
                intent_output: intent.map(str::to_owned),
                members: None,
                hit_limit: false,
                is_unreadable: false,
            };
            let written = transcript(&run).unwrap();
            assert!(has_ended(&written));
            assert_eq!(super::run(&written), Some(run));
        }
    }

    #[test]
    fn an_agent_that_was_killed_or_interrupted_has_not_ended() {
        let mut written = transcript(&Run::default()).unwrap();
        written.events.pop();
        for how in [HowEnded::Killed(9), HowEnded::Interrupted, HowEnded::NotStarted] {
            let ended = Ended { how, output: "x".into(), is_cut: false, errors: "".into() };
            let events = written.events.iter().cloned().chain([Event::Ended(Box::new(ended))]).collect();
            assert!(!has_ended(&Transcript { events }), "{how:?}");
        }
    }

    #[test]
    fn what_an_earlier_start_did_does_not_count() {
        let mut written = transcript(&Run { requests: vec![exchange("http://a/")], ..Run::default() }).unwrap();
        let again = Started { agent: "mine".parse().unwrap(), attempt: 2 };
        written.events.push(Event::Started(again));
        assert!(!has_ended(&written));
        assert_eq!(run(&written), None);
        let output = "some log\n{\"final\": \"done\", \"intent_output\": \"intent:a\"}\n";
        let ended = Ended { how: HowEnded::Deadline, output: output.into(), is_cut: false, errors: "".into() };
        written.events.push(Event::Ended(Box::new(ended)));
        let run = run(&written).unwrap();
        assert_eq!((run.requests.len(), run.final_text.as_deref(), run.hit_limit), (0, Some("done"), true));
        assert_eq!(run.intent_output.as_deref(), Some("intent:a"));
    }
}
