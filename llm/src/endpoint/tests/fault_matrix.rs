//! The fault matrix: for each behaviour of an endpoint, the class, the number of tries, whether it may have been billed, and the outcome of
//! the session. It covers every row of the error table.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use regatta_proto::{AccountId, Failing, Money, Outcome, fingerprint};

use super::*;
use crate::errors::TABLE;
use crate::permits::store::PermitStore;
use crate::scripted::Step;

const HEAD_OF_A_STREAM: &str = "HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\n";

/// Behaviours of the endpoint, the same for every request.
fn faults() -> Vec<(&'static str, Step)> {
    let error = |status, fields: &str| Step::status(status, &format!(r#"{{"error": {{"message": "m", {fields}}}}}"#));
    let stream = |events: &str| Step::Raw(format!("{HEAD_OF_A_STREAM}connection: close\r\n\r\n{events}").into_bytes());
    let token = r#"data: {"choices":[{"index":0,"delta":{"content":"he"},"finish_reason":null}]}"#;
    vec![
        ("closes the connection", Step::Close),
        ("resets the connection", Step::Reset),
        ("never begins to answer", Step::Hang(vec![])),
        (
            "drips a byte and then nothing (slow loris)",
            Step::Hang(b"HTTP/1.1 200 X\r\ncontent-length: 99\r\n\r\n{".to_vec()),
        ),
        ("breaks off in the body", Step::Raw(b"HTTP/1.1 200 X\r\ncontent-length: 99\r\n\r\n{".to_vec())),
        ("answers what is not JSON", Step::ok("<html>")),
        ("answers without a choice", Step::ok(r#"{"choices": []}"#)),
        ("429", error(429, r#""type": "rate_limit_error""#)),
        ("429 without credit", error(429, r#""code": "insufficient_quota""#)),
        ("402", error(402, r#""code": 402"#)),
        ("500", error(500, r#""type": "server_error""#)),
        ("503", Step::status(503, "busy")),
        ("529", error(529, r#""type": "overloaded_error""#)),
        ("error in a 200", error(200, r#""type": "overloaded_error""#)),
        (
            "error in a 200 stream",
            stream(&format!(
                "{token}\n\ndata: {{\"error\": {{\"message\": \"m\", \"type\": \"overloaded_error\"}}}}\n\n"
            )),
        ),
        ("a 200 stream that ends in the middle", stream(&format!("{token}\n\n"))),
        ("400", error(400, r#""type": "invalid_request_error""#)),
        ("400 too long", error(400, r#""code": "context_length_exceeded""#)),
        ("400 filtered", error(400, r#""code": "content_filter""#)),
        ("401", error(401, r#""code": "invalid_api_key""#)),
        ("403", Step::status(403, "")),
        ("404", error(404, r#""code": "model_not_found""#)),
        ("302", Step::Answer { status: 302, headers: "location: /elsewhere\r\n", body: vec![] }),
    ]
}

fn price() -> Price {
    Price::per_mtok(1.0, 2.0)
}

/// One line of the matrix.
fn line(fault: &str, tries: &[Try], seen: usize) -> String {
    let last = tries.last().unwrap();
    let outcome = Outcome::of_failure(last.class, regatta_proto::Filtered::Wrong);
    let outcome = outcome.cause().map_or(String::new(), |cause| format!("{} ({cause})", outcome.as_str()));
    let billed = if last.at_most.is_some() { "maybe billed" } else { "" };
    let word = crate::errors::rule(last.class).word;
    format!("{fault:<42} {word:<15} {} tries, {seen} sent  {billed:<13} {outcome}", tries.len())
}

#[tokio::test]
async fn every_fault_has_its_class_its_tries_and_its_outcome() {
    let (mut matrix, mut classes) = (String::new(), BTreeSet::new());
    let mut enter = |fault: &str, tries: &[Try], seen: usize| {
        writeln!(matrix, "{}", line(fault, tries, seen).trim_end()).unwrap();
        classes.extend(tries.iter().map(|one| one.class));
    };
    let price = price();
    for (fault, step) in faults() {
        // Only what never comes is not waited for.
        let is_hung = matches!(step, Step::Hang(_));
        let server = Server::scripted(vec![step]).await;
        let mut spec = spec(&server);
        spec.stream = fault.contains("stream");
        if is_hung {
            (spec.timeouts.first_byte_ms, spec.timeouts.total_ms) = (250, 500);
        }
        let bench = open(&spec);
        let tries =
            bench.tries_of(ChatCall { payer: payer(&bench.sweep, Some(&price)), ..bench.call(&request()) }).await;
        enter(fault, &tries, server.seen().len());
    }

    // Requests that are never sent.
    let server = Server::scripted(vec![Step::ok(HELLO)]).await;
    let store = FakeStore::default();
    let bench = open_with(&spec(&server), &store);
    let (asked, poor) = (request(), AccountId { sweep: sweep(), model: None });
    store.budget(&poor, Money(1));
    let paying = Payer { accounts: std::slice::from_ref(&poor), ..payer(&bench.sweep, Some(&price)) };
    let tries = bench.tries_of(ChatCall { payer: paying, ..bench.call(&asked) }).await;
    enter("(the budget is used up)", &tries, server.seen().len());
    let replaying = Payer { cache: CacheMode::Replay, ..payer(&bench.sweep, None) };
    let tries = bench.tries_of(ChatCall { payer: replaying, ..bench.call(&asked) }).await;
    enter("(replayed, and not in the cache)", &tries, server.seen().len());
    let settings = spec(&server).request_settings();
    let failing = Failing {
        fingerprint: fingerprint(&sweep(), "pool", &settings, "asked-model", &asked),
        class: ErrorClass::Server,
    };
    for _ in 0..16 {
        store.failing(&failing).await.unwrap();
    }
    let tries = bench.tries_of(bench.call(&asked)).await;
    enter("(the request had failed too often)", &tries, server.seen().len());

    // Nothing listens on this port any more.
    let gone = spec(&server);
    drop(server);
    enter("refuses the connection", &open(&gone).tries().await, 0);

    insta::assert_snapshot!(matrix);
    let all: BTreeSet<ErrorClass> = TABLE.iter().map(|row| row.class).collect();
    assert_eq!(classes, all, "every row of the table is in the matrix");
}
