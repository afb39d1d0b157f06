//! Reads a whole answer, or the chunks of a stream, each of which has the format of a whole answer.

use regatta_proto::{Finish, Reply, TokenLogprob, Usage};
use reqwest::header::HeaderMap;
use serde_json::{Map, Value};

use super::signatures::Signatures;
use super::{trouble, usage};
use crate::errors::Failure;
use crate::transport::Answer;
use crate::wire::provenance::{Told, served};
use crate::wire::size::{bytes_of, merge};
use crate::wire::tool_calls::{RawCall, with_ids};
use crate::wire::{Completion, ReadContext, hints, openai};
use crate::withheld::{Withheld, finish_of};

/// Reads an answer of any status.
///
/// # Errors
/// A classified failure, if the answer is not usable.
pub(super) fn read(answer: &Answer, context: &ReadContext<'_>) -> Result<Completion, Failure> {
    if !(200..300).contains(&answer.status) {
        return Err(trouble::of_status(answer, context));
    }
    let unusable = |problem: &str| trouble::of_success(answer, problem, context);
    let body: Value =
        serde_json::from_slice(&answer.body).map_err(|error| unusable(&format!("not an answer: {error}")))?;
    if body.get("error").is_some_and(|error| !error.is_null()) {
        return Err(unusable("the answer holds an error"));
    }
    let mut gathered = Gathered::default();
    gathered.take(body);
    if !gathered.has_candidate && gathered.block_reason.is_none() {
        return Err(unusable("the answer holds no candidate"));
    }
    Ok(gathered.completion(&answer.headers, context))
}

/// The parts received so far.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    has_candidate: bool,
    /// Reason why the prompt was refused.
    block_reason: Option<String>,
    text: Option<String>,
    thought: String,
    signatures: Signatures,
    calls: Vec<RawCall>,
    finish: Option<String>,
    logprobs: Option<Vec<TokenLogprob>>,
    usage: Map<String, Value>,
    model: Option<String>,
    id: Option<String>,
    /// Of its texts, calls, probabilities and counts.
    bytes: usize,
}

impl Gathered {
    /// Adds a whole answer, or a chunk of one. Returns `true` if it has a part of the answer itself.
    pub(super) fn take(&mut self, mut body: Value) -> bool {
        let text = |body: &Value, name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
        self.model = text(&body, "modelVersion").or_else(|| self.model.take());
        self.id = text(&body, "responseId").or_else(|| self.id.take());
        let reason = body.pointer("/promptFeedback/blockReason").filter(|reason| !reason.is_null());
        let reason = reason.map(|reason| reason.as_str().map_or_else(|| reason.to_string(), str::to_owned));
        self.block_reason = reason.or_else(|| self.block_reason.take());
        // Counts are cumulative, so later ones replace earlier ones.
        if let Some(Value::Object(meters)) = body.get_mut("usageMetadata").map(Value::take) {
            merge(&mut self.usage, meters.into_iter(), &mut self.bytes);
        }
        let Some(candidate) = body.pointer_mut("/candidates/0") else {
            return false;
        };
        self.has_candidate = true;
        self.finish = text(candidate, "finishReason").or_else(|| self.finish.take());
        if let Some(result) = candidate.get("logprobsResult") {
            self.bytes += bytes_of(result);
            self.logprobs.get_or_insert_default().extend(logprobs(result));
        }
        let parts = candidate.pointer_mut("/content/parts").map(Value::take);
        let Some(Value::Array(parts)) = parts else {
            return false;
        };
        let mut is_answer = false;
        for part in parts {
            self.bytes += bytes_of(&part);
            is_answer |= self.part(part);
        }
        is_answer
    }

    fn part(&mut self, mut part: Value) -> bool {
        let signature = match part.get_mut("thoughtSignature").map(Value::take) {
            Some(Value::String(signature)) => Some(signature),
            _ => None,
        };
        if let Some(call) = part.get_mut("functionCall").filter(|call| call.is_object()) {
            let text = |name: &str| call.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            let (id, name) = (text("id"), text("name"));
            let arguments = call.get("args").filter(|args| !args.is_null()).map_or("{}".to_owned(), Value::to_string);
            self.signatures.calls.extend(signature.map(|signature| (self.calls.len(), signature)));
            self.calls.push(RawCall { id, name, arguments });
            return true;
        }
        // At a thought, it also stands for the reasoning before the text.
        self.signatures.text = signature.or_else(|| self.signatures.text.take());
        let Some(text) = part.get("text").and_then(Value::as_str) else {
            return false;
        };
        if part.get("thought") == Some(&Value::Bool(true)) {
            self.thought.push_str(text);
        } else {
            self.text.get_or_insert_default().push_str(text);
        }
        !text.is_empty()
    }

    /// Bytes that the parts take, about.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// `true` if the answer is complete.
    pub(super) fn is_complete(&self) -> bool {
        self.finish.is_some() || self.block_reason.is_some()
    }

    /// The tokens billed, once the answer is complete; earlier counts are partial.
    pub(super) fn billed(&self) -> Option<Usage> {
        if !self.is_complete() {
            return None;
        }
        usage::billed(&Value::Object(self.usage.clone()))
    }

    /// The service tier, if reported.
    pub(super) fn tier(&self) -> Option<&str> {
        self.usage.get("serviceTier").and_then(Value::as_str)
    }

    pub(super) fn completion(self, headers: &HeaderMap, context: &ReadContext<'_>) -> Completion {
        let blocked = self.block_reason.as_deref().filter(|_| !self.has_candidate);
        let withheld = Withheld::blocked(blocked).or_else(|| Withheld::by_word(self.finish.as_deref()));
        let finish = match self.finish.as_deref() {
            Some("STOP") if !self.calls.is_empty() => Finish::ToolCalls,
            reason => finish(reason),
        };
        let finish = finish_of(withheld.as_ref(), finish);
        let reply = Reply {
            tool_calls: with_ids(self.calls),
            reasoning: self.signatures.with(self.thought),
            logprobs: self.logprobs,
            ..Reply::of_text(self.text.as_deref(), finish)
        };
        let raw_usage = Some(Value::Object(self.usage)).filter(|usage| *usage != Value::Object(Map::new()));
        let (usage, usage_is_known) = raw_usage.as_ref().map(usage::read).unwrap_or_default();
        let tier = raw_usage.as_ref().and_then(usage::tier).map(str::to_ascii_lowercase);
        let told =
            Told { model: self.model.as_deref(), id: self.id.as_deref(), tier: tier.as_deref(), ..Told::default() };
        Completion {
            reply,
            withheld,
            usage,
            usage_is_known,
            served: served(headers, told, context.secret),
            raw_usage,
            reported_cost: openai::usage::cost_in(headers),
            first_token: None,
            hints: hints::of(headers, context.clock),
        }
    }
}

/// The finish for a `finishReason`, unless the answer was withheld.
fn finish(reason: Option<&str>) -> Finish {
    match reason {
        Some("STOP") => Finish::Stop,
        Some("MAX_TOKENS") => Finish::Length,
        // Invalid calls (`MALFORMED_FUNCTION_CALL`), and any reason that is added.
        _ => Finish::Other,
    }
}

/// Reads a `logprobsResult`, which has chosen tokens and candidates in two lists.
fn logprobs(result: &Value) -> Vec<TokenLogprob> {
    let list = |value: &Value, name: &str| value.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let candidate = |value: &Value| {
        Some((value.get("token")?.as_str()?.to_owned(), value.get("logProbability").and_then(Value::as_f64)?))
    };
    let mut tops = list(result, "topCandidates").into_iter();
    let chosen = list(result, "chosenCandidates").into_iter().map(|chosen| (chosen, tops.next()));
    let read = chosen.filter_map(|(chosen, top)| {
        let (token, logprob) = candidate(&chosen)?;
        let top = top.map(|top| list(&top, "candidates").iter().filter_map(candidate).collect()).unwrap_or_default();
        Some(TokenLogprob { token, logprob, top })
    });
    read.collect()
}
