//! OpenAI's chat completions.
//!
//! An answer has `id`, `object`, `created`, `model`, `system_fingerprint`, `choices` (`index`, `message` with `role`, `content`, which is
//! null where there is no text, and `tool_calls` of `id`, `type`, `function` with `name` and `arguments`; `finish_reason`: `stop`,
//! `length`, `tool_calls` or `content_filter`) and `usage` (`prompt_tokens`, `completion_tokens`, `total_tokens`,
//! `prompt_tokens_details.cached_tokens`, which are part of `prompt_tokens`, and OpenRouter's `cost`). A call of a tool that takes a text has
//! the `type` `custom`, and `name` and `input` in `custom`. A client that offers `functions` gets the first call in the message's
//! `function_call`, and the `finish_reason` `function_call`. A stream is of unnamed events, each
//! a chunk whose choices have a `delta` instead of the `message`, where calls have an `index`, and all but their first delta only more of
//! their `arguments`; with `stream_options.include_usage` the last chunk has no choices but
//! the usage, which is null in all others. `[DONE]` ends it. An error within a stream is an event that holds an error object.

use std::borrow::Cow;

use bytes::Bytes;
use regatta_proto::{Finish, Reasoning, Reply, ToolCall};
use serde::Serialize;
use serde_json::{Value, json};

use super::thoughts;
use crate::answer::{Answer, Stamp};
use crate::error::{ApiError, Dialect, json_bytes};
use crate::logprobs::tokens;
use crate::parts::Part;
use crate::responses::forms::{ToolForms, input};
use crate::sse_encoder::{SseEncoder, write_unnamed};

#[derive(Serialize)]
struct Completion<'a> {
    id: String,
    object: &'a str,
    created: i64,
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_fingerprint: Option<&'a str>,
    choices: [Choice<'a>; 1],
    usage: WireUsage,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: u32,
    message: Message<'a>,
    finish_reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    logprobs: Option<Value>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'a str,
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_details: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<Function<'a>>,
}

/// A tool call, or a piece of one.
#[derive(Serialize)]
struct Call<'a> {
    /// Present in pieces only.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function: Option<Function<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    custom: Option<Custom<'a>>,
}

/// A call of a tool that takes a text.
#[derive(Serialize)]
struct Custom<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    input: Cow<'a, str>,
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
    completion_tokens_details: Option<CompletionDetails>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
}

#[derive(Serialize, Clone)]
struct PromptDetails {
    cached_tokens: u64,
}

#[derive(Serialize, Clone)]
struct CompletionDetails {
    reasoning_tokens: u64,
}

#[derive(Serialize)]
struct Chunk<'a> {
    id: &'a str,
    object: &'a str,
    created: i64,
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_fingerprint: Option<&'a str>,
    choices: &'a [PartialChoice<'a>],
    /// Absent unless the client asks for it; then null in all chunks but the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Option<&'a WireUsage>>,
}

#[derive(Serialize)]
struct PartialChoice<'a> {
    index: u32,
    delta: Delta<'a>,
    finish_reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logprobs: Option<Value>,
}

#[derive(Serialize, Default)]
struct Delta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'a str>,
    /// Null in the first delta of an answer without text.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<Option<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_details: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<[Call<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<Function<'a>>,
}

impl<'a> Call<'a> {
    /// The whole call, of a tool that takes a text or a function.
    fn whole(call: &'a ToolCall, is_text: bool) -> Self {
        let arguments = &*call.arguments;
        Self { id: Some(&call.id), ..Self::of(Some(&call.name), arguments, is_text) }
    }

    /// The delta with which the call at `index` begins.
    fn beginning(index: usize, call: &'a ToolCall, is_text: bool) -> Self {
        let name = Some(&*call.name);
        Self { index: Some(index), id: Some(&call.id), ..Self::of(name, "", is_text) }
    }

    fn piece(index: usize, arguments: &'a str, is_text: bool) -> Self {
        Self { index: Some(index), kind: None, ..Self::of(None, arguments, is_text) }
    }

    fn of(name: Option<&'a str>, arguments: &'a str, is_text: bool) -> Self {
        let none = Self { index: None, id: None, kind: None, function: None, custom: None };
        if is_text {
            // Whoever has calls of this form writes each as one piece.
            return Self { kind: Some("custom"), custom: Some(Custom { name, input: input(arguments) }), ..none };
        }
        Self { kind: Some("function"), function: Some(Function::of(name, arguments)), ..none }
    }
}

impl<'a> Function<'a> {
    const fn of(name: Option<&'a str>, arguments: &'a str) -> Self {
        Self { name, arguments }
    }
}

/// The whole answer.
pub(crate) fn completion(answer: &Answer<'_>) -> Bytes {
    let Answer { model, reply, stamp, .. } = *answer;
    let calls = reply.tool_calls.iter().map(|call| Call::whole(call, is_text(answer, call)));
    let is_first = is_first(answer);
    let message = Message {
        role: "assistant",
        content: reply.text.as_deref(),
        reasoning_content: reply.reasoning.as_ref().map(|reasoning| &*reasoning.text),
        reasoning_details: reply.reasoning.as_ref().and_then(details),
        tool_calls: if is_first { Vec::new() } else { calls.collect() },
        function_call: reply
            .tool_calls
            .first()
            .filter(|_| is_first)
            .map(|call| Function::of(Some(&call.name), &call.arguments)),
    };
    json_bytes(&Completion {
        id: id(stamp),
        object: "chat.completion",
        created: stamp.created,
        model,
        system_fingerprint: stamp.fingerprint,
        choices: [Choice {
            index: 0,
            message,
            finish_reason: finish_reason(reply.finish, is_first),
            logprobs: logprobs(answer),
        }],
        usage: WireUsage::new(answer),
    })
}

fn is_text(answer: &Answer<'_>, call: &ToolCall) -> bool {
    answer.forms.is_some_and(|forms| forms.is_text(&call.name))
}

/// `true` if the client reads one call, in `function_call`.
fn is_first(answer: &Answer<'_>) -> bool {
    answer.forms.is_some_and(ToolForms::has_first)
}

const fn finish_reason(finish: Finish, is_first: bool) -> &'static str {
    match finish {
        Finish::Stop | Finish::Other => "stop",
        Finish::Length => "length",
        Finish::ToolCalls if is_first => "function_call",
        Finish::ToolCalls => "tool_calls",
        Finish::ContentFilter => "content_filter",
    }
}

fn logprobs(answer: &Answer<'_>) -> Option<Value> {
    answer.reply.logprobs.as_ref().map(|list| json!({"content": tokens(list), "refusal": null}))
}

fn details(reasoning: &Reasoning) -> Option<Value> {
    reasoning.opaque.as_deref().map(thoughts::details)
}

/// The SSE encoder of chat completions.
pub(crate) struct Chunks {
    id: String,
    created: i64,
    model: String,
    fingerprint: Option<&'static str>,
    finish_reason: &'static str,
    has_text: bool,
    /// The client reads one call, in `function_call`.
    is_first: bool,
    /// For each call, whether its tool takes a text.
    texts: Vec<bool>,
    /// Log-probabilities of the whole answer, sent with its first piece.
    logprobs: Option<Value>,
    /// `None` if the client does not ask for it.
    usage: Option<WireUsage>,
}

impl Chunks {
    pub(crate) fn new(answer: &Answer<'_>, include_usage: bool) -> Self {
        let Answer { model, reply, stamp, .. } = *answer;
        Self {
            id: id(stamp),
            created: stamp.created,
            model: model.to_owned(),
            fingerprint: stamp.fingerprint,
            finish_reason: finish_reason(reply.finish, is_first(answer)),
            has_text: reply.text.is_some(),
            is_first: is_first(answer),
            texts: reply.tool_calls.iter().map(|call| is_text(answer, call)).collect(),
            logprobs: logprobs(answer),
            usage: include_usage.then(|| WireUsage::new(answer)),
        }
    }

    fn is_text(&self, number: usize) -> bool {
        self.texts.get(number) == Some(&true)
    }

    fn write(&self, out: &mut Vec<u8>, choices: &[PartialChoice<'_>], usage: Option<Option<&WireUsage>>) {
        let chunk = Chunk {
            id: &self.id,
            object: "chat.completion.chunk",
            created: self.created,
            model: &self.model,
            system_fingerprint: self.fingerprint,
            choices,
            usage,
        };
        write_unnamed(out, &chunk);
    }

    fn write_delta(&mut self, out: &mut Vec<u8>, delta: Delta<'_>, finish_reason: Option<&'static str>) {
        let is_text = matches!(delta.content, Some(Some(text)) if !text.is_empty());
        let logprobs = if is_text || finish_reason.is_some() { self.logprobs.take() } else { None };
        let choice = PartialChoice { index: 0, delta, finish_reason, logprobs };
        self.write(out, &[choice], self.usage.is_some().then_some(None));
    }
}

impl SseEncoder for Chunks {
    fn opening(&mut self, out: &mut Vec<u8>) {
        let content = Some(self.has_text.then_some(""));
        self.write_delta(out, Delta { role: Some("assistant"), content, ..Delta::default() }, None);
    }

    fn begin(&mut self, part: Part, reply: &Reply, out: &mut Vec<u8>) {
        if let Part::Call(index) = part
            && let Some(call) = reply.tool_calls.get(index)
        {
            if self.is_first {
                if index == 0 {
                    let function_call = Some(Function::of(Some(&call.name), ""));
                    self.write_delta(out, Delta { function_call, ..Delta::default() }, None);
                }
                return;
            }
            let tool_calls = Some([Call::beginning(index, call, self.is_text(index))]);
            self.write_delta(out, Delta { tool_calls, ..Delta::default() }, None);
        }
    }

    fn piece(&mut self, part: Part, piece: &str, out: &mut Vec<u8>) {
        let delta = match part {
            Part::Thought => Delta { reasoning_content: Some(piece), ..Delta::default() },
            Part::Text => Delta { content: Some(Some(piece)), ..Delta::default() },
            Part::Call(0) if self.is_first => {
                Delta { function_call: Some(Function::of(None, piece)), ..Delta::default() }
            }
            Part::Call(_) if self.is_first => return,
            Part::Call(index) => {
                let call = Call::piece(index, piece, self.is_text(index));
                Delta { tool_calls: Some([call]), ..Delta::default() }
            }
        };
        self.write_delta(out, delta, None);
    }

    fn end(&mut self, part: Part, reply: &Reply, out: &mut Vec<u8>) {
        let reasoning = reply.reasoning.as_ref().filter(|_| part == Part::Thought);
        if let Some(details) = reasoning.and_then(details) {
            self.write_delta(out, Delta { reasoning_details: Some(details), ..Delta::default() }, None);
        }
    }

    fn closing(&mut self, _: &Reply, out: &mut Vec<u8>) {
        self.write_delta(out, Delta::default(), Some(self.finish_reason));
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
    /// Leaves out a count of cached tokens that is 0, as providers without a cache do; likewise the count of reasoning tokens.
    fn new(answer: &Answer<'_>) -> Self {
        let usage = answer.usage;
        let (cached_tokens, reasoning_tokens) = (usage.cached_input, usage.reasoning);
        Self {
            prompt_tokens: usage.input,
            completion_tokens: usage.output,
            total_tokens: usage.total(),
            prompt_tokens_details: (cached_tokens > 0).then_some(PromptDetails { cached_tokens }),
            completion_tokens_details: (reasoning_tokens > 0).then_some(CompletionDetails { reasoning_tokens }),
            cost: answer.stamp.cost,
        }
    }
}

fn id(stamp: &Stamp) -> String {
    format!("chatcmpl-{}", stamp.id)
}
