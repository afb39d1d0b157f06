//! A session as spans: those that its processes sent while it ran, as far as they are known afterwards, with what was said.

use jiff::Timestamp;
use regatta_proto::{AttemptId, Call, CellIndex, Event, Exchange, FailedCall, ModelRef, Trial, Try};
use regatta_traces::{
    Billed, DescribedCall, SessionFacts, SessionTrace, Span, SpanEvent, Times, answered, attempt_span, exchanged,
    given_up, provider,
};

use super::content;
use crate::documents::AttemptLine;
use crate::run::{Run, Session};

/// The spans of `session`, its root first; `None` where nothing was tried.
pub(super) fn spans(run: &Run, session: &Session) -> Option<Vec<Span>> {
    let begun = session.attempts.iter().map(|attempt| attempt.started_at).min()?;
    let line = &session.result;
    let trace = SessionTrace::of(&run.summary.sweep, CellIndex(line.cell), &line.item);
    let (below, latest) = events(run, session, &trace, begun);
    let ended = session.counting().and_then(|attempt| attempt.ended_at).unwrap_or(latest).max(latest);
    let attempts = session.attempts.iter().map(|attempt| attempted(&trace, attempt));
    let root = agent(run, session, &trace, (begun, ended));
    Some(std::iter::once(root).chain(attempts).chain(below).collect())
}

fn agent(run: &Run, session: &Session, trace: &SessionTrace, times: (Timestamp, Timestamp)) -> Span {
    let line = &session.result;
    let facts = SessionFacts {
        benchmark: &line.benchmark,
        setting: &line.setting,
        model: &line.model,
        provider: provided(run, &line.model),
        cell: CellIndex(line.cell),
        trial: Trial(line.trial),
        item: &line.item,
        task: &line.task,
    };
    let mut root = facts.root(trace, times, (&line.outcome, line.cause.as_deref()), line.flags);
    for (evaluator, values) in line.scores.iter().flatten() {
        let score = |(name, value): (&String, &f64)| SpanEvent::score(evaluator.as_str(), name, *value, times.1);
        root.events.extend(values.iter().map(score));
    }
    root
}

fn attempted(trace: &SessionTrace, attempt: &AttemptLine) -> Span {
    let billed =
        Billed { usage: attempt.usage, cost: attempt.cost_nanodollars, maybe_spent: attempt.maybe_spent_nanodollars };
    let end = attempt.outcome.as_deref().unwrap_or(&attempt.state);
    let times = (attempt.started_at, attempt.ended_at.unwrap_or(attempt.started_at));
    attempt_span(trace, (&attempt.id, attempt.attempt, &attempt.worker), times, end, &billed)
}

/// Spans of what the session's transcript says, and the time of the last end.
fn events(run: &Run, session: &Session, trace: &SessionTrace, begun: Timestamp) -> (Vec<Span>, Timestamp) {
    let (mut times, mut latest, mut spans) = (Times::from(begun), begun, Vec::new());
    let Some(stored) = session.transcript() else { return (spans, latest) };
    let mut attempt = &stored.attempt_id;
    for (position, event) in stored.transcript.events.iter().enumerate() {
        let placed = times.of(event);
        latest = latest.max(placed.ended);
        let described = match event {
            Event::Call(call) => {
                attempt = numbered(session, call.attempt, &stored.attempt_id);
                with_answer(call, answered(call, provided(run, &call.model)))
            }
            Event::Failed(failed) => {
                attempt = numbered(session, failed.attempt, &stored.attempt_id);
                with_request(failed, given_up(failed, provided(run, &failed.model)))
            }
            Event::Exchange(exchange) => with_exchange(exchange, exchanged(exchange)),
            Event::Started(started) => {
                attempt = numbered(session, started.attempt, &stored.attempt_id);
                continue;
            }
            // Parts of what the agent did, without a time of their own.
            Event::Recorded(_) | Event::Ended(_) | Event::BenchmarkFailed(_) => continue,
        };
        let ids = (trace.id(), trace.event(attempt, position), Some(trace.attempt(attempt)));
        let mut span = described.span(ids, (placed.begun, placed.ended));
        if placed.is_placed {
            span.attributes.boolean("regatta.time_is_estimated", true);
        }
        spans.push(span);
    }
    (spans, latest)
}

/// The attempt with `number`; `latest`, whose transcript it is, where several have the same, or none is known.
fn numbered<'s>(session: &'s Session, number: u32, latest: &'s AttemptId) -> &'s AttemptId {
    let mut found = session.attempts.iter().filter(|attempt| attempt.attempt == number).map(|attempt| &attempt.id);
    match found.clone().any(|id| id == latest) {
        true => latest,
        false => found.next().unwrap_or(latest),
    }
}

fn with_answer(call: &Call, mut described: DescribedCall) -> DescribedCall {
    let Call { request, reply, .. } = call;
    let attributes = &mut described.attributes;
    if !request.stop.is_empty() {
        attributes.texts("gen_ai.request.stop_sequences", request.stop.iter().map(|stop| &**stop));
    }
    attributes.text("gen_ai.input.messages", content::input(&request.messages).to_string());
    attributes.text("gen_ai.output.messages", content::output(reply).to_string());
    if !request.tools.is_empty() {
        attributes.text("gen_ai.tool.definitions", content::tools(&request.tools).to_string());
    }
    with_details(&call.tries, described)
}

fn with_request(failed: &FailedCall, mut described: DescribedCall) -> DescribedCall {
    if let Some(request) = &failed.request {
        described.attributes.text("gen_ai.input.messages", content::input(&request.messages).to_string());
    }
    if let Some(last) = failed.tries.last() {
        described.error = Some(last.detail.clone());
    }
    with_details(&failed.tries, described)
}

/// Messages of endpoints, which may repeat what they were asked.
fn with_details(tries: &[Try], mut described: DescribedCall) -> DescribedCall {
    for (attributes, failed) in described.tries.iter_mut().zip(tries) {
        attributes.text("exception.message", &*failed.detail);
    }
    described
}

fn with_exchange(exchange: &Exchange, mut described: DescribedCall) -> DescribedCall {
    let attributes = &mut described.attributes;
    attributes.text("url.full", &*exchange.url);
    attributes.maybe_text("gen_ai.tool.call.arguments", exchange.body.as_deref());
    attributes.text("gen_ai.tool.call.result", &*exchange.response);
    described
}

fn provided<'r>(run: &'r Run, model: &'r ModelRef) -> &'r str {
    provider(&run.lock.endpoints, model)
}
