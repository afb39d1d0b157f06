//! Events of a session.

use jiff::Timestamp;
use regatta_proto::{Call, Event, Exchange, FailedCall, Finish, Role, Sampling, Transcript, Try};
use regatta_traces::Times;
use serde_json::{Value, json};

use super::messages::{Pool, reply};
use super::moment;
use super::tools::{choice, tool};
use super::usage::tokens;
use crate::ids::derived;

/// Events of a sample. `begun` is when its first attempt began.
pub(super) fn events(sample: &str, transcript: &Transcript, begun: Timestamp, pool: &mut Pool) -> Vec<Value> {
    let mut times = Times::from(begun);
    let mut events = Vec::new();
    for (position, event) in transcript.events.iter().enumerate() {
        let span = times.of(event);
        let mut document = match event {
            Event::Call(call) => answered(sample, call, pool),
            Event::Failed(failed) => given_up(sample, failed, pool),
            Event::Recorded(recorded) => {
                json!({"event": "info", "source": "recorded elsewhere", "data": recorded.text.as_deref()})
            }
            Event::Started(started) => {
                json!({"event": "info", "source": "agent", "data": format!("{} was started", started.agent)})
            }
            Event::Exchange(exchange) => exchanged(sample, position, exchange),
            Event::Ended(ended) => json!({"event": "info", "source": "agent", "data": {
                "how": ended.how, "output": ended.output, "errors": ended.errors,
            }}),
            Event::BenchmarkFailed(failed) => json!({"event": "info", "source": "benchmark", "data": {
                "why": failed.why, "errors": failed.errors,
            }}),
        };
        complete(&mut document, sample, position, span.begun, begun);
        if let Event::Call(_) | Event::Failed(_) | Event::Exchange(_) = event {
            document["completed"] = moment(span.ended).into();
            document["working_time"] = seconds(span.begun, span.ended).into();
        }
        events.push(document);
    }
    events
}

/// Sets what all events have.
pub(super) fn complete(document: &mut Value, sample: &str, position: usize, at: Timestamp, begun: Timestamp) {
    document["uuid"] = derived(11, &[sample, "event", &position.to_string()]).into();
    document["timestamp"] = moment(at).into();
    document["working_start"] = seconds(begun, at).into();
}

pub(super) fn seconds(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64().max(0.0)
}

fn answered(sample: &str, call: &Call, pool: &mut Pool) -> Value {
    let mut event = json!({
        "event": "model",
        "model": call.model.to_string(),
        "input": [],
        "input_refs": pool.ranges(sample, &call.request.messages),
        "tools": call.request.tools.iter().map(tool).collect::<Vec<_>>(),
        "tool_choice": choice(&call.request.tool_choice),
        "config": config(&call.request.sampling, &call.request.stop),
        "output": output(sample, call),
        "retries": call.tries.len(),
    });
    role(&mut event, call.role);
    if call.from_cache {
        event["cache"] = "read".into();
    }
    let mut metadata = json!({
        "attempt": call.attempt,
        "cost_nanodollars": call.cost,
        "served": call.served,
        "first_token_us": call.first_token_us,
        "member": call.request.member,
        "failed_tries": call.tries.iter().map(failed_try).collect::<Vec<_>>(),
    });
    drop_nothing(&mut metadata);
    event["metadata"] = metadata;
    event
}

/// Leaves out what is null: to readers of the format it is what is not there.
pub(super) fn drop_nothing(document: &mut Value) {
    if let Value::Object(fields) = document {
        fields.retain(|_, value| !value.is_null());
    }
}

fn given_up(sample: &str, failed: &FailedCall, pool: &mut Pool) -> Value {
    let request = failed.request.as_deref();
    let mut event = json!({
        "event": "model",
        "model": failed.model.to_string(),
        "input": [],
        "tools": request.map(|request| request.tools.iter().map(tool).collect::<Vec<_>>()).unwrap_or_default(),
        "tool_choice": request.map_or_else(|| "auto".into(), |request| choice(&request.tool_choice)),
        "config": request.map_or_else(|| json!({}), |request| config(&request.sampling, &request.stop)),
        "output": {"model": failed.model.to_string(), "choices": [], "completion": ""},
        "retries": failed.tries.len().saturating_sub(1),
        "error": failed.tries.last().map_or_else(|| "given up".to_owned(), sentence),
        "metadata": {"attempt": failed.attempt, "failed_tries": failed.tries.iter().map(failed_try).collect::<Vec<_>>()},
    });
    if let Some(request) = request {
        event["input_refs"] = pool.ranges(sample, &request.messages);
    }
    role(&mut event, failed.role);
    event
}

/// The agent is who the log is about; all others have a name.
fn role(event: &mut Value, role: Role) {
    if role != Role::Agent {
        event["role"] = role.as_str().into();
    }
}

fn exchanged(sample: &str, position: usize, exchange: &Exchange) -> Value {
    let mut arguments = json!({"method": exchange.method, "url": exchange.url, "body": exchange.body});
    drop_nothing(&mut arguments);
    json!({
        "event": "tool",
        "id": derived(11, &[sample, "exchange", &position.to_string()]),
        "function": "http",
        "arguments": arguments,
        "result": exchange.response,
        "metadata": {"status": exchange.status},
    })
}

/// An answer, as the output of a model.
pub(super) fn output(sample: &str, call: &Call) -> Value {
    let mut output = json!({
        "model": call.served.model.clone().unwrap_or_else(|| call.model.model.clone()),
        "choices": [{"message": reply(sample, &call.reply, Some(&call.model)), "stop_reason": stop_reason(call.reply.finish)}],
        "completion": call.reply.text.as_deref().unwrap_or_default(),
        "time": std::time::Duration::from_micros(call.latency_us).as_secs_f64(),
    });
    // Zeros of an endpoint that does not know are not numbers.
    if call.usage.can_be_of(&call.reply) {
        output["usage"] = tokens(&call.usage, call.cost);
    }
    if let Some(id) = &call.served.request_id {
        output["response_id"] = id.as_str().into();
    }
    if let Some(logprobs) = &call.reply.logprobs {
        let token = |token: &regatta_proto::TokenLogprob| {
            let top = token.top.iter().map(|(token, logprob)| json!({"token": token, "logprob": logprob}));
            json!({"token": token.token, "logprob": token.logprob, "top_logprobs": top.collect::<Vec<_>>()})
        };
        output["choices"][0]["logprobs"] = json!({"content": logprobs.iter().map(token).collect::<Vec<_>>()});
    }
    output
}

const fn stop_reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "stop",
        Finish::Length => "max_tokens",
        Finish::ToolCalls => "tool_calls",
        Finish::ContentFilter => "content_filter",
        Finish::Other => "unknown",
    }
}

fn config(sampling: &Sampling, stop: &[std::sync::Arc<str>]) -> Value {
    let mut config = json!({
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "max_tokens": sampling.max_tokens,
        "seed": sampling.seed,
    });
    drop_nothing(&mut config);
    if !stop.is_empty() {
        config["stop_seqs"] = json!(stop);
    }
    config
}

pub(super) fn sentence(failed: &Try) -> String {
    let status = failed.status.map(|status| format!(", HTTP {status}")).unwrap_or_default();
    let detail = if failed.detail.is_empty() { String::new() } else { format!(": {}", failed.detail) };
    format!("{}{status}{detail}", failed.class.as_str())
}

fn failed_try(failed: &Try) -> Value {
    let mut document = json!({
        "error": failed.class.as_str(), "status": failed.status, "detail": failed.detail,
        "latency_us": failed.latency_us, "cost_nanodollars": failed.cost,
    });
    drop_nothing(&mut document);
    document
}
