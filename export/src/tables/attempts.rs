//! A row for each line of `attempts.jsonl`.

use super::{Column, Kind, Value, columns as named, token_fields};
use crate::documents::AttemptLine;
use crate::run::Run;

pub(super) fn columns() -> Vec<Column> {
    named(&[
        ("cell", Kind::Integer),
        ("benchmark", Kind::Text),
        ("setting", Kind::Text),
        ("model", Kind::Text),
        ("trial", Kind::Integer),
        ("item", Kind::Text),
        ("attempt", Kind::Integer),
        ("attempt_id", Kind::Text),
        ("state", Kind::Text),
        ("outcome", Kind::Text),
        ("cause", Kind::Text),
        ("wasted", Kind::Boolean),
        ("counts", Kind::Boolean),
        ("worker", Kind::Text),
        ("started_at", Kind::Time),
        ("ended_at", Kind::Time),
        ("calls", Kind::Integer),
        ("cached_calls", Kind::Integer),
        ("retries", Kind::Integer),
        ("input_tokens", Kind::Integer),
        ("cached_input_tokens", Kind::Integer),
        ("cache_write_tokens", Kind::Integer),
        ("cache_write_1h_tokens", Kind::Integer),
        ("output_tokens", Kind::Integer),
        ("reasoning_tokens", Kind::Integer),
        ("cost_nanodollars", Kind::Integer),
        ("known_cost_nanodollars", Kind::Integer),
        ("unpriced_calls", Kind::Integer),
        ("maybe_spent_nanodollars", Kind::Integer),
        ("at_most_nanodollars", Kind::Integer),
        ("latency_us", Kind::Integer),
        ("served", Kind::Text),
        ("segment", Kind::Text),
        ("line", Kind::Integer),
    ])
}

pub(super) fn row(run: &Run, line: &AttemptLine) -> Vec<Value> {
    let cell = run.cells.get(line.cell as usize);
    let mut row = vec![
        line.cell.into(),
        Value::of(cell.map(|cell| cell.benchmark.to_string())),
        Value::of(cell.map(|cell| cell.setting.to_string())),
        Value::of(cell.map(|cell| cell.model.to_string())),
        Value::of(cell.map(|cell| cell.trial.0)),
        Value::of(line.item.as_ref().map(ToString::to_string)),
        line.attempt.into(),
        Value::text(&line.id),
        Value::text(&line.state),
        Value::of(line.outcome.clone()),
        Value::of(line.cause.clone()),
        line.wasted.into(),
        line.served.is_some().into(),
        Value::text(&line.worker),
        line.started_at.into(),
        Value::of(line.ended_at),
        line.calls.into(),
        Value::of(line.cached_calls),
        line.retries.into(),
    ];
    row.extend(token_fields(line.usage.as_ref()));
    row.extend([
        Value::of(line.cost_nanodollars),
        line.known_cost_nanodollars.into(),
        line.unpriced_calls.into(),
        line.maybe_spent_nanodollars.into(),
        Value::of(line.at_most_nanodollars),
        Value::of(line.latency_us),
        Value::of(line.served.as_ref().map(|served| served.join(", "))),
        Value::of(line.segment.clone()),
        Value::of(line.line),
    ]);
    row
}
