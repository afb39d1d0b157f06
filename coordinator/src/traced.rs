//! Spans of dispatching.

use jiff::Timestamp;
use regatta_catalog::Sweep;
use regatta_proto::{ItemIndex, Job};
use regatta_traces::{SessionTrace, Span, SpanKind, Tracer};

/// Spans of sessions whose jobs are about to be published.
#[derive(Default)]
pub(crate) struct TracedDispatch(Vec<Span>);

impl TracedDispatch {
    /// Of `jobs` for `queue`, whose publishing begins at `since`. Nothing where traces are off.
    pub(crate) fn prepare(tracer: &Tracer, sweep: &Sweep, queue: &str, jobs: &[Job], since: Timestamp) -> Self {
        if !tracer.is_on() {
            return Self::default();
        }
        let dispatched = |job: &Job| {
            let Job::Session(job) = job else { return None };
            let item: ItemIndex = job.key.item;
            let item = sweep.item(sweep.cell(job.key.cell)?, item)?;
            let trace = SessionTrace::of(&job.key.sweep, job.key.cell, &item.id);
            if !tracer.takes(trace.id()) {
                return None;
            }
            let ids = (trace.id(), trace.dispatch(job.generation, job.attempt), Some(trace.root()));
            let mut span = Span::new(ids, "dispatch", SpanKind::Producer, (since, since));
            span.attributes.text("messaging.operation.type", "send");
            span.attributes.text("messaging.destination.name", queue);
            span.attributes.text("regatta.sweep", job.key.sweep.as_str());
            span.attributes.integer("regatta.cell", job.key.cell.0);
            span.attributes.integer("regatta.attempt", job.attempt);
            span.attributes.integer("regatta.generation", job.generation);
            Some(span)
        };
        Self(jobs.iter().filter_map(dispatched).collect())
    }

    /// The jobs are published, at `now`.
    pub(crate) fn send(self, tracer: &Tracer, now: Timestamp) {
        for mut span in self.0 {
            span.ended = now.max(span.begun);
            tracer.send(span);
        }
    }
}
