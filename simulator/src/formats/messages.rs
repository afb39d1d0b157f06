//! Anthropic's messages.
//!
//! An answer has `id`, `type`, `role`, `model`, `content` (blocks of type `text`, and `tool_use` with `id`, `name` and `input`),
//! `stop_reason` (`end_turn`, `max_tokens`, `tool_use` or `refusal`), `stop_sequence` and `usage`, whose `input_tokens` leave out `cache_read_input_tokens` and `cache_creation_input_tokens`. A stream is
//! of named events: `message_start` (the message without content, its usage with the prompt's tokens and hardly any generated ones),
//! `content_block_start`, `ping`, `content_block_delta` of type `text_delta` or `input_json_delta`, `content_block_stop`, `message_delta` (the stop reason, and
//! the tokens generated in all) and `message_stop`. An error within a stream is an event `error`.

use bytes::Bytes;
use regatta_proto::{Finish, ToolCall};
use serde_json::{Value, json};

use super::narrator::{Narrator, write_named};
use crate::api_error::{ApiError, Dialect, json_bytes};
use crate::draft::{Draft, Stamp};
use crate::said::{Part, Said};

/// The key of what a model wrote as arguments when that is no object, which an `input` always is. (Anthropic's guide to fine-grained tool
/// streaming.)
const NO_OBJECT: &str = "INVALID_JSON";

/// The whole answer.
pub(crate) fn message(draft: &Draft, said: &Said, stamp: &Stamp) -> Bytes {
    let text = (!said.text().is_empty()).then(|| json!({"type": "text", "text": said.text()}));
    let calls = said.calls.iter().map(|call| tool_use(call, input(&call.arguments)));
    let blocks: Value = text.into_iter().chain(calls).collect();
    json_bytes(&envelope(draft, stamp, &blocks, &stop_reason(said.finish).into(), &usage(draft, stamp)))
}

fn tool_use(call: &ToolCall, input: Value) -> Value {
    json!({"type": "tool_use", "id": &*call.id, "name": &*call.name, "input": input})
}

fn input(arguments: &str) -> Value {
    match serde_json::from_str(arguments) {
        Ok(Value::Object(object)) => Value::Object(object),
        _ if arguments.trim().is_empty() => json!({}),
        _ => json!({NO_OBJECT: arguments}),
    }
}

/// The answer in pieces.
pub(crate) struct Events {
    start: Value,
    stop: Value,
    has_text: bool,
}

impl Events {
    pub(crate) fn new(draft: &Draft, said: &Said, stamp: &Stamp) -> Self {
        let mut usage_at_start = usage(draft, &Stamp { cost: None, ..stamp.clone() });
        // What the first token of every answer is counted as.
        usage_at_start["output_tokens"] = 1.into();
        let mut usage_at_end = json!({"output_tokens": draft.usage.output});
        if let Some(cost) = stamp.cost {
            usage_at_end["cost"] = cost.into();
        }
        Self {
            start: json!({
                "type": "message_start",
                "message": envelope(draft, stamp, &json!([]), &Value::Null, &usage_at_start),
            }),
            stop: json!({
                "type": "message_delta",
                "delta": {"stop_reason": stop_reason(said.finish), "stop_sequence": null},
                "usage": usage_at_end,
            }),
            has_text: said.has_text_block(),
        }
    }

    /// The block that is `part`.
    fn index(&self, part: Part) -> usize {
        match part {
            Part::Text => 0,
            Part::Call(number) => number + usize::from(self.has_text),
        }
    }
}

impl Narrator for Events {
    fn opening(&mut self, out: &mut Vec<u8>) {
        write_named(out, "message_start", &self.start);
    }

    fn begin(&mut self, part: Part, said: &Said, out: &mut Vec<u8>) {
        let block = match part {
            Part::Text => json!({"type": "text", "text": ""}),
            Part::Call(number) => said.calls.get(number).map(|call| tool_use(call, json!({}))).unwrap_or_default(),
        };
        let index = self.index(part);
        let start = json!({"type": "content_block_start", "index": index, "content_block": block});
        write_named(out, "content_block_start", &start);
        if index == 0 {
            write_named(out, "ping", &json!({"type": "ping"}));
        }
    }

    fn piece(&mut self, part: Part, piece: &str, out: &mut Vec<u8>) {
        let delta = match part {
            Part::Text => json!({"type": "text_delta", "text": piece}),
            Part::Call(_) => json!({"type": "input_json_delta", "partial_json": piece}),
        };
        let delta = json!({"type": "content_block_delta", "index": self.index(part), "delta": delta});
        write_named(out, "content_block_delta", &delta);
    }

    fn end(&mut self, part: Part, _: &Said, out: &mut Vec<u8>) {
        let stop = json!({"type": "content_block_stop", "index": self.index(part)});
        write_named(out, "content_block_stop", &stop);
    }

    fn closing(&mut self, _: &Said, out: &mut Vec<u8>) {
        write_named(out, "message_delta", &self.stop);
        write_named(out, "message_stop", &json!({"type": "message_stop"}));
    }

    fn error(&mut self, error: &ApiError, _text: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(b"event: error\ndata: ");
        out.extend_from_slice(&error.body(Dialect::Anthropic));
        out.extend_from_slice(b"\n\n");
    }
}

fn envelope(draft: &Draft, stamp: &Stamp, content: &Value, stop_reason: &Value, usage: &Value) -> Value {
    json!({
        "id": format!("msg_{}", stamp.id),
        "type": "message",
        "role": "assistant",
        "model": draft.model,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": null,
        "usage": usage,
    })
}

fn usage(draft: &Draft, stamp: &Stamp) -> Value {
    let mut usage = json!({
        "input_tokens": draft.usage.plain_input(),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": draft.usage.cached_input,
        "output_tokens": draft.usage.output,
    });
    if let Some(cost) = stamp.cost {
        usage["cost"] = cost.into();
    }
    usage
}

const fn stop_reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Length => "max_tokens",
        Finish::ToolCalls => "tool_use",
        Finish::ContentFilter => "refusal",
        _ => "end_turn",
    }
}
