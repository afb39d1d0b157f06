//! Attempts: one line each, and their sums.

use jiff::Timestamp;
use regatta_backends::{AttemptRow, AttemptState};
use regatta_catalog::Sweep;
use regatta_proto::{AttemptId, Cause, ItemId, Money, Outcome, Usage, WorkerId};
use serde::Serialize;

use super::TabulationError;
use super::lines::push_line;
use crate::summary::Spending;

const FILE: &str = "attempts.jsonl";

#[derive(Serialize)]
struct Line<'a> {
    cell: u32,
    item: Option<&'a ItemId>,
    attempt: u32,
    id: &'a AttemptId,
    state: &'static str,
    outcome: Option<&'static str>,
    cause: Option<Cause>,
    /// True if the money was wasted: the attempt was lost, or another one counts in its place.
    wasted: bool,
    worker: &'a WorkerId,
    started_at: Timestamp,
    ended_at: Option<Timestamp>,
    /// `null` where the tokens of a call are unknown: a sum over attempts must not take them for none.
    usage: Option<Usage>,
    /// The part of the tokens that is known, with the number of calls whose tokens are not; only where `usage` is `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    known_usage: Option<Usage>,
    /// `null` where the price of a call is unknown: a sum over attempts must not take it for nothing.
    cost_nanodollars: Option<Money>,
    /// The part of the cost that is known.
    known_cost_nanodollars: Money,
    /// Calls whose price nobody knows; they are not in `known_cost_nanodollars`.
    unpriced_calls: u64,
    /// On top, at most, for failed tries of which the provider did not tell whether they are billed.
    #[serde(skip_serializing_if = "is_nothing")]
    maybe_spent_nanodollars: Money,
    /// On top, at most, for a call in flight.
    at_most_nanodollars: Option<Money>,
    calls: u32,
    /// Part of `calls` that was answered from the response cache; `null` where an older version recorded the attempt.
    cached_calls: Option<u32>,
    retries: u32,
    /// Sum of the calls' latencies, without those of cached answers: `null` where there is none because no call was answered, or all of
    /// them from the response cache.
    latency_us: Option<u64>,
    /// Models and versions that answered, as providers report them; only of the attempt that counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    served: Option<&'a [String]>,
    segment: Option<&'a str>,
    line: Option<u32>,
}

const fn is_nothing(money: &Money) -> bool {
    money.0 == 0
}

/// `attempts.jsonl`; `served` looks up what answered the attempt that counts.
pub(crate) fn lines<'a>(
    sweep: &Sweep,
    attempts: &'a [AttemptRow],
    served: impl Fn(&AttemptRow) -> Option<&'a [String]>,
) -> Result<Vec<u8>, TabulationError> {
    let mut out = Vec::new();
    for attempt in attempts {
        let cell = sweep.cell(attempt.key.cell);
        let item = cell.and_then(|cell| sweep.item(cell, attempt.key.item));
        let line = Line {
            cell: attempt.key.cell.0,
            item: item.map(|item| &item.id),
            attempt: attempt.number,
            id: &attempt.id,
            state: attempt.state.as_str(),
            outcome: attempt.outcome.as_ref().map(Outcome::as_str),
            cause: attempt.outcome.as_ref().and_then(Outcome::cause),
            wasted: attempt.state.is_wasted(),
            worker: &attempt.worker,
            started_at: attempt.started_at,
            ended_at: attempt.ended_at,
            usage: attempt.usage.complete(),
            known_usage: Some(attempt.usage).filter(|usage| usage.complete().is_none()),
            cost_nanodollars: (attempt.cost.unknown_calls == 0).then_some(attempt.cost.known),
            known_cost_nanodollars: attempt.cost.known,
            unpriced_calls: attempt.cost.unknown_calls,
            maybe_spent_nanodollars: attempt.maybe_spent,
            at_most_nanodollars: attempt.at_most,
            calls: attempt.calls,
            cached_calls: attempt.cached_calls,
            retries: attempt.retries,
            latency_us: (attempt.calls > attempt.cached_calls.unwrap_or(0)).then_some(attempt.latency_us),
            served: served(attempt),
            segment: attempt.transcript.as_ref().map(|at| at.segment.as_str()),
            line: attempt.transcript.as_ref().map(|at| at.line),
        };
        push_line(&mut out, FILE, &line)?;
    }
    Ok(out)
}

/// End of the session that an attempt is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionEnd {
    /// The session has a score of answers.
    Answered,
    /// It has a score, though a filter, the length of the context or a refusal of the model ended it.
    CutOff,
    /// It has no score, which also a judge may have prevented.
    Unscored,
}

/// Tokens, money and calls of `attempt`, counted as waste too where its state says so.
pub(crate) fn spending(attempt: &AttemptRow, end: SessionEnd) -> Spending {
    let mut spent = Spending {
        attempts: 1,
        calls: u64::from(attempt.calls),
        cached_calls: u64::from(attempt.cached_calls.unwrap_or(0)),
        retries: u64::from(attempt.retries),
        usage: attempt.usage,
        cost: attempt.cost,
        maybe_spent: attempt.maybe_spent,
        ..Spending::default()
    };
    if attempt.state.is_wasted() {
        spent.wasted_attempts = 1;
        spent.wasted_usage = attempt.usage;
        spent.wasted = attempt.cost;
    } else {
        match end {
            SessionEnd::Answered => {}
            SessionEnd::CutOff => {
                spent.cut_off = u64::from(attempt.state == AttemptState::Recorded);
                spent.cut_off_cost = attempt.cost;
            }
            SessionEnd::Unscored => spent.unmeasured = attempt.cost,
        }
    }
    if matches!(attempt.state, AttemptState::Open | AttemptState::Lost) {
        match attempt.at_most {
            Some(most) => spent.lost_calls_at_most = most,
            None => spent.lost_unpriced = 1,
        }
    }
    spent
}
