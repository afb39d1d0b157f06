//! Streamed answers.

use std::time::Duration;

use regatta_proto::{Latency, Simulation, Usage};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::harness::{Format, Harness, config, read, scripted, simulating};
use crate::three_items::{LONG, PLAIN, gold};

/// The text of a stream in any format.
fn told(format: Format, events: &[(String, String)]) -> String {
    let pieces = events.iter().filter_map(|(_, data)| serde_json::from_str::<Value>(data).ok()).filter_map(|data| {
        let piece = match format {
            Format::Chat => data.pointer("/choices/0/delta/content"),
            Format::Messages => data.pointer("/delta/text"),
            Format::Responses => data.get("delta"),
        };
        piece.and_then(Value::as_str).map(str::to_owned)
    });
    pieces.collect()
}

#[tokio::test]
async fn a_stream_is_told_in_the_events_of_its_format() {
    let harness = Harness::start(config()).await;
    for format in Format::ALL {
        let fields = json!({"stream": true, "stream_options": {"include_usage": true}});
        let answer = harness.ask_as(format, "oracle", PLAIN, &fields).send().await.unwrap();
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        insta::assert_snapshot!(format!("{format:?}"), answer.text().await.unwrap());
    }
}

#[tokio::test]
async fn the_pieces_add_up_to_the_answer_and_are_counted_as_it() {
    let harness = Harness::start(config()).await;
    for format in Format::ALL {
        let events = read(harness.ask_as(format, "oracle", LONG, &json!({"stream": true}))).await.events();
        assert_eq!(told(format, &events), gold(LONG));
        assert!(events.len() > 140, "{}", events.len());
    }
    let counters = harness.endpoint.counters();
    assert_eq!(counters.total_answered(), 3);
    assert_eq!(counters.delivered, Usage { input: 9, output: 3 * 140, ..Usage::default() });
    assert_eq!((counters.lost, counters.abandoned), (Usage::default(), 0));
}

#[tokio::test]
async fn a_chat_tells_its_usage_only_when_asked_to() {
    let harness = Harness::start(config()).await;
    let silent = read(harness.ask_as(Format::Chat, "oracle", PLAIN, &json!({"stream": true}))).await;
    assert!(!silent.text.contains("usage"), "{}", silent.text);
    let fields = json!({"stream": true, "stream_options": {"include_usage": true}});
    let events = read(harness.ask_as(Format::Chat, "oracle", PLAIN, &fields)).await.events();
    let [chunks @ .., (_, last), (_, done)] = events.as_slice() else { panic!("{events:?}") };
    assert!(chunks.iter().all(|(_, data)| serde_json::from_str::<Value>(data).unwrap()["usage"].is_null()));
    let last: Value = serde_json::from_str(last).unwrap();
    assert_eq!(last["usage"], json!({"prompt_tokens": 3, "completion_tokens": 3, "total_tokens": 6}));
    assert_eq!((&last["choices"], done.as_str()), (&json!([]), "[DONE]"));
}

#[tokio::test]
async fn a_stream_that_the_token_limit_cuts_says_so() {
    let harness = Harness::start(config()).await;
    for (format, limit, said) in [
        (Format::Chat, "max_tokens", r#""finish_reason":"length""#),
        (Format::Messages, "max_tokens", r#""stop_reason":"max_tokens""#),
        (Format::Responses, "max_output_tokens", r#""incomplete_details":{"reason":"max_output_tokens"}"#),
    ] {
        let fields = json!({"stream": true, limit: 5});
        let answer = read(harness.ask_as(format, "oracle", LONG, &fields)).await;
        assert_eq!(told(format, &answer.events()), gold(LONG)[..20]);
        assert!(answer.text.contains(said), "{}", answer.text);
    }
}

#[tokio::test]
async fn a_long_answer_has_no_more_than_512_pieces() {
    let reply = "abcd".repeat(2_000);
    let harness = Harness::start(scripted(&json!({"reply": reply}).to_string())).await;
    let fields = json!({"stream": true, "max_tokens": 5_000});
    let events = read(harness.ask_as(Format::Messages, "scripted", PLAIN, &fields)).await.events();
    assert!(told(Format::Messages, &events) == reply);
    let pieces = events.iter().filter(|(name, _)| name == "content_block_delta");
    // Four tokens each.
    assert_eq!(pieces.count(), 500);
}

/// Times in milliseconds to the beginning and the end of the stream, rounded down to 50.
async fn pace(latency: Latency) -> (u128, u128) {
    let harness = Harness::start(simulating(Simulation { latency, ..Simulation::default() })).await;
    let start = Instant::now();
    let mut answer = harness.ask_as(Format::Chat, "oracle", LONG, &json!({"stream": true})).send().await.unwrap();
    let first = answer.chunk().await.unwrap();
    let began = start.elapsed();
    assert!(first.is_some());
    while answer.chunk().await.unwrap().is_some() {}
    let rounded = |elapsed: Duration| elapsed.as_millis() / 50 * 50;
    (rounded(began), rounded(start.elapsed()))
}

#[tokio::test(start_paused = true)]
async fn a_stream_begins_after_the_time_to_the_first_token_and_goes_on_token_by_token() {
    let latency =
        Latency { median_ms: 9_000.0, first_token_ms: Some(500.0), per_token_ms: 100.0, ..Latency::default() };
    // 139 pauses between 140 tokens.
    assert_eq!(pace(latency).await, (500, 500 + 13_900));
    assert_eq!(pace(Latency { first_token_ms: None, ..latency }).await, (9_000, 9_000 + 13_900));
}

#[tokio::test(start_paused = true)]
async fn a_stream_keeps_its_place_until_its_end() {
    let latency = Latency { per_token_ms: 1_000.0, ..Latency::default() };
    let simulation = Simulation { latency, concurrency: Some(1), ..Simulation::default() };
    let harness = Harness::start(simulating(simulation)).await;
    let ask = || harness.ask_as(Format::Chat, "oracle", PLAIN, &json!({"stream": true}));
    let mut first = ask().send().await.unwrap();
    assert!(first.chunk().await.unwrap().is_some());
    assert_eq!(read(ask()).await.status, 429);
    while first.chunk().await.unwrap().is_some() {}
    assert_eq!(read(ask()).await.status, 200);
}

#[tokio::test]
async fn a_client_that_leaves_in_the_middle_is_billed_for_all_of_it() {
    let latency = Latency { per_token_ms: 60_000.0, ..Latency::default() };
    let harness = Harness::start(simulating(Simulation { latency, ..Simulation::default() })).await;
    let mut answer = harness.ask_as(Format::Chat, "oracle", PLAIN, &json!({"stream": true})).send().await.unwrap();
    assert!(answer.chunk().await.unwrap().is_some());
    drop(answer);
    // The server notices when its socket is closed.
    while harness.endpoint.counters().abandoned == 0 {
        tokio::task::yield_now().await;
    }
    let counters = harness.endpoint.counters();
    assert_eq!((counters.lost.output, counters.total_answered()), (3, 0));
}
