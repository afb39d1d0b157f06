//! Anthropic's messages.
//!
//! An answer has `id`, `type`, `role`, `model`, `content` (blocks of type `text`), `stop_reason` (`end_turn` or `max_tokens`),
//! `stop_sequence` and `usage`, whose `input_tokens` leave out `cache_read_input_tokens` and `cache_creation_input_tokens`. A stream is
//! of named events: `message_start` (the message without content, its usage with the prompt's tokens and hardly any generated ones),
//! `content_block_start`, `ping`, `content_block_delta` of type `text_delta`, `content_block_stop`, `message_delta` (the stop reason, and
//! the tokens generated in all) and `message_stop`. An error within a stream is an event `error`.

use bytes::Bytes;
use regatta_proto::Finish;
use serde_json::{Value, json};

use super::narrator::{Narrator, write_named};
use crate::api_error::{ApiError, Dialect, json_bytes};
use crate::draft::{Draft, Stamp};

/// The whole answer.
pub(crate) fn message(draft: &Draft, text: &str, finish: Finish, stamp: &Stamp) -> Bytes {
    let blocks = if text.is_empty() { json!([]) } else { json!([{"type": "text", "text": text}]) };
    json_bytes(&envelope(draft, stamp, &blocks, &stop_reason(finish).into(), &usage(draft, stamp)))
}

/// The answer in pieces.
pub(crate) struct Events {
    start: Value,
    stop: Value,
}

impl Events {
    pub(crate) fn new(draft: &Draft, finish: Finish, stamp: &Stamp) -> Self {
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
                "delta": {"stop_reason": stop_reason(finish), "stop_sequence": null},
                "usage": usage_at_end,
            }),
        }
    }
}

impl Narrator for Events {
    fn opening(&mut self, out: &mut Vec<u8>) {
        write_named(out, "message_start", &self.start);
        let block = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}});
        write_named(out, "content_block_start", &block);
        write_named(out, "ping", &json!({"type": "ping"}));
    }

    fn piece(&mut self, piece: &str, out: &mut Vec<u8>) {
        let delta = json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}});
        write_named(out, "content_block_delta", &delta);
    }

    fn closing(&mut self, _text: &str, out: &mut Vec<u8>) {
        write_named(out, "content_block_stop", &json!({"type": "content_block_stop", "index": 0}));
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
        _ => "end_turn",
    }
}
