//! Every format, whole and streamed.

use regatta_proto::{ChatRole, Finish, MemberName, Reasoning, Reply, TokenLogprob, ToolCall};
use serde_json::{Value, json};

use crate::harness::{Harness, Session, chat, said};

fn body(route: &str, is_streamed: bool) -> Value {
    let messages = json!([{"role": "user", "content": "hello"}]);
    match route {
        "/v1/chat/completions" => {
            json!({"model": "agent", "messages": messages, "stream": is_streamed, "stream_options": {"include_usage": true}})
        }
        "/v1/messages" => json!({"model": "agent", "max_tokens": 9, "messages": messages, "stream": is_streamed}),
        _ => json!({"model": "agent", "input": "hello", "stream": is_streamed}),
    }
}

/// Thinks, says something, and calls two tools.
fn everything() -> Reply {
    let call = |id: &str, arguments: &str| ToolCall { id: id.into(), name: "look".into(), arguments: arguments.into() };
    Reply {
        text: Some("I look.".into()),
        finish: Finish::ToolCalls,
        tool_calls: vec![call("c1", r#"{"at":1}"#), call("c2", "not JSON")],
        reasoning: Some(Reasoning { text: "hm".into(), opaque: Some("signed".into()) }),
        logprobs: Some(vec![TokenLogprob { token: "I".into(), logprob: -0.5, top: vec![("It".into(), -1.5)] }]),
    }
}

async fn told(reply: Reply, route: &str, is_streamed: bool) -> String {
    let harness = Harness::of(Session::answering(Ok(reply))).await;
    let answer = harness.post(route, &body(route, is_streamed)).await;
    assert_eq!(answer.status(), 200);
    let kind = if is_streamed { "text/event-stream" } else { "application/json" };
    assert_eq!(answer.headers()["content-type"], kind);
    let text = answer.text().await.unwrap();
    // When the bridge was started.
    let created = harness.client.get(harness.url("/v1/models")).send().await.unwrap().json::<Value>().await.unwrap();
    text.replace(&created["data"][0]["created"].to_string(), "CREATED")
}

#[tokio::test]
async fn an_answer_has_the_shape_of_its_format() {
    for (name, route) in
        [("chat", "/v1/chat/completions"), ("messages", "/v1/messages"), ("responses", "/v1/responses")]
    {
        insta::assert_snapshot!(format!("{name}_whole"), told(everything(), route, false).await);
        insta::assert_snapshot!(format!("{name}_streamed"), told(everything(), route, true).await);
        insta::assert_snapshot!(
            format!("{name}_cut"),
            told(Reply::of_text(Some("I lo"), Finish::Length), route, true).await
        );
    }
}

#[tokio::test]
async fn the_session_is_asked_what_the_agent_asked() {
    let session = Session::open();
    let harness = Harness::of(session.clone()).await;
    let look = json!({"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}});
    let answer = harness
        .post(
            "/v1/chat/completions",
            &json!({"model": "mine", "temperature": 0.25, "tools": [look], "messages": [
                {"role": "system", "content": "be brief"},
                {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "c", "content": "a key"}
            ]}),
        )
        .await;
    assert_eq!(answer.headers()["x-request-id"], "regatta-0");
    let answer: Value = answer.json().await.unwrap();
    assert_eq!((said(&answer), &answer["model"]), ("a key (1)", &json!("served")));
    let (model, request) = session.asked.lock().unwrap().remove(0);
    assert_eq!(model, "mine");
    let roles: Vec<ChatRole> = request.messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [ChatRole::System, ChatRole::Assistant, ChatRole::Tool]);
    assert_eq!((request.sampling.temperature, &*request.tools[0].name), (Some(0.25), "look"));
    assert_eq!(request.member, None);
}

#[tokio::test]
async fn a_member_of_a_team_is_named_by_the_path_or_a_header() {
    let session = Session::open();
    let harness = Harness::of(session.clone()).await;
    harness.post("/members/intent/v1/chat/completions", &chat("a")).await;
    let request = harness.client.post(harness.url("/v1/chat/completions")).header("x-regatta-member", "url");
    request.json(&chat("b")).send().await.unwrap();
    let members: Vec<Option<MemberName>> =
        session.asked.lock().unwrap().iter().map(|(_, request)| request.member.clone()).collect();
    assert_eq!(members, [Some("intent".parse().unwrap()), Some("url".parse().unwrap())]);
    let answer = harness.post("/members/a%20b/v1/chat/completions", &chat("a")).await;
    assert_eq!(answer.status(), 400);
}

#[tokio::test]
async fn what_is_left_out_is_told() {
    let harness = Harness::of(Session::open()).await;
    let body = json!({"model": "m", "messages": [{"role": "user", "name": "planner", "content": "x"}]});
    let answer = harness.post("/chat/completions", &body).await;
    assert_eq!(answer.headers()["x-regatta-left-out"], "messages.name");
    assert_eq!(said(&answer.json().await.unwrap()), "planner: x (1)");
}

#[tokio::test]
async fn models_are_listed_in_the_shape_that_the_client_knows() {
    let harness = Harness::of(Session::open()).await;
    let get = || harness.client.get(harness.url("/members/intent/v1/models"));
    let openai: Value = get().send().await.unwrap().json().await.unwrap();
    assert_eq!((&openai["object"], &openai["data"][0]["id"]), (&json!("list"), &json!("agent")));
    let anthropic = get().header("anthropic-version", "2023-06-01").send().await.unwrap();
    assert_eq!(anthropic.json::<Value>().await.unwrap()["data"][0]["type"], "model");
}

#[tokio::test]
async fn calls_of_tools_that_are_no_functions_come_back_in_the_form_of_their_client() {
    let call = |id: &str, name: &str, arguments: &str| ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
    };
    let calls = vec![call("c1", "docs__look", "{}"), call("c2", "patch", r#"{"input":"a"}"#)];
    let session = Session::answering(Ok(Reply::calling(None, calls)));
    let harness = Harness::of(session.clone()).await;
    let tools = json!([
        {"type": "namespace", "name": "docs", "tools": [{"type": "function", "name": "look"}]},
        {"type": "custom", "name": "patch"},
        {"type": "web_search"},
    ]);
    let answer = harness.post("/v1/responses", &json!({"model": "m", "input": "x", "tools": tools})).await;
    assert_eq!(answer.headers()["x-regatta-left-out"], "tools.namespace, tools.web_search");
    let told: Value = answer.json().await.unwrap();
    let [look, patch] = [0, 1].map(|number| &told["output"][number]);
    assert_eq!((&look["name"], &look["namespace"]), (&json!("look"), &json!("docs")));
    assert_eq!((&patch["type"], &patch["input"]), (&json!("custom_tool_call"), &json!("a")));
    let asked = session.asked.lock().unwrap();
    let offered: Vec<&str> = asked[0].1.tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(offered, ["docs__look", "patch"]);
}

#[tokio::test]
async fn a_client_that_asks_for_one_call_at_a_time_reads_one_whatever_the_model_does() {
    let call = |id: &str| ToolCall { id: id.into(), name: "look".into(), arguments: "{}".into() };
    let session = Session::answering(Ok(Reply::calling(None, vec![call("a"), call("b")])));
    let harness = Harness::of(session).await;
    let look = json!({"name": "look", "parameters": {"type": "object"}});
    for (wish, calls) in [(json!({"parallel_tool_calls": false}), 1), (json!({}), 2)] {
        let mut body = chat("where?");
        body["tools"] = json!([{"type": "function", "function": look}]);
        body.as_object_mut().unwrap().extend(wish.as_object().unwrap().clone());
        let answer: Value = harness.post("/v1/chat/completions", &body).await.json().await.unwrap();
        let told = answer["choices"][0]["message"]["tool_calls"].as_array().unwrap();
        assert_eq!((told.len(), &told[0]["id"]), (calls, &json!("a")));
    }
}
