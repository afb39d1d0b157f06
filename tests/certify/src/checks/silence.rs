//! Recovery from each fault, and silence between two records.

use super::{Finding, finding};
use crate::endpoint::CallKind;
use crate::evidence::{Evidence, Reference, Struck};
use crate::plan::{Fault, Standstill};
use crate::workload::CONCURRENCY;

/// Longest time without progress, in milliseconds, while somebody could make some: slots of what is gone are free after ten seconds, and
/// a call is sent within a few more.
const SILENCE_MAX_MS: u64 = 25_000;
/// Time for which a request counts in the limit by the minute: how long it may be under way is added by whoever grants it.
const COUNTED_MS: u64 = 61_750;
/// Part of that limit, in percent, that a fault may use beyond the requests for all slots: a store that has crashed takes as much for granted.
const FORGOTTEN_PERCENT: u64 = 2;
/// Most of that limit, in percent, that faults use.
const LOST_MAX_PERCENT: u64 = 10;
/// Part of that limit, in percent, that nobody uses after refusals: one decrease of the pool's. It recovers with what is answered, and once the rest is
/// used up, nobody asks.
const UNUSED_AFTER_REFUSALS_PERCENT: u64 = 30;

/// A time from one millisecond to another.
type Span = (u64, u64);

/// Longest time from the end of a fault until anybody goes on.
const STANDSTILL_MAX_MS: u64 = 15_000;

/// Every fault recovers in its time, and nothing else keeps the deployment silent for long.
pub(super) fn recovered(_: &Reference, evidence: &Evidence) -> Vec<Finding> {
    let waiting = merged(used_up(evidence).into_iter());
    let mut findings = Vec::new();
    for struck in &evidence.struck {
        let most = struck.fault.recovery_max_s() * 1000;
        let recovery = recovery(struck, &waiting);
        if recovery.is_none_or(|took| took > most) {
            let took =
                recovery.map_or("it has not recovered".to_owned(), |took| format!("it recovered after {took} ms"));
            let message = format!("{took}, and {most} ms are allowed");
            findings.push(finding("recovery", struck.fault.name(), message));
        }
        let stood_still = stood_still(evidence, struck, &waiting);
        if stood_still > STANDSTILL_MAX_MS {
            let message = format!("nobody went on for {stood_still} ms, and {STANDSTILL_MAX_MS} ms are allowed");
            findings.push(finding("recovery", struck.fault.name(), message));
        }
    }
    let excused = merged(waiting.iter().copied().chain(evidence.struck.iter().filter_map(standstill)));
    let progress = progress(evidence);
    let silences = progress.windows(2).map(|two| (beyond((two[0], two[1]), &excused), two[0]));
    if let Some((silence, since)) = silences.max()
        && silence > SILENCE_MAX_MS
    {
        let message = format!(
            "nothing was recorded or called for {silence} ms from {since} ms on, and {SILENCE_MAX_MS} ms are allowed"
        );
        findings.push(finding("recovery", "longest silence", message));
    }
    findings
}

/// Milliseconds from the end of a fault until each session that it met is back, without those in which the minute's limit was used up; `None` if one of
/// them did not come back.
pub(crate) fn recovered_after(evidence: &Evidence, struck: &Struck) -> Option<u64> {
    recovery(struck, &merged(used_up(evidence).into_iter()))
}

fn recovery(struck: &Struck, waiting: &[Span]) -> Option<u64> {
    struck.recovered_after_ms.map(|after| beyond((struck.ended_ms, struck.ended_ms + after), waiting))
}

/// Milliseconds from the end of a fault to the next progress, or to the next fault, which may stop everybody again. Zero after faults that leave
/// nothing to do for a while, which have limits of their own.
fn stood_still(evidence: &Evidence, struck: &Struck, waiting: &[Span]) -> u64 {
    if struck.fault.standstill() == Standstill::UntilRecovered {
        return 0;
    }
    let Some(went_on) = went_on_after(evidence, struck) else { return 0 };
    let next = evidence.struck.iter().map(|next| next.at_ms).filter(|at_ms| *at_ms > struck.at_ms).min();
    let until = next.unwrap_or(u64::MAX).min(struck.ended_ms + went_on);
    beyond((struck.ended_ms, until), waiting)
}

/// Milliseconds from the end of a fault to the next progress, whoever makes it; `None` if there was nothing left to do.
pub(crate) fn went_on_after(evidence: &Evidence, struck: &Struck) -> Option<u64> {
    let progress = progress(evidence);
    let next = progress.get(progress.partition_point(|at_ms| *at_ms < struck.ended_ms))?;
    Some(next - struck.ended_ms)
}

/// Times at which something was recorded, or a call begun: at the end of a sweep a few conversations are left, which call for long before one of them
/// is recorded. None where nobody looked at the ledger.
fn progress(evidence: &Evidence) -> Vec<u64> {
    let (Some(first), Some(last)) = (evidence.progress_ms.first(), evidence.progress_ms.last()) else {
        return Vec::new();
    };
    let calls = evidence.books.iter().filter(|call| !call.was_refused).map(|call| call.begun_ms);
    let calls = calls.filter(|begun_ms| (first..last).contains(&begun_ms));
    let mut progress: Vec<u64> = evidence.progress_ms.iter().copied().chain(calls).collect();
    progress.sort_unstable();
    progress
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

/// Times at which the limit by the minute allowed no further request: what was sent, and what faults have used, is all of it.
fn used_up(evidence: &Evidence) -> Vec<Span> {
    let live = evidence.books.iter().filter(|call| call.kind != CallKind::Batched);
    let mut begun: Vec<u64> = live.map(|call| call.begun_ms).collect();
    begun.sort_unstable();
    // What is used changes where a call begins, a fault strikes, or what it has used is over.
    let faults = evidence.struck.iter().flat_map(|struck| [struck.at_ms, struck.ended_ms + COUNTED_MS]);
    let mut changes: Vec<u64> = begun.iter().copied().chain(faults).collect();
    changes.sort_unstable();
    changes.dedup();
    let mut spans = Vec::new();
    for (position, from) in changes.iter().enumerate() {
        let enough = usize::try_from(evidence.requests_per_minute - lost(evidence, *from)).unwrap_or(usize::MAX);
        let sent = &begun[..begun.partition_point(|at| at <= from)];
        // As long as that many count, the first of them does.
        let Some(first) = sent.len().checked_sub(enough.max(1)).map(|position| sent[position]) else { continue };
        let to = changes.get(position + 1).copied().unwrap_or(u64::MAX).min(first + COUNTED_MS);
        if *from < to {
            spans.push((*from, to));
        }
    }
    spans
}

/// Requests that nobody could send at that moment: granted to what a fault killed, in a store that has forgotten what it had granted, or in the part of
/// the limit that the pool leaves alone where the endpoint has refused calls.
fn lost(evidence: &Evidence, at_ms: u64) -> u64 {
    let limit = evidence.requests_per_minute;
    let counts = |struck: &&Struck| struck.at_ms <= at_ms && at_ms < struck.ended_ms + COUNTED_MS;
    let (refusals, others): (Vec<&Struck>, Vec<&Struck>) =
        evidence.struck.iter().filter(counts).partition(|struck| struck.fault == Fault::Refusals);
    let of_each = u64::from(CONCURRENCY) + limit * FORGOTTEN_PERCENT / 100;
    let unused = if refusals.is_empty() { 0 } else { limit * UNUSED_AFTER_REFUSALS_PERCENT / 100 };
    unused + (others.len() as u64 * of_each).min(limit * LOST_MAX_PERCENT / 100)
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
