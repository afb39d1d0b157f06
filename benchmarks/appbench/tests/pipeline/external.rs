//! Plans that an external agent makes, and calls: it is asked what a model is asked, and scored as a model is.

use std::sync::Arc;

use regatta_benchmark_testing::{drive, drive_agent, ended, session_of_agent};
use regatta_benchmarks::{NoVerdicts, Persona, Scores, Scoring, Step, Suite, ToolRequest};
use regatta_proto::{
    ChatMessage, ChatRequest, ChatRole, Evaluator, Event, ItemIndex, Role, Sampling, SessionSeed, Setting, Tool,
    Transcript,
};
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

fn scored(suite: &dyn Suite, item: ItemIndex, setting: &Setting, transcript: &Transcript) -> Scores {
    let all = [Evaluator::Official, Evaluator::Paper, Evaluator::Exec];
    match suite.score_session(item, setting, &all, &transcript.without_requests(), &NoVerdicts) {
        Scoring::Scored(scores) => scores,
        other => panic!("{other:?}"),
    }
}

/// Answer of a simulated model in the place of an agent that has these `messages`: it looks at who spoke alone.
fn of_model(suite: &dyn Suite, item: ItemIndex, setting: &Setting, persona: Persona, messages: &Value) -> String {
    let role = |message: &Value| serde_json::from_value::<ChatRole>(message["role"].clone()).unwrap();
    let messages = messages.as_array().unwrap().iter().map(|message| ChatMessage::new(role(message), "")).collect();
    let tool = Tool { name: "any".into(), description: None, parameters: Arc::default() };
    let request = ChatRequest { tools: vec![tool], ..ChatRequest::new(messages, Sampling::default()) };
    let reply = suite.simulate(item, setting, Role::Agent, persona, SessionSeed(1), &request);
    json!({"answer": reply.text.as_deref().unwrap_or(""), "tool_calls": reply.tool_calls}).to_string()
}

#[test]
fn an_agent_that_answers_with_calls_is_given_their_results_as_a_model_is() {
    let suite = miniature();
    let (name, native) = (setting("external/mine/tools"), setting("tools"));
    let items = suite.select(&native, &[], None).unwrap();
    assert_eq!(suite.select(&name, &[], None).unwrap(), items);
    for (item, persona) in items.into_iter().flat_map(|item| [(item, Persona::Oracle), (item, Persona::Noisy(0.3))]) {
        let by_model = drive(&*suite, item, &native, persona, 1);
        let last = by_model.calls().last().unwrap();
        let mut given = Vec::new();
        let by_agent = drive_agent(&*suite, item, &name, |task| {
            given = task.input["messages"].as_array().unwrap().clone();
            assert_eq!(task.input["tools"].as_array().unwrap().len(), last.request.tools.len());
            of_model(&*suite, item, &name, persona, &task.input["messages"])
        });
        assert_eq!(suite.next(item, &name, &by_agent), Step::Done);
        assert_eq!(scored(&*suite, item, &name, &by_agent), scored(&*suite, item, &native, &by_model), "{item}");
        let told: Vec<&str> = last.request.messages.iter().map(|message| &*message.content).collect();
        assert_eq!(given.iter().map(|message| message["content"].as_str().unwrap()).collect::<Vec<_>>(), told);
        let drawn = [(&name, &by_agent), (&native, &by_model)].map(|(of, by)| suite.pictures(item, of, by));
        assert_eq!(drawn[0], drawn[1], "{item}");
        assert!(!suite.is_invalid_format(item, &name, &by_agent), "no plan is asked for");
    }
}

/// The event of a request that the phone of `item` answered, and the answer.
fn asked(suite: &dyn Suite, item: ItemIndex, method: &str, path: &str, body: &str) -> (Value, String) {
    let url = format!("http://phone{path}");
    let request = ToolRequest { method: method.to_owned(), url: url.clone(), body: Some(body.as_bytes().to_vec()) };
    let answer = suite.serve(item, &setting("external/mine/tools"), &request);
    let text = String::from_utf8(answer.body).unwrap();
    let exchange = json!({"method": method, "url": url, "body": body, "status": answer.status, "response": text});
    (json!({ "exchange": exchange }), text)
}

fn rpc(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string()
}

#[test]
fn an_agent_may_call_the_phone_itself_over_http_or_mcp_and_what_it_executed_is_scored() {
    let suite = miniature();
    let (name, native) = (setting("external/mine/tools"), setting("tools"));
    for item in suite.select(&native, &[], None).unwrap() {
        let by_model = drive(&*suite, item, &native, Persona::Oracle, 1);
        let (mut by_http, mut by_mcp) = (Vec::new(), Vec::new());
        for call in by_model.calls().flat_map(|call| &call.reply.tool_calls) {
            let (event, told) = asked(&*suite, item, "POST", &format!("/tools/{}", call.name), &call.arguments);
            by_http.push(event);
            let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
            let body = rpc("tools/call", &json!({"name": &*call.name, "arguments": arguments}));
            let (event, answer) = asked(&*suite, item, "POST", "/mcp", &body);
            by_mcp.push(event);
            let answer: Value = serde_json::from_str(&answer).unwrap();
            let content = json!([{"type": "text", "text": told}]);
            assert_eq!((&answer["id"], &answer["result"]), (&json!(7), &json!({"content": content, "isError": false})));
        }
        for mut events in [by_http, by_mcp] {
            events.push(ended("done"));
            let session = session_of_agent(&events);
            assert_eq!(suite.next(item, &name, &session), Step::Done);
            let scores = scored(&*suite, item, &name, &session);
            assert_eq!(scores.keys().copied().collect::<Vec<_>>(), [Evaluator::Exec]);
            let values = |scores: &Scores| {
                let values = &scores[&Evaluator::Exec].values;
                ["exec_success", "exec_error", "call_hit", "call_pred"].map(|name| values[name])
            };
            assert_eq!(values(&scores), values(&scored(&*suite, item, &native, &by_model)), "{item}");
        }
    }
}

#[test]
fn a_wrong_call_at_the_phone_is_a_result_that_says_so_and_counts_against_the_agent() {
    let suite = miniature();
    let (item, name) = (ItemIndex(0), setting("external/mine/tools"));
    let body = rpc("tools/call", &json!({"name": "Nothing-nowhere", "arguments": {}}));
    let (event, answer) = asked(&*suite, item, "POST", "/mcp", &body);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["result"]["isError"], true);
    let (plain, _) = asked(&*suite, item, "POST", "/tools/Nothing-nowhere", "{}");
    assert_eq!(plain["exchange"]["status"], 404);
    for event in [event, plain] {
        let values = &scored(&*suite, item, &name, &session_of_agent(&[event, ended("")]))[&Evaluator::Exec].values;
        assert_eq!((values["exec_success"], values["exec_error"]), (0.0, 1.0));
    }
}

#[test]
fn the_phone_speaks_mcp_and_is_there_for_agents_that_call_it_alone() {
    let suite = miniature();
    let item = ItemIndex(0);
    let result = |method: &str, params: &Value| -> Value {
        let answer: Value =
            serde_json::from_str(&asked(&*suite, item, "POST", "/mcp", &rpc(method, params)).1).unwrap();
        answer["result"].clone()
    };
    let greeted = result("initialize", &json!({"protocolVersion": "2025-03-26", "capabilities": {}}));
    assert_eq!((&greeted["protocolVersion"], &greeted["capabilities"]), (&json!("2025-03-26"), &json!({"tools": {}})));
    assert_eq!(result("initialize", &json!({"protocolVersion": "1999-01-01"}))["protocolVersion"], "2025-06-18");
    let Step::Delegate(task) = suite.next(item, &setting("external/mine/tools"), &Transcript::default()) else {
        panic!()
    };
    let offered: Vec<&Value> = task.input["tools"].as_array().unwrap().iter().map(|tool| &tool["function"]).collect();
    let listed = result("tools/list", &json!({}));
    let listed: Vec<(&Value, &Value)> =
        listed["tools"].as_array().unwrap().iter().map(|tool| (&tool["name"], &tool["inputSchema"])).collect();
    assert_eq!(listed, offered.iter().map(|tool| (&tool["name"], &tool["parameters"])).collect::<Vec<_>>());
    let notified = r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#;
    let (event, empty) = asked(&*suite, item, "POST", "/mcp", notified);
    assert_eq!((&event["exchange"]["status"], &*empty), (&json!(202), ""));
    assert_eq!(asked(&*suite, item, "GET", "/mcp", "").0["exchange"]["status"], 405);
    let request = ToolRequest { method: "GET".to_owned(), url: "http://phone/tools".to_owned(), body: None };
    for (name, status) in [("external/mine/tools", 200), ("external/mine", 404), ("tools", 404)] {
        assert_eq!(suite.serve(item, &setting(name), &request).status, status, "{name}");
    }
}
