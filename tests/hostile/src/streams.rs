//! The same answers as streams: server-sent events, and on Bedrock frames of AWS's own.

use std::fmt::Write as _;

use aws_smithy_eventstream::frame::write_message_to;
use aws_smithy_types::event_stream::{Header, HeaderValue, Message};
use serde_json::{Value, json};

use crate::Wire;
use crate::answer::{Answer, Bill, Stop};

impl Answer {
    /// Content type and bytes of the stream that says it on `wire`.
    pub(crate) fn stream(self, wire: Wire) -> (&'static str, Vec<u8>) {
        const EVENTS: &str = "text/event-stream";
        match wire {
            Wire::OpenAi | Wire::Azure => (EVENTS, self.chat_stream()),
            Wire::Responses => (EVENTS, self.response_stream()),
            Wire::Anthropic => (EVENTS, self.message_stream()),
            // Each chunk has the shape of a whole answer.
            Wire::Gemini => (EVENTS, event("", &self.body(wire)).into_bytes()),
            Wire::Bedrock => ("application/vnd.amazon.eventstream", self.converse_stream()),
        }
    }

    fn chat_stream(self) -> Vec<u8> {
        let chunk = |choices: Value| json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "m", "choices": choices});
        let delta = match self.stop {
            Stop::Refused => json!({"role": "assistant", "refusal": "I cannot help with that."}),
            Stop::Done | Stop::Cut | Stop::Word(_) | Stop::Blocked(_) => {
                json!({"role": "assistant", "content": self.text})
            }
        };
        let whole = self.body(Wire::OpenAi);
        let mut last = chunk(json!([]));
        for name in ["usage", "service_tier"] {
            last[name] = whole.get(name).cloned().unwrap_or(Value::Null);
        }
        let mut text = event("", &chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}])));
        let end = json!([{"index": 0, "delta": {}, "finish_reason": self.word("stop", "length")}]);
        text += &event("", &chunk(end));
        text += &event("", &last);
        text += "data: [DONE]\n\n";
        text.into_bytes()
    }

    fn response_stream(self) -> Vec<u8> {
        let whole = self.response();
        let kind = if whole["status"] == "completed" { "response.completed" } else { "response.incomplete" };
        let delta = json!({"type": "response.output_text.delta", "item_id": "msg_1", "delta": self.text});
        let text =
            event("response.output_text.delta", &delta) + &event(kind, &json!({"type": kind, "response": whole}));
        text.into_bytes()
    }

    fn message_stream(self) -> Vec<u8> {
        let mut message = self.message();
        let usage = message["usage"].take();
        let stop = message["stop_reason"].take();
        message["content"] = json!([]);
        message["usage"] = usage.clone();
        let events = [
            json!({"type": "message_start", "message": message}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": self.text}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": usage}),
            json!({"type": "message_stop"}),
        ];
        events
            .iter()
            .map(|data| event(data["type"].as_str().unwrap_or_default(), data))
            .collect::<String>()
            .into_bytes()
    }

    fn converse_stream(self) -> Vec<u8> {
        let mut metadata = json!({"metrics": {"latencyMs": 5}});
        if let Bill::Tokens(input, output) = self.bill {
            metadata["usage"] = json!({"inputTokens": input, "outputTokens": output, "totalTokens": input + output});
        }
        if let Some(tier) = self.tier {
            metadata["serviceTier"] = json!({"type": tier});
        }
        let frames = [
            ("messageStart", json!({"role": "assistant"})),
            ("contentBlockDelta", json!({"contentBlockIndex": 0, "delta": {"text": self.text}})),
            ("contentBlockStop", json!({"contentBlockIndex": 0})),
            ("messageStop", json!({"stopReason": self.word("end_turn", "max_tokens")})),
            ("metadata", metadata),
        ];
        frames.iter().flat_map(|(kind, payload)| frame(kind, payload)).collect()
    }
}

fn event(name: &str, data: &Value) -> String {
    let mut text = String::new();
    if !name.is_empty() {
        let _ = writeln!(text, "event: {name}");
    }
    let _ = write!(text, "data: {data}\n\n");
    text
}

#[expect(clippy::expect_used, reason = "short headers and bodies always fit into a frame")]
fn frame(kind: &'static str, payload: &Value) -> Vec<u8> {
    let headers = [(":message-type", "event"), (":event-type", kind), (":content-type", "application/json")];
    let mut message = Message::new(payload.to_string().into_bytes());
    for (name, value) in headers {
        message = message.add_header(Header::new(name, HeaderValue::String(value.into())));
    }
    let mut bytes = Vec::new();
    write_message_to(&message, &mut bytes).expect("short headers and bodies always fit into a frame");
    bytes
}
