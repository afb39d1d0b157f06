//! Recovery from each fault, and silence between two records.

use super::{Finding, finding};
use crate::endpoint::CallKind;
use crate::evidence::{Evidence, Reference, Struck};
use crate::plan::Standstill;

/// Longest time without a recorded session, in milliseconds, while somebody could record one: a few calls of a conversation, each behind others.
const SILENCE_MAX_MS: u64 = 25_000;
/// Time for which a request counts in the limit by the minute: how long it may be under way is added by whoever grants it.
const COUNTED_MS: u64 = 61_750;
/// Part of that limit, in percent, from which on it counts as used up: what was granted and never sent, because its holder died or the store forgot it,
/// is used too.
const USED_UP_PERCENT: u64 = 90;

/// A time from one millisecond to another.
type Span = (u64, u64);

/// Every fault recovers in its time, and nothing else keeps the deployment silent for long.
pub(super) fn recovered(_: &Reference, evidence: &Evidence) -> Vec<Finding> {
    let waiting = merged(used_up(evidence));
    let mut findings = Vec::new();
    for struck in &evidence.struck {
        let most = struck.fault.recovery_max_s() * 1000;
        let recovery =
            struck.recovered_after_ms.map(|after| beyond((struck.ended_ms, struck.ended_ms + after), &waiting));
        if recovery.is_none_or(|took| took > most) {
            let took = recovery.map_or("never".to_owned(), |took| format!("after {took} ms"));
            let message = format!("recovered {took}, and {most} ms are allowed");
            findings.push(finding("recovery", struck.fault.name(), message));
        }
    }
    let excused = merged(waiting.iter().copied().chain(evidence.struck.iter().filter_map(standstill)));
    let silences = evidence.progress_ms.windows(2).map(|two| (beyond((two[0], two[1]), &excused), two[0]));
    if let Some((silence, since)) = silences.max()
        && silence > SILENCE_MAX_MS
    {
        let message =
            format!("nothing was recorded for {silence} ms from {since} ms on, and {SILENCE_MAX_MS} ms are allowed");
        findings.push(finding("recovery", "longest silence", message));
    }
    findings
}

/// Time of a fault during which nobody could record anything.
fn standstill(struck: &Struck) -> Option<Span> {
    let to = match struck.fault.standstill() {
        Standstill::None => return None,
        Standstill::UntilUndone { then_ms } => struck.ended_ms + then_ms,
        Standstill::UntilRecovered => struck.ended_ms + struck.recovered_after_ms.unwrap_or(0),
    };
    Some((struck.at_ms, to))
}

/// Times at which the limit by the minute allowed no further request.
fn used_up(evidence: &Evidence) -> impl Iterator<Item = Span> {
    let live = evidence.books.iter().filter(|call| call.kind != CallKind::Batched);
    let mut begun: Vec<u64> = live.map(|call| call.begun_ms).collect();
    begun.sort_unstable();
    let enough = usize::try_from((evidence.requests_per_minute * USED_UP_PERCENT).div_ceil(100)).unwrap_or(usize::MAX);
    let since: Vec<Span> =
        begun.windows(enough.max(1)).map(|calls| (calls[calls.len() - 1], calls[0] + COUNTED_MS)).collect();
    since.into_iter().filter(|(from, to)| from < to)
}

/// The same times in order, none of which overlaps another.
fn merged(spans: impl Iterator<Item = Span>) -> Vec<Span> {
    let mut spans: Vec<Span> = spans.collect();
    spans.sort_unstable();
    let mut merged: Vec<Span> = Vec::new();
    for (from, to) in spans {
        match merged.last_mut() {
            Some((_, end)) if from <= *end => *end = to.max(*end),
            _ => merged.push((from, to)),
        }
    }
    merged
}

/// Milliseconds of `span` that are in none of `excused`, which do not overlap.
fn beyond((from, to): Span, excused: &[Span]) -> u64 {
    let within = excused.iter().map(|(begins, ends)| (*ends).min(to).saturating_sub((*begins).max(from)));
    to.saturating_sub(from).saturating_sub(within.sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_that_touch_are_one_and_no_time_is_excused_twice() {
        let excused = merged([(30, 40), (0, 10), (5, 20), (20, 22)].into_iter());
        assert_eq!(excused, [(0, 22), (30, 40)]);
        assert_eq!(beyond((10, 50), &excused), 18);
        assert_eq!(beyond((22, 30), &excused), 8);
        assert_eq!(beyond((31, 39), &excused), 0);
    }
}
