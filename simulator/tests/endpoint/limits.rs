use std::time::Duration;

use regatta_proto::Simulation;
use reqwest::StatusCode;
use serde_json::json;

use crate::harness::{Harness, config, read, simulating};
use crate::three_items::{PLAIN, gold, prompt};

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
