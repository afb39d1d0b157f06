//! The error table as seen from outside: behaviour of the endpoint → class, tries, detail.

use proptest::prelude::*;

use super::*;
use crate::scripted::{Server, Step};
use crate::wire::openai::{OpenAi, embeddings};
use crate::wire::{Format, ReadContext};
use regatta_proto::ErrorClass::{self, *};

async fn tries_of(step: Step) -> Vec<Try> {
    let server = Server::scripted(vec![step]).await;
    let tries = open(&spec(&server)).tries().await;
    // Only Regatta retries, not the HTTP client, even if a reused connection fails.
    assert_eq!(server.seen().len(), tries.len());
    tries
}

fn error(fields: &str) -> String {
    format!(r#"{{"error": {{"message": "m", {fields}}}}}"#)
}

#[tokio::test]
async fn every_status_has_its_class_and_its_number_of_tries() {
    let table: [(u16, ErrorClass, usize); 22] = [
        (301, NotFound, 1),
        (400, BadRequest, 1),
        (401, Auth, 1),
        (402, Quota, 1),
        (403, Auth, 1),
        (404, NotFound, 1),
        (405, BadRequest, 1),
        (408, ErrorClass::Server, 3),
        (409, ErrorClass::Server, 3),
        (410, BadRequest, 1),
        (413, BadRequest, 1),
        (415, BadRequest, 1),
        (418, BadRequest, 1),
        (422, BadRequest, 1),
        (429, RateLimited, 3),
        (451, BadRequest, 1),
        (500, ErrorClass::Server, 3),
        (501, ErrorClass::Server, 3),
        (502, ErrorClass::Server, 3),
        (503, ErrorClass::Server, 3),
        (504, ErrorClass::Server, 3),
        (529, ErrorClass::Server, 3),
    ];
    for (status, class, count) in table {
        for body in ["", "<html>", "null", r#"{"error":{"message":"m"}}"#] {
            let tries = tries_of(Step::status(status, body)).await;
            let last = tries.last().unwrap();
            assert_eq!((last.class, last.status, tries.len()), (class, Some(status), count), "{status} {body}");
        }
    }
}

#[tokio::test]
async fn a_conversation_that_does_not_fit_is_recognised_however_it_is_said() {
    let vllm = r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4800 in the messages, 200 in the completion). Please reduce the length of the messages or completion.","type":"BadRequestError","param":null,"code":400}"#;
    let bodies = [
        error(r#""code": "context_length_exceeded", "type": "invalid_request_error""#),
        vllm.to_owned(),
        format!(r#"{{"error": {vllm}}}"#),
        r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error"}}"#.into(),
        r#"{"error":"`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4097 `inputs` tokens and 100 `max_new_tokens`","error_type":"validation"}"#.into(),
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#.into(),
        r#"{"object":"error","message":"The input (5000 tokens) is longer than the model's context length (4096 tokens).","type":"BadRequestError"}"#.into(),
        r#"{"detail":"This model's maximum context length is 8192 tokens"}"#.into(),
    ];
    for body in bodies {
        for status in [200, 400, 413, 422] {
            if status == 200 && !body.contains("error") {
                continue;
            }
            let tries = tries_of(Step::status(status, &body)).await;
            assert_eq!((tries[0].class, tries.len()), (ContextLength, 1), "{status} {body}");
        }
    }
}

#[tokio::test]
async fn too_many_tokens_to_generate_is_no_overlong_conversation() {
    let body = error(r#""param": "max_tokens", "code": "invalid_value""#)
        .replace("\"m\"", "\"max_tokens is too large: 99999. This model supports at most 16384 completion tokens\"");
    assert_eq!(tries_of(Step::status(400, &body)).await[0].class, BadRequest);
}

#[tokio::test]
async fn an_account_without_money_is_not_asked_again() {
    let tries =
        tries_of(Step::status(429, &error(r#""type": "insufficient_quota", "code": "insufficient_quota""#))).await;
    assert_eq!((tries[0].class, tries.len()), (Quota, 1));
}

#[tokio::test]
async fn an_error_inside_a_200_is_an_error() {
    let table = [
        (error(r#""type": "rate_limit_error""#), RateLimited, 3),
        (error(r#""code": "rate_limit_exceeded""#), RateLimited, 3),
        (error(r#""code": 429"#), RateLimited, 3),
        (error(r#""code": "429""#), RateLimited, 3),
        (error(r#""type": "overloaded_error""#), ErrorClass::Server, 3),
        (error(r#""type": "server_error", "code": null"#), ErrorClass::Server, 3),
        (error(r#""code": 502"#), ErrorClass::Server, 3),
        (error(r#""type": "something new""#), ErrorClass::Server, 3),
        (r#"{"error": "try again"}"#.into(), ErrorClass::Server, 3),
        (r#"{"error": true, "choices": [{"message": {"content": "x"}}]}"#.into(), ErrorClass::Server, 3),
        (r#"{"choices": [{"error": {"code": 429, "message": "m"}, "message": {"content": ""}, "finish_reason": "error"}]}"#.into(), RateLimited, 3),
        (r#"{"object": "error", "message": "m", "code": 400}"#.into(), BadRequest, 1),
        (error(r#""type": "authentication_error""#), Auth, 1),
        (error(r#""type": "invalid_request_error""#), BadRequest, 1),
        (error(r#""code": "model_not_found""#), NotFound, 1),
    ];
    for (body, class, count) in table {
        let tries = tries_of(Step::ok(body.clone())).await;
        assert_eq!((tries[0].class, tries.len(), tries[0].status), (class, count, Some(200)), "{body}");
    }
}

#[tokio::test]
async fn an_answer_that_lacks_what_the_format_promises_is_a_bad_response() {
    for body in [
        "",
        "not json",
        "[1, 2",
        "null",
        "7",
        "{}",
        r#"{"choices": null}"#,
        r#"{"choices": []}"#,
        r#"{"choices": [{}]}"#,
        r#"{"choices": [{"message": null}]}"#,
        r#"{"choices": [{"message": {"content": 7}}]}"#,
        r#"{"choices": [{"message": {"content": {"text": "x"}}}]}"#,
        "{\"choices\": [{\"message\": {\"content\": \"\u{1}\"}}]}",
    ] {
        let tries = tries_of(Step::ok(body)).await;
        assert_eq!((tries[0].class, tries.len()), (BadResponse, 3), "{body}");
        assert!(!tries[0].detail.is_empty(), "{body}");
    }
}

#[tokio::test]
async fn trouble_on_the_way_is_tried_again() {
    for (step, class) in [
        (Step::Close, Connection),
        (Step::Reset, Connection),
        (Step::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{".to_vec()), BadResponse),
    ] {
        let tries = tries_of(step.clone()).await;
        assert_eq!((tries[0].class, tries.len()), (class, 3), "{step:?}");
    }
}

#[tokio::test]
async fn a_slow_first_byte_is_a_time_out_and_tried_again() {
    let server = Server::scripted(vec![Step::Hang(vec![]), Step::ok(HELLO)]).await;
    let mut spec = spec(&server);
    spec.timeouts.first_byte_ms = 200;
    let call = open(&spec).chat().await.unwrap();
    assert_eq!(call.tries.iter().map(|one| one.class).collect::<Vec<_>>(), [Timeout]);
}

#[tokio::test]
async fn what_a_broken_answer_billed_is_kept() {
    let body = r#"{"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2}}"#;
    let usage = tries_of(Step::ok(body)).await[0].usage.unwrap();
    assert_eq!((usage.input, usage.output), (9, 2));
}

#[tokio::test]
async fn a_retry_after_in_either_form_is_waited_for_up_to_the_longest_delay() {
    // The test clock stands at the beginning of 2026, so the date asks for an hour; the longest delay here is 400 ms.
    for headers in
        ["retry-after: 3600\r\n", "retry-after: Thu, 01 Jan 2026 01:00:00 GMT\r\n", "retry-after-ms: 400\r\n"]
    {
        let limited = Step::Answer { status: 429, headers, body: vec![] };
        let server = Server::scripted(vec![limited, Step::ok(HELLO)]).await;
        let mut spec = spec(&server);
        spec.retries.max_delay_ms = 400;
        let begun = tokio::time::Instant::now();
        assert_eq!(open(&spec).chat().await.unwrap().tries.len(), 1);
        assert!(begun.elapsed().as_millis() >= 400, "{headers}");
    }
}

#[tokio::test]
async fn the_key_never_shows() {
    let echo = format!("{}bad key {KEY} {KEY}", "x".repeat(270));
    for step in [
        Step::status(401, &format!(r#"{{"error": {{"message": "{echo}", "code": "{KEY}"}}}}"#)),
        Step::status(500, &echo),
        Step::status(403, &format!(r#"{{"error": {{"key": "{KEY}"}}}}"#)),
        Step::ok(echo.clone()),
        Step::ok(format!(r#"{{"choices": "{KEY}"}}"#)),
        Step::ok(format!(r#"{{"error": "{KEY}"}}"#)),
        Step::Answer {
            status: 302,
            headers: "location: /?key=sk-a-secret-key-of-40-characters-12345678\r\n",
            body: vec![],
        },
    ] {
        let server = Server::scripted(vec![step.clone()]).await;
        let bench = open(&spec(&server));
        let tries = bench.tries().await;
        let shown = format!("{tries:?} {:?} {}", bench.endpoint, bench.metrics());
        assert!(!shown.contains("sk-a-secret"), "{step:?}: {shown}");
        assert!(tries.iter().all(|one| one.detail.chars().count() <= 300));
        assert!(server.seen()[0].head.contains(&format!("authorization: bearer {KEY}")));
    }
}

#[tokio::test]
async fn a_served_name_that_echoes_the_key_does_not_show_it() {
    let server = Server::scripted(vec![Step::ok(HELLO.replace("served-model", KEY).replace("chatcmpl-1", KEY))]).await;
    let served = open(&spec(&server)).chat().await.unwrap().served;
    assert!(!format!("{served:?}").contains("sk-a-secret"), "{served:?}");
}

fn jsonish() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|b| b.to_string()),
        any::<f64>().prop_map(|n| serde_json::to_string(&n).unwrap()),
        any::<i64>().prop_map(|n| n.to_string()),
        "[a-z_ \\\\\"]{0,12}".prop_map(|text| serde_json::to_string(&text).unwrap()),
    ];
    let names = prop::sample::select(vec![
        "id",
        "model",
        "choices",
        "message",
        "content",
        "finish_reason",
        "usage",
        "error",
        "code",
        "type",
        "object",
        "detail",
        "prompt_tokens",
        "completion_tokens",
        "text",
        "embedding",
        "data",
        "index",
    ]);
    leaf.prop_recursive(6, 48, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec((names.clone(), inner), 0..5).prop_map(|fields| {
                let fields: Vec<String> =
                    fields.into_iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
                format!("{{{}}}", fields.join(","))
            }),
        ]
    })
}

fn answer(status: u16, body: Vec<u8>) -> crate::transport::Answer {
    crate::transport::Answer { status, headers: reqwest::header::HeaderMap::new(), body: body.into() }
}

proptest! {
    #[test]
    fn any_body_of_any_status_is_an_answer_or_a_class(
        status in 200u16..600,
        body in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200),
            jsonish().prop_map(String::into_bytes),
            (jsonish(), jsonish()).prop_map(|(message, usage)| {
                format!(r#"{{"choices":[{{"message":{message}}}],"usage":{usage}}}"#).into_bytes()
            }),
            (0..HELLO.len()).prop_map(|cut| HELLO.as_bytes()[..cut].to_vec()),
        ],
    ) {
        let clock = ManualClock::at("2026-01-01T00:00:00Z".parse().unwrap());
        let secret = crate::secret::Secret::new(KEY.into());
        let context = ReadContext { secret: &secret, clock: &clock };
        let answer = answer(status, body);
        let failures = [
            OpenAi::new("").answer(&answer, &context).err(),
            embeddings::read(&answer, 2, &context).err(),
        ];
        if !(200..300).contains(&status) {
            prop_assert!(failures.iter().all(Option::is_some));
        }
        for failure in failures.into_iter().flatten() {
            prop_assert_eq!(failure.status, Some(status));
            prop_assert!(failure.detail.chars().count() <= 300);
        }
    }
}

#[tokio::test]
async fn a_gateways_400_about_its_model_or_its_key_is_what_it_says() {
    for (message, class) in [
        (
            "/chat/completions: Invalid model name passed in model=gpt-x. Call `/v1/models` to view available models.",
            NotFound,
        ),
        ("No connected db.", Auth),
    ] {
        let body = serde_json::json!({"error": {"message": message, "type": "None", "param": null, "code": "400"}});
        let tries = tries_of(Step::status(400, &body.to_string())).await;
        assert_eq!((tries[0].class, tries.len()), (class, 1), "{message}");
    }
}
