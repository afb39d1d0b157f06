//! Traces of sessions, as every process of a deployment sends them while it works, and as exports of finished runs have them.
//!
//! A session is one trace. Nothing is carried in messages for that: ids are digests of what every role knows already ([`SessionTrace`]), so
//! the coordinator that dispatches a session, the worker that runs it and the scorer that records it name the same trace and the same parents.
//! Spans are made of what the roles know at the end of a step, handed to a [`Tracer`], which never waits, and sent by a task of its own.
//!
//! No span that a process sends has anything that was said in a session: neither prompts nor answers, nor messages of providers.

mod attributes;
mod billed;
mod calls;
mod ids;
mod judge;
mod logs;
mod metrics;
mod otlp;
mod sending;
mod session;
mod span;
mod times;
mod tracer;

pub use attributes::Attributes;
pub use billed::Billed;
pub use calls::{DescribedCall, answered, exchanged, finish, given_up, provider};
pub use ids::{SessionTrace, derived, judged};
pub use judge::judge_span;
pub use logs::{SESSION_TARGET, session_span};
pub use metrics::TraceMetrics;
pub use opentelemetry::trace::{SpanId, SpanKind, TraceId};
pub use opentelemetry::{Array, KeyValue, Value};
pub use otlp::{Collector, CollectorError};
pub use sending::Traces;
pub use session::{SessionFacts, attempt_span};
pub use span::{Span, SpanEvent};
pub use times::{Placed, Times};
pub use tracer::Tracer;
