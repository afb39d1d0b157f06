//! Spans of what an attempt did: model calls, and requests to tool servers. What was said is not in them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use opentelemetry::trace::SpanKind;
use regatta_proto::{
    Call, EndpointKind, EndpointName, EndpointSpec, Exchange, FailedCall, Finish, MemberName, ModelRef, Role, Try,
};

use crate::{Attributes, Billed, Span, SpanEvent, SpanId, TraceId};

/// A call or a request to a tool server before it has ids and times.
#[derive(Debug, Clone, PartialEq)]
pub struct DescribedCall {
    /// Name of its span.
    pub name: String,
    /// Side of the conversation.
    pub kind: SpanKind,
    /// Fields.
    pub attributes: Attributes,
    /// Tries that failed, in order.
    pub tries: Vec<Attributes>,
    /// Failure that it ended with.
    pub error: Option<String>,
}

impl DescribedCall {
    /// As a span. The times of failed tries are not recorded, so they stand at its beginning.
    #[must_use]
    pub fn span(self, ids: (TraceId, SpanId, Option<SpanId>), times: (Timestamp, Timestamp)) -> Span {
        let event = |attributes| SpanEvent { name: "exception", at: times.0, attributes };
        let mut span = Span::new(ids, self.name, self.kind, times);
        span.attributes = self.attributes;
        span.events = self.tries.into_iter().map(event).collect();
        span.error = self.error;
        span
    }
}

/// A call that was answered, by a model of `provider`.
#[must_use]
pub fn answered(call: &Call, provider: &str) -> DescribedCall {
    let Call { request, reply, served, .. } = call;
    let mut attributes = beginning(provider, &call.model, call.role, call.attempt);
    attributes.maybe_text("regatta.member", request.member.as_ref().map(MemberName::as_str));
    attributes.maybe_float("gen_ai.request.temperature", request.sampling.temperature);
    attributes.maybe_float("gen_ai.request.top_p", request.sampling.top_p);
    attributes.maybe_integer("gen_ai.request.max_tokens", request.sampling.max_tokens);
    attributes.maybe_integer("gen_ai.request.seed", request.sampling.seed);
    attributes.texts("gen_ai.response.finish_reasons", [finish(reply.finish)]);
    attributes.maybe_text("gen_ai.response.id", served.request_id.as_deref());
    attributes.maybe_text("gen_ai.response.model", served.model.as_deref());
    // What a cache answered was not used.
    if !call.from_cache {
        bill(&mut attributes, &Billed::of_answered(call));
    }
    attributes.boolean("regatta.from_cache", call.from_cache);
    attributes.boolean("regatta.simulated", served.simulated);
    DescribedCall {
        name: format!("chat {}", call.model.model),
        kind: SpanKind::Client,
        attributes,
        tries: call.tries.iter().map(failed_try).collect(),
        error: None,
    }
}

/// A call that was given up, of a model of `provider`.
#[must_use]
pub fn given_up(failed: &FailedCall, provider: &str) -> DescribedCall {
    let mut attributes = beginning(provider, &failed.model, failed.role, failed.attempt);
    let last = failed.tries.last();
    attributes.maybe_text("error.type", last.map(|last| last.class.as_str()));
    bill(&mut attributes, &Billed::of_given_up(failed));
    DescribedCall {
        name: format!("chat {}", failed.model.model),
        kind: SpanKind::Client,
        attributes,
        tries: failed.tries.iter().map(failed_try).collect(),
        error: Some(last.map_or("given up", |last| last.class.as_str()).to_owned()),
    }
}

/// A request of an external agent to a tool server. Its address is left out: agents write their arguments into it.
#[must_use]
pub fn exchanged(exchange: &Exchange) -> DescribedCall {
    let mut attributes = Attributes::default();
    attributes.text("gen_ai.operation.name", "execute_tool");
    attributes.text("gen_ai.tool.name", "http");
    attributes.text("http.request.method", &*exchange.method);
    attributes.integer("http.response.status_code", exchange.status);
    DescribedCall {
        name: "execute_tool http".to_owned(),
        kind: SpanKind::Internal,
        attributes,
        tries: Vec::new(),
        error: None,
    }
}

/// Adds tokens and money.
pub(crate) fn bill(attributes: &mut Attributes, billed: &Billed) {
    if let Some(usage) = billed.usage {
        attributes.integer("gen_ai.usage.input_tokens", usage.input);
        attributes.integer("gen_ai.usage.output_tokens", usage.output);
        attributes.integer("gen_ai.usage.cache_read.input_tokens", usage.cached_input);
        attributes.integer("gen_ai.usage.cache_creation.input_tokens", usage.cache_write + usage.cache_write_1h);
        attributes.integer("gen_ai.usage.reasoning.output_tokens", usage.reasoning);
    }
    attributes.maybe_integer("regatta.cost_nanodollars", billed.cost.map(|cost| cost.0));
    let maybe_spent = Some(billed.maybe_spent.0).filter(|most| *most > 0);
    attributes.maybe_integer("regatta.maybe_spent_nanodollars", maybe_spent);
}

fn beginning(provider: &str, model: &ModelRef, role: Role, attempt: u32) -> Attributes {
    let mut attributes = Attributes::default();
    attributes.text("gen_ai.operation.name", "chat");
    attributes.text("gen_ai.provider.name", provider);
    attributes.text("gen_ai.request.model", &*model.model);
    attributes.text("regatta.endpoint", model.endpoint.as_str());
    attributes.text("regatta.role", role.as_str());
    attributes.integer("regatta.attempt", attempt);
    attributes
}

fn failed_try(failed: &Try) -> Attributes {
    let mut attributes = Attributes::default();
    attributes.text("error.type", failed.class.as_str());
    attributes.maybe_integer("http.response.status_code", failed.status);
    attributes.integer("regatta.latency_us", failed.latency_us);
    attributes.maybe_integer("regatta.cost_nanodollars", failed.cost.map(|cost| cost.0));
    attributes
}

/// Provider whose format the endpoint of `model` speaks, in the words of the conventions, or else the endpoint's own name.
#[must_use]
pub fn provider<'a>(endpoints: &'a BTreeMap<EndpointName, EndpointSpec>, model: &'a ModelRef) -> &'a str {
    match endpoints.get(&model.endpoint) {
        Some(endpoint) => kind(endpoint),
        None => model.endpoint.as_str(),
    }
}

const fn kind(endpoint: &EndpointSpec) -> &'static str {
    match endpoint.kind {
        EndpointKind::Openai | EndpointKind::OpenaiResponses => "openai",
        EndpointKind::Azure => "azure.ai.openai",
        EndpointKind::Anthropic => "anthropic",
        EndpointKind::Gemini => "gcp.gemini",
        EndpointKind::Bedrock => "aws.bedrock",
        EndpointKind::Simulated => "regatta.simulated",
        EndpointKind::Encoder => "regatta.encoder",
        EndpointKind::Recorded => "regatta.recorded",
    }
}

/// Reason for the end of an answer, in the words of the conventions.
#[must_use]
pub const fn finish(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "stop",
        Finish::Length => "length",
        Finish::ToolCalls => "tool_call",
        Finish::ContentFilter => "content_filter",
        Finish::Other => "error",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_said_and_messages_of_endpoints_are_in_no_span() {
        let failed = json!({"class": "rate_limited", "status": 429, "detail": "the key SAID is over its quota", "latency_us": 5});
        let request = json!({"messages": [{"role": "user", "content": "SAID"}], "stop": ["SAID"]});
        let call = json!({
            "role": "agent", "attempt": 1, "model": "e/m", "request": request, "reply": {"text": "SAID", "finish": "stop"},
            "tries": [failed], "usage": {"input": 10, "output": 1}, "cost": 5, "latency_us": 5,
        });
        let given = json!({"role": "agent", "attempt": 1, "model": "e/m", "tries": [failed], "request": request});
        let exchange = json!({"method": "POST", "url": "http://tool/SAID?a=SAID", "body": "SAID", "status": 200, "response": "SAID"});
        let described = [
            answered(&serde_json::from_value(call).unwrap(), "openai"),
            given_up(&serde_json::from_value(given).unwrap(), "openai"),
            exchanged(&serde_json::from_value(exchange).unwrap()),
        ];
        for described in described {
            let text = format!("{described:?}");
            assert!(!text.contains("SAID"), "{text}");
        }
    }
}
