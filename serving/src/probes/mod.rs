//! Fields that published clients send, one at a time: each is carried, passed on, refused with a reason that stands in the docs, or answered
//! as its provider would.

mod chat;
mod messages;
mod responses;

use bytes::Bytes;
use hyper::Method;
use serde_json::{Map, Value};

use crate::refused::REASONS;
use crate::{ApiError, ChatCall, Expanded, Format, Reading, ResponseStore, StoredObject};

/// A probe: fields that are put into a plain request, and what comes of them.
type Probe = (&'static str, Becomes);

/// The fate of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Becomes {
    /// All of it is in fields of a request.
    Carried,
    /// These fields go to the endpoint as they are.
    Passed(&'static [&'static str]),
    /// 400, for a reason that the docs give.
    Refused(&'static str),
    /// 400, as from the provider: it is no request of the format.
    Invalid,
}

fn body(plain: &str, probe: &str) -> Vec<u8> {
    let mut body: Map<String, Value> = serde_json::from_str(plain).unwrap();
    let fields: Map<String, Value> = serde_json::from_str(probe).unwrap_or_else(|error| panic!("{probe}: {error}"));
    body.extend(fields);
    serde_json::to_vec(&body).unwrap()
}

/// A session that has had one response, `resp_1`, which said `msg_1`, and has a conversation, `conv_0`.
fn store() -> ResponseStore {
    let store = ResponseStore::new(9, 1 << 20, None);
    let Expanded { keeping, .. } = store.expand(br#"{"input": "x"}"#).unwrap();
    let item = r#"{"id": "msg_1", "type": "message", "role": "assistant", "content": "y"}"#;
    store.keep(&keeping.unwrap(), &format!(r#"{{"id": "resp_1", "output": [{item}]}}"#).into());
    store.serve(StoredObject::Conversations, &Method::POST, ("", b"{}"), 0).unwrap();
    store
}

/// The request as a listener of the format reads it.
fn expanded(store: &ResponseStore, format: Format, body: &[u8]) -> Result<Bytes, ApiError> {
    let whole = Bytes::copy_from_slice(body);
    if format != Format::Responses {
        return Ok(whole);
    }
    Ok(store.expand(body)?.body.unwrap_or(whole))
}

/// Names of the fields that go to the endpoint as they are.
fn passed(format: Format, body: &[u8]) -> Result<Vec<String>, ApiError> {
    let call = ChatCall::parse(format, body, Reading::Whole)?;
    let passed = call.request.passed.iter().flat_map(|passed| &passed.fields);
    Ok(passed.filter(|(_, value)| !value.is_null()).map(|(name, _)| name.clone()).collect())
}

/// Holds all `probes` of a format to what they become.
fn hold(format: Format, plain: &str, probes: &[Probe]) {
    let store = store();
    for (probe, becomes) in probes {
        let body = body(plain, probe);
        let found = match expanded(&store, format, &body).and_then(|body| passed(format, &body)) {
            Ok(passed) => {
                if passed.is_empty() {
                    "carried".to_owned()
                } else {
                    format!("passed {}", passed.join(" "))
                }
            }
            Err(error) => {
                assert_eq!(error.status, 400, "{probe}");
                match REASONS.iter().find(|reason| error.message.ends_with(**reason)) {
                    Some(reason) => format!("refused: {reason}"),
                    None => "invalid".to_owned(),
                }
            }
        };
        let expected = match becomes {
            Becomes::Carried => "carried".to_owned(),
            Becomes::Passed(names) => format!("passed {}", names.join(" ")),
            Becomes::Refused(reason) => format!("refused: {reason}"),
            Becomes::Invalid => "invalid".to_owned(),
        };
        assert_eq!(found, expected, "{format:?} {probe}");
    }
}

#[test]
fn no_tool_of_the_provider_hides_behind_a_kind_that_is_said_twice() {
    let twice = |first: &str, second: &str, rest: &str| {
        format!(r#"[{{"type": {first}, "type": "{second}", "name": "f", "function": {{"name": "f"}}{rest}}}]"#)
    };
    for (format, plain) in [
        (Format::Chat, r#""messages": [{"role": "user", "content": "x"}]"#),
        (Format::Messages, r#""max_tokens": 9, "messages": [{"role": "user", "content": "x"}]"#),
        (Format::Responses, r#""input": "x""#),
    ] {
        for first in [r#""function""#, r#""custom""#, r#""bash_20250124""#, "null"] {
            let tools = twice(first, "web_search_20250305", "");
            let body = format!(r#"{{"model": "m", {plain}, "tools": {tools}}}"#);
            assert!(ChatCall::parse(format, body.as_bytes(), Reading::Whole).is_err(), "{format:?} {first}");
        }
    }
    let input = twice(r#""computer_call""#, "item_reference", r#", "id": "i""#);
    let body = format!(r#"{{"model": "m", "input": {input}}}"#);
    assert!(ChatCall::parse(Format::Responses, body.as_bytes(), Reading::Whole).is_err());
}

#[test]
fn what_is_passed_is_the_clients_value() {
    let probe = r#"{"logit_bias": {"50256": -100}, "verbosity": "low", "response_format": {"type": "json_object"}}"#;
    let body = body(chat::PLAIN, probe);
    let call = ChatCall::parse(Format::Chat, &body, Reading::Whole).unwrap();
    let fields = serde_json::to_value(&call.request.passed.unwrap().fields).unwrap();
    assert_eq!(fields, serde_json::from_str::<Value>(probe).unwrap());
}
