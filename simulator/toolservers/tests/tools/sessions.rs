//! Sessions and their logs.

use serde_json::json;

use crate::harness::{Harness, answer, config};

#[tokio::test]
async fn a_session_logs_what_was_asked_in_it_and_nothing_else() {
    let tools = Harness::start(config()).await;
    let url = |path: &str| tools.url(path);
    tools.get("/sessions/a/game?intent=play_game&game_name=go").await;
    let body = r#"{"intent": "play_game"}"#;
    answer(tools.client.post(url("/sessions/b/game")).body(body)).await;
    tools.get("/game?intent=play_game").await;
    tools.get("/sessions/a/nowhere").await;
    let log = tools.log("a").await;
    assert_eq!(log.len(), 2);
    let response = "{\"code\":\"SUCCESS\",\"data\":{\"query\":{\"intent\":\"play_game\",\"slots\":{\"game_name\":\"go\"}},\"response\":\"operated successfully\"},\"msg\":\"success\"}\n";
    let asked = url("/game?intent=play_game&game_name=go");
    assert_eq!(log[0], json!({"method": "GET", "url": asked, "status": 200, "response": response}));
    assert_eq!((&log[1]["status"], &log[1]["url"]), (&json!(404), &json!(url("/nowhere"))));
    let log = tools.log("b").await;
    assert_eq!((log.len(), &log[0]["method"], &log[0]["body"]), (1, &json!("POST"), &json!(body)));
    let sessions = json!({"sessions": [{"session": "a", "requests": 2}, {"session": "b", "requests": 1}]});
    assert_eq!(tools.get("/sessions").await.1, sessions);
}

#[tokio::test]
async fn a_session_can_be_forgotten() {
    let tools = Harness::start(config()).await;
    tools.get("/sessions/a/game").await;
    let forget = async || answer(tools.client.delete(tools.url("/sessions/a"))).await.0;
    assert_eq!((forget().await, forget().await), (204, 404));
    let (status, answer) = tools.get("/sessions/a/log").await;
    assert_eq!((status, &answer["error"]["code"]), (404, &json!("unknown_session")));
}

#[tokio::test]
async fn sessions_and_their_requests_are_bounded() {
    let tools = Harness::start(config()).await;
    for _ in 0..1000 {
        assert_eq!(tools.get("/sessions/long/game").await.0, 200);
    }
    let (status, answer) = tools.get("/sessions/long/game").await;
    assert_eq!((status, &answer["error"]["code"]), (429, &json!("session_full")));
    for number in 1..1024 {
        assert_eq!(tools.get(&format!("/sessions/{number}/game")).await.0, 200);
    }
    let (status, answer) = tools.get("/sessions/one-more/game").await;
    assert_eq!((status, &answer["error"]["code"]), (429, &json!("too_many_sessions")));
    assert_eq!(tools.get("/sessions/1/game").await.0, 200);
}

#[tokio::test]
async fn what_is_logged_of_a_long_text_is_its_beginning() {
    let tools = Harness::start(config()).await;
    let body = format!("{{\"intent\": \"{}\"}}", "x".repeat(100_000));
    answer(tools.client.post(tools.url("/sessions/a/game")).body(body)).await;
    let log = tools.log("a").await;
    assert_eq!(log[0]["body"].as_str().map(str::len), Some(64 << 10));
    assert_eq!(log[0]["response"].as_str().map(str::len), Some(64 << 10));
}

#[tokio::test]
async fn a_name_must_be_plain_and_routes_know_their_methods() {
    let tools = Harness::start(config()).await;
    assert_eq!(tools.get("/sessions/a%20b/game").await.0, 400);
    assert_eq!(tools.get("/sessions//game").await.0, 400);
    assert_eq!(tools.get("/sessions/a").await.0, 405);
    assert_eq!(answer(tools.client.post(tools.url("/sessions/a/log"))).await.0, 405);
    assert_eq!(tools.get("/healthz").await, (200, json!({"status": "ok"})));
}
