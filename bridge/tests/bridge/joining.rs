//! A client that asks again gets the answer of its first call.

use serde_json::Value;

use crate::harness::{Harness, Session, chat, posted, received, said};

const CHAT: &str = "/v1/chat/completions";

#[tokio::test]
async fn a_client_that_left_and_asks_again_gets_the_answer_of_the_call_in_flight() {
    let (session, mut watch) = Session::gated();
    let harness = Harness::of(session.clone()).await;
    let first = posted(&harness.open, CHAT, "", &chat("x")).await;
    watch.begun().await;
    drop(first);
    let mut second = posted(&harness.open, CHAT, "", &chat("x")).await;
    session.gate.add_permits(1);
    assert_eq!(said(&received(&mut second).await), "x (1)");
    assert_eq!(session.calls(), 1);
}

#[tokio::test]
async fn an_answer_that_nobody_waited_for_is_kept_for_whoever_asks_again_once() {
    let (session, mut watch) = Session::gated();
    let harness = Harness::of(session.clone()).await;
    let first = posted(&harness.open, CHAT, "", &chat("x")).await;
    watch.begun().await;
    drop(first);
    session.gate.add_permits(2);
    watch.ended().await;
    let answer: Value = harness.post(CHAT, &chat("x")).await.json().await.unwrap();
    assert_eq!(said(&answer), "x (1)");
    // It was given, so the next request is another sample.
    let answer: Value = harness.post(CHAT, &chat("x")).await.json().await.unwrap();
    assert_eq!(said(&answer), "x (2)");
}

#[tokio::test]
async fn a_retry_of_an_sdk_whose_first_try_was_given_up_joins_it() {
    let (session, mut watch) = Session::gated();
    let harness = Harness::of(session.clone()).await;
    let first = posted(&harness.open, CHAT, "x-stainless-retry-count: 0\r\n", &chat("x")).await;
    watch.begun().await;
    drop(first);
    let mut retry = posted(&harness.open, CHAT, "x-stainless-retry-count: 1\r\n", &chat("x")).await;
    session.gate.add_permits(1);
    assert_eq!(said(&received(&mut retry).await), "x (1)");
    assert_eq!(session.calls(), 1);
}

#[tokio::test]
async fn a_request_that_says_it_is_a_retry_is_another_sample_while_the_client_of_the_first_is_there() {
    let (session, mut watch) = Session::gated();
    let harness = Harness::of(session.clone()).await;
    let mut first = posted(&harness.open, CHAT, "", &chat("x")).await;
    watch.begun().await;
    let mut second = posted(&harness.open, CHAT, "x-stainless-retry-count: 1\r\n", &chat("x")).await;
    watch.begun().await;
    session.gate.add_permits(2);
    assert_eq!(said(&received(&mut first).await), "x (1)");
    assert_eq!(said(&received(&mut second).await), "x (2)");
}

#[tokio::test]
async fn an_equal_idempotency_key_joins_although_the_first_client_still_waits() {
    let (session, mut watch) = Session::gated();
    let harness = Harness::of(session.clone()).await;
    let key = "idempotency-key: k\r\n";
    let mut first = posted(&harness.open, CHAT, key, &chat("x")).await;
    watch.begun().await;
    let mut second = posted(&harness.open, CHAT, key, &chat("x")).await;
    session.gate.add_permits(1);
    assert_eq!(said(&received(&mut first).await), "x (1)");
    assert_eq!(said(&received(&mut second).await), "x (1)");
    assert_eq!(session.calls(), 1);
}

#[tokio::test]
async fn two_equal_requests_at_once_are_two_samples() {
    let (session, mut watch) = Session::gated();
    let harness = Harness::of(session.clone()).await;
    let mut first = posted(&harness.open, CHAT, "", &chat("x")).await;
    watch.begun().await;
    let mut second = posted(&harness.open, CHAT, "", &chat("x")).await;
    watch.begun().await;
    session.gate.add_permits(2);
    assert_eq!(said(&received(&mut first).await), "x (1)");
    assert_eq!(said(&received(&mut second).await), "x (2)");
}

#[tokio::test]
async fn another_member_another_format_and_another_body_are_other_calls() {
    let (session, mut watch) = Session::gated();
    let harness = Harness::of(session.clone()).await;
    let first = posted(&harness.open, CHAT, "", &chat("x")).await;
    watch.begun().await;
    drop(first);
    let retry = "x-stainless-retry-count: 1\r\n";
    let _other_member = posted(&harness.open, &format!("/members/url{CHAT}"), retry, &chat("x")).await;
    watch.begun().await;
    let _other_body = posted(&harness.open, CHAT, retry, &chat("y")).await;
    watch.begun().await;
    assert_eq!(session.calls(), 3);
}

#[tokio::test]
async fn closing_a_session_lets_its_calls_end_and_tells_whoever_waits() {
    let (session, mut watch) = Session::gated();
    let harness = Harness::of(session.clone()).await;
    let mut waiting = posted(&harness.open, CHAT, "", &chat("x")).await;
    watch.begun().await;
    let closing = tokio::spawn(harness.open.close());
    assert_eq!(received(&mut waiting).await["error"]["code"], "session_closed");
    assert!(!closing.is_finished());
    session.gate.add_permits(1);
    closing.await.unwrap();
    watch.ended().await;
}
