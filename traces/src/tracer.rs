//! The handle by which roles hand over spans.

use std::fmt;
use std::sync::Arc;

use opentelemetry::trace::{SpanKind, TraceId};
use opentelemetry_sdk::trace::{Sampler, SamplingDecision, ShouldSample as _};
use tokio::sync::mpsc;

use crate::{Span, TraceMetrics};

/// A span, and the part of the program that it is of.
pub(crate) type Sent = (&'static str, Span);

/// Hands spans to whoever sends them, without ever waiting; clones share it. It is off by default, and takes nothing then.
#[derive(Clone, Default)]
pub struct Tracer(Option<Arc<On>>);

struct On {
    part: &'static str,
    queue: mpsc::Sender<Sent>,
    sampler: Sampler,
    metrics: TraceMetrics,
}

impl Tracer {
    pub(crate) fn on(part: &'static str, queue: mpsc::Sender<Sent>, sampled: f64, metrics: TraceMetrics) -> Self {
        Self(Some(Arc::new(On { part, queue, sampler: Sampler::TraceIdRatioBased(sampled), metrics })))
    }

    /// `true` if the spans of any trace are sent. Nothing is to be made for a tracer that is off.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// `true` if the spans of `trace` are sent: it is in the sample. All processes with the same share say the same of a trace.
    #[must_use]
    pub fn takes(&self, trace: TraceId) -> bool {
        self.0.as_ref().is_some_and(|on| on.takes(trace))
    }

    /// Sends `span`, or drops it, and counts that, where the queue is full.
    pub fn send(&self, span: Span) {
        let Some(on) = &self.0 else { return };
        if on.takes(span.trace) && on.queue.try_send((on.part, span)).is_err() {
            on.metrics.dropped.with_label_values(&["full"]).inc();
        }
    }
}

impl On {
    fn takes(&self, trace: TraceId) -> bool {
        let sampling = self.sampler.should_sample(None, trace, "", &SpanKind::Internal, &[], &[]);
        sampling.decision == SamplingDecision::RecordAndSample
    }
}

impl fmt::Debug for Tracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tracer").field(&self.0.as_ref().map(|on| on.part)).finish()
    }
}
