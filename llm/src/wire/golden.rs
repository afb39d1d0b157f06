//! Answers as providers document them, read in the way of `http`.

use std::time::Duration;

use bytes::Bytes;
use regatta_proto::ManualClock;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::reading::Reading;
use super::{Completion, Format, ReadContext};
use crate::errors::Failure;
use crate::secret::Secret;
use crate::transport::Answer;

/// Splits an answer in a file: header lines, an empty line, the body.
pub(crate) fn recorded(text: &str) -> (HeaderMap, &str) {
    let (head, body) = text.split_once("\n\n").expect("an empty line behind the headers");
    let header = |line: &str| {
        let (name, value) = line.split_once(": ").expect("a header");
        (name.parse::<HeaderName>().unwrap(), value.parse::<HeaderValue>().unwrap())
    };
    (head.lines().map(header).collect(), body)
}

/// Calls `read` with the context that readers need.
pub(crate) fn with_context<T>(read: impl FnOnce(&ReadContext<'_>) -> T) -> T {
    let secret = Secret::new("sk-a-secret-key".to_owned());
    let clock = ManualClock::at("2026-01-01T00:00:00Z".parse().unwrap());
    read(&ReadContext { secret: &secret, clock: &clock })
}

/// Reads a whole answer.
pub(crate) fn whole(format: &dyn Format, status: u16, text: &str) -> Result<Completion, Failure> {
    let (headers, body) = recorded(text);
    let answer = Answer { status, headers, body: Bytes::copy_from_slice(body.as_bytes()) };
    with_context(|context| format.answer(&answer, context))
}

/// Reads a streamed answer that arrives in chunks of `chunk_bytes`, one each millisecond.
pub(crate) fn streamed(format: &dyn Format, text: &str, chunk_bytes: usize) -> Result<Completion, Failure> {
    let (headers, body) = recorded(text);
    with_context(|context| {
        let mut reading = Reading::new(format, *context);
        let mut at = Duration::ZERO;
        for chunk in body.as_bytes().chunks(chunk_bytes) {
            at += Duration::from_millis(1);
            if reading.take(chunk, at)? {
                break;
            }
        }
        reading.end(200, &headers, at, None)
    })
}

/// A completion in the form of the snapshots.
pub(crate) fn shown(completion: &Completion) -> Value {
    json!({
        "reply": completion.reply,
        "usage": completion.usage,
        "usage_is_known": completion.usage_is_known,
        "has_raw_usage": completion.raw_usage.is_some(),
        "reported_cost": completion.reported_cost,
        "served": completion.served,
        "exhausted_for_ms": completion.hints.exhausted_for.map(|wait| wait.as_millis()),
    })
}
