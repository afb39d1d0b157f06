//! Reads a whole chat answer, with borrowed fields.

use std::borrow::Cow;

use regatta_proto::{ErrorClass, Finish, Reasoning, Reply, Usage};
use reqwest::header::HeaderMap;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::errors::Failure;
use crate::transport::Answer;
use crate::wire::provenance::{Told, served};
use crate::wire::tool_calls::{RawCall, with_ids};
use crate::wire::{Completion, ReadContext, hints, trouble};
use crate::withheld::Withheld;

use super::loose::Text;
use super::message::Message;
use super::{logprobs, usage};

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(borrow, default)]
    model: Text<'a>,
    #[serde(borrow, default)]
    system_fingerprint: Text<'a>,
    #[serde(borrow, default)]
    service_tier: Text<'a>,
    #[serde(borrow, default)]
    provider: Text<'a>,
    #[serde(borrow)]
    choices: Vec<Choice<'a>>,
    usage: Option<Value>,
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    message: Message<'a>,
    #[serde(borrow, default)]
    finish_reason: Text<'a>,
    logprobs: Option<Value>,
    error: Option<IgnoredAny>,
}

/// Reads an answer of any status.
///
/// # Errors
/// A classified failure, if the answer is not usable.
pub(crate) fn read(answer: &Answer, context: &ReadContext<'_>) -> Result<Completion, Failure> {
    if !(200..300).contains(&answer.status) {
        return Err(trouble::of_status(answer, usage::BILL, context));
    }
    let bad = |problem: &str| trouble::of_success(answer, problem, usage::BILL, context);
    let body: Body<'_> =
        serde_json::from_slice(&answer.body).map_err(|error| bad(&format!("not a chat completion: {error}")))?;
    let usable = |choice: &&Choice<'_>| choice.error.is_none() && body.error.is_none();
    let Some(choice) = body.choices.first().filter(usable) else {
        return Err(bad("the answer holds no choice"));
    };
    let message = &choice.message;
    let parts = Parts {
        text: message.content.as_deref().map(Cow::Borrowed),
        refusal: message.refusal.some().map(Cow::Borrowed),
        thought: message.reasoning_content.some().or(message.reasoning.some()).unwrap_or_default(),
        thought_details: message.reasoning_details.as_ref(),
        calls: calls(message.tool_calls.as_ref(), message.function_call.as_ref()),
        finish: choice.finish_reason.some(),
        logprobs: choice.logprobs.as_ref().and_then(logprobs::read),
    };
    let told = Told {
        model: body.model.some(),
        fingerprint: body.system_fingerprint.some(),
        id: body.id.some(),
        provider: body.provider.some(),
        tier: body.service_tier.some(),
    };
    let withheld = parts.withheld();
    let reply = parts.reply().map_err(|failure| Failure {
        status: Some(answer.status),
        usage: body.usage.as_ref().and_then(usage::billed),
        tier: told.tier.map(Box::from),
        ..failure
    })?;
    let read = completion((reply, withheld), told, body.usage, &answer.headers, context);
    Ok(Completion { reported_cost: read.reported_cost.or_else(|| usage::cost_in(&answer.headers)), ..read })
}

/// The parts of an answer, from a whole body or from a stream.
#[derive(Debug, Default)]
pub(crate) struct Parts<'a> {
    pub(crate) text: Option<Cow<'a, str>>,
    /// Text of the refusal, if the model refused.
    pub(crate) refusal: Option<Cow<'a, str>>,
    pub(crate) thought: &'a str,
    /// OpenRouter's form of the reasoning, which must be sent back unchanged.
    pub(crate) thought_details: Option<&'a Value>,
    pub(crate) calls: Vec<RawCall>,
    pub(crate) finish: Option<&'a str>,
    pub(crate) logprobs: Option<Vec<regatta_proto::TokenLogprob>>,
}

impl Parts<'_> {
    /// The reason why the answer was withheld, if it was.
    pub(crate) fn withheld(&self) -> Option<Withheld> {
        Withheld::refused(self.refusal.as_deref()).or_else(|| Withheld::by_word(self.finish))
    }

    /// Builds the reply.
    ///
    /// # Errors
    /// When generation stopped because of a failure of the endpoint.
    pub(crate) fn reply(self) -> Result<Reply, Failure> {
        let finish = match self.finish {
            _ if self.withheld().is_some() => Finish::ContentFilter,
            // DeepSeek and OpenRouter; SGLang and vLLM for a request that was aborted.
            Some(reason @ ("insufficient_system_resource" | "error" | "abort")) => {
                let detail = format!("the endpoint stopped generating: {reason}");
                return Err(trouble::in_stream(ErrorClass::Server, detail));
            }
            Some("length" | "model_length" | "max_tokens") => Finish::Length,
            Some("tool_calls" | "function_call") => Finish::ToolCalls,
            // With a named tool choice, and from some servers always, the reason is `stop`.
            _ if !self.calls.is_empty() => Finish::ToolCalls,
            Some("stop" | "eos" | "eos_token" | "stop_sequence" | "end_turn") => Finish::Stop,
            _ => Finish::Other,
        };
        let details = self.thought_details.filter(|details| details.as_array().is_some_and(|list| !list.is_empty()));
        let reasoning = (!self.thought.is_empty() || details.is_some()).then(|| Reasoning {
            text: self.thought.into(),
            opaque: details.map(|details| details.to_string().into()),
        });
        // Some servers send an empty text beside calls.
        let text = self.text.filter(|text| !text.is_empty() || self.calls.is_empty());
        Ok(Reply {
            text: text.map(|text| text.as_ref().into()),
            finish,
            tool_calls: with_ids(self.calls),
            reasoning,
            logprobs: self.logprobs,
        })
    }
}

/// Builds the completion.
pub(crate) fn completion(
    (reply, withheld): (Reply, Option<Withheld>),
    told: Told<'_>,
    raw_usage: Option<Value>,
    headers: &HeaderMap,
    context: &ReadContext<'_>,
) -> Completion {
    let (tokens, usage_is_known) = raw_usage.as_ref().map_or((Usage::default(), false), usage::read);
    Completion {
        reply,
        withheld,
        usage: tokens,
        usage_is_known,
        reported_cost: raw_usage.as_ref().and_then(usage::cost),
        raw_usage,
        served: served(headers, told, context.secret),
        first_token: None,
        hints: hints::of(headers, context.clock),
    }
}

/// Tool calls of a message, including the older `function_call`.
fn calls(tool_calls: Option<&Value>, function_call: Option<&Value>) -> Vec<RawCall> {
    let listed = tool_calls.and_then(Value::as_array).into_iter().flatten().filter(|call| call.is_object());
    let mut calls: Vec<RawCall> = listed.map(call).collect();
    if calls.is_empty()
        && let Some(function) = function_call.filter(|function| function.is_object())
    {
        calls.push(RawCall {
            id: String::new(),
            name: text(function.get("name")),
            arguments: text(function.get("arguments")),
        });
    }
    calls
}

/// Reads one call, which may be of a tool with plain text (`custom`).
fn call(call: &Value) -> RawCall {
    let (function, arguments) = match call.get("custom") {
        Some(custom) => (Some(custom), "input"),
        None => (call.get("function"), "arguments"),
    };
    let field = |name: &str| text(function.and_then(|function| function.get(name)));
    RawCall { id: text(call.get("id")), name: field("name"), arguments: field(arguments) }
}

/// Reads a text; some servers send arguments as JSON instead.
pub(crate) fn text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}
