use std::time::Duration;

use regatta_proto::{Latency, Simulation};
use reqwest::{Response, StatusCode};
use serde_json::json;

use crate::harness::{Harness, config, read, simulating};
use crate::three_items::{LONG, ODD, PLAIN, gold, prompt};

/// Value of a header, or an empty text.
fn header<'a>(answer: &'a Response, name: &str) -> &'a str {
    answer.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

#[tokio::test(start_paused = true)]
async fn requests_over_the_limit_of_a_minute_are_told_when_to_come_back() {
    let simulation = Simulation { requests_per_minute: Some(2), ..Simulation::default() };
    let harness = Harness::start(simulating(simulation)).await;
    read(harness.ask("oracle", PLAIN)).await.content();
    tokio::time::advance(Duration::from_secs(20)).await;
    read(harness.ask("oracle", PLAIN)).await.content();

    let refused = harness.ask("oracle", PLAIN).send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.headers()["retry-after"], "40");

    tokio::time::advance(Duration::from_secs(40)).await;
    read(harness.ask("oracle", PLAIN)).await.content();
    assert_eq!(read(harness.ask("oracle", PLAIN)).await.status, StatusCode::TOO_MANY_REQUESTS);
    let counters = harness.endpoint.counters();
    assert_eq!((counters.faults["requests_per_minute"], counters.total_answered()), (2, 3));
}

#[tokio::test(start_paused = true)]
async fn tokens_are_counted_with_the_answer_when_the_request_arrives() {
    // Each of these requests has three tokens of prompt and three of answer.
    let simulation = Simulation { tokens_per_minute: Some(13), ..Simulation::default() };
    let harness = Harness::start(simulating(simulation)).await;
    read(harness.ask("oracle", PLAIN)).await.content();
    tokio::time::advance(Duration::from_secs(20)).await;
    read(harness.ask("oracle", PLAIN)).await.content();

    let refused = harness.ask("oracle", PLAIN).send().await.unwrap();
    assert_eq!((refused.status(), header(&refused, "retry-after")), (StatusCode::TOO_MANY_REQUESTS, "40"));
    let error = refused.json::<serde_json::Value>().await.unwrap();
    assert_eq!((&error["error"]["type"], &error["error"]["code"]), (&json!("tokens"), &json!("rate_limit_exceeded")));

    // No minute has room for 140 generated tokens, so there is no advice to retry.
    let hopeless = harness.ask("oracle", LONG).send().await.unwrap();
    assert_eq!((hopeless.status(), header(&hopeless, "retry-after")), (StatusCode::TOO_MANY_REQUESTS, ""));

    tokio::time::advance(Duration::from_secs(40)).await;
    read(harness.ask("oracle", PLAIN)).await.content();
    let counters = harness.endpoint.counters();
    assert_eq!((counters.faults["tokens_per_minute"], counters.total_answered()), (2, 3));
}

#[tokio::test(start_paused = true)]
async fn more_requests_at_once_than_allowed_are_turned_away() {
    let latency = Latency { median_ms: 5_000.0, ..Latency::default() };
    let simulation = Simulation { concurrency: Some(2), latency, ..Simulation::default() };
    let harness = Harness::start(simulating(simulation)).await;
    let waiting = [PLAIN, ODD].map(|id| tokio::spawn(harness.ask("oracle", id).send()));
    while harness.endpoint.counters().most_in_flight < 2 {
        tokio::task::yield_now().await;
    }
    let refused = harness.ask("oracle", PLAIN).send().await.unwrap();
    assert_eq!((refused.status(), header(&refused, "retry-after")), (StatusCode::TOO_MANY_REQUESTS, "1"));
    for waiting in waiting {
        assert_eq!(waiting.await.unwrap().unwrap().status(), StatusCode::OK);
    }
    read(harness.ask("oracle", PLAIN)).await.content();
    let counters = harness.endpoint.counters();
    assert_eq!((counters.faults["concurrency"], counters.most_in_flight), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn what_is_left_of_the_limits_is_told_with_every_answer() {
    let simulation = Simulation {
        requests_per_minute: Some(2),
        tokens_per_minute: Some(1000),
        rate_limit_headers: true,
        ..Simulation::default()
    };
    let harness = Harness::start(simulating(simulation)).await;
    read(harness.ask("oracle", PLAIN)).await.content();
    tokio::time::advance(Duration::from_secs(5)).await;
    let mut told = Vec::new();
    for _ in 0..2 {
        let answer = harness.ask("oracle", PLAIN).send().await.unwrap();
        told.push(answer.status().as_u16().to_string());
        for what in ["requests", "tokens"] {
            let value = |name: &str| header(&answer, &format!("x-ratelimit-{name}-{what}")).to_owned();
            // The reset lies up to a few milliseconds of real time below the minute.
            let reset = value("reset");
            assert!(reset == "1m0s" || reset.starts_with("59.9"), "{reset}");
            told.push(format!("{}/{} {what}", value("remaining"), value("limit")));
        }
    }
    assert_eq!(told, ["200", "0/2 requests", "988/1000 tokens", "429", "0/2 requests", "988/1000 tokens"]);
}

#[tokio::test(start_paused = true)]
async fn the_endpoint_remembers_when_requests_came_and_for_which_model() {
    let simulation = Simulation { requests_per_minute: Some(3), ..Simulation::default() };
    let harness = Harness::start(simulating(simulation)).await;
    for (model, pause_s) in [("oracle", 0), ("noisy-0", 10), ("oracle", 0), ("oracle", 0), ("oracle", 60)] {
        tokio::time::advance(Duration::from_secs(pause_s)).await;
        read(harness.ask(model, PLAIN)).await;
    }
    let counters = harness.endpoint.counters();
    let list = |arrivals: &[regatta_simulator::Arrivals]| serde_json::to_value(arrivals).unwrap();
    assert_eq!(list(&counters.arrivals), json!([[0, 1, 6], [10, 3, 18], [70, 1, 6]]));
    assert_eq!(list(&counters.arrivals_by_model["noisy-0"]), json!([[10, 1, 6]]));
    assert_eq!(list(&counters.arrivals_by_model["oracle"]), json!([[0, 1, 6], [10, 2, 12], [70, 1, 6]]));
    // The fourth request exceeded the limit, but within the first minute, when clients cannot know the limit yet.
    assert_eq!((counters.busiest_minute.requests, counters.busiest_minute.tokens), (4, 24));
    assert_eq!((counters.faults["requests_per_minute"], counters.over_limit_after_first_minute), (1, 0));

    for _ in 0..3 {
        read(harness.ask("oracle", PLAIN)).await;
    }
    assert_eq!(harness.endpoint.counters().over_limit_after_first_minute, 1);
}

#[tokio::test]
async fn a_body_of_sixteen_megabytes_is_read_and_a_longer_one_refused() {
    let harness = Harness::start(config()).await;
    let body = |filler: usize| {
        let messages = [
            json!({"role": "system", "content": "x".repeat(filler)}),
            json!({"role": "user", "content": prompt(PLAIN)}),
        ];
        json!({"model": "oracle", "messages": messages})
    };
    let envelope = serde_json::to_vec(&body(0)).unwrap().len();
    let longest = (16 << 20) - envelope;
    assert_eq!(read(harness.post("/chat/completions", &body(longest))).await.content(), gold(PLAIN));
    let refused = read(harness.post("/chat/completions", &body(longest + 1))).await;
    assert_eq!(refused.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(refused.json()["error"]["message"], "the body is longer than 16777216 bytes; send less");
    assert_eq!(read(harness.ask("oracle", PLAIN)).await.content(), gold(PLAIN));
}
