//! Plans that an external agent makes: it is asked what a model is asked, and scored as a model is.

use regatta_benchmark_testing::{drive, ended, session_of_agent};
use regatta_benchmarks::{Persona, Step};
use regatta_proto::{Event, ItemIndex, Transcript};
use serde_json::{Value, json};

use crate::harness::{miniature, setting};
use crate::sessions::score;

/// A call of its model with a tool of its own.
fn called_with_tools() -> Value {
    json!({"call": {
        "role": "agent", "attempt": 1, "model": "sim/a",
        "request": {"messages": [], "tools": [{"name": "own", "parameters": {}}]},
        "reply": {"text": "x", "finish": "stop"}, "usage": {"input": 0, "output": 0}, "cost": 5, "latency_us": 0,
    }})
}

#[test]
fn an_agent_is_given_the_messages_and_the_plan_that_it_writes_is_scored_like_a_reply() {
    let suite = miniature();
    for (name, native) in [("external/mine", "flat"), ("external/mine/3-shot", "flat/3-shot")] {
        let items = suite.select(&setting(native), &[], None).unwrap();
        assert_eq!(suite.select(&setting(name), &[], None).unwrap(), items);
        for item in items {
            let by_model = drive(&*suite, item, &setting(native), Persona::Noisy(0.3), 1);
            let Some(Event::Call(call)) = by_model.events.first() else { panic!("nothing was asked") };
            let Step::Delegate(task) = suite.next(item, &setting(name), &Transcript::default()) else {
                panic!("{item}")
            };
            assert_eq!((task.agent.as_str(), &task.input["messages"]), ("mine", &json!(call.request.messages)));
            let plan = call.reply.text.as_deref().unwrap();
            for by_agent in [session_of_agent(&[ended(plan)]), session_of_agent(&[called_with_tools(), ended(plan)])] {
                assert_eq!(suite.next(item, &setting(name), &by_agent), Step::Done);
                assert_eq!(score(&*suite, item, &by_agent), score(&*suite, item, &by_model), "{item}");
                let is_invalid = |name: &str, by: &Transcript| suite.is_invalid_format(item, &setting(name), by);
                assert_eq!(is_invalid(name, &by_agent), is_invalid(native, &by_model), "{item}");
            }
        }
    }
}

#[test]
fn an_agent_that_wrote_no_plan_is_scored_and_of_invalid_format() {
    let suite = miniature();
    let (item, name) = (ItemIndex(0), setting("external/mine"));
    let silent = session_of_agent(&[ended("I would rather not.")]);
    assert!(suite.is_invalid_format(item, &name, &silent));
    let recorded = Transcript::of_recorded(Some("I would rather not."));
    assert_eq!(score(&*suite, item, &silent), score(&*suite, item, &recorded));
}
