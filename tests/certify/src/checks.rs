//! Checks of a history. Each names the item that fails it.

mod silence;

pub(crate) use silence::{recovered_after, went_on_after};

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::endpoint::{Call, CallKind};
use crate::evidence::{Evidence, Reference, booked};
use crate::repeats::repeats;
use crate::workload::{CONCURRENCY, Part};

/// Item of findings about judges, whose calls are of no session.
const JUDGES: &str = "judges' calls";
/// Length of the minute in which requests are counted, in milliseconds. Books have them when they arrive, up to half a second after the last moment
/// at which they may be sent. A deployment allows for that; beside builds, on the machine of the endpoint itself, as much again.
const MINUTE_MS: u64 = 59_500;

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
    let checks = [
        ended,
        same_results,
        one_result_an_item,
        calls,
        money,
        judges,
        budget,
        limits,
        nothing_left,
        silence::recovered,
    ];
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

/// Each request of a session is made as often as undisturbed, and once more only where a fault cut it off before; the same of lines of batches and of
/// what judges are asked.
fn calls(reference: &Reference, evidence: &Evidence) -> Vec<Finding> {
    let booked = booked(&evidence.books);
    let mut findings = Vec::new();
    for (session, expected) in &reference.sessions {
        let made = booked.get(session.as_str()).map_or(0, |booked| booked.calls);
        if made < expected.calls {
            findings.push(finding("calls", session, format!("{made} calls, and {} undisturbed", expected.calls)));
        }
    }
    let all_made = Reference::of(String::new(), &evidence.books);
    for ((session, request), expected) in &reference.requests {
        let made = all_made.requests.get(&(session.clone(), *request)).copied().unwrap_or(0);
        if made < *expected {
            let message = format!("a request is made {made} times, and {expected} times undisturbed");
            findings.push(finding("calls", session, message));
        }
    }
    for (request, expected) in &reference.judged {
        let made = all_made.judged.get(request).copied().unwrap_or(0);
        if made < *expected {
            let message = format!("a request is made {made} times, and {expected} times undisturbed");
            findings.push(finding("judges", JUDGES, message));
        }
    }
    let missing = reference.texts.difference(&all_made.texts).count();
    if missing > 0 {
        let message = format!("nobody asks for the vectors of {missing} texts, and somebody does undisturbed");
        findings.push(finding("judges", JUDGES, message));
    }
    let mut again: BTreeMap<(&str, &str), Vec<&Call>> = BTreeMap::new();
    for repeat in repeats(reference, evidence).into_iter().filter(|repeat| repeat.cause.is_none()) {
        let of = match repeat.call.kind {
            CallKind::Live | CallKind::Batched => ("calls", repeat.call.session.as_str()),
            CallKind::Judges => ("judges", JUDGES),
        };
        again.entry(of).or_default().push(repeat.call);
    }
    for ((check, item), calls) in again {
        let begun_ms: Vec<u64> = calls.iter().map(|call| call.begun_ms).collect();
        let equal = |other: &&Call| calls.iter().any(|call| asks_the_same(call, other));
        let all_ms: Vec<u64> = evidence.books.iter().filter(equal).map(|call| call.begun_ms).collect();
        let message = format!(
            "{} calls beyond the undisturbed run, begun at {begun_ms:?} ms, and no fault had cut these requests off before; the same was \
             asked at {all_ms:?} ms",
            begun_ms.len()
        );
        findings.push(finding(check, item, message));
    }
    findings
}

/// True if two calls have a request in common, or a text whose vector they ask for.
fn asks_the_same(one: &Call, other: &Call) -> bool {
    let is_equal = (one.kind, &one.session, one.request) == (other.kind, &other.session, other.request);
    is_equal || one.texts.iter().any(|text| other.texts.contains(text))
}

/// Bounds of the cost of `count` of these calls, in nano-dollars: the cheapest, and the dearest.
fn bounds<'c>(calls: impl Iterator<Item = &'c Call>, count: u64) -> (u64, u64) {
    let mut costs: Vec<u64> = calls.map(|call| call.cost).collect();
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    costs.sort_unstable();
    let least = costs.iter().take(count).sum();
    costs.sort_unstable_by_key(|cost| Reverse(*cost));
    (least, costs.iter().take(count).sum())
}

/// Each session's known cost is what the endpoint billed for it, to the nano-dollar. Calls that were cut off may be unknown, with what as many of
/// its calls cost.
fn money(reference: &Reference, evidence: &Evidence) -> Vec<Finding> {
    let booked = booked(&evidence.books);
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
        let cuts = evidence.struck.iter().filter_map(|struck| struck.in_flight.calls.get(session));
        let cut_off: usize = cuts.map(Vec::len).sum();
        let is_told = billed_calls.checked_sub(known_calls).is_some_and(|unknown| {
            let is_of_session = |call: &&Call| &call.session == session && call.kind != CallKind::Judges;
            let (least, most) = bounds(evidence.books.iter().filter(is_of_session), unknown);
            unknown <= cut_off as u64 && (known + least..=known + most).contains(&billed)
        });
        if !is_told {
            let message = format!(
                "the ledger has {known} nano-dollars of {known_calls} calls, the endpoint {billed} of {billed_calls}, and {cut_off} were cut off"
            );
            findings.push(finding("money", session, message));
        }
    }
    findings
}

/// Judges cost what the endpoint billed; less is known only of requests that were cut off.
fn judges(_: &Reference, evidence: &Evidence) -> Vec<Finding> {
    let of_judges = || evidence.books.iter().filter(|call| call.kind == CallKind::Judges);
    let billed: u64 = of_judges().map(|call| call.cost).sum();
    let cuts = evidence.struck.iter().flat_map(|struck| &struck.in_flight.judges);
    // A request that was made again cost as much both times.
    let cost = |cut: &u64| of_judges().filter(|call| call.request == *cut).map(|call| call.cost).max().unwrap_or(0);
    let cut_off: u64 = cuts.map(cost).sum();
    if evidence.judged_cost <= billed && billed - evidence.judged_cost <= cut_off {
        return Vec::new();
    }
    let message = format!(
        "the ledger has {} nano-dollars where {billed} were billed, {cut_off} of them for requests that were cut off",
        evidence.judged_cost
    );
    vec![finding("judges", JUDGES, message)]
}

/// Each sweep has an account, which covers what was billed for it, and neither is more than its budget.
fn budget(_: &Reference, evidence: &Evidence) -> Vec<Finding> {
    let mut findings = Vec::new();
    for account in &evidence.accounts {
        let of_sweep = evidence.books.iter().filter(|call| Part::of(call.kind) == account.part);
        let billed: u64 = of_sweep.map(|call| call.cost).sum();
        let mut find = |message| findings.push(finding("budget", &account.sweep, message));
        match account.counted {
            None => find("it has no account any more".to_owned()),
            Some(counted) if counted < billed => {
                find(format!("its account counts {counted} nano-dollars, and the endpoint billed {billed}"));
            }
            Some(_) => {}
        }
        let most = billed.max(account.counted.unwrap_or(0));
        if most > account.budget {
            find(format!("{most} nano-dollars were billed or counted of {}", account.budget));
        }
    }
    findings
}

/// Never more calls at once, nor in any minute, than the spec allows. A request that was refused counts in its minute; lines of batches are not under
/// these limits.
fn limits(_: &Reference, evidence: &Evidence) -> Vec<Finding> {
    let calls = || evidence.books.iter().filter(|call| call.kind != CallKind::Batched);
    let taken = calls().filter(|call| !call.was_refused);
    let mut edges: Vec<(u64, i64)> =
        taken.flat_map(|call| [(call.begun_ms, 1), (call.ended_ms.unwrap_or(u64::MAX), -1)]).collect();
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
    let in_minute = |first: usize| begun[first..].partition_point(|at| *at < begun[first] + MINUTE_MS);
    let most_in_minute = (0..begun.len()).map(in_minute).max().unwrap_or(0);
    let mut findings = Vec::new();
    if most_at_once > i64::from(CONCURRENCY) {
        findings.push(finding(
            "limits",
            "concurrency",
            format!("{most_at_once} calls at once, and {CONCURRENCY} are allowed"),
        ));
    }
    if most_in_minute as u64 > evidence.requests_per_minute {
        let message = format!("{most_in_minute} calls in a minute, and {} are allowed", evidence.requests_per_minute);
        findings.push(finding("limits", "requests per minute", message));
    }
    findings
}

fn nothing_left(_: &Reference, evidence: &Evidence) -> Vec<Finding> {
    let left = evidence.leftovers.counts();
    left.into_iter().map(|(what, count)| finding("nothing left", what, format!("{count} are left"))).collect()
}

#[cfg(test)]
mod tests;
