//! The trace of a judge job: its questions may be of many sessions, and are asked once for all of them.

use jiff::Timestamp;
use opentelemetry::trace::SpanKind;
use regatta_proto::{AttemptTotals, JudgeOutcome, Role};

use crate::calls::bill;
use crate::{Billed, Span, judged};

/// The span of a judge job that came to `outcome`, by a model of `provider`.
#[must_use]
pub fn judge_span(outcome: &JudgeOutcome, provider: &str, times: (Timestamp, Timestamp)) -> Span {
    let (trace, id) = judged(&outcome.attempt);
    let JudgeOutcome { sweep, judge, verdicts, unanswered, usage, cost, .. } = outcome;
    let mut span = Span::new((trace, id, None), format!("judge {}", judge.model), SpanKind::Consumer, times);
    let attributes = &mut span.attributes;
    attributes.text("gen_ai.operation.name", "chat");
    attributes.text("gen_ai.provider.name", provider);
    attributes.text("gen_ai.request.model", &*judge.model);
    attributes.text("regatta.sweep", sweep.as_str());
    attributes.text("regatta.endpoint", judge.endpoint.as_str());
    attributes.text("regatta.role", Role::Judge.as_str());
    attributes.text("regatta.attempt_id", outcome.attempt.as_str());
    attributes.integer("regatta.verdicts", verdicts.len() as u64);
    attributes.integer("regatta.unanswered", unanswered.len() as u64);
    bill(attributes, &Billed::of_totals(&AttemptTotals { usage: *usage, cost: *cost, ..AttemptTotals::default() }));
    if !unanswered.is_empty() {
        span.error = Some("questions were not answered".to_owned());
    }
    span
}
