//! Golden tests with the formats of Anthropic's documentation and made-up values.

mod answers;
mod failures;
mod requests;
mod streams;

use bytes::Bytes;
use regatta_proto::{ChatMessage, ChatRole, ManualClock};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::*;
use crate::secret::Secret;
use crate::wire::sse::Events;

fn headers(headers: &[(&'static str, &'static str)]) -> HeaderMap {
    headers.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
}

/// Calls `read` with the context that readers need.
fn with_context<T>(read: impl FnOnce(&ReadContext<'_>) -> T) -> T {
    let secret = Secret::new("sk-ant-secret".to_owned());
    let clock = ManualClock::at("2026-01-01T00:00:00Z".parse().unwrap());
    read(&ReadContext { secret: &secret, clock: &clock })
}

fn answer_with(status: u16, head: HeaderMap, body: &str) -> Result<Completion, Failure> {
    let answer = Answer { status, headers: head, body: Bytes::copy_from_slice(body.as_bytes()) };
    with_context(|context| Anthropic.answer(&answer, context))
}

fn answer(status: u16, body: &str) -> Result<Completion, Failure> {
    answer_with(status, HeaderMap::new(), body)
}

/// Reads a stream. Also returns the kind of each event.
fn stream(text: &str) -> (Vec<crate::wire::Part>, Result<Completion, Failure>) {
    let mut events = Events::default();
    events.push(text.as_bytes());
    let mut reader = Anthropic.stream();
    let mut parts = Vec::new();
    with_context(|context| {
        while let Some(event) = events.next() {
            match reader.event(&event, context) {
                Ok(part) => parts.push(part),
                Err(failure) => return (parts, Err(failure)),
            }
        }
        let head = headers(&[("request-id", "req_stream")]);
        (parts, reader.end(&head, context))
    })
}

fn message(role: ChatRole, content: &str) -> ChatMessage {
    ChatMessage::new(role, content)
}
