//! Reads a whole response.

use regatta_proto::{ErrorClass, Finish, Money, Reasoning, Reply, Usage};
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::errors::Failure;
use crate::transport::Answer;
use crate::wire::openai::logprobs;
use crate::wire::openai::usage::{adds_up, cost, cost_in, possible, tokens};
use crate::wire::provenance::{Told, served};
use crate::wire::tool_calls::{RawCall, with_ids};
use crate::wire::trouble::Bill;
use crate::wire::{Completion, ReadContext, hints, trouble};
use crate::withheld::{Withheld, finish_of};

/// Reads an answer of any status.
///
/// # Errors
/// A classified failure, if the answer is not usable.
pub(super) fn read(answer: &Answer, context: &ReadContext<'_>) -> Result<Completion, Failure> {
    if !(200..300).contains(&answer.status) {
        return Err(trouble::of_status(answer, BILL, context));
    }
    let bad = |problem: &str| trouble::of_success(answer, problem, BILL, context);
    let body: Value = serde_json::from_slice(&answer.body).map_err(|error| bad(&error.to_string()))?;
    if body.get("error").is_some_and(|error| !error.is_null()) {
        return Err(bad("the response failed"));
    }
    let read = completion(body, &answer.headers, context)
        .map_err(|failure| Failure { status: Some(answer.status), ..failure })?;
    Ok(Completion { reported_cost: read.reported_cost.or_else(|| cost_in(&answer.headers)), ..read })
}

/// Reads a response object without an error.
///
/// # Errors
/// When the response ended without an answer, or has not ended.
pub(super) fn completion(
    mut body: Value,
    headers: &HeaderMap,
    context: &ReadContext<'_>,
) -> Result<Completion, Failure> {
    let fail = |class, detail: String| Failure {
        usage: (BILL.usage)(&body),
        tier: (BILL.tier)(&body).map(Box::from),
        ..trouble::in_stream(class, context.secret.detail(&detail))
    };
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    let Some(output) = body.get("output").and_then(Value::as_array) else {
        return Err(fail(ErrorClass::BadResponse, "the response holds no output".to_owned()));
    };
    let cut_off = match text("/status") {
        None | Some("completed") => None,
        Some("incomplete") => Some(match text("/incomplete_details/reason") {
            Some("max_output_tokens") => Finish::Length,
            _ => Finish::Other,
        }),
        Some(status @ ("failed" | "cancelled")) => {
            return Err(fail(ErrorClass::Server, format!("the response ended as {status}")));
        }
        Some(status) => return Err(fail(ErrorClass::BadResponse, format!("the response is not over: {status}"))),
    };
    let mut parts = Parts::default();
    output.iter().for_each(|item| parts.add(item));
    let filtered = text("/incomplete_details/reason").filter(|_| cut_off.is_some());
    let withheld = Withheld::refused(parts.refusal.as_deref()).or_else(|| Withheld::by_word(filtered));
    let reply = parts.reply(cut_off, withheld.as_ref());
    let told = Told {
        model: text("/model"),
        id: text("/id"),
        tier: text("/service_tier"),
        provider: text("/provider"),
        ..Told::default()
    };
    let served = served(headers, told, context.secret);
    let raw_usage = body.get_mut("usage").map(Value::take).filter(Value::is_object);
    let (usage, usage_is_known) = raw_usage.as_ref().map_or((Usage::default(), false), meters);
    let reported_cost: Option<Money> = raw_usage.as_ref().and_then(cost);
    Ok(Completion {
        reply,
        withheld,
        usage,
        usage_is_known,
        raw_usage,
        reported_cost,
        served,
        first_token: None,
        hints: hints::of(headers, context.clock),
    })
}

/// Usage and tier of a response object, or of an event that has one.
pub(super) const BILL: Bill = Bill {
    usage: |body| {
        let (usage, is_known) = meters(body.get("usage").or_else(|| body.pointer("/response/usage"))?);
        (is_known && usage.input > 0).then_some(usage)
    },
    tier: |body| body.get("service_tier").or_else(|| body.pointer("/response/service_tier"))?.as_str(),
};

/// Reads the token counts; the second value is `true` if those that cost money are present, and the parts are within their
/// wholes, which add up to the total.
fn meters(usage: &Value) -> (Usage, bool) {
    let meter = |path: &str| usage.pointer(path).and_then(tokens);
    let (input, output) = (meter("/input_tokens"), meter("/output_tokens"));
    let told = Usage {
        input: input.unwrap_or(0),
        cached_input: meter("/input_tokens_details/cached_tokens").unwrap_or(0),
        cache_write: meter("/input_tokens_details/cache_write_tokens").unwrap_or(0),
        cache_write_1h: 0,
        output: output.unwrap_or(0),
        reasoning: meter("/output_tokens_details/reasoning_tokens").unwrap_or(0),
        unmetered_calls: 0,
    };
    let (read, is_possible) = possible(told, adds_up(&told, meter("/total_tokens")));
    (read, is_possible && input.is_some() && output.is_some())
}

/// The merged items of the output.
#[derive(Debug, Default)]
struct Parts {
    text: Option<String>,
    refusal: Option<String>,
    thought: Vec<String>,
    thoughts: Vec<Value>,
    calls: Vec<RawCall>,
    logprobs: Vec<regatta_proto::TokenLogprob>,
}

impl Parts {
    fn add(&mut self, item: &Value) {
        let field = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let list = |name: &str| item.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        match item.get("type").and_then(Value::as_str) {
            Some("message") => list("content").iter().for_each(|part| self.add_said(part)),
            Some("reasoning") => {
                let shown = if list("summary").is_empty() { list("content") } else { list("summary") };
                self.thought.extend(shown.iter().filter_map(|part| Some(part.get("text")?.as_str()?.to_owned())));
                if item.get("encrypted_content").is_some_and(Value::is_string) {
                    self.thoughts.push(wanted_back(item));
                }
            }
            Some("function_call") => {
                self.calls.push(RawCall { id: field("call_id"), name: field("name"), arguments: field("arguments") });
            }
            Some("custom_tool_call") => {
                self.calls.push(RawCall { id: field("call_id"), name: field("name"), arguments: field("input") });
            }
            // Tools that run at the provider are part of its way to the answer.
            _ => {}
        }
    }

    fn add_said(&mut self, part: &Value) {
        match part.get("type").and_then(Value::as_str) {
            Some("output_text") => {
                let text = part.get("text").and_then(Value::as_str).unwrap_or_default();
                self.text.get_or_insert_default().push_str(text);
                if let Some(tokens) = part.get("logprobs").and_then(Value::as_array) {
                    self.logprobs.extend(logprobs::tokens(tokens));
                }
            }
            Some("refusal") => {
                let refusal = part.get("refusal").and_then(Value::as_str).unwrap_or_default();
                self.refusal.get_or_insert_default().push_str(refusal);
            }
            _ => {}
        }
    }

    fn reply(self, cut_off: Option<Finish>, withheld: Option<&Withheld>) -> Reply {
        let finish = match cut_off {
            Some(finish) => finish,
            None if self.calls.is_empty() => Finish::Stop,
            None => Finish::ToolCalls,
        };
        let finish = finish_of(withheld, finish);
        let has_thought = !self.thought.is_empty() || !self.thoughts.is_empty();
        Reply {
            text: self.text.map(Into::into),
            finish,
            tool_calls: with_ids(self.calls),
            reasoning: has_thought.then(|| Reasoning {
                text: self.thought.join("\n\n").into(),
                opaque: (!self.thoughts.is_empty()).then(|| Value::Array(self.thoughts).to_string().into()),
            }),
            logprobs: (!self.logprobs.is_empty()).then_some(self.logprobs),
        }
    }
}

/// A reasoning item in the form in which it is sent back: without its status, which the provider refuses.
fn wanted_back(item: &Value) -> Value {
    let mut item = item.clone();
    if let Some(fields) = item.as_object_mut() {
        fields.remove("status");
    }
    item
}
