//! A session as spans.

use jiff::Timestamp;
use regatta_proto::{Call, EndpointKind, EndpointSpec, Event, Exchange, FailedCall, ModelRef, Role, Try};
use serde_json::{Value, json};

use super::attributes::Attributes;
use super::content;
use crate::billed::Billed;
use crate::ids::derived;
use crate::run::{Run, Session};
use crate::spans::{Span, Times};

/// Kinds of spans.
const INTERNAL: u8 = 1;
const CLIENT: u8 = 3;
/// Status of a span that failed.
const FAILED: u8 = 2;

/// The spans of `session`, its root first; `None` where nothing was tried.
pub(super) fn spans(run: &Run, session: &Session) -> Option<Vec<Value>> {
    let begun = session.attempts.iter().map(|attempt| attempt.started_at).min()?;
    let line = &session.result;
    let trace = derived(16, &["trace", run.summary.sweep.as_str(), &line.cell.to_string(), line.item.as_str()]);
    let root = derived(8, &[&trace, "root"]);
    let mut times = Times::from(begun);
    let mut latest = begun;
    let mut below = Vec::new();
    let events = session.transcript().map(|stored| stored.transcript.events.as_slice()).unwrap_or_default();
    for (position, event) in events.iter().enumerate() {
        let span = times.of(event);
        latest = latest.max(span.ended);
        let described = match event {
            Event::Call(call) => answered(run, call),
            Event::Failed(failed) => given_up(run, failed),
            Event::Exchange(exchange) => exchanged(exchange),
            // Parts of what the agent did, without a time of their own.
            Event::Recorded(_) | Event::Started(_) | Event::Ended(_) | Event::BenchmarkFailed(_) => continue,
        };
        below.push(described.document(&trace, &root, &position.to_string(), span));
    }
    let ended = session.counting().and_then(|attempt| attempt.ended_at).unwrap_or(latest).max(latest);
    let mut spans = vec![agent(run, session, &trace, &root, begun, ended)];
    spans.append(&mut below);
    Some(spans)
}

fn agent(run: &Run, session: &Session, trace: &str, root: &str, begun: Timestamp, ended: Timestamp) -> Value {
    let line = &session.result;
    let mut attributes = Attributes::default();
    attributes.text("gen_ai.operation.name", "invoke_agent");
    attributes.text("gen_ai.provider.name", provider(run, &line.model));
    attributes.text("gen_ai.agent.name", line.benchmark.as_str());
    attributes.text("gen_ai.request.model", &line.model.model);
    attributes.text("gen_ai.conversation.id", trace);
    attributes.integer("regatta.cell", line.cell);
    attributes.text("regatta.benchmark", line.benchmark.as_str());
    attributes.text("regatta.setting", line.setting.as_str());
    attributes.text("regatta.model", &line.model.to_string());
    attributes.integer("regatta.trial", line.trial);
    attributes.text("regatta.item", line.item.as_str());
    attributes.text("regatta.task", &line.task);
    attributes.text("regatta.outcome", &line.outcome);
    attributes.texts("regatta.flags", line.flags.iter().map(regatta_proto::Flag::as_str));
    let mut status = json!({});
    if let Some(cause) = &line.cause {
        attributes.text("error.type", cause);
        status = json!({"code": FAILED, "message": format!("{} ({cause})", line.outcome)});
    }
    let mut events = Vec::new();
    for (evaluator, values) in line.scores.iter().flatten() {
        for (name, value) in values {
            let mut score = Attributes::default();
            score.text("gen_ai.evaluation.name", &format!("{evaluator}.{name}"));
            score.float("gen_ai.evaluation.score.value", *value);
            events.push(json!({
                "timeUnixNano": nanoseconds(ended), "name": "gen_ai.evaluation.result", "attributes": score.into_document(),
            }));
        }
    }
    json!({
        "traceId": trace,
        "spanId": root,
        "name": format!("invoke_agent {}", line.benchmark),
        "kind": INTERNAL,
        "startTimeUnixNano": nanoseconds(begun),
        "endTimeUnixNano": nanoseconds(ended),
        "attributes": attributes.into_document(),
        "events": events,
        "status": status,
    })
}

/// A span before it has ids and times.
struct Described {
    name: String,
    kind: u8,
    attributes: Attributes,
    /// Tries that failed, and what is told of them.
    tries: Vec<Value>,
    error: Option<String>,
}

impl Described {
    fn document(mut self, trace: &str, root: &str, id: &str, span: Span) -> Value {
        if span.is_placed {
            self.attributes.boolean("regatta.time_is_estimated", true);
        }
        for event in &mut self.tries {
            event["timeUnixNano"] = nanoseconds(span.begun).into();
        }
        let status = self.error.map_or_else(|| json!({}), |message| json!({"code": FAILED, "message": message}));
        json!({
            "traceId": trace,
            "spanId": derived(8, &[trace, id]),
            "parentSpanId": root,
            "name": self.name,
            "kind": self.kind,
            "startTimeUnixNano": nanoseconds(span.begun),
            "endTimeUnixNano": nanoseconds(span.ended),
            "attributes": self.attributes.into_document(),
            "events": self.tries,
            "status": status,
        })
    }
}

fn answered(run: &Run, call: &Call) -> Described {
    let Call { request, reply, served, .. } = call;
    let mut attributes = beginning(run, &call.model, call.role, call.attempt);
    attributes.maybe_text("regatta.member", request.member.as_ref().map(regatta_proto::MemberName::as_str));
    attributes.maybe_float("gen_ai.request.temperature", request.sampling.temperature);
    attributes.maybe_float("gen_ai.request.top_p", request.sampling.top_p);
    attributes.maybe_integer("gen_ai.request.max_tokens", request.sampling.max_tokens);
    attributes.maybe_integer("gen_ai.request.seed", request.sampling.seed);
    if !request.stop.is_empty() {
        attributes.texts("gen_ai.request.stop_sequences", request.stop.iter().map(|stop| &**stop));
    }
    attributes.texts("gen_ai.response.finish_reasons", [content::finish(reply.finish)]);
    attributes.maybe_text("gen_ai.response.id", served.request_id.as_deref());
    attributes.maybe_text("gen_ai.response.model", served.model.as_deref());
    // What a cache answered was not used.
    if !call.from_cache {
        bill(&mut attributes, &Billed::of_answered(call));
    }
    attributes.boolean("regatta.from_cache", call.from_cache);
    attributes.boolean("regatta.simulated", served.simulated);
    attributes.text("gen_ai.input.messages", &content::input(&request.messages).to_string());
    attributes.text("gen_ai.output.messages", &content::output(reply).to_string());
    if !request.tools.is_empty() {
        attributes.text("gen_ai.tool.definitions", &content::tools(&request.tools).to_string());
    }
    Described {
        name: format!("chat {}", call.model.model),
        kind: CLIENT,
        attributes,
        tries: call.tries.iter().map(failed_try).collect(),
        error: None,
    }
}

fn given_up(run: &Run, failed: &FailedCall) -> Described {
    let mut attributes = beginning(run, &failed.model, failed.role, failed.attempt);
    let last = failed.tries.last();
    attributes.maybe_text("error.type", last.map(|last| last.class.as_str()));
    if let Some(request) = &failed.request {
        attributes.text("gen_ai.input.messages", &content::input(&request.messages).to_string());
    }
    bill(&mut attributes, &Billed::of_given_up(failed));
    Described {
        name: format!("chat {}", failed.model.model),
        kind: CLIENT,
        attributes,
        tries: failed.tries.iter().map(failed_try).collect(),
        error: Some(last.map_or_else(|| "given up".to_owned(), |last| last.detail.clone())),
    }
}

/// Tokens and money, as far as they are known.
fn bill(attributes: &mut Attributes, billed: &Billed) {
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

fn beginning(run: &Run, model: &ModelRef, role: Role, attempt: u32) -> Attributes {
    let mut attributes = Attributes::default();
    attributes.text("gen_ai.operation.name", "chat");
    attributes.text("gen_ai.provider.name", provider(run, model));
    attributes.text("gen_ai.request.model", &model.model);
    attributes.text("regatta.endpoint", model.endpoint.as_str());
    attributes.text("regatta.role", role.as_str());
    attributes.integer("regatta.attempt", attempt);
    attributes
}

fn failed_try(failed: &Try) -> Value {
    let mut attributes = Attributes::default();
    attributes.text("error.type", failed.class.as_str());
    attributes.maybe_integer("http.response.status_code", failed.status);
    attributes.text("exception.message", &failed.detail);
    attributes.integer("regatta.latency_us", failed.latency_us);
    attributes.maybe_integer("regatta.cost_nanodollars", failed.cost.map(|cost| cost.0));
    json!({"name": "exception", "attributes": attributes.into_document()})
}

fn exchanged(exchange: &Exchange) -> Described {
    let mut attributes = Attributes::default();
    attributes.text("gen_ai.operation.name", "execute_tool");
    attributes.text("gen_ai.tool.name", "http");
    attributes.text("http.request.method", &exchange.method);
    attributes.text("url.full", &exchange.url);
    attributes.integer("http.response.status_code", exchange.status);
    attributes.maybe_text("gen_ai.tool.call.arguments", exchange.body.as_deref());
    attributes.text("gen_ai.tool.call.result", &exchange.response);
    Described { name: "execute_tool http".to_owned(), kind: INTERNAL, attributes, tries: Vec::new(), error: None }
}

/// Provider whose format the endpoint of `model` speaks, in the words of the conventions, or else the endpoint's own name.
fn provider<'r>(run: &'r Run, model: &'r ModelRef) -> &'r str {
    match run.lock.endpoints.get(&model.endpoint) {
        Some(endpoint) => kind(endpoint),
        None => model.endpoint.as_str(),
    }
}

/// Nanoseconds since 1970, as a text: JSON's numbers have 53 bits.
fn nanoseconds(time: Timestamp) -> String {
    time.as_nanosecond().to_string()
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
