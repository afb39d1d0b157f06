//! No answer, however broken, makes a format panic or report impossible values.

use std::collections::HashSet;
use std::sync::LazyLock;
use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::*;
use regatta_proto::Reply;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};

use super::anthropic::Anthropic;
use super::gemini::Gemini;
use super::golden::{recorded, with_context};
use super::openai::OpenAi;
use super::reading::Reading;
use super::responses::Responses;
use super::{Completion, Format};
use crate::errors::Failure;
use crate::transport::Answer;

fn formats() -> Vec<Box<dyn Format>> {
    vec![Box::new(OpenAi::new("http://localhost")), Box::new(Responses), Box::new(Anthropic), Box::new(Gemini)]
}

/// Whole answers of all formats.
static BODIES: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let own = [
        include_str!("openai/tests/shapes/openai.http"),
        include_str!("openai/tests/shapes/openai_tools.http"),
        include_str!("openai/tests/shapes/openrouter.http"),
        include_str!("openai/tests/shapes/sglang.http"),
        include_str!("openai/tests/shapes/together.http"),
        include_str!("responses/tests/shapes/text.http"),
        include_str!("responses/tests/shapes/tools.http"),
    ]
    .map(|text| serde_json::from_str(recorded(text).1).unwrap());
    let others = [
        json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"}, {"type": "redacted_thinking", "data": "ZW5j"},
            {"type": "text", "text": "yes"}, {"type": "tool_use", "id": "toolu_1", "name": "find", "input": {"object": "mug"}}],
            "stop_reason": "tool_use", "stop_sequence": null, "usage": {"input_tokens": 9, "cache_creation_input_tokens": 5,
            "cache_read_input_tokens": 4, "cache_creation": {"ephemeral_5m_input_tokens": 2, "ephemeral_1h_input_tokens": 3}, "output_tokens": 2}}),
        json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "hm", "thought": true, "thoughtSignature": "c2ln"},
            {"text": "yes"}, {"functionCall": {"name": "find", "args": {"object": "mug"}}}]}, "finishReason": "STOP", "index": 0,
            "avgLogprobs": -0.1, "logprobsResult": {"chosenCandidates": [{"token": "yes", "logProbability": -0.1}]}}],
            "promptFeedback": {"blockReason": "SAFETY"}, "modelVersion": "gemini", "responseId": "r",
            "usageMetadata": {"promptTokenCount": 9, "cachedContentTokenCount": 4, "candidatesTokenCount": 2, "thoughtsTokenCount": 3}}),
    ];
    own.into_iter().chain(others).collect()
});

/// Streams of all formats, as lists of name and data.
static STREAMS: LazyLock<Vec<Vec<(String, Value)>>> = LazyLock::new(|| {
    let named = |text: &str| {
        let events = recorded(text).1.split("\n\n").filter_map(|event| {
            let data = event.lines().find_map(|line| line.strip_prefix("data: "))?;
            let name = event.lines().find_map(|line| line.strip_prefix("event: ")).unwrap_or_default();
            Some((name.to_owned(), serde_json::from_str(data).unwrap_or_else(|_| Value::from(data))))
        });
        events.collect::<Vec<_>>()
    };
    let own = [
        include_str!("openai/tests/shapes/openai.sse"),
        include_str!("openai/tests/shapes/openai_tools.sse"),
        include_str!("openai/tests/shapes/openrouter.sse"),
        include_str!("openai/tests/shapes/deepseek.sse"),
        include_str!("responses/tests/shapes/text.sse"),
        include_str!("responses/tests/shapes/tools.sse"),
    ]
    .map(named);
    let anthropic = [
        json!({"type": "message_start", "message": {"id": "msg_1", "model": "claude", "content": [], "usage": {"input_tokens": 9, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "yes"}}),
        json!({"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "toolu_1", "name": "find", "input": {}}}),
        json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "{}"}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ]
    .map(|event| (event["type"].as_str().unwrap().to_owned(), event));
    let gemini =
        [BODIES[BODIES.len() - 1].clone(), BODIES[BODIES.len() - 1].clone()].map(|event| (String::new(), event));
    own.into_iter().chain([anthropic.to_vec(), gemini.to_vec()]).collect()
});

/// A random value, to be put where it does not belong.
fn stray() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(vec![
            "",
            "error",
            "stop",
            "text",
            "message",
            "reasoning",
            "completed",
            "é中😀",
            "{",
            "\u{0}"
        ])
        .prop_map(Value::from),
    ];
    let names =
        prop::sample::select(vec!["error", "message", "type", "code", "content", "text", "usage", "index", "id"]);
    leaf.prop_recursive(3, 12, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((names.clone(), inner), 0..4)
                .prop_map(|fields| fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()),
        ]
    })
}

/// Replaces random nodes by other values, or removes them.
fn disturb(body: &mut Value, strays: Vec<(prop::sample::Index, Option<Value>)>) {
    for (place, stray) in strays {
        let mut remaining = place.index(nodes(body));
        replace(body, &mut remaining, &stray);
    }
}

fn nodes(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(nodes).sum(),
        Value::Object(fields) => fields.values().map(nodes).sum::<usize>(),
        _ => 0,
    }
}

/// Replaces the node after `remaining` others; returns `true` if it was found.
fn replace(value: &mut Value, remaining: &mut usize, stray: &Option<Value>) -> bool {
    if *remaining == 0 {
        *value = stray.clone().unwrap_or_default();
        return true;
    }
    *remaining -= 1;
    match value {
        Value::Array(items) => items.iter_mut().any(|item| replace(item, remaining, stray)),
        Value::Object(fields) => {
            let mut gone = None;
            let found = fields.iter_mut().any(|(name, field)| {
                if *remaining == 0 && stray.is_none() {
                    gone = Some(name.clone());
                    return true;
                }
                replace(field, remaining, stray)
            });
            gone.and_then(|name| fields.remove(&name));
            found
        }
        _ => false,
    }
}

fn strays() -> impl Strategy<Value = Vec<(prop::sample::Index, Option<Value>)>> {
    prop::collection::vec((any::<prop::sample::Index>(), prop::option::weighted(0.8, stray())), 0..4)
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    let disturbed = (0..BODIES.len(), strays()).prop_map(|(shape, strays)| {
        let mut body = BODIES[shape].clone();
        disturb(&mut body, strays);
        body.to_string().into_bytes()
    });
    let cut = (0..BODIES.len(), any::<prop::sample::Index>()).prop_map(|(shape, end)| {
        let body = BODIES[shape].to_string().into_bytes();
        body[..end.index(body.len())].to_vec()
    });
    prop_oneof![
        6 => disturbed,
        1 => cut,
        1 => stray().prop_map(|value| value.to_string().into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 0..60),
    ]
}

/// A stream with its events disturbed.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let order = prop::collection::vec((any::<prop::sample::Index>(), strays()), 0..10);
    let end = prop::sample::select(vec!["\n\n", "\r\n\r\n", "\n", "", "\n\ndata: {\"error\":{\"code\":500}}\n\n"]);
    let disturbed = (0..STREAMS.len(), any::<bool>(), order, end).prop_map(|(shape, in_order, order, end)| {
        let events = &STREAMS[shape];
        let mut text = String::new();
        for (position, (place, strays)) in order.into_iter().enumerate() {
            let place = if in_order { position.min(events.len() - 1) } else { place.index(events.len()) };
            let (name, data) = &events[place];
            let mut data = data.clone();
            disturb(&mut data, strays);
            let data = data.as_str().map_or_else(|| data.to_string(), str::to_owned);
            text.push_str(&format!("event: {name}\ndata: {data}\n\n"));
        }
        (text.trim_end().to_owned() + end).into_bytes()
    });
    prop_oneof![8 => disturbed, 1 => prop::collection::vec(any::<u8>(), 0..80), 1 => body()]
}

/// Bytes of the texts that a streamed answer consists of.
fn said(completion: &Completion) -> usize {
    let Reply { text, tool_calls, reasoning, .. } = &completion.reply;
    let calls = tool_calls.iter().map(|call| call.name.len() + call.arguments.len());
    let thought = reasoning.as_ref().map_or(0, |reasoning| reasoning.text.len());
    text.as_ref().map_or(0, |text| text.len()) + calls.sum::<usize>() + thought
}

fn check(read: &Result<Completion, Failure>, status: u16) -> Result<(), TestCaseError> {
    match read {
        Ok(completion) => {
            let usage = completion.usage;
            prop_assert!(usage.cached_input + usage.cache_write + usage.cache_write_1h <= usage.input, "{usage:?}");
            prop_assert!(usage.reasoning <= usage.output, "{usage:?}");
            let calls = &completion.reply.tool_calls;
            let ids: HashSet<_> = calls.iter().map(|call| &*call.id).filter(|id| !id.is_empty()).collect();
            prop_assert_eq!(ids.len(), calls.len());
            prop_assert!((200..300).contains(&status));
        }
        Err(failure) => {
            prop_assert_eq!(failure.status, Some(status));
            prop_assert!(failure.detail.chars().count() <= 300 && !failure.reach.is_unreached());
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn any_whole_answer_is_a_completion_or_a_classified_failure(
        status in prop_oneof![3 => Just(200u16), 1 => 200u16..600],
        body in body(),
    ) {
        let answer = Answer { status, headers: HeaderMap::new(), body: Bytes::from(body) };
        for format in formats() {
            check(&with_context(|context| format.answer(&answer, context)), status)?;
        }
    }

    #[test]
    fn any_streamed_answer_is_a_completion_or_a_classified_failure(
        stream in stream(),
        cuts in prop::collection::vec(1usize..200, 1..4),
        breaks_off in any::<bool>(),
    ) {
        for format in formats() {
            let mut bytes = 0;
            let read = with_context(|context| {
                let mut reading = Reading::new(&*format, *context);
                let (mut rest, mut cuts) = (stream.as_slice(), cuts.iter().cycle());
                while !rest.is_empty() {
                    let (chunk, after) = rest.split_at((*cuts.next().unwrap()).min(rest.len()));
                    if reading.take(chunk, Duration::ZERO)? {
                        break;
                    }
                    rest = after;
                }
                let broken = breaks_off.then(|| super::trouble::in_stream(regatta_proto::ErrorClass::Timeout, "slow".into()));
                bytes = reading.bytes();
                reading.end(200, &HeaderMap::new(), Duration::ZERO, broken)
            });
            check(&read, 200)?;
            prop_assert!(read.as_ref().map_or(0, said) <= bytes, "{bytes}: {read:?}");
        }
    }
}
