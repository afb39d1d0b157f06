//! A row for each session of `results.jsonl`.

use std::collections::BTreeSet;

use regatta_proto::{Evaluator, Flag, Money, Usage};

use super::{Column, Kind, Value, columns as named, session_fields};
use crate::error::ExportError;
use crate::run::{Run, Session};

/// A value that some session has: by evaluator and name.
pub(super) type ScoreColumn = (Evaluator, String);

/// The values that any session of `run` has.
pub(super) fn score_columns(run: &Run) -> Result<Vec<ScoreColumn>, ExportError> {
    let mut found = BTreeSet::new();
    let mut lines = run.results()?;
    while let Some(line) = lines.next()? {
        for (evaluator, values) in line.scores.iter().flatten() {
            for name in values.keys() {
                // Of millions of sessions few have a new one.
                if !found.contains(&(*evaluator, name.clone())) {
                    found.insert((*evaluator, name.clone()));
                }
            }
        }
    }
    Ok(found.into_iter().collect())
}

pub(super) fn columns(scores: &[ScoreColumn]) -> Vec<Column> {
    let mut columns = named(&[
        ("cell", Kind::Integer),
        ("benchmark", Kind::Text),
        ("setting", Kind::Text),
        ("model", Kind::Text),
        ("trial", Kind::Integer),
        ("item", Kind::Text),
        ("task", Kind::Text),
        ("outcome", Kind::Text),
        ("cause", Kind::Text),
    ]);
    let flag = |flag: &Flag| Column { name: format!("flag.{}", flag.as_str()), kind: Kind::Boolean };
    columns.extend(Flag::ALL.iter().map(flag));
    columns.extend(named(&[
        ("attempts", Kind::Integer),
        ("calls", Kind::Integer),
        ("cached_calls", Kind::Integer),
        ("retries", Kind::Integer),
        ("input_tokens", Kind::Integer),
        ("cached_input_tokens", Kind::Integer),
        ("output_tokens", Kind::Integer),
        ("reasoning_tokens", Kind::Integer),
        ("cost_nanodollars", Kind::Integer),
        ("latency_us", Kind::Integer),
        ("started_at", Kind::Time),
        ("ended_at", Kind::Time),
    ]));
    let score = |(evaluator, name): &ScoreColumn| Column { name: format!("{evaluator}.{name}"), kind: Kind::Float };
    columns.extend(scores.iter().map(score));
    columns
}

/// Tokens, money and time are of the attempts that were not wasted; null where nothing was tried. Tokens and money are null, too, where those
/// of a call are unknown, and time where no call was answered, or an answer came from the response cache.
pub(super) fn row(session: &Session, scores: &[ScoreColumn]) -> Vec<Value> {
    let line = &session.result;
    let mut row = Vec::from(session_fields(line));
    row.extend([Value::text(&line.task), Value::text(&line.outcome), Value::of(line.cause.clone())]);
    row.extend(Flag::ALL.iter().map(|flag| Value::from(line.flags.has(*flag))));
    let took = Took::of(session);
    let tokens = |count: fn(Usage) -> u64| Value::of(took.as_ref().and_then(|took| took.usage).map(count));
    let tried = |value: fn(&Took) -> u64| Value::of(took.as_ref().map(value));
    row.extend([
        Value::Integer(session.attempts.len() as u64),
        tried(|took| took.calls),
        Value::of(took.as_ref().and_then(|took| took.cached_calls)),
        tried(|took| took.retries),
        tokens(|usage| usage.input),
        tokens(|usage| usage.cached_input),
        tokens(|usage| usage.output),
        tokens(|usage| usage.reasoning),
        Value::of(took.as_ref().and_then(|took| took.cost)),
        Value::of(took.as_ref().and_then(Took::latency_us)),
        Value::of(session.attempts.iter().map(|attempt| attempt.started_at).min()),
        Value::of(session.counting().and_then(|attempt| attempt.ended_at)),
    ]);
    let score = |(evaluator, name): &ScoreColumn| {
        Value::of(line.scores.as_ref().and_then(|scores| scores.get(evaluator)?.get(name).copied()))
    };
    row.extend(scores.iter().map(score));
    row
}

/// Sums over the attempts of a session that were not wasted.
struct Took {
    calls: u64,
    /// `None` where they were not counted.
    cached_calls: Option<u64>,
    retries: u64,
    /// `None` where the tokens of a call are unknown.
    usage: Option<Usage>,
    /// `None` where the price of a call is unknown.
    cost: Option<Money>,
    latency_us: u64,
}

impl Took {
    fn of(session: &Session) -> Option<Self> {
        let (usage, cost) = (Some(Usage::default()), Some(Money::ZERO));
        let mut took = Self { calls: 0, cached_calls: Some(0), retries: 0, usage, cost, latency_us: 0 };
        let mut tried = session.attempts.iter().filter(|attempt| !attempt.wasted).peekable();
        tried.peek()?;
        for attempt in tried {
            took.calls += u64::from(attempt.calls);
            took.retries += u64::from(attempt.retries);
            took.usage = took.usage.zip(attempt.usage).map(|(mut sum, usage)| {
                sum += usage;
                sum
            });
            took.cost = took.cost.zip(attempt.cost_nanodollars).map(|(sum, cost)| sum + cost);
            took.cached_calls = took.cached_calls.zip(attempt.cached_calls).map(|(sum, calls)| sum + u64::from(calls));
            // `None` is no time: `latency_us` tells whether it is known.
            took.latency_us = took.latency_us.saturating_add(attempt.latency_us.unwrap_or(0));
        }
        Some(took)
    }

    /// Time in calls; `None` where no call was answered, or an answer came from the response cache, whose time is of another run.
    fn latency_us(&self) -> Option<u64> {
        (self.calls > 0 && self.cached_calls.unwrap_or(0) == 0).then_some(self.latency_us)
    }
}
