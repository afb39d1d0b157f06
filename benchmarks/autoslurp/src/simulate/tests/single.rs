//! A simulated model that is alone, in a loop as an agent's.

use std::sync::Arc;

use proptest::prelude::*;
use regatta_benchmarks::Persona;
use regatta_proto::{ChatMessage, ChatRequest, ChatRole, Sampling, SessionSeed, Tool, ToolCall, ToolChoice};
use serde_json::{Value, json};

use super::super::Gold;
use super::super::single::reply;
use super::{TODAY, all, session};
use crate::run::Run;
use crate::servers::exchange;
use crate::structured;

fn tool(name: &str, parameters: &[&str]) -> Tool {
    let properties: serde_json::Map<String, Value> =
        parameters.iter().map(|&name| (name.to_owned(), json!({"type": "string"}))).collect();
    Tool {
        name: name.into(),
        description: None,
        parameters: Arc::new(json!({"type": "object", "properties": properties})),
    }
}

/// Runs an agent with `tools` until it calls none: the run, and the names of the tools that it called.
fn run(gold: &Gold, text: &str, tools: &[Tool]) -> (Run, Vec<String>) {
    let system = ChatMessage::new(ChatRole::System, "You run a smart home.");
    let mut request = ChatRequest::new(vec![system, ChatMessage::new(ChatRole::User, text)], Sampling::default());
    request.tools = tools.to_vec();
    let (mut run, mut called, mut ids) = (Run::default(), Vec::new(), Vec::new());
    for _ in 0..6 {
        let said = reply(gold, &request);
        let Some(call) = said.tool_calls.first() else {
            run.final_text = said.text.map(|text| text.to_string());
            return (run, called);
        };
        assert!(!ids.contains(&call.id), "{ids:?}");
        ids.push(call.id.clone());
        called.push(call.name.to_string());
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
        let result = match (&arguments["url"], &arguments["query"]) {
            (Value::String(url), Value::String(body)) => made(&mut run, "POST", url, Some(body)),
            (Value::String(url), _) => made(&mut run, "GET", url, None),
            _ => "2025-05-28".to_owned(),
        };
        let mut assistant = ChatMessage::new(ChatRole::Assistant, "");
        assistant.tool_calls = vec![ToolCall { ..call.clone() }];
        let mut answer = ChatMessage::new(ChatRole::Tool, result);
        answer.tool_call_id = Some(call.id.clone());
        request.messages.extend([assistant, answer]);
    }
    panic!("it never ends: {called:?}");
}

fn made(run: &mut Run, method: &str, url: &str, body: Option<&str>) -> String {
    run.requests.push(exchange(method, url, body, TODAY));
    run.requests.last().unwrap().response.to_string()
}

#[test]
fn with_a_tool_for_requests_it_carries_out_what_the_gold_alone_does() {
    for row in &all() {
        let gold = Gold::of(row, TODAY);
        for tools in
            [&[tool("send_request", &["url"])][..], &[tool("request", &["url", "query"]), tool("get_date", &[])]]
        {
            let (run, called) = run(&gold, &row.text, tools);
            let success = |run: &Run| structured::score(row, TODAY, run).values["success"];
            assert_eq!(success(&run), success(&session(&gold)), "{row:?} {run:?}");
            assert_eq!(called.first().is_some_and(|name| name == "get_date"), tools.len() > 1 && gold.needs_date());
        }
    }
}

#[test]
fn without_a_tool_it_says_the_url_and_takes_what_comes_next_for_the_answer() {
    let row = all().into_iter().find(|row| row.intent == "weather_query").unwrap();
    let gold = Gold::of(&row, TODAY);
    let mut request = ChatRequest::new(vec![ChatMessage::new(ChatRole::User, &*row.text)], Sampling::default());
    let mut said = Vec::new();
    for _ in 0..3 {
        let text = reply(&gold, &request).text.unwrap();
        request.messages.push(ChatMessage::new(ChatRole::Assistant, text.clone()));
        if text.starts_with("http") {
            let answer = exchange("GET", &text, None, TODAY).response;
            request.messages.push(ChatMessage::new(ChatRole::User, answer));
        }
        said.push(text);
    }
    assert!(said[0].contains("geocoding") && said[1].contains("forecast"), "{said:?}");
    assert!(said[2].starts_with("The temperature in bergen is "), "{said:?}");
}

#[test]
fn who_must_not_call_a_tool_does_not() {
    let row = all().remove(0);
    let mut request = ChatRequest::new(vec![ChatMessage::new(ChatRole::User, &*row.text)], Sampling::default());
    request.tools = vec![tool("request", &["url"])];
    request.tool_choice = ToolChoice::None;
    assert!(reply(&Gold::of(&row, TODAY), &request).tool_calls.is_empty());
}

proptest! {
    #[test]
    fn any_conversation_goes_on(
        said in proptest::collection::vec((0_u8..4, any::<String>(), any::<bool>()), 0..6),
        names in proptest::collection::vec(prop_oneof![Just("request"), Just("get_time"), Just("x"), Just("url")], 0..3),
        parameters in prop_oneof![Just(json!({})), Just(json!(null)), Just(json!({"properties": {"url": {}, "method": {}, "z": {}}})), Just(json!({"properties": []}))],
        probability in 0.0..=1.0, seed in any::<u64>(), at in any::<proptest::sample::Index>(),
    ) {
        let rows = all();
        let gold = Gold::of(at.get(&rows), TODAY).perturbed(Persona::Noisy(probability), SessionSeed(seed));
        let messages = said.into_iter().map(|(role, text, calls)| {
            let role = [ChatRole::System, ChatRole::User, ChatRole::Assistant, ChatRole::Tool][usize::from(role)];
            let mut message = ChatMessage::new(role, text);
            if calls {
                message.tool_calls.push(ToolCall { id: "a".into(), name: "request".into(), arguments: "{".into() });
                message.tool_call_id = Some("a".into());
            }
            message
        });
        let mut request = ChatRequest::new(messages.collect(), Sampling::default());
        let parameters = Arc::new(parameters);
        request.tools = names.into_iter().map(|name| Tool { name: name.into(), description: None, parameters: parameters.clone() }).collect();
        let said = reply(&gold, &request);
        prop_assert!(said.text.is_some() == said.tool_calls.is_empty());
    }
}
