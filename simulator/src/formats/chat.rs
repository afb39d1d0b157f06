//! OpenAI's chat completions.

use bytes::Bytes;
use regatta_proto::Finish;
use serde::Serialize;

use crate::api_error::json_bytes;
use crate::draft::{Draft, Stamp};

#[derive(Serialize)]
struct Completion<'a> {
    id: String,
    object: &'a str,
    created: i64,
    model: &'a str,
    system_fingerprint: &'a str,
    choices: [Choice<'a>; 1],
    usage: WireUsage,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: u32,
    message: Message<'a>,
    finish_reason: Finish,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'a str,
    content: &'a str,
}

#[derive(Serialize)]
struct WireUsage {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_tokens_details: Option<PromptDetails>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
}

#[derive(Serialize)]
struct PromptDetails {
    cached_tokens: u64,
}

/// The whole answer.
pub(crate) fn completion(draft: &Draft, text: &str, finish_reason: Finish, stamp: &Stamp) -> Bytes {
    json_bytes(&Completion {
        id: format!("chatcmpl-{}", stamp.id),
        object: "chat.completion",
        created: stamp.created,
        model: &draft.model,
        system_fingerprint: "regatta-simulated",
        choices: [Choice { index: 0, message: Message { role: "assistant", content: text }, finish_reason }],
        usage: WireUsage::new(draft, stamp),
    })
}

impl WireUsage {
    /// Cached tokens are part of the prompt's; without any they are left out, as by providers that have no cache.
    fn new(draft: &Draft, stamp: &Stamp) -> Self {
        let usage = &draft.usage;
        Self {
            cost: stamp.cost,
            prompt_tokens: usage.input,
            completion_tokens: usage.output,
            total_tokens: usage.total(),
            prompt_tokens_details: (usage.cached_input > 0)
                .then_some(PromptDetails { cached_tokens: usage.cached_input }),
        }
    }
}
