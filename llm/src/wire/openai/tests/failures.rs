use std::time::Duration;

use regatta_proto::{ErrorClass, Usage};

use super::plain;
use crate::wire::golden::{streamed, whole};

const CHUNK: &str = r#"data: {"id":"c","choices":[{"index":0,"delta":{"content":"Sev"},"finish_reason":null}]}"#;
const USAGE: &str = r#"data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}}"#;

fn stream(events: &[&str]) -> String {
    format!("content-type: text/event-stream\n\n{}\n\n", events.join("\n\n"))
}

#[test]
fn an_endpoint_that_stops_generating_is_the_servers_trouble_and_its_bill_is_kept() {
    for reason in ["insufficient_system_resource", "error", "abort"] {
        let body = format!(
            r#"{{"choices":[{{"message":{{"content":"half an ans"}},"finish_reason":"{reason}"}}],"usage":{{"prompt_tokens":9,"completion_tokens":2}}}}"#
        );
        let failure = whole(&plain(), 200, &format!("a: b\n\n{body}")).unwrap_err();
        assert_eq!((failure.class, failure.status), (ErrorClass::Server, Some(200)), "{reason}");
        assert_eq!(failure.usage, Some(Usage { input: 9, output: 2, ..Usage::default() }));
        let done = CHUNK.replace("null", &format!("\"{reason}\""));
        let failure = streamed(&plain(), &stream(&[&done, USAGE, "data: [DONE]"]), 7).unwrap_err();
        assert_eq!((failure.class, failure.status), (ErrorClass::Server, Some(200)), "{reason}");
        assert_eq!(failure.usage, Some(Usage { input: 9, output: 2, ..Usage::default() }));
    }
}

#[test]
fn the_tier_of_a_broken_answer_is_kept_with_its_bill() {
    let usage = r#""service_tier":"flex","usage":{"prompt_tokens":9,"completion_tokens":2}"#;
    let stopped = format!(r#"{{"choices":[{{"message":{{"content":"half"}},"finish_reason":"error"}}],{usage}}}"#);
    for body in [format!(r#"{{"choices":[],{usage}}}"#), format!(r#"{{"error":{{"message":"m"}},{usage}}}"#), stopped] {
        let failure = whole(&plain(), 200, &format!("a: b\n\n{body}")).unwrap_err();
        assert_eq!((failure.usage.is_some(), failure.tier.as_deref()), (true, Some("flex")), "{body}");
    }
    let chunk = CHUNK.replace(r#""id":"c""#, r#""id":"c","service_tier":"flex""#);
    for last in ["data: {\"choices\":[{\"ind", r#"data: {"error":{"message":"overloaded","code":502}}"#, ""] {
        let failure = streamed(&plain(), &stream(&[&chunk, USAGE, last]), 11).unwrap_err();
        assert_eq!((failure.usage.is_some(), failure.tier.as_deref()), (true, Some("flex")), "{last}");
    }
}

#[test]
fn a_bill_without_a_meter_is_none() {
    for usage in
        [r#"{"completion_tokens":2}"#, r#"{"prompt_tokens":9}"#, r#"{"prompt_tokens":0,"completion_tokens":2}"#]
    {
        let failure = whole(&plain(), 200, &format!("a: b\n\n{{\"choices\":[],\"usage\":{usage}}}")).unwrap_err();
        assert_eq!((failure.usage, failure.maybe_billed), (None, true), "{usage}");
    }
}

#[test]
fn an_error_in_the_middle_of_a_stream_is_classified_by_the_error_table() {
    for (error, class) in [
        (
            r#"data: {"error":{"message":"slow down","type":"rate_limit_error","code":"rate_limit_exceeded"}}"#,
            ErrorClass::RateLimited,
        ),
        (
            r#"data: {"error":{"message":"overloaded","code":502},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}"#,
            ErrorClass::Server,
        ),
        (
            r#"data: {"choices":[{"index":0,"error":{"code":429,"message":"m"},"delta":{},"finish_reason":"error"}]}"#,
            ErrorClass::RateLimited,
        ),
        (
            r#"data: {"object":"error","message":"This model's maximum context length is 10 tokens","type":"BadRequestError","code":400}"#,
            ErrorClass::ContextLength,
        ),
        ("event: error\ndata: {\"message\":\"it broke\"}", ErrorClass::Server),
        ("event: error\ndata: it broke", ErrorClass::Server),
    ] {
        let failure = streamed(&plain(), &stream(&[CHUNK, USAGE, error]), 11).unwrap_err();
        assert_eq!((failure.class, failure.status), (class, Some(200)), "{error}: {failure:?}");
        assert_eq!(failure.usage, Some(Usage { input: 9, output: 2, ..Usage::default() }), "{error}");
        assert!(failure.maybe_billed, "an answer had begun: {error}");
        let alone = streamed(&plain(), &stream(&[error]), 11).unwrap_err();
        assert_eq!((alone.class, alone.usage, alone.maybe_billed), (class, None, false), "{error}");
    }
}

#[test]
fn a_stream_that_ends_too_early_is_a_bad_response_that_may_be_billed() {
    for events in [&[CHUNK][..], &[CHUNK, USAGE], &[r#"data: {"choices":[{"index":0,"delta":{"role":"assistant"}}]}"#]]
    {
        let failure = streamed(&plain(), &stream(events), 5).unwrap_err();
        assert_eq!((failure.class, failure.maybe_billed), (ErrorClass::BadResponse, true));
        assert_eq!(*failure.detail, *"the stream ended before the answer did");
        assert_eq!(failure.usage.is_some(), events.contains(&USAGE));
    }
    let failure = streamed(&plain(), &stream(&["data: [DONE]"]), 5).unwrap_err();
    assert_eq!((failure.class, &*failure.detail), (ErrorClass::BadResponse, "the stream held no part of an answer"));
    let broken = streamed(&plain(), &stream(&[CHUNK, "data: {\"choices\":[{\"ind"]), 5).unwrap_err();
    assert_eq!(broken.class, ErrorClass::BadResponse);
    assert!(broken.detail.starts_with("an event of the stream is no chunk of a chat completion"), "{}", broken.detail);
}

#[test]
fn an_answer_that_is_no_stream_after_all_is_read_as_a_whole() {
    let error = "content-type: text/event-stream\n\n{\"error\":{\"message\":\"m\",\"code\":429}}";
    assert_eq!(streamed(&plain(), error, 9).unwrap_err().class, ErrorClass::RateLimited);
    let answer =
        "content-type: text/plain\n\n{\"choices\":[{\"message\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}";
    assert_eq!(streamed(&plain(), answer, 9).unwrap().reply.text.as_deref(), Some("x"));
    let page = "content-type: text/html\n\n<html>\nBad gateway\n</html>";
    assert_eq!(streamed(&plain(), page, 9).unwrap_err().class, ErrorClass::BadResponse);
    assert_eq!(streamed(&plain(), "a: b\n\n", 9).unwrap_err().class, ErrorClass::BadResponse);
}

#[test]
fn a_refusal_by_the_rate_limit_waits_as_long_as_any_header_asks_for() {
    let wait = |headers: &str| whole(&plain(), 429, &format!("{headers}\n\nslow down")).unwrap_err().retry_after;
    assert_eq!(wait("retry-after-ms: 1500"), Some(Duration::from_millis(1500)));
    assert_eq!(wait("retry-after: 2"), Some(Duration::from_secs(2)));
    let reset = "x-ratelimit-remaining-tokens: 0\nx-ratelimit-reset-tokens: 6m0s";
    assert_eq!(wait(reset), Some(Duration::from_secs(360)));
    assert_eq!(wait(&format!("{reset}\nretry-after: 3")), Some(Duration::from_secs(3)));
    assert_eq!(wait("x-ratelimit-remaining-tokens: 5\nx-ratelimit-reset-tokens: 6m0s"), None);
    assert_eq!(whole(&plain(), 400, &format!("{reset}\n\n")).unwrap_err().retry_after, None);
}

#[test]
fn the_key_shows_in_no_failure_of_a_stream() {
    for events in [
        &[r#"data: {"error":{"message":"bad key sk-a-secret-key"}}"#][..],
        &["data: sk-a-secret-key"],
        &["event: error\ndata: sk-a-secret-key"],
    ] {
        let failure = streamed(&plain(), &stream(events), 5).unwrap_err();
        assert!(!failure.detail.contains("sk-a"), "{}", failure.detail);
    }
}

#[test]
fn what_the_provider_behind_a_gateway_said_counts() {
    let raw = r#"{\"error\":{\"message\":\"prompt is too long: 9 tokens > 8 maximum\"}}"#;
    let body = format!(
        r#"{{"error":{{"message":"Provider returned error","code":400,"metadata":{{"provider_name":"Anthropic","raw":"{raw}"}}}}}}"#
    );
    let failure = whole(&plain(), 400, &format!("a: b\n\n{body}")).unwrap_err();
    assert_eq!(failure.class, ErrorClass::ContextLength);
    assert!(failure.detail.starts_with("Provider returned error: {\"error\""), "{}", failure.detail);
    let event = format!("a: b\n\ndata: {body}\n\n");
    assert_eq!(streamed(&plain(), &event, 9).unwrap_err().class, ErrorClass::ContextLength);
}
