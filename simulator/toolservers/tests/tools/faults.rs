//! Faults, one at a time.

use std::time::{Duration, Instant};

use regatta_proto::{Faults, Latency, Simulation};
use regatta_toolservers::{SimulatedTools, ToolsConfig};
use serde_json::{Value, json};

use crate::harness::{Harness, config};

const ASKED: &str = "/sessions/a/game?intent=play_game";

async fn always(faults: Faults) -> Harness {
    Harness::with_faults(1, faults).await
}

#[tokio::test]
async fn statuses_of_failures() {
    let cases = [
        (Faults { server_error: 1.0, ..Faults::default() }, 500, None),
        (Faults { rate_limited: 1.0, ..Faults::default() }, 429, None),
        (Faults { rate_limited_with_retry_after: 1.0, ..Faults::default() }, 429, Some("1")),
        (Faults { overloaded: 1.0, ..Faults::default() }, 503, None),
    ];
    for (faults, status, retry_after) in cases {
        let tools = always(faults).await;
        let response = tools.client.get(tools.url(ASKED)).send().await.unwrap();
        assert_eq!(response.status(), status);
        let told = response.headers().get("retry-after").map(|seconds| seconds.to_str().unwrap().to_owned());
        assert_eq!(told.as_deref(), retry_after);
        assert_eq!(tools.log("a").await[0]["status"], status);
    }
}

#[tokio::test]
async fn answers_that_are_not_what_they_should_be() {
    let tools = always(Faults { garbage: 1.0, ..Faults::default() }).await;
    let (status, answer) = tools.get(ASKED).await;
    assert_eq!(status, 200);
    assert!(answer.as_str().is_some_and(|text| text.starts_with("{\"code\"")), "{answer}");
    let tools = always(Faults { error_in_200: 1.0, ..Faults::default() }).await;
    let (status, answer) = tools.get(ASKED).await;
    assert_eq!((status, &answer["error"]["code"]), (200, &json!("simulated")));
}

#[tokio::test]
async fn connections_that_end_too_early() {
    let tools = always(Faults { dropped: 1.0, ..Faults::default() }).await;
    assert!(tools.client.get(tools.url(ASKED)).send().await.is_err());
    assert_eq!(tools.log("a").await[0]["status"], 0);
    let tools = always(Faults { truncated: 1.0, ..Faults::default() }).await;
    let response = tools.client.get(tools.url(ASKED)).send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert!(response.text().await.is_err());
    assert_eq!(tools.log("a").await[0]["response"], "");
}

#[tokio::test]
async fn an_answer_that_never_comes_does_not_keep_the_server_from_ending() {
    let tools = always(Faults { slow_loris: 1.0, ..Faults::default() }).await;
    let request = tools.client.get(tools.url(ASKED)).timeout(Duration::from_millis(100));
    assert!(request.send().await.unwrap_err().is_timeout());
    let waiting = tokio::spawn(tools.client.get(tools.url(ASKED)).send());
    while tools.log("a").await.len() < 2 {
        tokio::task::yield_now().await;
    }
    tools.server.shutdown().await;
    assert!(waiting.await.unwrap().is_err());
}

#[tokio::test]
async fn slow_answers_and_latency_take_their_time() {
    let tools = always(Faults { slow: 1.0, slow_ms: 60, ..Faults::default() }).await;
    let begun = Instant::now();
    assert_eq!(tools.get(ASKED).await.0, 200);
    assert!(begun.elapsed() >= Duration::from_millis(60));
    let latency = Latency { median_ms: 60.0, ..Latency::default() };
    let tools =
        Harness::start(ToolsConfig { simulation: Simulation { latency, ..Simulation::default() }, ..config() }).await;
    let begun = Instant::now();
    assert_eq!(tools.get(ASKED).await.0, 200);
    assert!(begun.elapsed() >= Duration::from_millis(60));
}

/// Statuses of twenty requests in a session.
async fn twenty(seed: u64, session: &str) -> Vec<u16> {
    let tools = Harness::with_faults(seed, Faults { server_error: 0.5, ..Faults::default() }).await;
    let mut statuses = Vec::new();
    for _ in 0..20 {
        statuses.push(tools.get(&format!("/sessions/{session}/game")).await.0);
    }
    statuses
}

#[tokio::test]
async fn faults_derive_from_seed_session_and_number() {
    let first = twenty(1, "a").await;
    assert!(first.contains(&200) && first.contains(&500));
    assert_eq!(first, twenty(1, "a").await);
    assert_ne!(first, twenty(1, "b").await);
    assert_ne!(first, twenty(2, "a").await);
}

#[tokio::test]
async fn what_would_be_ignored_or_cannot_be_is_refused() {
    let start =
        async |simulation| SimulatedTools::start(ToolsConfig { simulation, ..config() }).await.unwrap_err().to_string();
    let error = start(Simulation { requests_per_minute: Some(5), ..Simulation::default() }).await;
    assert!(error.contains("tools have no limits"), "{error}");
    let faults = Faults { dropped: 2.0, ..Faults::default() };
    let error = start(Simulation { faults, ..Simulation::default() }).await;
    assert!(error.contains("dropped"), "{error}");
}

#[tokio::test]
async fn faults_reach_callers_over_mcp_too() {
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params":
        {"name": "request", "arguments": {"url": "http://127.0.0.1:3006/game"}}});
    let result = async |faults| {
        let tools = always(faults).await;
        let (status, answer) = tools.mcp("/mcp", call.clone()).await;
        assert_eq!(status, 200);
        answer["result"].clone()
    };
    let failed = result(Faults { server_error: 1.0, ..Faults::default() }).await;
    assert_eq!((&failed["isError"], &failed["structuredContent"]["status"]), (&json!(false), &json!(500)));
    let dropped: Value = result(Faults { dropped: 1.0, ..Faults::default() }).await;
    assert_eq!(
        (&dropped["isError"], &dropped["structuredContent"]["error"]["code"]),
        (&json!(true), &json!("no_answer"))
    );
}
