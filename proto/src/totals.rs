//! Calls, tokens and money of one attempt.

use std::ops::AddAssign;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CostSum, Event, Money, Transcript, Try, Usage};

/// Calls, tokens and money of one attempt alone; those of a handed-over transcript are in the totals of the attempts that made the calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct AttemptTotals {
    /// Answered calls, including those answered from the response cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub calls: u32,
    /// Part of `calls` that was answered from the response cache: these have no latency, tokens or cost of their own.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached_calls: u32,
    /// Tries after the first of each call, whether the call was answered in the end or given up.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retries: u32,
    /// Sum of the calls' latencies, in microseconds, but not of those answered from the response cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub latency_us: u64,
    /// Tokens, with the number of calls whose tokens are unknown, including those that a broken answer reported, but not those of answers from the response cache.
    pub usage: Usage,
    /// Cost of these tokens.
    pub cost: CostSum,
    /// Upper bound of further costs of failed tries, which the provider may have billed without a report.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub maybe_spent: Money,
}

fn is_zero<T: Default + PartialEq>(amount: &T) -> bool {
    *amount == T::default()
}

impl AttemptTotals {
    /// Adds the cost, or the possible cost, of a failed try.
    pub fn add_failed(&mut self, failed: &Try) {
        if let Some((usage, cost)) = failed.billed() {
            self.usage += usage;
            self.cost.add_call(cost);
        }
        // Without a bound, it is either nothing or, as `billed` has it, a cost that is unknown.
        self.maybe_spent += failed.at_most.unwrap_or(Money::ZERO);
    }
}

impl AddAssign for AttemptTotals {
    fn add_assign(&mut self, other: Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.cached_calls = self.cached_calls.saturating_add(other.cached_calls);
        self.retries = self.retries.saturating_add(other.retries);
        self.latency_us = self.latency_us.saturating_add(other.latency_us);
        self.usage += other.usage;
        self.cost += other.cost;
        self.maybe_spent += other.maybe_spent;
    }
}

impl Transcript {
    /// The totals of `attempt`, which may be one of several attempts in this transcript.
    #[must_use]
    pub fn totals_of(&self, attempt: u32) -> AttemptTotals {
        let mut totals = AttemptTotals::default();
        for event in &self.events {
            let (tries, retries) = match event {
                Event::Call(call) if call.attempt == attempt => {
                    totals.calls = totals.calls.saturating_add(1);
                    if call.from_cache {
                        totals.cached_calls = totals.cached_calls.saturating_add(1);
                    } else {
                        totals.latency_us = totals.latency_us.saturating_add(call.latency_us);
                        totals.usage += call.usage.of_answer(&call.reply);
                        totals.cost.add_call(call.cost);
                    }
                    (&call.tries, call.tries.len())
                }
                // The last try was not followed by a retry.
                Event::Failed(failed) if failed.attempt == attempt => {
                    (&failed.tries, failed.tries.len().saturating_sub(1))
                }
                Event::Call(_) | Event::Failed(_) => continue,
                Event::Recorded(_)
                | Event::Started(_)
                | Event::Exchange(_)
                | Event::Ended(_)
                | Event::BenchmarkFailed(_) => continue,
            };
            totals.retries = totals.retries.saturating_add(u32::try_from(retries).unwrap_or(u32::MAX));
            tries.iter().for_each(|failed| totals.add_failed(failed));
        }
        totals
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Call, ChatRequest, ErrorClass, FailedCall, Finish, Lane, Reply, Role, Served, Try};

    fn failed_tries(count: usize) -> Vec<Try> {
        vec![Try::not_sent(ErrorClass::Server, "503".to_owned()); count]
    }

    fn answered_after(tries: usize) -> Event {
        Event::Call(Box::new(Call {
            role: Role::Agent,
            attempt: 1,
            model: "sim/m".parse().unwrap(),
            request: ChatRequest::default(),
            reply: Reply::of_text(Some("x"), Finish::Stop),
            tries: failed_tries(tries),
            usage: Usage::default(),
            raw_usage: None,
            cost: None,
            reported_cost: None,
            served: Served::default(),
            latency_us: 1,
            first_token_us: None,
            waited_us: 0,
            at: None,
            lane: Lane::Live,
            from_cache: false,
            saved: None,
        }))
    }

    fn given_up_after(tries: usize) -> Event {
        let (role, model) = (Role::Agent, "sim/m".parse().unwrap());
        Event::Failed(FailedCall { role, attempt: 1, model, tries: failed_tries(tries), request: None, asked: None })
    }

    #[test]
    fn retries_are_the_tries_that_followed_a_failed_one() {
        let retries = |events| Transcript { events }.totals_of(1).retries;
        assert_eq!(retries(vec![answered_after(0)]), 0, "the first try is none");
        assert_eq!(retries(vec![answered_after(2)]), 2);
        assert_eq!(retries(vec![given_up_after(3)]), 2, "the last one was not tried again");
        assert_eq!(retries(vec![answered_after(1), given_up_after(1), answered_after(0)]), 1);
    }

    #[test]
    fn a_cached_answer_has_no_latency_of_its_own_and_is_counted() {
        let Event::Call(call) = answered_after(0) else { unreachable!("a call") };
        let cached = Event::Call(Box::new(Call { from_cache: true, latency_us: 900, ..*call }));
        let totals = Transcript { events: vec![answered_after(0), cached] }.totals_of(1);
        assert_eq!((totals.calls, totals.cached_calls, totals.latency_us), (2, 1, 1));
    }

    #[test]
    fn calls_of_unknown_tokens_or_of_unknown_price_are_counted_and_no_zeros() {
        let lost = Try::not_sent(ErrorClass::Timeout, String::new());
        let failed = |tries| {
            let (role, model) = (Role::Agent, "sim/m".parse().unwrap());
            Event::Failed(FailedCall { role, attempt: 1, model, tries, request: None, asked: None })
        };
        let tries = vec![lost.clone(), lost.clone().maybe_billed(Some(Money(7))), lost.maybe_billed(None)];
        let totals = Transcript { events: vec![answered_after(0), failed(tries)] }.totals_of(1);
        assert_eq!(totals.usage, Usage { unmetered_calls: 1, ..Usage::default() }, "an answer has tokens");
        let unknown = CostSum { known: Money::ZERO, unknown_calls: 2 };
        assert_eq!((totals.cost, totals.maybe_spent), (unknown, Money(7)));
    }
}
