//! A row for each model call of the transcripts, answered or given up.

use std::collections::HashSet;

use regatta_proto::{Call, Event, FailedCall, Finish, Lane};
use regatta_traces::Billed;

use super::{Column, Kind, Value, columns as named, session_fields, token_fields};
use crate::run::Session;

pub(super) fn columns() -> Vec<Column> {
    named(&[
        ("cell", Kind::Integer),
        ("benchmark", Kind::Text),
        ("setting", Kind::Text),
        ("model_under_test", Kind::Text),
        ("trial", Kind::Integer),
        ("item", Kind::Text),
        ("attempt", Kind::Integer),
        ("position", Kind::Integer),
        ("role", Kind::Text),
        ("member", Kind::Text),
        ("model", Kind::Text),
        ("answered", Kind::Boolean),
        ("error", Kind::Text),
        ("error_status", Kind::Integer),
        ("error_detail", Kind::Text),
        ("finish", Kind::Text),
        ("messages", Kind::Integer),
        ("tools", Kind::Integer),
        ("temperature", Kind::Float),
        ("top_p", Kind::Float),
        ("max_tokens", Kind::Integer),
        ("seed", Kind::Integer),
        ("text", Kind::Text),
        ("reasoning", Kind::Text),
        ("tool_calls", Kind::Integer),
        ("tool_calls_json", Kind::Text),
        ("request_json", Kind::Text),
        ("input_tokens", Kind::Integer),
        ("cached_input_tokens", Kind::Integer),
        ("cache_write_tokens", Kind::Integer),
        ("cache_write_1h_tokens", Kind::Integer),
        ("output_tokens", Kind::Integer),
        ("reasoning_tokens", Kind::Integer),
        ("cost_nanodollars", Kind::Integer),
        ("maybe_spent_nanodollars", Kind::Integer),
        ("reported_cost_nanodollars", Kind::Integer),
        ("latency_us", Kind::Integer),
        ("first_token_us", Kind::Integer),
        ("failed_tries", Kind::Integer),
        ("at", Kind::Time),
        ("lane", Kind::Text),
        ("from_cache", Kind::Boolean),
        ("served_model", Kind::Text),
        ("served_provider", Kind::Text),
        ("fingerprint", Kind::Text),
        ("request_id", Kind::Text),
        ("simulated", Kind::Boolean),
    ])
}

/// Calls of all transcripts of `session`, each once: an attempt that goes on from another has that one's calls in its transcript too.
pub(super) fn rows(session: &Session) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    let mut told: HashSet<u32> = HashSet::new();
    for stored in &session.transcripts {
        let mut of_this: HashSet<u32> = HashSet::from([stored.attempt]);
        for (position, event) in (0_u64..).zip(&stored.transcript.events) {
            let (attempt, rest) = match event {
                Event::Call(call) => (call.attempt, answered(call)),
                Event::Failed(failed) => (failed.attempt, given_up(failed)),
                Event::Recorded(_)
                | Event::Started(_)
                | Event::Exchange(_)
                | Event::Ended(_)
                | Event::BenchmarkFailed(_) => continue,
            };
            of_this.insert(attempt);
            if !told.contains(&attempt) {
                let mut row = Vec::from(session_fields(&session.result));
                row.extend([attempt.into(), position.into()]);
                row.extend(rest);
                rows.push(row);
            }
        }
        told.extend(of_this);
    }
    rows
}

fn answered(call: &Call) -> Vec<Value> {
    let Call { request, reply, served, .. } = call;
    let mut row = vec![
        Value::text(call.role),
        Value::of(request.member.as_ref().map(ToString::to_string)),
        Value::text(&call.model),
        true.into(),
        Value::Null,
        Value::Null,
        Value::Null,
        finish(reply.finish).into(),
        Value::Integer(request.messages.len() as u64),
        Value::Integer(request.tools.len() as u64),
        Value::of(request.sampling.temperature),
        Value::of(request.sampling.top_p),
        Value::of(request.sampling.max_tokens),
        Value::of(request.sampling.seed),
        Value::of(reply.text.as_deref()),
        Value::of(reply.reasoning.as_ref().map(|reasoning| &*reasoning.text)),
        Value::Integer(reply.tool_calls.len() as u64),
        json(&reply.tool_calls),
        json(request),
    ];
    row.extend(billed(&Billed::of_answered(call)));
    row.extend([
        Value::of(call.reported_cost),
        call.latency_us.into(),
        Value::of(call.first_token_us),
        Value::Integer(call.tries.len() as u64),
        Value::of(call.at),
        lane(call.lane).into(),
        call.from_cache.into(),
        Value::of(served.model.clone()),
        Value::of(served.provider.clone()),
        Value::of(served.fingerprint.clone()),
        Value::of(served.request_id.clone()),
        served.simulated.into(),
    ]);
    row
}

fn billed(of: &Billed) -> Vec<Value> {
    let mut fields = Vec::from(token_fields(of.usage.as_ref()));
    fields.extend([Value::of(of.cost), of.maybe_spent.into()]);
    fields
}

fn given_up(failed: &FailedCall) -> Vec<Value> {
    let last = failed.tries.last();
    let request = failed.request.as_deref();
    let mut row = vec![
        Value::text(failed.role),
        Value::of(request.and_then(|request| request.member.as_ref()).map(ToString::to_string)),
        Value::text(&failed.model),
        false.into(),
        Value::of(last.map(|last| last.class.as_str())),
        Value::of(last.and_then(|last| last.status)),
        Value::of(last.map(|last| last.detail.clone())),
        Value::Null,
        Value::of(request.map(|request| request.messages.len() as u64)),
        Value::of(request.map(|request| request.tools.len() as u64)),
        Value::of(request.and_then(|request| request.sampling.temperature)),
        Value::of(request.and_then(|request| request.sampling.top_p)),
        Value::of(request.and_then(|request| request.sampling.max_tokens)),
        Value::of(request.and_then(|request| request.sampling.seed)),
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        request.map_or(Value::Null, json),
    ];
    row.extend(billed(&Billed::of_given_up(failed)));
    // Neither a cost that was told nor the time of an answer.
    row.extend(std::iter::repeat_n(Value::Null, 3));
    row.push(Value::Integer(failed.tries.len() as u64));
    row.extend(std::iter::repeat_n(Value::Null, 8));
    row
}

fn json(value: &(impl serde::Serialize + ?Sized)) -> Value {
    Value::Text(serde_json::json!(value).to_string())
}

pub(crate) const fn finish(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "stop",
        Finish::Length => "length",
        Finish::ToolCalls => "tool_calls",
        Finish::ContentFilter => "content_filter",
        Finish::Other => "other",
    }
}

const fn lane(lane: Lane) -> &'static str {
    match lane {
        Lane::Live => "live",
        Lane::Batch => "batch",
    }
}
