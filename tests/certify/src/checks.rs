//! Checks of a history. Each names the item that fails it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::endpoint::CallKind;
use crate::evidence::{Evidence, InFlight, Reference, booked};
use crate::workload::{BATCH_MAX, CONCURRENCY, REQUESTS_PER_MINUTE};

/// Longest silence after the last fault, in milliseconds; what a fault may take to recover, and what a tail of slow sessions takes.
const SILENCE_MAX_MS: u64 = 25_000;

/// A check that failed, with the item that failed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Name of the check that failed.
    pub check: &'static str,
    /// The session, queue, process or fault that failed it.
    pub item: String,
    /// Seen and expected, in one sentence.
    pub message: String,
}

fn finding(check: &'static str, item: impl Into<String>, message: String) -> Finding {
    Finding { check, item: item.into(), message }
}

/// Checks that failed.
pub(crate) fn check(reference: &Reference, evidence: &Evidence) -> Vec<Finding> {
    let checks =
        [ended, same_results, one_result_an_item, calls, money, judges, budget, limits, nothing_left, recovered];
    checks.into_iter().flat_map(|check| check(reference, evidence)).collect()
}

fn ended(_: &Reference, evidence: &Evidence) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        evidence.fallen.iter().map(|who| finding("processes", who, "nobody ended it".to_owned())).collect();
    if evidence.state != "complete" {
        findings.push(finding("end", "sweep", format!("it is {}, not complete", evidence.state)));
    }
    findings
}

/// `results.jsonl` has the bytes of the undisturbed run.
fn same_results(reference: &Reference, evidence: &Evidence) -> Vec<Finding> {
    if evidence.results == reference.results {
        return Vec::new();
    }
    let mut lines = reference.results.lines().zip(evidence.results.lines());
    let item = lines.find(|(expected, got)| expected != got).map_or_else(
        || format!("line {}", evidence.results.lines().count().min(reference.results.lines().count()) + 1),
        |(_, got)| name(got).unwrap_or_else(|| got.to_owned()),
    );
    let (expected, got) = (reference.results.lines().count(), evidence.results.lines().count());
    vec![finding("same results", item, format!("differs from the undisturbed run ({got} lines for {expected})"))]
}

fn name(line: &str) -> Option<String> {
    let line: serde_json::Value = serde_json::from_str(line).ok()?;
    let text = |field: &str| line[field].as_str().map(str::to_owned);
    Some(format!("{}/{}/{}/{}", text("benchmark")?, text("setting")?, line["trial"], text("item")?))
}

fn one_result_an_item(_: &Reference, evidence: &Evidence) -> Vec<Finding> {
    let mut seen = BTreeSet::new();
    let again = evidence.results.lines().filter_map(name).filter(|session| !seen.insert(session.clone()));
    let mut findings: Vec<Finding> =
        again.map(|session| finding("one result an item", session, "it has two results".to_owned())).collect();
    let mut counted: BTreeMap<&str, u32> = BTreeMap::new();
    for attempt in evidence.attempts.iter().filter(|attempt| attempt.state == "recorded") {
        *counted.entry(&attempt.session).or_default() += 1;
    }
    for session in &seen {
        let attempts = counted.get(session.as_str()).copied().unwrap_or(0);
        if attempts != 1 {
            findings.push(finding("one result an item", session, format!("{attempts} of its attempts count")));
        }
    }
    findings
}

/// All that was in flight in processes that were killed or cut off.
fn in_flight(evidence: &Evidence) -> InFlight {
    let mut in_flight = InFlight::default();
    evidence.struck.iter().for_each(|struck| in_flight.add(&struck.in_flight));
    in_flight
}

/// No session calls more often than undisturbed, but for calls that were in flight in a process that was killed or cut off. Of lines of batches
/// nobody knows whose they were: each worker that was killed or cut off may have left one batch that is handed in twice.
fn calls(reference: &Reference, evidence: &Evidence) -> Vec<Finding> {
    let (booked, in_flight) = (booked(&evidence.books), in_flight(evidence));
    let mut findings = Vec::new();
    let mut twice = 0;
    for (session, expected) in &reference.sessions {
        let made = booked.get(session.as_str()).map_or(0, |booked| booked.calls);
        let of_session = in_flight.calls.get(session.as_str()).copied().unwrap_or(0);
        let most = expected.calls + if expected.is_batched { in_flight.workers } else { of_session };
        if made < expected.calls || made > most {
            let message = format!("{made} calls, and {} to {most} are allowed", expected.calls);
            findings.push(finding("calls", session, message));
        }
        if expected.is_batched {
            twice += made.saturating_sub(expected.calls);
        }
    }
    for session in booked.keys().filter(|session| !reference.sessions.contains_key(**session)) {
        findings.push(finding("calls", *session, "it has calls, and none in the undisturbed run".to_owned()));
    }
    let most = in_flight.workers * BATCH_MAX;
    if twice > most {
        let message = format!(
            "{twice} lines were answered twice, and a batch of {BATCH_MAX} a lost worker is allowed, {most} in all"
        );
        findings.push(finding("calls", "batches", message));
    }
    findings
}

/// Each session's known cost is what the endpoint billed for it, to the nano-dollar; less only for calls that were cut off.
fn money(reference: &Reference, evidence: &Evidence) -> Vec<Finding> {
    let (booked, in_flight) = (booked(&evidence.books), in_flight(evidence).calls);
    let mut known: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for attempt in &evidence.attempts {
        let (calls, cost) = known.entry(&attempt.session).or_default();
        *calls += attempt.calls;
        *cost += attempt.known_cost;
    }
    let mut findings = Vec::new();
    for session in reference.sessions.keys() {
        let of_session = booked.get(session.as_str()).copied().unwrap_or_default();
        let (billed_calls, billed) = (of_session.calls, of_session.cost);
        let (known_calls, known) = known.get(session.as_str()).copied().unwrap_or_default();
        let cut_off = in_flight.get(session.as_str()).copied().unwrap_or(0);
        let is_exact = known == billed && known_calls == billed_calls;
        let is_less = known <= billed && known_calls <= billed_calls;
        let is_explained = is_less && cut_off > 0 && billed_calls - known_calls <= cut_off;
        if !is_exact && !is_explained {
            let message = format!(
                "the ledger has {known} nano-dollars of {known_calls} calls, the endpoint {billed} of {billed_calls}"
            );
            findings.push(finding("money", session, message));
        }
    }
    findings
}

/// Judges cost what the endpoint billed; less is known only of as many calls as were in flight in a process that was killed or cut off. How many
/// questions share a call is chance, so calls are not compared.
fn judges(_: &Reference, evidence: &Evidence) -> Vec<Finding> {
    let of_judges = evidence.books.iter().filter(|call| call.kind == CallKind::Judges);
    let mut costs: Vec<u64> = of_judges.map(|call| call.cost).collect();
    let billed: u64 = costs.iter().sum();
    costs.sort_unstable_by_key(|cost| Reverse(*cost));
    let lost = in_flight(evidence).judges;
    let cut_off: u64 = costs.iter().take(usize::try_from(lost).unwrap_or(usize::MAX)).sum();
    if evidence.judged_cost <= billed && billed - evidence.judged_cost <= cut_off {
        return Vec::new();
    }
    let message = format!(
        "the ledger has {} nano-dollars where {billed} were billed, and {lost} calls were cut off",
        evidence.judged_cost
    );
    vec![finding("judges", "judges' calls", message)]
}

/// Each sweep has an account, they cover what was billed, and neither is more than the budget.
fn budget(_: &Reference, evidence: &Evidence) -> Vec<Finding> {
    let billed: u64 = evidence.books.iter().map(|call| call.cost).sum();
    let gone = |sweep: &String| finding("budget", sweep, "it has no account any more".to_owned());
    let mut findings: Vec<Finding> = evidence.without_account.iter().map(gone).collect();
    if evidence.account < billed {
        let message = format!("it counts {} nano-dollars, and the endpoint billed {billed}", evidence.account);
        findings.push(finding("budget", "account", message));
    }
    if billed > evidence.budget || evidence.account > evidence.budget {
        let message =
            format!("{billed} nano-dollars were billed and {} counted of {}", evidence.account, evidence.budget);
        findings.push(finding("budget", "budget", message));
    }
    findings
}

/// Never more calls at once, nor in any minute, than the spec allows; lines of batches are not under these limits.
fn limits(_: &Reference, evidence: &Evidence) -> Vec<Finding> {
    let calls = || evidence.books.iter().filter(|call| !call.was_refused && call.kind != CallKind::Batched);
    let mut edges: Vec<(u64, i64)> =
        calls().flat_map(|call| [(call.begun_ms, 1), (call.ended_ms.unwrap_or(u64::MAX), -1)]).collect();
    // Who ends makes room for who begins in the same millisecond.
    edges.sort_unstable();
    let mut at_once = 0_i64;
    let most_at_once = edges
        .iter()
        .map(|(_, change)| {
            at_once += change;
            at_once
        })
        .max()
        .unwrap_or(0);
    let mut begun: Vec<u64> = calls().map(|call| call.begun_ms).collect();
    begun.sort_unstable();
    let in_minute = |first: usize| begun[first..].partition_point(|at| *at < begun[first] + 60_000);
    let most_in_minute = (0..begun.len()).map(in_minute).max().unwrap_or(0);
    let mut findings = Vec::new();
    if most_at_once > i64::from(CONCURRENCY) {
        findings.push(finding(
            "limits",
            "concurrency",
            format!("{most_at_once} calls at once, and {CONCURRENCY} are allowed"),
        ));
    }
    if most_in_minute > REQUESTS_PER_MINUTE as usize {
        let message = format!("{most_in_minute} calls in a minute, and {REQUESTS_PER_MINUTE} are allowed");
        findings.push(finding("limits", "requests per minute", message));
    }
    findings
}

fn nothing_left(_: &Reference, evidence: &Evidence) -> Vec<Finding> {
    let left = evidence.leftovers.counts();
    left.into_iter().map(|(what, count)| finding("nothing left", what, format!("{count} are left"))).collect()
}

fn recovered(_: &Reference, evidence: &Evidence) -> Vec<Finding> {
    let mut findings = Vec::new();
    for struck in &evidence.struck {
        let most = struck.fault.recovery_max_s() * 1000;
        if struck.recovered_after_ms.is_none_or(|after| after > most) {
            let took = struck.recovered_after_ms.map_or("never".to_owned(), |after| format!("after {after} ms"));
            findings.push(finding(
                "recovery",
                struck.fault.name(),
                format!("recovered {took}, and {most} ms are allowed"),
            ));
        }
    }
    let slowest = evidence.struck.iter().map(|struck| struck.fault.recovery_max_s() * 1000).max().unwrap_or(0);
    let most = slowest.max(SILENCE_MAX_MS) + if slowest > SILENCE_MAX_MS { SILENCE_MAX_MS } else { 0 };
    if evidence.longest_silence_ms > most {
        let message = format!("nothing was recorded for {} ms, and {most} ms are allowed", evidence.longest_silence_ms);
        findings.push(finding("recovery", "longest silence", message));
    }
    findings
}

#[cfg(test)]
mod tests;
