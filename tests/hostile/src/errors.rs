//! Answers with an error status, in the shape of each wire.

use serde_json::{Value, json};

use crate::Wire;

/// An error, before it has the shape of a wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    /// The provider's own word: OpenAI's `code`, Anthropic's `type`, Gemini's `status`, Bedrock's exception.
    pub(crate) code: &'static str,
    pub(crate) message: &'static str,
}

impl Refusal {
    /// Body on `wire`.
    pub(crate) fn body(self, wire: Wire) -> Value {
        let Self { status, code, message } = self;
        match wire {
            Wire::OpenAi | Wire::Responses => {
                json!({"error": {"message": message, "type": "invalid_request_error", "param": null, "code": code}})
            }
            Wire::Azure => json!({"error": {
                "message": message, "type": null, "param": "prompt", "code": code, "status": status,
                "innererror": {"code": if code == "content_filter" { "ResponsibleAIPolicyViolation" } else { "" }},
            }}),
            Wire::Anthropic => {
                json!({"type": "error", "error": {"type": code, "message": message}, "request_id": "req_1"})
            }
            Wire::Gemini => json!({"error": {"code": status, "message": message, "status": code}}),
            Wire::Bedrock => json!({"message": message}),
        }
    }

    /// The header in which AWS names its exceptions.
    pub(crate) fn headers(self, wire: Wire) -> Vec<(&'static str, &'static str)> {
        match wire {
            Wire::Bedrock => vec![("x-amzn-errortype", self.code)],
            Wire::OpenAi | Wire::Responses | Wire::Azure | Wire::Anthropic | Wire::Gemini => Vec::new(),
        }
    }
}
