//! Answers with a status of 200, whole, in the shape of each wire.

use serde_json::{Map, Value, json};

use crate::Wire;

/// A 200, before it has the shape of a wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Content of the answer.
    pub(crate) text: &'static str,
    /// Reason why it stopped.
    pub(crate) stop: Stop,
    /// Usage that is billed.
    pub(crate) bill: Bill,
    /// The service tier it was served in.
    pub(crate) tier: Option<&'static str>,
}

/// Reason why an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It was done.
    Done,
    /// The token limit cut it off.
    Cut,
    /// The wire's own word: OpenAI's `finish_reason`, the `reason` of an incomplete response, Anthropic's `stop_reason`, Gemini's
    /// `finishReason`, Bedrock's `stopReason`.
    Word(&'static str),
    /// OpenAI's `refusal`, a field of its own.
    Refused,
    /// Gemini's `blockReason`: there is no candidate.
    Blocked(&'static str),
}

/// Usage that an answer tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bill {
    /// Prompt and generated tokens.
    Tokens(u64, u64),
    /// Nothing is said.
    Absent,
}

impl Answer {
    /// One that nobody could object to.
    pub(crate) const FINE: Self = Self { text: "Bern.", stop: Stop::Done, bill: Bill::Tokens(10, 2), tier: None };

    /// Body on `wire`.
    pub(crate) fn body(self, wire: Wire) -> Value {
        match wire {
            Wire::OpenAi | Wire::Azure => self.chat(),
            Wire::Responses => self.response(),
            Wire::Anthropic => self.message(),
            Wire::Gemini => self.candidates(),
            Wire::Bedrock => self.converse(),
        }
    }

    fn chat(self) -> Value {
        let refusal = if self.stop == Stop::Refused { json!("I cannot help with that.") } else { Value::Null };
        let content = if self.stop == Stop::Refused { Value::Null } else { json!(self.text) };
        let mut body = json!({
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{
                "index": 0, "message": {"role": "assistant", "content": content, "refusal": refusal},
                "finish_reason": self.word("stop", "length"),
            }],
        });
        self.fill(&mut body, "usage", &["prompt_tokens", "completion_tokens"]);
        self.tell_tier(&mut body, "service_tier");
        body
    }

    pub(crate) fn response(self) -> Value {
        let part = if self.stop == Stop::Refused {
            json!({"type": "refusal", "refusal": "I cannot help with that."})
        } else {
            json!({"type": "output_text", "text": self.text, "annotations": []})
        };
        let (status, details) = match self.stop {
            Stop::Cut => ("incomplete", json!({"reason": "max_output_tokens"})),
            Stop::Word(word) => ("incomplete", json!({"reason": word})),
            Stop::Done | Stop::Refused | Stop::Blocked(_) => ("completed", Value::Null),
        };
        let mut body = json!({
            "id": "resp_1", "object": "response", "status": status, "incomplete_details": details, "error": null, "model": "m",
            "output": [{"type": "message", "id": "msg_1", "role": "assistant", "status": status, "content": [part]}],
        });
        self.fill(&mut body, "usage", &["input_tokens", "output_tokens"]);
        self.tell_tier(&mut body, "service_tier");
        body
    }

    pub(crate) fn message(self) -> Value {
        let mut body = json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
            "content": [{"type": "text", "text": self.text}],
            "stop_reason": self.word("end_turn", "max_tokens"), "stop_sequence": null,
        });
        self.fill(&mut body, "usage", &["input_tokens", "output_tokens"]);
        if let Some(usage) = body.get_mut("usage") {
            self.tell_tier(usage, "service_tier");
        }
        body
    }

    fn candidates(self) -> Value {
        let mut body = match self.stop {
            Stop::Blocked(reason) => json!({"promptFeedback": {"blockReason": reason}}),
            _ => json!({"candidates": [{
                "content": {"role": "model", "parts": [{"text": self.text}]}, "finishReason": self.word("STOP", "MAX_TOKENS"),
                "index": 0,
            }]}),
        };
        body["modelVersion"] = json!("m");
        self.fill(&mut body, "usageMetadata", &["promptTokenCount", "candidatesTokenCount"]);
        if let Some(usage) = body.get_mut("usageMetadata") {
            self.tell_tier(usage, "serviceTier");
        }
        body
    }

    fn converse(self) -> Value {
        let mut body = json!({
            "output": {"message": {"role": "assistant", "content": [{"text": self.text}]}},
            "stopReason": self.word("end_turn", "max_tokens"), "metrics": {"latencyMs": 5},
        });
        self.fill(&mut body, "usage", &["inputTokens", "outputTokens", "totalTokens"]);
        if let Some(tier) = self.tier {
            body["serviceTier"] = json!({"type": tier});
        }
        body
    }

    pub(crate) const fn word(self, done: &'static str, cut: &'static str) -> &'static str {
        match self.stop {
            Stop::Cut => cut,
            Stop::Word(word) => word,
            Stop::Done | Stop::Refused | Stop::Blocked(_) => done,
        }
    }

    /// Writes the meters under `name`: prompt, answer, and where there is a third name their sum.
    fn fill(self, body: &mut Value, name: &str, meters: &[&str]) {
        if let Bill::Tokens(input, output) = self.bill {
            let counts = [input, output, input + output];
            let usage: Map<String, Value> =
                meters.iter().zip(counts).map(|(meter, count)| ((*meter).to_owned(), json!(count))).collect();
            body[name] = Value::Object(usage);
        }
    }

    fn tell_tier(self, body: &mut Value, name: &str) {
        if let Some(tier) = self.tier {
            body[name] = json!(tier);
        }
    }
}
