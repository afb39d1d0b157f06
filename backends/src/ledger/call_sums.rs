//! Sums over calls (tokens, latency, cost, errors), kept so that reports need not read transcripts.
//!
//! Each call is counted once. A session is recorded with the calls of its whole transcript, by the attempt that made them. The calls of the
//! reporting attempt always count, even if the attempt is waste, because they happened. The calls of earlier attempts were handed over to
//! it, and count with the first record that has them: two workers may have continued the same transcript, and a session that a budget ended
//! is recorded, then continued and recorded again. A handover itself has no sums, so calls of an attempt whose continuation never reports
//! are not counted; nor are those of a lost attempt, because they are unknown.

use std::collections::BTreeMap;

use regatta_proto::{Call, CostSum, ErrorClass, Event, Money, Role, Served, Transcript, Try};
use serde::{Deserialize, Serialize};

use super::columns::Place;
use super::sketch::Sketch;

/// Most distinct names of models or encoders that answered.
const SERVED_MAX: usize = 64;

/// Name under which all others are counted.
const OTHERS: &str = "(others)";

/// Longest such name, in characters.
const LABEL_MAX: usize = 160;

/// Sums over a set of calls. Merging them in any order gives the same result.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CallSums {
    /// Answered calls, including those answered from the response cache.
    pub calls: u64,
    /// The part of `calls` that was answered from the response cache. Nothing was sent for these, so they are not in the sums of time and
    /// money.
    pub from_cache: u64,
    /// The part of `calls` that was sent by the provider's batch API.
    pub batched: u64,
    /// Seconds from sending the request to the last byte of the answer.
    pub latency: Sketch,
    /// Seconds from sending the request to the first token; streamed answers only.
    pub first_token: Sketch,
    /// Generated tokens per second of streamed answers: the tokens after the first one, divided by the time after it. Answers in one piece
    /// are left out, because their time includes waiting, and so are batched calls, whose time is mostly that.
    pub tokens_per_second: Sketch,
    /// Failed tries by error class, including those before an answer.
    pub errors: BTreeMap<ErrorClass, u64>,
    /// Cost of those that bought nothing, as far as reported: of answers that could not be used. What a filter or the length of the context
    /// ended is the result of its session, and not in it.
    #[serde(skip_serializing_if = "is_nothing")]
    pub failed: CostSum,
    /// Time in which calls of all roles were held up.
    #[serde(skip_serializing_if = "HeldUp::is_none")]
    pub held_up: HeldUp,
    /// Money that the response cache saved, in calls of all roles.
    #[serde(skip_serializing_if = "SavedCost::is_none")]
    pub saved: SavedCost,
    /// Costs of the calls for which the provider itself reported a cost.
    pub reported: ReportedCost,
    /// Calls by the model or encoder that answered. At most 64 names, the first in alphabetical order; the others are counted as
    /// `(others)`.
    pub served: BTreeMap<String, u64>,
    /// Sums over the calls of roles other than the agent's. The fields above do not include them, because they are about the model under
    /// test, but for `held_up` and `saved`, which are about the session.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub others: BTreeMap<Role, OtherCalls>,
}

/// Time of calls that was no answer, in microseconds. Calls of a version that did not tell their waits have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HeldUp {
    /// Waits before tries: the pause after a failed one, then for an endpoint that is up, money and limits.
    pub waited_us: u64,
    /// Tries that failed.
    pub failed_us: u64,
}

impl HeldUp {
    fn is_none(&self) -> bool {
        *self == Self::default()
    }

    fn merge(&mut self, other: &Self) {
        self.waited_us = self.waited_us.saturating_add(other.waited_us);
        self.failed_us = self.failed_us.saturating_add(other.failed_us);
    }

    fn add_failed(&mut self, tries: &[Try]) {
        for failed in tries {
            self.merge(&Self { waited_us: failed.waited_us, failed_us: failed.latency_us });
        }
    }
}

/// Costs of the original calls whose answers came from the response cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SavedCost {
    /// Answers from the response cache of which that is known.
    pub calls: u64,
    /// Cost of their original calls, by the prices of then.
    pub cost: Money,
}

impl SavedCost {
    /// `true` if nothing was saved, as far as known.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Adds the calls of `other`.
    pub fn merge(&mut self, other: &Self) {
        add_to(&mut self.calls, other.calls);
        self.cost += other.cost;
    }
}

/// Sums over the calls of one role other than the agent's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct OtherCalls {
    /// Answered calls, including those answered from the response cache.
    pub calls: u64,
    /// Failed tries, including those before an answer.
    pub failed_tries: u64,
    /// Cost of answers, and of failed tries as far as reported.
    pub cost: CostSum,
}

impl OtherCalls {
    fn merge(&mut self, other: &Self) {
        add_to(&mut self.calls, other.calls);
        add_to(&mut self.failed_tries, other.failed_tries);
        self.cost += other.cost;
    }

    fn add_failed(&mut self, tries: &[Try]) {
        self.failed_tries += tries.len() as u64;
        for (_, cost) in tries.iter().filter_map(Try::billed) {
            self.cost.add_call(cost);
        }
    }
}

/// Costs that providers reported, beside the cost of the same calls by our prices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ReportedCost {
    /// Calls with a reported cost and a known price.
    pub calls: u64,
    /// Reported cost of these calls.
    pub theirs: Money,
    /// Cost of these calls by our prices.
    pub ours: Money,
    /// Calls with a reported cost, but without a known price.
    pub unpriced_calls: u64,
    /// Reported cost of the calls without a known price.
    pub unpriced_theirs: Money,
}

impl ReportedCost {
    fn merge(&mut self, other: &Self) {
        add_to(&mut self.calls, other.calls);
        self.theirs += other.theirs;
        self.ours += other.ours;
        add_to(&mut self.unpriced_calls, other.unpriced_calls);
        self.unpriced_theirs += other.unpriced_theirs;
    }
}

impl CallSums {
    /// Sums over the calls that `attempt` made in `transcript`; `label` returns the name of what answered, in one line.
    #[must_use]
    pub fn of(transcript: &Transcript, attempt: u32, label: impl Fn(&Served) -> Option<String>) -> Self {
        Self::by_attempt(transcript, label).remove(&attempt).unwrap_or_default()
    }

    /// Sums over the calls in `transcript`, by the number of the attempt that made them; attempts without calls are left out.
    #[must_use]
    pub fn by_attempt(transcript: &Transcript, label: impl Fn(&Served) -> Option<String>) -> BTreeMap<u32, Self> {
        let mut sums: BTreeMap<u32, Self> = BTreeMap::new();
        for event in &transcript.events {
            match event {
                Event::Call(call) => {
                    let sums = sums.entry(call.attempt).or_default();
                    sums.add_failed(call.role, &call.tries);
                    sums.add(call, label(&call.served));
                }
                Event::Failed(failed) if !failed.tries.is_empty() => {
                    sums.entry(failed.attempt).or_default().add_failed(failed.role, &failed.tries);
                }
                _ => {}
            }
        }
        sums
    }

    /// Adds all calls of `other`.
    pub fn merge(&mut self, other: &Self) {
        add_to(&mut self.calls, other.calls);
        add_to(&mut self.from_cache, other.from_cache);
        add_to(&mut self.batched, other.batched);
        self.latency.merge(&other.latency);
        self.first_token.merge(&other.first_token);
        self.tokens_per_second.merge(&other.tokens_per_second);
        for (class, count) in &other.errors {
            add_to(self.errors.entry(*class).or_default(), *count);
        }
        self.failed += other.failed;
        self.held_up.merge(&other.held_up);
        self.saved.merge(&other.saved);
        self.reported.merge(&other.reported);
        for (role, calls) in &other.others {
            self.others.entry(*role).or_default().merge(calls);
        }
        for (name, count) in &other.served {
            add_to(self.served.entry(name.clone()).or_default(), *count);
        }
        self.bound_served();
    }

    fn add_failed(&mut self, role: Role, tries: &[Try]) {
        self.held_up.add_failed(tries);
        if role != Role::Agent {
            if !tries.is_empty() {
                self.others.entry(role).or_default().add_failed(tries);
            }
            return;
        }
        for failed in tries {
            *self.errors.entry(failed.class).or_default() += 1;
            if let Some((_, cost)) = failed.billed().filter(|_| bought_nothing(failed.class)) {
                self.failed.add_call(cost);
            }
        }
    }

    fn add(&mut self, call: &Call, label: Option<String>) {
        self.held_up.merge(&HeldUp { waited_us: call.waited_us, failed_us: 0 });
        if let Some(cost) = call.saved {
            self.saved.merge(&SavedCost { calls: 1, cost });
        }
        if call.role != Role::Agent {
            let others = self.others.entry(call.role).or_default();
            others.calls += 1;
            if !call.from_cache {
                others.cost.add_call(call.cost);
            }
            return;
        }
        self.calls += 1;
        if let Some(label) = label {
            *self.served.entry(label.chars().take(LABEL_MAX).collect()).or_default() += 1;
            self.bound_served();
        }
        if call.from_cache {
            self.from_cache += 1;
            return;
        }
        self.latency.add(seconds(call.latency_us));
        if let Some(first) = call.first_token_us {
            self.first_token.add(seconds(first));
        }
        if call.lane.is_live() {
            if let Some(speed) = tokens_per_second(call) {
                self.tokens_per_second.add(speed);
            }
        } else {
            self.batched += 1;
        }
        match (call.reported_cost, call.cost) {
            (Some(theirs), Some(ours)) => {
                self.reported.calls += 1;
                self.reported.theirs += theirs;
                self.reported.ours += ours;
            }
            (Some(theirs), None) => {
                self.reported.unpriced_calls += 1;
                self.reported.unpriced_theirs += theirs;
            }
            (None, _) => {}
        }
    }

    /// Keeps the first names in alphabetical order. Keeping the earliest ones, or the most frequent ones, would depend on the order of
    /// merging, because a name that was dropped here could be frequent elsewhere.
    fn bound_served(&mut self) {
        let mut others = self.served.remove(OTHERS).unwrap_or_default();
        while self.served.len() > SERVED_MAX {
            add_to(&mut others, self.served.pop_last().map_or(0, |(_, count)| count));
        }
        if others > 0 {
            self.served.insert(OTHERS.to_owned(), others);
        }
    }
}

/// Adds `more`, which may come from a ledger of somebody else: a count that no sum holds stays the most that there is.
fn add_to(count: &mut u64, more: u64) {
    *count = count.saturating_add(more);
}

/// `true` unless the failure itself is what the session comes to.
const fn bought_nothing(class: ErrorClass) -> bool {
    match class {
        ErrorClass::ContextLength | ErrorClass::ContentFilter => false,
        ErrorClass::Connection
        | ErrorClass::Timeout
        | ErrorClass::RateLimited
        | ErrorClass::Server
        | ErrorClass::BadResponse
        | ErrorClass::Auth
        | ErrorClass::NotFound
        | ErrorClass::BadRequest
        | ErrorClass::Quota
        | ErrorClass::Poison
        | ErrorClass::Budget
        | ErrorClass::CacheMiss => true,
    }
}

fn is_nothing(cost: &CostSum) -> bool {
    *cost == CostSum::default()
}

fn seconds(microseconds: u64) -> f64 {
    microseconds as f64 / 1e6
}

/// `None` if the answer came in one piece, or was too short to measure.
fn tokens_per_second(call: &Call) -> Option<f64> {
    let first = call.first_token_us?;
    let (tokens, microseconds) = (call.usage.output.saturating_sub(1), call.latency_us.saturating_sub(first));
    (tokens > 0 && microseconds > 0).then(|| tokens as f64 / seconds(microseconds))
}

/// Sums that a batch of records adds to its cells.
#[derive(Debug, Default)]
pub(super) struct NewCalls<'a> {
    cells: BTreeMap<(i64, i64), CallSums>,
    /// Calls that earlier attempts handed over, which may have been counted before.
    handed_on: BTreeMap<(Place, u32), &'a CallSums>,
}

impl<'a> NewCalls<'a> {
    /// Adds the sums of a record that is new, of the attempt `number`.
    pub(super) fn add(&mut self, place: Place, number: u32, call_sums: &'a BTreeMap<u32, CallSums>) {
        for (attempt, sums) in call_sums {
            if *attempt == number {
                self.cells.entry((place.sweep, place.cell)).or_default().merge(sums);
            } else {
                self.handed_on.entry((place, *attempt)).or_insert(sums);
            }
        }
    }

    /// The sessions and attempt numbers whose calls were handed over, in order.
    pub(super) fn handed_on(&self) -> Vec<(Place, u32)> {
        self.handed_on.keys().copied().collect()
    }

    /// Counts calls that were handed over and have not been counted before.
    pub(super) fn count(&mut self, place: Place, attempt: u32) {
        if let Some(sums) = self.handed_on.remove(&(place, attempt)) {
            self.cells.entry((place.sweep, place.cell)).or_default().merge(sums);
        }
    }

    /// The sums to add, by sweep and cell.
    pub(super) fn into_cells(self) -> BTreeMap<(i64, i64), CallSums> {
        self.cells
    }
}

#[cfg(test)]
mod tests;
