//! The endpoint's counters against those of a client.

use regatta_proto::{Faults, ItemId, Simulation, Usage};
use serde_json::{Value, json};

use crate::harness::{Harness, config, faulty, read, simulating};
use crate::three_items::{LONG, ODD, PLAIN};

fn usage_of(answer: &Value) -> Usage {
    let tokens = |name: &str| answer["usage"][name].as_u64().unwrap_or(0);
    Usage { input: tokens("prompt_tokens"), output: tokens("completion_tokens"), ..Usage::default() }
}

#[tokio::test]
async fn the_counters_equal_the_sum_of_the_usage_that_clients_saw() {
    let harness = Harness::start(config()).await;
    let mut seen = Usage::default();
    for (model, id) in [("oracle", PLAIN), ("oracle", LONG), ("noisy-0.5", ODD), ("oracle", PLAIN)] {
        seen += usage_of(&read(harness.ask(model, id)).await.json());
    }
    let embedded = read(harness.post("/embeddings", &json!({"model": "lexical", "input": ["one text", "two"]}))).await;
    seen += usage_of(&embedded.json());
    assert_eq!(read(harness.ask("nobody", PLAIN)).await.status, 404);

    let counters = harness.endpoint.counters();
    assert_eq!((counters.delivered, counters.lost), (seen, Usage::default()));
    assert!(seen.output > 100);
    assert_eq!(
        counters.requests,
        [("lexical", 1), ("noisy-0.5", 1), ("oracle", 3)].map(|(m, n)| (m.to_owned(), n)).into()
    );
    assert_eq!(counters.answered, counters.requests);
    assert_eq!(counters.refused, 1);
    let answers = &counters.answers[&"worfbench".parse().unwrap()];
    let expected = [(PLAIN, 2), (ODD, 1), (LONG, 1)].map(|(id, count)| (id.parse::<ItemId>().unwrap(), count));
    assert_eq!(*answers, expected.into());
}

#[tokio::test]
async fn under_faults_every_request_is_counted_once_and_the_books_still_agree() {
    let simulation = Simulation {
        seed: 5,
        faults: Faults {
            rate_limited: 0.1,
            rate_limited_with_retry_after: 0.1,
            server_error: 0.1,
            dropped: 0.1,
            truncated: 0.1,
            garbage: 0.1,
            error_in_200: 0.1,
            ..Faults::default()
        },
        ..Simulation::default()
    };
    let harness = Harness::start(simulating(simulation)).await;
    let (mut seen, mut answers) = (Usage::default(), 0);
    for seed in 0..200 {
        let Ok(answer) = harness.ask_by_header("oracle", PLAIN, seed).send().await else { continue };
        let is_ok = answer.status() == 200;
        let Ok(body) = answer.bytes().await else { continue };
        match serde_json::from_slice::<Value>(&body) {
            Ok(body) if is_ok && body["error"].is_null() => {
                seen += usage_of(&body);
                answers += 1;
            }
            _ => {}
        }
    }
    let counters = harness.endpoint.counters();
    assert_eq!(counters.total_answered(), answers);
    assert_eq!(counters.delivered, seen);
    // A client whose pooled connection was closed may send a request again by itself, so no exact number is asserted.
    assert_eq!(counters.total_requests(), answers + counters.faults.values().sum::<u64>());
    assert!(counters.total_requests() >= 200);
    assert!(counters.lost.output > 0);
    let drawn = [
        "rate_limited",
        "rate_limited_with_retry_after",
        "server_error",
        "dropped",
        "truncated",
        "garbage",
        "error_in_200",
    ];
    for (fault, count) in &counters.faults {
        assert_eq!(*count > 0, drawn.contains(&fault.as_str()), "{fault}");
    }
}

#[tokio::test]
async fn an_answer_that_broke_off_is_billed_but_not_delivered() {
    let harness = Harness::start(faulty(Faults { truncated: 1.0, ..Faults::default() })).await;
    assert!(harness.ask("oracle", PLAIN).send().await.unwrap().bytes().await.is_err());
    let counters = harness.endpoint.counters();
    assert_eq!(counters.delivered, Usage::default());
    assert_eq!(counters.billed(), counters.lost);
    assert_eq!((counters.lost.input, counters.lost.output), (3, 3));
    assert!(counters.answers.is_empty());
}
