//! Calls that take their time.

use regatta_bridge::Refused;
use regatta_proto::ErrorClass;
use reqwest::Response;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Duration, Instant};

use crate::harness::{Harness, Session, Watch, bridge, chat, said};

const CHAT: &str = "/v1/chat/completions";

/// The answer to `body`, as it begins while the call is under way.
async fn begun(harness: &Harness, watch: &mut Watch, route: &str, body: &Value) -> Response {
    let asking = tokio::spawn(harness.client.post(harness.url(route)).json(body).send());
    watch.begun().await;
    // Time passes when nothing else happens.
    tokio::time::pause();
    let at = Instant::now();
    let answer = asking.await.unwrap().unwrap();
    // What passed before the pause was real time, and is a part of the ten seconds.
    let waited = at.elapsed() + Duration::from_millis(900);
    assert_eq!((answer.status().as_u16(), waited.as_secs()), (200, 10));
    answer
}

async fn text(answer: &mut Response) -> String {
    String::from_utf8(answer.chunk().await.unwrap().unwrap().to_vec()).unwrap()
}

#[tokio::test]
async fn a_client_that_waits_hears_a_space_every_ten_seconds_before_its_answer() {
    let (session, mut watch) = Session::gated();
    let harness = Harness::of(session.clone()).await;
    let mut answer = begun(&harness, &mut watch, CHAT, &chat("x")).await;
    assert_eq!(answer.headers()["content-type"], "application/json");
    assert_eq!(answer.headers()["x-request-id"], "regatta-0");
    assert_eq!(text(&mut answer).await, " ");
    let at = Instant::now();
    assert_eq!(text(&mut answer).await, " ");
    assert_eq!(at.elapsed().as_secs(), 10);
    session.gate.add_permits(1);
    assert_eq!(said(&answer.json().await.unwrap()), "x (1)");
    assert_eq!(session.calls(), 1);
}

#[tokio::test]
async fn a_client_that_waits_for_events_hears_comments() {
    let (session, mut watch) = Session::gated();
    let harness = Harness::of(session.clone()).await;
    let mut body = chat("x");
    body["stream"] = json!(true);
    let mut answer = begun(&harness, &mut watch, CHAT, &body).await;
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    assert_eq!(text(&mut answer).await, ": waiting\n\n");
    session.gate.add_permits(1);
    let rest = answer.text().await.unwrap();
    assert!(rest.contains("x (1)") && rest.ends_with("data: [DONE]\n\n"), "{rest}");
}

#[tokio::test]
async fn what_goes_wrong_after_the_wait_is_told_in_the_body() {
    for (route, is_streamed, expected) in [
        (CHAT, false, r#"{"error":{"message":"no","#),
        (CHAT, true, r#"data: {"error":{"message":"no","#),
        ("/v1/messages", false, r#"{"type":"error","error":{"#),
        ("/v1/messages", true, "event: error\ndata: {"),
        ("/v1/responses", true, "event: response.failed\ndata: {"),
    ] {
        let (session, mut watch) = Session::gated();
        *session.answer.lock().unwrap() = Some(Err(Refused::new(ErrorClass::Server, "no")));
        let harness = Harness::of(session.clone()).await;
        let mut body = chat("x");
        body["stream"] = json!(is_streamed);
        if route == "/v1/messages" {
            body["max_tokens"] = json!(1);
        }
        if route == "/v1/responses" {
            body = json!({"model": "agent", "input": "x", "stream": true});
        }
        let mut answer = begun(&harness, &mut watch, route, &body).await;
        text(&mut answer).await;
        session.gate.add_permits(1);
        let rest = answer.text().await.unwrap();
        assert!(rest.contains(expected), "{route} {is_streamed}: {rest}");
        tokio::time::resume();
    }
}

#[tokio::test]
async fn a_session_that_closes_says_so_to_whoever_waits_for_long() {
    let (session, mut watch) = Session::gated();
    let harness = Harness::of(session.clone()).await;
    let mut answer = begun(&harness, &mut watch, CHAT, &chat("x")).await;
    text(&mut answer).await;
    drop(harness.open);
    assert_eq!(answer.json::<Value>().await.unwrap()["error"]["code"], "session_closed");
}

#[tokio::test]
async fn a_client_that_left_after_a_long_wait_gets_the_answer_when_it_asks_again() {
    let (session, mut watch) = Session::gated();
    let harness = Harness::of(session.clone()).await;
    let mut answer = begun(&harness, &mut watch, CHAT, &chat("x")).await;
    text(&mut answer).await;
    drop(answer);
    session.gate.add_permits(1);
    watch.ended().await;
    assert_eq!(said(&harness.post(CHAT, &chat("x")).await.json().await.unwrap()), "x (1)");
    assert_eq!(session.calls(), 1);
}

#[tokio::test]
async fn a_connection_that_says_nothing_for_fifteen_seconds_is_closed() {
    let bridge = bridge().await;
    let mut idle = TcpStream::connect(bridge.address()).await.unwrap();
    tokio::time::pause();
    let at = Instant::now();
    assert_eq!(idle.read(&mut [0; 1]).await.unwrap(), 0);
    assert!((Duration::from_secs(15)..Duration::from_secs(16)).contains(&at.elapsed()), "{:?}", at.elapsed());
}

#[tokio::test]
async fn a_connection_that_takes_no_answer_for_thirty_seconds_is_closed() {
    let bridge = bridge().await;
    let mut deaf = TcpStream::connect(bridge.address()).await.unwrap();
    tokio::time::pause();
    let request = "GET /nothing HTTP/1.1\r\nhost: x\r\n\r\n";
    let at = Instant::now();
    // Sends until the bridge has had enough: answers that nobody reads fill what the system keeps for them first.
    while deaf.write_all(request.repeat(1000).as_bytes()).await.is_ok() {}
    assert!((Duration::from_secs(30)..Duration::from_secs(31)).contains(&at.elapsed()), "{:?}", at.elapsed());
}
