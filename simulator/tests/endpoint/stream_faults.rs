//! Faults of streams.

use regatta_proto::{Faults, Simulation};
use serde_json::{Value, json};

use crate::harness::{Format, Harness, config, faulty, read, simulating};
use crate::three_items::{LONG, PLAIN};

const HALF_OF_LONG: usize = 280;

/// Characters of the answer that a stream sent before it ended.
fn told(text: &str) -> usize {
    let data = text.lines().filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok());
    let piece = |data: Value| {
        let places = ["/choices/0/delta/content", "/delta/text", "/delta"];
        places.iter().find_map(|place| data.pointer(place).and_then(Value::as_str).map(str::len))
    };
    data.filter_map(piece).sum()
}

#[tokio::test]
async fn a_stream_may_end_in_an_error_of_its_format() {
    let harness = Harness::start(faulty(Faults { stream_error: 1.0, ..Faults::default() })).await;
    let mut last = Vec::new();
    for format in Format::ALL {
        let answer = read(harness.ask_as(format, "oracle", PLAIN, &json!({"stream": true}))).await;
        assert_eq!(told(&answer.text), 6);
        let (name, data) = answer.events().pop().unwrap();
        last.push(format!("{name}: {data}"));
    }
    insta::assert_snapshot!(last.join("\n"));
    let counters = harness.endpoint.counters();
    assert_eq!((counters.faults["stream_error"], counters.lost.output, counters.total_answered()), (3, 9, 0));
    assert_eq!(counters.abandoned, 0);
}

#[tokio::test]
async fn a_cut_stream_ends_in_good_order_but_too_early() {
    let harness = Harness::start(faulty(Faults { stream_cut: 1.0, ..Faults::default() })).await;
    for format in Format::ALL {
        let answer = read(harness.ask_as(format, "oracle", LONG, &json!({"stream": true}))).await;
        assert_eq!(told(&answer.text), HALF_OF_LONG);
        for sign_of_an_end in ["[DONE]", "finish_reason\":\"stop", "message_stop", "response.completed", "error\":{"] {
            assert!(!answer.text.contains(sign_of_an_end), "{sign_of_an_end}");
        }
    }
    let counters = harness.endpoint.counters();
    assert_eq!((counters.faults["stream_cut"], counters.total_answered()), (3, 0));
}

#[tokio::test]
async fn a_truncated_stream_breaks_its_connection() {
    let harness = Harness::start(faulty(Faults { truncated: 1.0, ..Faults::default() })).await;
    let mut answer = harness.ask_as(Format::Chat, "oracle", LONG, &json!({"stream": true})).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let mut received = Vec::new();
    while let Ok(chunk) = answer.chunk().await {
        received.extend(chunk.expect("the stream ended as if it were whole"));
    }
    assert_eq!(told(&String::from_utf8(received).unwrap()), HALF_OF_LONG);
    assert_eq!(harness.endpoint.counters().lost.output, 140);
}

#[tokio::test(start_paused = true)]
async fn a_stream_may_trickle_too() {
    let fields = json!({"stream": true, "max_tokens": 1});
    let whole = {
        let harness = Harness::start(config()).await;
        read(harness.ask_as(Format::Messages, "oracle", PLAIN, &fields)).await.text
    };
    let harness = Harness::start(faulty(Faults { slow_loris: 1.0, ..Faults::default() })).await;
    let mut answer = harness.ask_as(Format::Messages, "oracle", PLAIN, &fields).send().await.unwrap();
    let mut received = Vec::new();
    while received.len() < 3_000 {
        received.extend(answer.chunk().await.unwrap().expect("the body came to an end"));
    }
    assert!(received.starts_with(&whole.as_bytes()[..whole.len() - 1]));
    assert!(received[whole.len()..].iter().all(|byte| *byte == b' '));
}

#[tokio::test]
async fn what_befalls_answers_befalls_streams() {
    let statuses = async |faults| {
        let harness = Harness::start(faulty(faults)).await;
        let mut statuses = Vec::new();
        for format in Format::ALL {
            let answer = read(harness.ask_as(format, "oracle", PLAIN, &json!({"stream": true}))).await;
            statuses.push((answer.status.as_u16(), answer.text.contains("error")));
        }
        statuses
    };
    let failed = |status| vec![(status, true); 3];
    assert_eq!(statuses(Faults { server_error: 1.0, ..Faults::default() }).await, failed(500));
    assert_eq!(statuses(Faults { error_in_200: 1.0, ..Faults::default() }).await, failed(200));
    assert_eq!(statuses(Faults { rate_limited: 1.0, ..Faults::default() }).await, failed(429));
    let overloaded = statuses(Faults { overloaded: 1.0, ..Faults::default() }).await;
    assert_eq!(overloaded, [(503, true), (529, true), (503, true)]);
}

#[tokio::test]
async fn the_same_request_draws_the_same_fault_whether_it_is_seen_now_or_later() {
    let simulation = Simulation {
        seed: 3,
        faults: Faults { stream_error: 0.3, stream_cut: 0.3, overloaded: 0.2, ..Faults::default() },
        ..Simulation::default()
    };
    let history = async || {
        let harness = Harness::start(simulating(simulation.clone())).await;
        let mut history = Vec::new();
        for _ in 0..16 {
            history.push(read(harness.ask_as(Format::Responses, "oracle", PLAIN, &json!({"stream": true}))).await);
        }
        (history, harness.endpoint.counters().faults)
    };
    let (first, faults) = history().await;
    assert_eq!((first, faults.clone()), history().await);
    assert!(["stream_error", "stream_cut", "overloaded"].iter().all(|fault| faults[*fault] > 0), "{faults:?}");
}
