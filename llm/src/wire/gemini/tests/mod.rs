//! Golden tests with the formats of the Gemini API's documentation and made-up values.

mod answers;
mod failures;
mod requests;
mod streams;

use bytes::Bytes;
use regatta_proto::{ChatMessage, ChatRole, ManualClock};

use super::*;
use crate::secret::Secret;
use crate::wire::Part;
use crate::wire::sse::Events;

/// Calls `read` with the context that readers need.
fn with_context<T>(read: impl FnOnce(&ReadContext<'_>) -> T) -> T {
    let secret = Secret::new("AIza-secret".to_owned());
    let clock = ManualClock::at("2026-01-01T00:00:00Z".parse().unwrap());
    read(&ReadContext { secret: &secret, clock: &clock })
}

fn answer(status: u16, body: &str) -> Result<Completion, Failure> {
    let answer = Answer { status, headers: HeaderMap::new(), body: Bytes::copy_from_slice(body.as_bytes()) };
    with_context(|context| Gemini.answer(&answer, context))
}

/// Reads a stream. Also returns the kind of each event.
fn stream(chunks: &[&str]) -> (Vec<Part>, Result<Completion, Failure>) {
    let mut events = Events::default();
    for chunk in chunks {
        events.push(format!("data: {}\r\n\r\n", chunk.replace('\n', "")).as_bytes());
    }
    let mut reader = Gemini.stream();
    let mut parts = Vec::new();
    with_context(|context| {
        while let Some(event) = events.next() {
            match reader.event(&event, context) {
                Ok(part) => parts.push(part),
                Err(failure) => return (parts, Err(failure)),
            }
        }
        (parts, reader.end(&HeaderMap::new(), context))
    })
}

fn message(role: ChatRole, content: &str) -> ChatMessage {
    ChatMessage::new(role, content)
}
