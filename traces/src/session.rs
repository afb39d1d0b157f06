//! The root span of a session: the agent's work as a whole.

use jiff::Timestamp;
use opentelemetry::trace::SpanKind;
use regatta_proto::{AttemptId, BenchmarkName, CellIndex, Flags, ItemId, ModelRef, Setting, Trial};

use crate::calls::bill;
use crate::{Attributes, Billed, SessionTrace, Span, SpanEvent};

/// Fields of a session that are known before it begins.
#[derive(Debug, Clone, Copy)]
pub struct SessionFacts<'a> {
    /// Benchmark.
    pub benchmark: &'a BenchmarkName,
    /// Setting of the benchmark.
    pub setting: &'a Setting,
    /// Model under test.
    pub model: &'a ModelRef,
    /// Provider of the model, as [`crate::provider`] says.
    pub provider: &'a str,
    /// Cell of the grid.
    pub cell: CellIndex,
    /// Number of the repetition.
    pub trial: Trial,
    /// Item of the benchmark.
    pub item: &'a ItemId,
    /// Task of the item.
    pub task: &'a str,
}

impl SessionFacts<'_> {
    /// The root span of `trace`, with the outcome of the session and, if it has one, its cause.
    #[must_use]
    pub fn root(
        &self,
        trace: &SessionTrace,
        (begun, ended): (Timestamp, Timestamp),
        (outcome, cause): (&str, Option<&str>),
        flags: Flags,
    ) -> Span {
        let name = format!("invoke_agent {}", self.benchmark);
        let mut span = Span::new((trace.id(), trace.root(), None), name, SpanKind::Internal, (begun, ended));
        let attributes = &mut span.attributes;
        attributes.text("gen_ai.operation.name", "invoke_agent");
        attributes.text("gen_ai.provider.name", self.provider);
        attributes.text("gen_ai.agent.name", self.benchmark.as_str());
        attributes.text("gen_ai.request.model", &*self.model.model);
        attributes.text("gen_ai.conversation.id", trace.id().to_string());
        attributes.integer("regatta.cell", self.cell.0);
        attributes.text("regatta.benchmark", self.benchmark.as_str());
        attributes.text("regatta.setting", self.setting.as_str());
        attributes.text("regatta.model", self.model.to_string());
        attributes.integer("regatta.trial", self.trial.0);
        attributes.text("regatta.item", self.item.as_str());
        attributes.text("regatta.task", self.task);
        attributes.text("regatta.outcome", outcome);
        attributes.texts("regatta.flags", flags.iter().map(regatta_proto::Flag::as_str));
        if let Some(cause) = cause {
            attributes.text("error.type", cause);
            span.error = Some(format!("{outcome} ({cause})"));
        }
        span
    }
}

/// The span of an attempt, with its number and its worker's name, below the root of `trace`. `end` is its outcome, or what else became of it
/// (`handed_over`, `lost`).
#[must_use]
pub fn attempt_span(
    trace: &SessionTrace,
    (id, number, worker): (&AttemptId, u32, &str),
    times: (Timestamp, Timestamp),
    end: &str,
    billed: &Billed,
) -> Span {
    let ids = (trace.id(), trace.attempt(id), Some(trace.root()));
    let mut span = Span::new(ids, "attempt", SpanKind::Consumer, times);
    let attributes = &mut span.attributes;
    attributes.integer("regatta.attempt", number);
    attributes.text("regatta.attempt_id", id.as_str());
    attributes.text("regatta.worker", worker);
    attributes.text("regatta.outcome", end);
    bill(attributes, billed);
    span
}

impl SpanEvent {
    /// The score `name` of `evaluator`.
    #[must_use]
    pub fn score(evaluator: &str, name: &str, value: f64, at: Timestamp) -> Self {
        let mut attributes = Attributes::default();
        attributes.text("gen_ai.evaluation.name", format!("{evaluator}.{name}"));
        attributes.float("gen_ai.evaluation.score.value", value);
        Self { name: "gen_ai.evaluation.result", at, attributes }
    }
}
