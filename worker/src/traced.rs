//! Spans of a running attempt: its calls as they are recorded, what they wait for, and the attempt itself at its end.

use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use regatta_catalog::Sweep;
use regatta_proto::{Attempt, AttemptTotals, Event, JudgeOutcome, SessionKey, Transcript};
use regatta_traces::{
    Billed, SessionTrace, Span, SpanKind, Times, Tracer, answered, attempt_span, exchanged, given_up, judge_span,
    provider,
};

/// Shorter waits for a permit are no span: most calls wait for microseconds.
const TOLD_FROM_MICROS: i128 = 1_000;

/// The trace of an attempt. There is none where traces are off, or the session is not in the sample.
#[derive(Debug)]
pub(crate) struct TracedAttempt {
    tracer: Tracer,
    trace: SessionTrace,
    attempt: Attempt,
    told: Mutex<Told>,
}

#[derive(Debug)]
struct Told {
    /// Events of the transcript that have spans, or were there before the attempt.
    events: usize,
    times: Times,
}

impl TracedAttempt {
    /// Begins with `attempt`, whose transcript has `known` events from attempts before.
    pub(crate) fn begin(
        tracer: &Tracer,
        sweep: &Sweep,
        key: &SessionKey,
        attempt: &Attempt,
        known: usize,
    ) -> Option<Self> {
        if !tracer.is_on() {
            return None;
        }
        let item = sweep.item(sweep.cell(key.cell)?, key.item)?;
        let trace = SessionTrace::of(&key.sweep, key.cell, &item.id);
        let times = Times::from(attempt.started_at);
        tracer.takes(trace.id()).then(|| Self {
            tracer: tracer.clone(),
            trace,
            attempt: attempt.clone(),
            told: Mutex::new(Told { events: known, times }),
        })
    }

    /// Tells of the events of `transcript` that are new at `now`.
    pub(crate) fn tell(&self, sweep: &Sweep, transcript: &Transcript, now: Timestamp) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let endpoints = &sweep.lock.endpoints;
        for (position, event) in transcript.events.iter().enumerate().skip(told.events) {
            told.events = position + 1;
            let placed = told.times.of(event);
            let described = match event {
                Event::Call(call) => answered(call, provider(endpoints, &call.model)),
                Event::Failed(failed) => given_up(failed, provider(endpoints, &failed.model)),
                Event::Exchange(exchange) => exchanged(exchange),
                Event::Recorded(_) | Event::Started(_) | Event::Ended(_) | Event::BenchmarkFailed(_) => continue,
            };
            let attempt = &self.attempt.id;
            let ids = (self.trace.id(), self.trace.event(attempt, position), Some(self.trace.attempt(attempt)));
            // What has no time of its own has just been noted.
            let times = match placed.is_placed {
                true => (now.saturating_sub(placed.ended.duration_since(placed.begun)).unwrap_or(now), now),
                false => (placed.begun, placed.ended),
            };
            let mut span = described.span(ids, times);
            if placed.is_placed {
                span.attributes.boolean("regatta.time_is_estimated", true);
            }
            self.tracer.send(span);
        }
    }

    /// A call waited for money, a permit and an endpoint that can be reached, for the `nth` time.
    pub(crate) fn waited(&self, (call, nth): (u64, u32), since: Timestamp, until: Timestamp) {
        if until.duration_since(since).as_micros() < TOLD_FROM_MICROS {
            return;
        }
        let attempt = &self.attempt.id;
        let ids = (self.trace.id(), self.trace.wait(attempt, call, nth), Some(self.trace.attempt(attempt)));
        self.tracer.send(Span::new(ids, "wait for permit", SpanKind::Internal, (since, until)));
    }

    /// The attempt is over, by `end`: an outcome, or what else became of it.
    pub(crate) fn end(&self, sweep: &Sweep, key: &SessionKey, ended_at: Timestamp, end: &str, totals: &AttemptTotals) {
        let Attempt { id, number, worker, started_at, .. } = &self.attempt;
        let (times, billed) = ((*started_at, ended_at), Billed::of_totals(totals));
        let mut span = attempt_span(&self.trace, (id, *number, worker.as_str()), times, end, &billed);
        span.attributes.text("regatta.sweep", sweep.id.as_str());
        span.attributes.integer("regatta.cell", key.cell.0);
        self.tracer.send(span);
    }
}

/// Sends the span of a judge job that came to `outcome`.
pub(crate) fn judged(tracer: &Tracer, sweep: &Sweep, outcome: &JudgeOutcome, times: (Timestamp, Timestamp)) {
    if tracer.is_on() {
        tracer.send(judge_span(outcome, provider(&sweep.lock.endpoints, &outcome.judge), times));
    }
}
