//! Requests that are refused, with their statuses.

use std::collections::BTreeMap;

use regatta_bridge::Refused;
use regatta_proto::{ClientFormat, ErrorClass, Reply};
use serde_json::{Value, json};

use crate::harness::{Harness, Session, chat};

const CHAT: &str = "/v1/chat/completions";

#[tokio::test]
async fn a_closed_session_is_gone_and_one_that_never_was_is_not_found() {
    let harness = Harness::of(Session::open()).await;
    let url = harness.url(CHAT);
    let made_up = url.replacen("/sessions/0-", "/sessions/1-", 1);
    assert_eq!(harness.client.post(&made_up).json(&chat("x")).send().await.unwrap().status(), 404);
    drop(harness.open);
    let answer = harness.client.post(&url).json(&chat("x")).send().await.unwrap();
    assert_eq!(answer.status(), 410);
    assert_eq!(answer.json::<Value>().await.unwrap()["error"]["code"], "session_closed");
    harness.bridge.shutdown().await;
    assert!(harness.client.post(&url).json(&chat("x")).send().await.is_err());
}

#[tokio::test]
async fn requests_after_the_end_of_a_session_are_told_to_whoever_watches_it() {
    let harness = Harness::of(Session::open()).await;
    let (url, late) = (harness.url(CHAT), harness.open.late_requests());
    drop(harness.open);
    assert!(!late.take());
    assert_eq!(harness.client.post(&url).json(&chat("x")).send().await.unwrap().status(), 410);
    assert_eq!([late.take(), late.take()], [true, false]);
}

#[tokio::test]
async fn unknown_routes_and_methods_are_refused() {
    let session = Session::open();
    let harness = Harness::of(session.clone()).await;
    for path in ["", "/", "/v1", "/v1/assistants", "/members", "/members/intent", "/members/intent/v1/audio", "/tools"]
    {
        assert_eq!(harness.post(path, &chat("x")).await.status(), 404, "{path}");
    }
    let get = async |path: &str| harness.client.get(harness.url(path)).send().await.unwrap().status();
    assert_eq!(get(CHAT).await, 405);
    assert_eq!(get("/tools/request").await, 405);
    assert_eq!(harness.post("/v1/models", &chat("x")).await.status(), 405);
    let outside = format!("http://{}/v1/models", harness.bridge.address());
    assert_eq!(harness.client.get(outside).send().await.unwrap().status(), 404);
    assert_eq!(session.calls(), 0);
}

#[tokio::test]
async fn what_cannot_be_carried_is_refused_in_the_shape_of_the_format() {
    let session = Session::open();
    let harness = Harness::of(session.clone()).await;
    let mut body = chat("x");
    body["audio"] = json!({"voice": "alloy"});
    let answer = harness.post(CHAT, &body).await;
    assert_eq!(answer.status(), 400);
    let error = &answer.json::<Value>().await.unwrap()["error"];
    assert_eq!((&error["type"], &error["param"]), (&json!("invalid_request_error"), &json!("audio")));
    let mut body = json!({"model": "m", "max_tokens": 1, "messages": chat("x")["messages"]});
    body["mcp_servers"] = json!([{"name": "a"}]);
    let answer = harness.post("/v1/messages", &body).await;
    assert_eq!(answer.status(), 400);
    let error = answer.json::<Value>().await.unwrap();
    assert_eq!((&error["type"], &error["error"]["type"]), (&json!("error"), &json!("invalid_request_error")));
    assert_eq!(session.calls(), 0);
}

#[tokio::test]
async fn the_session_is_told_what_cannot_be_carried_but_not_of_what_is_no_request() {
    let session = Session::open();
    let harness = Harness::of(session.clone()).await;
    let post = async |path: &str, body: String| {
        harness.client.post(harness.url(path)).body(body).send().await.unwrap().status().as_u16()
    };
    assert_eq!(post(CHAT, "no JSON".to_owned()).await, 400);
    assert_eq!(post(CHAT, " ".repeat((4 << 20) + 1)).await, 413);
    assert_eq!(post("/v1/assistants", chat("x").to_string()).await, 404);
    assert_eq!(post(CHAT, chat("x").to_string()).await, 200);
    assert_eq!(*session.unreadable.lock().unwrap(), Vec::<String>::new());
    let mut body = chat("x");
    body["audio"] = json!({"voice": "alloy"});
    let refused: Value = harness.post(CHAT, &body).await.json().await.unwrap();
    let kept = json!([{"type": "file", "file": {"file_id": "file-1"}}]);
    harness.post(CHAT, &json!({"model": "m", "messages": [{"role": "user", "content": kept}]})).await;
    let told = session.unreadable.lock().unwrap().clone();
    assert_eq!((told.len(), &json!(told[0])), (2, &refused["error"]["message"]));
}

#[tokio::test]
async fn fields_that_nobody_here_knows_are_part_of_the_call_as_the_client_wrote_them() {
    let session = Session::open();
    let harness = Harness::of(session.clone()).await;
    let mut body = chat("x");
    body["logit_bias"] = json!({"1": 2});
    assert_eq!(harness.post(CHAT, &body).await.status(), 200);
    let passed = session.asked.lock().unwrap()[0].1.passed.clone().unwrap();
    assert_eq!(passed.format, ClientFormat::Chat);
    assert_eq!(passed.fields, BTreeMap::from([("logit_bias".to_owned(), json!({"1": 2}))]));
}

#[tokio::test]
async fn routes_beside_the_calls_of_models_are_answered_or_refused_alike() {
    let session = Session::open();
    let harness = Harness::of(session.clone()).await;
    let get = async |path: &str| harness.client.get(harness.url(path)).send().await.unwrap();
    for path in ["/v1/models/gpt-5", "/models/gpt-5"] {
        let answer = get(path).await;
        assert_eq!(answer.status(), 200, "{path}");
        assert_eq!(answer.json::<Value>().await.unwrap()["id"], "gpt-5");
    }
    assert_eq!(*session.unreadable.lock().unwrap(), Vec::<String>::new());
    for path in ["/v1/embeddings", "/embeddings", "/v1/completions", "/v1/moderations", "/members/cook/v1/embeddings"] {
        let answer = harness.post(path, &json!({"model": "m", "input": "x"})).await;
        assert_eq!(answer.status(), 400, "{path}");
        let error = answer.json::<Value>().await.unwrap();
        assert_eq!(
            (&error["error"]["code"], &error["error"]["type"]),
            (&json!("unsupported_route"), &json!("invalid_request_error"))
        );
    }
    assert_eq!(harness.post("/v1/responses/resp_1/cancel", &json!({})).await.status(), 400);
    let counted =
        harness.client.post(harness.url("/v1/messages/count_tokens")).header("anthropic-version", "2023-06-01");
    let error: Value = counted.json(&chat("x")).send().await.unwrap().json().await.unwrap();
    assert_eq!((&error["type"], &error["error"]["type"]), (&json!("error"), &json!("invalid_request_error")));
    assert_eq!(session.unreadable.lock().unwrap().len(), 7);
    assert_eq!(session.calls(), 0);
}

#[tokio::test]
async fn bodies_that_are_too_long_are_refused_and_those_that_just_fit_are_not() {
    let session = Session::answering(Ok(Reply::said("ok")));
    let harness = Harness::of(session.clone()).await;
    let frame = chat("").to_string().len();
    for (path, limit) in [(CHAT, 4 << 20), ("/tools/request", 1 << 20)] {
        assert_eq!(harness.post(path, &chat(&"x".repeat(limit + 1 - frame))).await.status(), 413, "{path}");
    }
    assert_eq!(harness.post(CHAT, &chat(&"x".repeat((4 << 20) - frame))).await.status(), 200);
    assert_eq!(session.calls(), 1);
    let long = "x".repeat(100 << 10);
    let answer = harness.client.post(harness.url(CHAT)).header("x-long", long).json(&chat("x")).send().await;
    assert_eq!(answer.unwrap().status(), 431);
}

#[tokio::test]
async fn a_call_that_is_not_answered_is_told_in_the_words_of_the_provider_and_is_not_to_be_tried_again() {
    let mut table = String::new();
    for class in [
        ErrorClass::BadRequest,
        ErrorClass::ContextLength,
        ErrorClass::ContentFilter,
        ErrorClass::Auth,
        ErrorClass::NotFound,
        ErrorClass::RateLimited,
        ErrorClass::Quota,
        ErrorClass::Budget,
        ErrorClass::Timeout,
        ErrorClass::Connection,
        ErrorClass::Server,
        ErrorClass::BadResponse,
        ErrorClass::Poison,
        ErrorClass::CacheMiss,
    ] {
        let harness = Harness::of(Session::answering(Err(Refused::new(class, "no")))).await;
        let openai = harness.post(CHAT, &chat("x")).await;
        assert_eq!(openai.headers()["x-should-retry"], "false");
        let status = openai.status();
        let anthropic = harness
            .post("/v1/messages", &json!({"model": "m", "max_tokens": 1, "messages": chat("x")["messages"]}))
            .await;
        let (openai, anthropic) = (openai.text().await.unwrap(), anthropic.text().await.unwrap());
        table.push_str(&format!("{}: {status}\n  {openai}\n  {anthropic}\n", class.as_str()));
    }
    insta::assert_snapshot!(table);
    let refused = Refused { status: Some(429), ..Refused::new(ErrorClass::Budget, "enough") };
    let harness = Harness::of(Session::answering(Err(refused))).await;
    assert_eq!(harness.post(CHAT, &chat("x")).await.status(), 429);
}

#[tokio::test]
async fn a_call_that_failed_is_made_again_when_it_is_asked_for_again() {
    let session = Session::answering(Err(Refused::new(ErrorClass::Server, "no")));
    let harness = Harness::of(session.clone()).await;
    for _ in 0..2 {
        harness.post(CHAT, &chat("x")).await;
    }
    assert_eq!(session.calls(), 2);
}
