use std::time::Duration;

use regatta_proto::{Faults, Latency, Simulation};
use reqwest::StatusCode;
use tokio::time::Instant;

use crate::harness::{Harness, config, faulty, read, simulating};
use crate::three_items::{PLAIN, gold};

fn count_of(harness: &Harness, fault: &str) -> u64 {
    harness.endpoint.counters().faults[fault]
}

#[tokio::test]
async fn a_rate_limit_may_come_without_retry_after() {
    let harness = Harness::start(faulty(Faults { rate_limited: 1.0, ..Faults::default() })).await;
    let answer = harness.ask("oracle", PLAIN).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(!answer.headers().contains_key("retry-after"));
    assert_eq!(count_of(&harness, "rate_limited"), 1);
}

#[tokio::test]
async fn a_rate_limit_may_say_when_to_retry() {
    let harness = Harness::start(faulty(Faults { rate_limited_with_retry_after: 1.0, ..Faults::default() })).await;
    let answer = harness.ask("oracle", PLAIN).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(answer.headers()["retry-after"], "1");
    assert_eq!(count_of(&harness, "rate_limited_with_retry_after"), 1);
}

#[tokio::test]
async fn a_server_error_is_a_500_with_an_error_object() {
    let harness = Harness::start(faulty(Faults { server_error: 1.0, ..Faults::default() })).await;
    let answer = read(harness.ask("oracle", PLAIN)).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(answer.json()["error"]["type"], "server_error");
    assert_eq!(count_of(&harness, "server_error"), 1);
}

#[tokio::test]
async fn a_dropped_connection_gives_no_answer_at_all() {
    let harness = Harness::start(faulty(Faults { dropped: 1.0, ..Faults::default() })).await;
    let error = harness.ask("oracle", PLAIN).send().await.unwrap_err();
    assert!(error.is_request() && error.status().is_none(), "{error:?}");
    assert!(count_of(&harness, "dropped") >= 1);
}

#[tokio::test]
async fn a_truncated_answer_breaks_off_in_the_middle_of_its_body() {
    let whole = {
        let harness = Harness::start(config()).await;
        read(harness.ask("oracle", PLAIN)).await.text
    };
    let harness = Harness::start(faulty(Faults { truncated: 1.0, ..Faults::default() })).await;
    let mut answer = harness.ask("oracle", PLAIN).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(answer.headers()["content-length"], whole.len().to_string());
    let mut received = Vec::new();
    let error = loop {
        match answer.chunk().await {
            Ok(chunk) => received.extend(chunk.expect("the body ended as if it were whole")),
            Err(error) => break error,
        }
    };
    assert!(!error.is_timeout());
    assert_eq!(received, whole.as_bytes()[..whole.len() / 2]);
    assert_eq!(count_of(&harness, "truncated"), 1);
}

#[tokio::test]
async fn garbage_is_a_200_that_is_not_json() {
    let harness = Harness::start(faulty(Faults { garbage: 1.0, ..Faults::default() })).await;
    let answer = read(harness.ask("oracle", PLAIN)).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert!(serde_json::from_str::<serde_json::Value>(&answer.text).is_err());
    assert_eq!(count_of(&harness, "garbage"), 1);
}

#[tokio::test]
async fn an_error_may_hide_in_a_200() {
    let harness = Harness::start(faulty(Faults { error_in_200: 1.0, ..Faults::default() })).await;
    let answer = read(harness.ask("oracle", PLAIN)).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.json()["error"]["type"], "server_error");
    assert_eq!(count_of(&harness, "error_in_200"), 1);
}

#[tokio::test]
async fn an_overloaded_endpoint_says_so() {
    let harness = Harness::start(faulty(Faults { overloaded: 1.0, ..Faults::default() })).await;
    let answer = read(harness.ask("oracle", PLAIN)).await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(answer.json()["error"]["type"], "server_error");
    assert_eq!(count_of(&harness, "overloaded"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_slow_loris_sends_a_byte_at_a_time_for_ever() {
    let whole = {
        let harness = Harness::start(config()).await;
        read(harness.ask("oracle", PLAIN)).await.text
    };
    let harness = Harness::start(faulty(Faults { slow_loris: 1.0, ..Faults::default() })).await;
    let mut answer = harness.ask("oracle", PLAIN).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    let mut received = Vec::new();
    while received.len() < whole.len() + 50 {
        received.extend(answer.chunk().await.unwrap().expect("the body came to an end"));
    }
    let (beginning, padding) = received.split_at(whole.len() - 1);
    assert_eq!(beginning, &whole.as_bytes()[..whole.len() - 1]);
    assert!(padding.iter().all(|byte| *byte == b' '));
    let counters = harness.endpoint.counters();
    assert_eq!((counters.faults["slow_loris"], counters.lost.output, counters.total_answered()), (1, 3, 0));
}

#[tokio::test]
async fn faults_of_streams_do_not_befall_answers_that_are_not_streamed() {
    let harness = Harness::start(faulty(Faults { stream_error: 0.5, stream_cut: 0.5, ..Faults::default() })).await;
    for seed in 0..4 {
        assert_eq!(read(harness.ask_by_header("oracle", PLAIN, seed)).await.content(), gold(PLAIN));
    }
    assert_eq!(count_of(&harness, "stream_error") + count_of(&harness, "stream_cut"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_slow_first_byte_comes_late_and_then_the_whole_answer() {
    let harness = Harness::start(faulty(Faults { slow: 1.0, slow_ms: 90_000, ..Faults::default() })).await;
    let start = Instant::now();
    assert_eq!(read(harness.ask("oracle", PLAIN)).await.content(), gold(PLAIN));
    assert!(start.elapsed() >= Duration::from_secs(90));
    assert_eq!(count_of(&harness, "slow"), 1);
    assert_eq!(harness.endpoint.counters().total_answered(), 1);
}

#[tokio::test(start_paused = true)]
async fn latency_is_the_median_and_a_share_for_each_generated_token() {
    let latency = Latency { median_ms: 2_000.0, spread: 1.0, per_token_ms: 100.0, ..Latency::default() };
    let harness = Harness::start(simulating(Simulation { latency, ..Simulation::default() })).await;
    let start = Instant::now();
    assert_eq!(read(harness.ask("oracle", PLAIN)).await.json()["usage"]["completion_tokens"], 3);
    let elapsed = start.elapsed();
    assert!((Duration::from_millis(2_300)..Duration::from_millis(2_320)).contains(&elapsed), "{elapsed:?}");
}

#[tokio::test]
async fn a_client_that_gives_up_is_billed_for_what_it_did_not_read() {
    let harness = Harness::start(faulty(Faults { slow: 1.0, slow_ms: 3_600_000, ..Faults::default() })).await;
    let request = harness.ask("oracle", PLAIN).timeout(Duration::from_millis(50));
    assert!(request.send().await.unwrap_err().is_timeout());
    // The server notices when its socket is closed.
    while harness.endpoint.counters().abandoned == 0 {
        tokio::task::yield_now().await;
    }
    let counters = harness.endpoint.counters();
    assert_eq!((counters.abandoned, counters.lost.output, counters.total_answered()), (1, 3, 0));
}

fn three_faults_in_four() -> Simulation {
    Simulation {
        seed: 11,
        faults: Faults { rate_limited: 0.25, server_error: 0.25, garbage: 0.25, ..Faults::default() },
        ..Simulation::default()
    }
}

/// Statuses and bodies of `times` sendings of the same request.
async fn history(harness: &Harness, times: usize) -> Vec<(StatusCode, String)> {
    let mut history = Vec::new();
    for _ in 0..times {
        let answer = read(harness.ask_by_header("noisy-0.5", PLAIN, 9)).await;
        history.push((answer.status, answer.text));
    }
    history
}

#[tokio::test]
async fn two_endpoints_with_the_same_seed_give_the_same_faults_and_the_same_bytes() {
    let (one, two) = (
        Harness::start(simulating(three_faults_in_four())).await,
        Harness::start(simulating(three_faults_in_four())).await,
    );
    // The order of other requests in between does not matter.
    for seed in 0..5 {
        read(two.ask_by_header("oracle", PLAIN, seed)).await;
    }
    let first = history(&one, 24).await;
    assert_eq!(first, history(&two, 24).await);
    let other = Harness::start(simulating(Simulation { seed: 12, ..three_faults_in_four() })).await;
    assert_ne!(first, history(&other, 24).await);
}

#[tokio::test]
async fn a_retry_draws_anew() {
    let harness = Harness::start(simulating(three_faults_in_four())).await;
    let statuses: Vec<_> = history(&harness, 24).await.into_iter().map(|(status, _)| status).collect();
    assert!(statuses.contains(&StatusCode::OK) && statuses.contains(&StatusCode::TOO_MANY_REQUESTS));
}
