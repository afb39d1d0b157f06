//! A span: a step with its beginning and its end.

use jiff::Timestamp;
use opentelemetry::trace::{SpanId, SpanKind, TraceId};

use crate::Attributes;

/// A step of a session that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// Trace that it belongs to.
    pub trace: TraceId,
    /// The span's id, unique within the trace.
    pub id: SpanId,
    /// Span that it is a part of; `None` for the root.
    pub parent: Option<SpanId>,
    /// Name of the kind of step, of which there are few.
    pub name: String,
    /// Side of a conversation that it is, if it is one.
    pub kind: SpanKind,
    /// Beginning of the step.
    pub begun: Timestamp,
    /// End of the step, not before `begun`.
    pub ended: Timestamp,
    /// Fields.
    pub attributes: Attributes,
    /// Moments within the step.
    pub events: Vec<SpanEvent>,
    /// Spans of other traces that led to it.
    pub links: Vec<(TraceId, SpanId)>,
    /// Failure that it ended with.
    pub error: Option<String>,
}

/// A moment within a span.
#[derive(Debug, Clone, PartialEq)]
pub struct SpanEvent {
    /// Name of the kind of moment.
    pub name: &'static str,
    /// Time.
    pub at: Timestamp,
    /// Fields.
    pub attributes: Attributes,
}

impl Span {
    /// A step without fields, from `begun` to `ended`.
    #[must_use]
    pub fn new(
        (trace, id, parent): (TraceId, SpanId, Option<SpanId>),
        name: impl Into<String>,
        kind: SpanKind,
        (begun, ended): (Timestamp, Timestamp),
    ) -> Self {
        Self {
            trace,
            id,
            parent,
            name: name.into(),
            kind,
            begun,
            // Clocks of two machines, or of one that was set, may differ.
            ended: ended.max(begun),
            attributes: Attributes::default(),
            events: Vec::new(),
            links: Vec::new(),
            error: None,
        }
    }
}
