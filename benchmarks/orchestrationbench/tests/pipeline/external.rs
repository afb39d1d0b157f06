//! Steps and scenarios that an external agent does: it is asked what a model is asked, and scored as a model is.

use std::sync::Arc;

use regatta_benchmark_testing::{drive, drive_agent, ended, session_of_agent};
use regatta_benchmarks::{Persona, Step};
use regatta_proto::{ChatRequest, Event, Role, Sampling, SessionSeed, Tool, Transcript};
use serde_json::{Value, json};

use crate::harness::{miniature, setting};
use crate::sessions::score;

#[test]
fn an_agent_is_given_messages_and_tools_and_the_plan_or_calls_that_it_writes_are_scored_like_a_reply() {
    let suite = miniature();
    let (name, native) = (setting("external/mine"), setting("stepwise"));
    let items = suite.select(&native, &[], None).unwrap();
    assert_eq!(suite.select(&name, &[], None).unwrap(), items);
    let (mut texts, mut calls) = (0, 0);
    for item in items {
        let by_model = drive(&*suite, item, &native, Persona::Noisy(0.3), 1);
        let Some(Event::Call(call)) = by_model.events.first() else {
            assert_eq!(suite.next(item, &name, &Transcript::default()), Step::Done);
            continue;
        };
        let Step::Delegate(task) = suite.next(item, &name, &Transcript::default()) else { panic!("{item}") };
        assert_eq!((task.agent.as_str(), &task.input["messages"]), ("mine", &json!(call.request.messages)));
        let offered: Vec<&Value> = task.input["tools"].as_array().into_iter().flatten().collect();
        let names: Vec<&str> = offered.iter().filter_map(|tool| tool["function"]["name"].as_str()).collect();
        assert_eq!(names, call.request.tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>());
        let outputs = match (&call.reply.text, call.reply.tool_calls.is_empty()) {
            (_, false) => vec![json!({"answer": null, "tool_calls": call.reply.tool_calls}).to_string()],
            (Some(text), true) => vec![text.to_string(), json!({"answer": text, "tool_calls": []}).to_string()],
            (None, true) => vec![String::new()],
        };
        for output in outputs {
            let by_agent = session_of_agent(&[ended(&output)]);
            assert_eq!(suite.next(item, &name, &by_agent), Step::Done);
            assert_eq!(score(&*suite, item, &by_agent), score(&*suite, item, &by_model), "{item}");
            let is_invalid =
                [(&name, &by_agent), (&native, &by_model)].map(|(of, by)| suite.is_invalid_format(item, of, by));
            assert_eq!(is_invalid[0], is_invalid[1], "{item}");
        }
        calls += usize::from(!call.reply.tool_calls.is_empty());
        texts += usize::from(call.reply.tool_calls.is_empty());
    }
    assert!(texts > 0 && calls > 0, "{texts} {calls}");
}

#[test]
fn a_whole_scenario_of_an_agent_is_that_of_its_model() {
    let suite = miniature();
    let (name, native) = (setting("external/mine/end-to-end"), setting("end-to-end"));
    let items = suite.select(&native, &[], None).unwrap();
    assert_eq!(suite.select(&name, &[], None).unwrap(), items);
    for (item, persona) in items.into_iter().flat_map(|item| [(item, Persona::Oracle), (item, Persona::Noisy(0.3))]) {
        let by_model = drive(&*suite, item, &native, persona, 1);
        let by_agent = drive_agent(&*suite, item, &name, |task| {
            let messages = serde_json::from_value(task.input["messages"].clone()).unwrap();
            let offered: Vec<&Value> = task.input["tools"].as_array().into_iter().flatten().collect();
            let tool = |offered: &Value| Tool {
                name: offered["function"]["name"].as_str().unwrap().into(),
                description: None,
                parameters: Arc::default(),
            };
            let tools = offered.into_iter().map(tool).collect();
            let request = ChatRequest { tools, ..ChatRequest::new(messages, Sampling::default()) };
            let reply = suite.simulate(item, &name, Role::Agent, persona, SessionSeed(1), &request);
            json!({"answer": reply.text, "tool_calls": reply.tool_calls}).to_string()
        });
        assert_eq!(suite.next(item, &name, &by_agent), Step::Done);
        assert_eq!(by_agent.events.len(), 2 * by_model.events.len(), "a start and an end for each call");
        assert_eq!(score(&*suite, item, &by_agent), score(&*suite, item, &by_model), "{item}");
        let is_invalid =
            [(&name, &by_agent), (&native, &by_model)].map(|(of, by)| suite.is_invalid_format(item, of, by));
        assert_eq!(is_invalid[0], is_invalid[1], "{item}");
    }
}
