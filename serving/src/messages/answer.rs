//! Anthropic's messages.
//!
//! An answer has `id`, `type`, `role`, `model`, `content` (blocks of type `text`, and `tool_use` with `id`, `name` and `input`),
//! `stop_reason` (`end_turn`, `max_tokens`, `tool_use` or `refusal`), `stop_sequence` and `usage`, whose `input_tokens` leave out
//! `cache_read_input_tokens` and `cache_creation_input_tokens`. A stream is of named events: `message_start` (the message without content,
//! its usage with the prompt's tokens and hardly any generated ones), `content_block_start`, `ping`, `content_block_delta` of type
//! `text_delta` or `input_json_delta`, `content_block_stop`, `message_delta` (the stop reason, and the tokens generated in all) and
//! `message_stop`. An error within a stream is an event `error`.

use bytes::Bytes;
use regatta_proto::{Finish, Reasoning, Reply, ToolCall};
use serde_json::{Value, json};

use super::NO_OBJECT;
use crate::answer::{Answer, Stamp};
use crate::error::{ApiError, Dialect, json_bytes};
use crate::parts::{Part, position};
use crate::sse_encoder::{SseEncoder, write_named};

/// The whole answer.
pub(crate) fn message(answer: &Answer<'_>) -> Bytes {
    let reply = answer.reply;
    let thought = reply.reasoning.as_ref().map(|reasoning| thinking(reasoning, &reasoning.text, true));
    let text = reply.text.as_deref().filter(|text| !text.is_empty()).map(|text| json!({"type": "text", "text": text}));
    let calls = reply.tool_calls.iter().map(|call| tool_use(call, input(&call.arguments)));
    let blocks: Value = thought.into_iter().chain(text).chain(calls).collect();
    json_bytes(&envelope(answer, &blocks, &stop_reason(reply.finish).into(), &usage(answer, answer.stamp.cost)))
}

/// The reasoning. The signature is the opaque text that has to be sent back with it; in a stream it comes last.
fn thinking(reasoning: &Reasoning, text: &str, is_signed: bool) -> Value {
    let signature = reasoning.opaque.as_deref().filter(|_| is_signed).unwrap_or_default();
    json!({"type": "thinking", "thinking": text, "signature": signature})
}

fn tool_use(call: &ToolCall, input: Value) -> Value {
    json!({"type": "tool_use", "id": &*call.id, "name": &*call.name, "input": input})
}

/// The reply with arguments that are JSON objects.
pub(crate) fn with_objects(reply: &Reply) -> Reply {
    let mut reply = reply.clone();
    for call in &mut reply.tool_calls {
        if !matches!(serde_json::from_str(&call.arguments), Ok(Value::Object(_))) {
            call.arguments = input(&call.arguments).to_string().into();
        }
    }
    reply
}

fn input(arguments: &str) -> Value {
    match serde_json::from_str(arguments) {
        Ok(Value::Object(object)) => Value::Object(object),
        _ if arguments.trim().is_empty() => json!({}),
        _ => json!({NO_OBJECT: arguments}),
    }
}

/// The SSE encoder of Anthropic's messages.
pub(crate) struct Events {
    start: Value,
    stop: Value,
    /// Index of the current block.
    index: usize,
}

impl Events {
    pub(crate) fn new(answer: &Answer<'_>) -> Self {
        let mut usage_at_start = usage(answer, None);
        // Token count of the first token of every answer.
        usage_at_start["output_tokens"] = 1.into();
        let mut usage_at_end = json!({"output_tokens": answer.usage.output});
        if let Some(cost) = answer.stamp.cost {
            usage_at_end["cost"] = cost.into();
        }
        Self {
            start: json!({
                "type": "message_start",
                "message": envelope(answer, &json!([]), &Value::Null, &usage_at_start),
            }),
            stop: json!({
                "type": "message_delta",
                "delta": {"stop_reason": stop_reason(answer.reply.finish), "stop_sequence": null},
                "usage": usage_at_end,
            }),
            index: 0,
        }
    }

    fn write_delta(&self, out: &mut Vec<u8>, delta: &Value) {
        let delta = json!({"type": "content_block_delta", "index": self.index, "delta": delta});
        write_named(out, "content_block_delta", &delta);
    }
}

impl SseEncoder for Events {
    fn opening(&mut self, out: &mut Vec<u8>) {
        write_named(out, "message_start", &self.start);
    }

    fn begin(&mut self, part: Part, reply: &Reply, out: &mut Vec<u8>) {
        let block = match part {
            Part::Thought => reply.reasoning.as_ref().map(|reasoning| thinking(reasoning, "", false)),
            Part::Text => Some(json!({"type": "text", "text": ""})),
            Part::Call(number) => reply.tool_calls.get(number).map(|call| tool_use(call, json!({}))),
        };
        self.index = position(reply, part);
        let start = json!({"type": "content_block_start", "index": self.index, "content_block": block});
        write_named(out, "content_block_start", &start);
        if self.index == 0 {
            write_named(out, "ping", &json!({"type": "ping"}));
        }
    }

    fn piece(&mut self, part: Part, piece: &str, out: &mut Vec<u8>) {
        let delta = match part {
            Part::Thought => json!({"type": "thinking_delta", "thinking": piece}),
            Part::Text => json!({"type": "text_delta", "text": piece}),
            Part::Call(_) => json!({"type": "input_json_delta", "partial_json": piece}),
        };
        self.write_delta(out, &delta);
    }

    fn end(&mut self, part: Part, reply: &Reply, out: &mut Vec<u8>) {
        let opaque = reply.reasoning.as_ref().and_then(|reasoning| reasoning.opaque.as_deref());
        if let Some(signature) = opaque.filter(|_| part == Part::Thought) {
            self.write_delta(out, &json!({"type": "signature_delta", "signature": signature}));
        }
        let stop = json!({"type": "content_block_stop", "index": self.index});
        write_named(out, "content_block_stop", &stop);
    }

    fn closing(&mut self, _: &Reply, out: &mut Vec<u8>) {
        write_named(out, "message_delta", &self.stop);
        write_named(out, "message_stop", &json!({"type": "message_stop"}));
    }

    fn error(&mut self, error: &ApiError, _text: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(b"event: error\ndata: ");
        out.extend_from_slice(&error.body(Dialect::Anthropic));
        out.extend_from_slice(b"\n\n");
    }
}

fn envelope(answer: &Answer<'_>, content: &Value, stop_reason: &Value, usage: &Value) -> Value {
    let Answer { model, stamp: Stamp { id, .. }, .. } = answer;
    json!({
        "id": format!("msg_{id}"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": null,
        "usage": usage,
    })
}

fn usage(answer: &Answer<'_>, cost: Option<f64>) -> Value {
    let used = answer.usage;
    let mut usage = json!({
        "input_tokens": used.plain_input(),
        "cache_creation_input_tokens": used.cache_write.saturating_add(used.cache_write_1h),
        "cache_read_input_tokens": used.cached_input,
        "output_tokens": used.output,
    });
    if let Some(cost) = cost {
        usage["cost"] = cost.into();
    }
    usage
}

const fn stop_reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Length => "max_tokens",
        Finish::ToolCalls => "tool_use",
        Finish::ContentFilter => "refusal",
        Finish::Stop | Finish::Other => "end_turn",
    }
}
