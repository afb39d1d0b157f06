//! OpenAI's chat completions.
//!
//! An answer has `id`, `object`, `created`, `model`, `system_fingerprint`, `choices` (`index`, `message` with `role`, `content`, which is
//! null where there is no text, and `tool_calls` of `id`, `type`, `function` with `name` and `arguments`; `finish_reason`: `stop`,
//! `length`, `tool_calls` or `content_filter`) and `usage` (`prompt_tokens`, `completion_tokens`, `total_tokens`,
//! `prompt_tokens_details.cached_tokens`, which are part of `prompt_tokens`, and OpenRouter's `cost`). A stream is of unnamed events, each
//! a chunk whose choices have a `delta` instead of the `message`, where calls have an `index`, and all but their first delta only more of
//! their `arguments`; with `stream_options.include_usage` the last chunk has no choices but
//! the usage, which is null in all others. `[DONE]` ends it. An error within a stream is an event that holds an error object.

use bytes::Bytes;
use regatta_proto::{Finish, ToolCall};
use serde::Serialize;

use super::narrator::{Narrator, write_unnamed};
use crate::api_error::{ApiError, Dialect, json_bytes};
use crate::draft::{Draft, Stamp};
use crate::said::{Part, Said};

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
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
}

/// A call of a tool, or a piece of one.
#[derive(Serialize)]
struct Call<'a> {
    /// In pieces only.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'a str>,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    arguments: &'a str,
}

#[derive(Serialize, Clone)]
struct WireUsage {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_tokens_details: Option<PromptDetails>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
}

#[derive(Serialize, Clone)]
struct PromptDetails {
    cached_tokens: u64,
}

#[derive(Serialize)]
struct Chunk<'a> {
    id: &'a str,
    object: &'a str,
    created: i64,
    model: &'a str,
    system_fingerprint: &'a str,
    choices: &'a [PartialChoice<'a>],
    /// Absent unless asked for, and then null in all chunks but the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Option<&'a WireUsage>>,
}

#[derive(Serialize)]
struct PartialChoice<'a> {
    index: u32,
    delta: Delta<'a>,
    finish_reason: Option<Finish>,
}

#[derive(Serialize, Default)]
struct Delta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'a str>,
    /// Null in the first delta of an answer without text.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<Option<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<[Call<'a>; 1]>,
}

impl<'a> Call<'a> {
    fn whole(call: &'a ToolCall) -> Self {
        let function = Function { name: Some(&call.name), arguments: &call.arguments };
        Self { index: None, id: Some(&call.id), kind: Some("function"), function }
    }

    /// What tells that the call at `index` begins.
    fn beginning(index: usize, call: &'a ToolCall) -> Self {
        let function = Function { name: Some(&call.name), arguments: "" };
        Self { index: Some(index), function, ..Self::whole(call) }
    }

    fn piece(index: usize, arguments: &'a str) -> Self {
        Self { index: Some(index), id: None, kind: None, function: Function { name: None, arguments } }
    }
}

const FINGERPRINT: &str = "regatta-simulated";

/// The whole answer.
pub(crate) fn completion(draft: &Draft, said: &Said, stamp: &Stamp) -> Bytes {
    let message = Message {
        role: "assistant",
        content: said.text.as_deref(),
        tool_calls: said.calls.iter().map(Call::whole).collect(),
    };
    json_bytes(&Completion {
        id: id(stamp),
        object: "chat.completion",
        created: stamp.created,
        model: &draft.model,
        system_fingerprint: FINGERPRINT,
        choices: [Choice { index: 0, message, finish_reason: said.finish }],
        usage: WireUsage::new(draft, stamp),
    })
}

/// The answer in pieces.
pub(crate) struct Chunks {
    id: String,
    created: i64,
    model: String,
    finish: Finish,
    has_text: bool,
    /// `None` when it is not asked for.
    usage: Option<WireUsage>,
}

impl Chunks {
    pub(crate) fn new(draft: &Draft, said: &Said, include_usage: bool, stamp: &Stamp) -> Self {
        Self {
            id: id(stamp),
            created: stamp.created,
            model: draft.model.clone(),
            finish: said.finish,
            has_text: said.text.is_some(),
            usage: include_usage.then(|| WireUsage::new(draft, stamp)),
        }
    }

    fn write(&self, out: &mut Vec<u8>, choices: &[PartialChoice<'_>], usage: Option<Option<&WireUsage>>) {
        let chunk = Chunk {
            id: &self.id,
            object: "chat.completion.chunk",
            created: self.created,
            model: &self.model,
            system_fingerprint: FINGERPRINT,
            choices,
            usage,
        };
        write_unnamed(out, &chunk);
    }

    fn write_delta(&self, out: &mut Vec<u8>, delta: Delta<'_>, finish_reason: Option<Finish>) {
        self.write(out, &[PartialChoice { index: 0, delta, finish_reason }], self.usage.is_some().then_some(None));
    }
}

impl Narrator for Chunks {
    fn opening(&mut self, out: &mut Vec<u8>) {
        let content = Some(self.has_text.then_some(""));
        self.write_delta(out, Delta { role: Some("assistant"), content, tool_calls: None }, None);
    }

    fn begin(&mut self, part: Part, said: &Said, out: &mut Vec<u8>) {
        if let Part::Call(index) = part
            && let Some(call) = said.calls.get(index)
        {
            let tool_calls = Some([Call::beginning(index, call)]);
            self.write_delta(out, Delta { tool_calls, ..Delta::default() }, None);
        }
    }

    fn piece(&mut self, part: Part, piece: &str, out: &mut Vec<u8>) {
        let delta = match part {
            Part::Text => Delta { content: Some(Some(piece)), ..Delta::default() },
            Part::Call(index) => Delta { tool_calls: Some([Call::piece(index, piece)]), ..Delta::default() },
        };
        self.write_delta(out, delta, None);
    }

    fn end(&mut self, _: Part, _: &Said, _: &mut Vec<u8>) {}

    fn closing(&mut self, _: &Said, out: &mut Vec<u8>) {
        self.write_delta(out, Delta::default(), Some(self.finish));
        if let Some(usage) = &self.usage {
            self.write(out, &[], Some(Some(usage)));
        }
        out.extend_from_slice(b"data: [DONE]\n\n");
    }

    fn error(&mut self, error: &ApiError, _text: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(&error.body(Dialect::Openai));
        out.extend_from_slice(b"\n\n");
    }
}

impl WireUsage {
    /// Without any cached tokens their count is left out, as by providers that have no cache.
    fn new(draft: &Draft, stamp: &Stamp) -> Self {
        let usage = &draft.usage;
        let cached_tokens = usage.cached_input;
        Self {
            prompt_tokens: usage.input,
            completion_tokens: usage.output,
            total_tokens: usage.total(),
            prompt_tokens_details: (cached_tokens > 0).then_some(PromptDetails { cached_tokens }),
            cost: stamp.cost,
        }
    }
}

fn id(stamp: &Stamp) -> String {
    format!("chatcmpl-{}", stamp.id)
}
