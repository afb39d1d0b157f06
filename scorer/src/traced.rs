//! Spans of what a scorer does for sessions: scoring and recording, the session as a whole, and settling it once verdicts are there.

use jiff::Timestamp;
use regatta_backends::{RecordState, Recorded, SessionRecord, Settlement, SettlementResult};
use regatta_catalog::Sweep;
use regatta_proto::{AttemptId, Event, SessionKey, SessionOutcome};
use regatta_traces::{SessionFacts, SessionTrace, Span, SpanEvent, SpanKind, Tracer, judged, provider};
use serde_json::Value;

/// Times of a batch of sessions: when its recording began, and when all of it was scored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scored {
    pub(crate) since: Timestamp,
    pub(crate) until: Timestamp,
}

/// A session's spans before it is recorded.
pub(crate) struct TracedRecord {
    root: Span,
    score: Span,
    record: Span,
}

impl TracedRecord {
    /// Prepares the trace of `outcome`, which is about to be recorded as `record`; `None` if traces are off, or the session is not sampled.
    pub(crate) fn prepare(
        tracer: &Tracer,
        sweep: &Sweep,
        outcome: &SessionOutcome,
        record: &SessionRecord,
        scored: Scored,
    ) -> Option<Self> {
        if !tracer.is_on() {
            return None;
        }
        let cell = sweep.cell(record.key.cell)?;
        let trace = SessionTrace::of(&record.key.sweep, record.key.cell, &record.item_id);
        if !tracer.takes(trace.id()) {
            return None;
        }
        let facts = SessionFacts {
            benchmark: &cell.benchmark,
            setting: &cell.setting,
            model: &cell.model,
            provider: provider(&sweep.lock.endpoints, &cell.model),
            cell: cell.index,
            trial: cell.trial,
            item: &record.item_id,
            task: &record.task,
        };
        let attempt = &outcome.attempt;
        let cause = record.outcome.cause().map(|cause| cause.as_str());
        let times = (beginning(outcome), attempt.ended_at);
        let mut root = facts.root(&trace, times, (record.outcome.as_str(), cause), record.flags);
        root.attributes.text("regatta.sweep", sweep.id.as_str());
        if let RecordState::Settled { scores } = &record.state {
            root.events = scores_of(scores, attempt.ended_at);
        }
        let below = |id, parent| (trace.id(), id, Some(parent));
        let recording = below(trace.record(&attempt.id), trace.root());
        let mut recorded = Span::new(recording, "record", SpanKind::Consumer, (scored.since, scored.until));
        recorded.attributes.integer("regatta.attempt", attempt.number);
        recorded.attributes.text("regatta.attempt_id", attempt.id.as_str());
        recorded.attributes.boolean("regatta.awaits_verdicts", matches!(record.state, RecordState::Awaiting { .. }));
        let scoring = below(trace.score(&attempt.id), recorded.id);
        let score = Span::new(scoring, "score", SpanKind::Internal, (scored.since, scored.until));
        Some(Self { root, score, record: recorded })
    }

    /// It was recorded as `recorded` at `now`. A repeat tells nothing new.
    pub(crate) fn send(mut self, tracer: &Tracer, recorded: Recorded, now: Timestamp) {
        let told = match recorded {
            Recorded::First => "first",
            Recorded::Waste => "waste",
            Recorded::Repeat => return,
        };
        self.record.ended = now.max(self.record.begun);
        self.record.attributes.text("regatta.recorded", told);
        tracer.send(self.score);
        tracer.send(self.record);
        if recorded == Recorded::First {
            tracer.send(self.root);
        }
    }
}

/// Sends spans of `settlements`, which took from `since` to `until`, after the judge job `judge` was answered.
pub(crate) fn settled(
    tracer: &Tracer,
    sweep: &Sweep,
    settlements: &[Settlement],
    judge: Option<&AttemptId>,
    (since, until): (Timestamp, Timestamp),
) {
    for Settlement { key, result } in settlements {
        let Some(trace) = trace_of(sweep, key) else { continue };
        let ids = (trace.id(), trace.settle(judge), Some(trace.root()));
        let mut span = Span::new(ids, "settle", SpanKind::Consumer, (since, until));
        match result {
            SettlementResult::Scored(scores) => span.events = scores_of(scores, until),
            SettlementResult::NotMeasured(cause) => {
                span.attributes.text("error.type", cause.as_str());
                span.error = Some(format!("not_measured ({})", cause.as_str()));
            }
            // It goes on waiting.
            SettlementResult::Waits(_) => continue,
        }
        span.links.extend(judge.map(judged));
        tracer.send(span);
    }
}

fn trace_of(sweep: &Sweep, key: &SessionKey) -> Option<SessionTrace> {
    let item = sweep.item(sweep.cell(key.cell)?, key.item)?;
    Some(SessionTrace::of(&key.sweep, key.cell, &item.id))
}

/// Beginning of the session: of this attempt, or of a call that it took over from one before.
fn beginning(outcome: &SessionOutcome) -> Timestamp {
    let calls = outcome.transcript.events.iter().filter_map(|event| match event {
        Event::Call(call) if !call.from_cache => call.at,
        Event::Call(_)
        | Event::Failed(_)
        | Event::Recorded(_)
        | Event::Started(_)
        | Event::Exchange(_)
        | Event::Ended(_)
        | Event::BenchmarkFailed(_) => None,
    });
    calls.fold(outcome.attempt.started_at, Timestamp::min)
}

/// The flat values of `scores`, as the ledger keeps them.
fn scores_of(scores: &Value, at: Timestamp) -> Vec<SpanEvent> {
    let evaluators = scores.as_object().into_iter().flatten();
    let of_evaluator = |(evaluator, score): (&String, &Value)| -> Vec<SpanEvent> {
        let values = score.get("values").and_then(Value::as_object).into_iter().flatten();
        let event = |(name, value): (&String, &Value)| Some(SpanEvent::score(evaluator, name, value.as_f64()?, at));
        values.filter_map(event).collect()
    };
    evaluators.flat_map(of_evaluator).collect()
}
