//! A call in progress: its tries, their costs, and the time of the next one.

use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::Timestamp;
use regatta_proto::{Circumstances, ErrorClass, Money, Try, Usage};
use tokio::time::{Instant, sleep};

use crate::breaker::Pass;
use crate::errors::{Failure, Reach, rule};
use crate::money::{OUTPUT_TOKENS_MAX, Paid, Reservation};
use crate::permits::{Ask, Estimate, Line, Permit, Refused};
use crate::retry::Schedule;

use super::{Answered, Ready, Tries, TryContext};

/// Shortest wait that transcripts tell. Every try waits some microseconds for its permit.
const NOTICED: Duration = Duration::from_millis(1);

/// A call in progress.
pub(super) struct Life<'a> {
    all: &'a Tries,
    context: TryContext<'a>,
    estimate: Estimate,
    /// The most that a try can cost; `None` if the price is unknown.
    at_most: Option<Money>,
    /// Number of calls that the endpoint had answered when this one began.
    answered_before: u64,
    pub(super) tries: Vec<Try>,
    schedule: Option<Schedule>,
    /// Held to the end of the call once it was refused, including later tries.
    refused: Option<Refused>,
    /// Time of tries and back-off. Waiting for our own permits and money does not count, because it is not the endpoint's fault.
    spent: Duration,
    /// Time waited since the last try that `tries` has: for its retry, and for everything that the next one needs.
    waited: Duration,
}

pub(super) enum Step<T> {
    Answered { value: T, latency: Duration, at: Timestamp, cost: Option<Money>, waited_us: u64 },
    Again,
    Failed,
    Interrupted,
}

impl<'a> Life<'a> {
    pub(super) fn begin(all: &'a Tries, context: TryContext<'a>) -> Self {
        let most = context.max_output.unwrap_or(u64::from(OUTPUT_TOKENS_MAX));
        let prompt = context.prompt_bytes.saturating_add(context.media_tokens);
        Self {
            estimate: all.governor.estimate(context.model, context.prompt_bytes, context.max_output),
            at_most: context.payer.price.map(|price| match &all.tier {
                Some(tier) => price.at_most_as(tier, prompt, most),
                None => price.at_most(prompt, most),
            }),
            answered_before: all.answered.load(Ordering::Relaxed),
            all,
            context,
            tries: Vec::new(),
            schedule: None,
            refused: None,
            spent: Duration::ZERO,
            waited: Duration::ZERO,
        }
    }

    fn ask(&self) -> Ask<'a> {
        Ask {
            sweep: self.context.payer.sweep,
            share: self.context.payer.share,
            model: self.context.model,
            tokens: self.estimate.total(),
            line: if self.tries.is_empty() { Line::New } else { Line::Retried },
        }
    }

    fn cost(&self, usage: &Usage, tier: Option<&str>, at: Timestamp) -> Option<Money> {
        let price = self.context.payer.price?;
        price.cost(usage, &Circumstances { variant: tier, at: Some(at) })
    }

    /// Makes one try, from the wait for its permissions to the wait for the next try.
    pub(super) async fn step<T, F, Fut>(&mut self, once: F) -> Step<T>
    where
        T: Answered,
        F: Fn() -> Fut,
        Fut: Future<Output = Result<T, Failure>>,
    {
        let (ask, since) = (self.ask(), self.all.clock.now());
        let waiting = Instant::now();
        let ready = self.all.make_ready(&self.context, self.at_most, &ask);
        let ready = self.context.interrupt.run_until_cancelled(ready).await;
        self.waited += waiting.elapsed();
        let Ready { pass, mut reservation, mut permit } = match ready {
            Some(Ok(ready)) => ready,
            Some(Err(used_up)) => {
                let waited_us = self.take_waited();
                self.tries.push(Try { waited_us, ..used_up.into_try() });
                return Step::Failed;
            }
            None => return Step::Interrupted,
        };
        // The key or model may have been held while this call waited.
        if let Some(held) = self.all.holding.last_refusal(self.context.model) {
            self.tries.push(held);
            return Step::Failed;
        }
        if !permit.sent() {
            // This process was stopped after it got its permit.
            return Step::Again;
        }
        reservation.sent();
        if let Some(meter) = self.context.meter {
            meter.waited(since, self.all.clock.now());
            meter.sent(self.at_most);
        }
        let in_flight = self.all.metrics.begin();
        let (at, begun) = (self.all.clock.now(), Instant::now());
        // A call in flight is as good as paid, so its answer is awaited, and only further tries are given up.
        let result = self.all.silence.watch(once()).await;
        let latency = begun.elapsed();
        drop(in_flight);
        match result {
            Ok(value) => {
                let cost = self.answered(&value, latency, at, permit, reservation);
                Step::Answered { value, latency, at, cost, waited_us: self.take_waited() }
            }
            Err(failure) if failure.reach == Reach::StoodStill => {
                self.not_sent(failure, permit, reservation);
                Step::Again
            }
            Err(failure) => self.failed(failure, latency, at, (pass, permit, reservation)).await,
        }
    }

    /// Gives back what the call held for a request that never left this process, and that nobody has refused.
    fn not_sent(&self, failure: Failure, permit: Permit, reservation: Reservation) {
        permit.failed(0);
        reservation.settle(Paid::Known(Money::ZERO));
        if let Some(meter) = self.context.meter {
            meter.failed(&failure.into_try(Duration::ZERO));
        }
    }

    fn answered<T: Answered>(
        &self,
        value: &T,
        latency: Duration,
        at: Timestamp,
        permit: Permit,
        reservation: Reservation,
    ) -> Option<Money> {
        let all = self.all;
        all.breaker.reached();
        all.holding.answered(self.context.model);
        all.answered.fetch_add(1, Ordering::Relaxed);
        let usage = Some(value.usage()).filter(|_| value.usage_is_known());
        let cost = usage.and_then(|usage| self.cost(usage, value.tier(), at));
        if let Some(wait) = value.exhausted_for() {
            all.governor.hold(wait, "a limit of the endpoint is used up");
        }
        if let Some(usage) = usage {
            all.governor.learn(self.context.model, self.context.prompt_bytes, usage);
        }
        permit.answered(usage.map(Usage::total));
        reservation.settle(cost.map_or(Paid::Unknown, Paid::Known));
        all.metrics.answered(latency, value.first_token());
        all.metrics.spent(value.usage(), cost);
        cost
    }

    async fn failed<T>(
        &mut self,
        failure: Failure,
        latency: Duration,
        at: Timestamp,
        (pass, permit, reservation): (Pass<'_>, Permit, Reservation),
    ) -> Step<T> {
        let all = self.all;
        let rule = rule(failure.class);
        let unreached = failure.reach.is_unreached();
        if unreached {
            all.breaker.unreached(&failure.detail)
        } else {
            all.breaker.reached()
        }
        all.holding.failed(self.context.model, &failure);
        let was_probe = pass.is_probe();
        drop(pass);
        // Done before the slot goes to the next call, which the endpoint may refuse too.
        self.tell_fleet(&failure);
        let (cost, doubt, paid) = self.billed(&failure, at);
        permit.failed(failure.usage.map_or(self.estimate.input, |usage| usage.total()));
        reservation.settle(paid);
        self.spent += latency;

        let is_held = unreached && all.breaker.is_open();
        let poison = self.poison(&failure).await;
        let delay = if poison.is_some() || is_held || !rule.retried || (unreached && all.breaker.is_given_up()) {
            None
        } else {
            let (retries, seed) = (all.retries, self.context.seed.unwrap_or_else(|| all.next_seed()));
            let schedule = self.schedule.get_or_insert_with(|| Schedule::new(retries, seed));
            schedule.next_delay(self.spent, failure.class == ErrorClass::RateLimited, failure.retry_after)
        };
        all.metrics.failed(&failure, delay.is_some() || is_held);
        let failed = Try { cost, ..failure.into_try(latency) };
        let failed = match doubt {
            Some(at_most) => failed.maybe_billed(at_most),
            None => failed,
        };
        if let Some(meter) = self.context.meter {
            meter.failed(&failed);
        }
        // A probe tests the endpoint and tells nothing about its call, which might make hundreds of them.
        if !(is_held && was_probe) {
            let waited_us = self.take_waited();
            self.tries.push(Try { waited_us, ..failed });
        }
        if is_held {
            return Step::Again;
        }
        if poison.is_some() {
            all.metrics.quarantined();
        }
        self.tries.extend(poison);
        let Some(delay) = delay else { return Step::Failed };
        self.spent += delay;
        let waiting = Instant::now();
        let slept = self.context.interrupt.run_until_cancelled(sleep(delay)).await;
        self.waited += waiting.elapsed();
        match slept {
            Some(()) => Step::Again,
            None => Step::Interrupted,
        }
    }

    /// The time waited so far, in microseconds, which the entry of the try has that ends the wait.
    fn take_waited(&mut self) -> u64 {
        let waited = std::mem::take(&mut self.waited);
        if waited < NOTICED { 0 } else { u64::try_from(waited.as_micros()).unwrap_or(u64::MAX) }
    }

    /// Reports the endpoint's signals to the fleet.
    fn tell_fleet(&mut self, failure: &Failure) {
        let governor = &self.all.governor;
        if failure.class == ErrorClass::RateLimited {
            if self.refused.is_some() {
                governor.refused_again(&failure.detail);
            } else {
                self.refused = Some(governor.refused(&self.ask(), &failure.detail));
            }
        }
        if let Some(wait) = failure.retry_after.filter(|_| rule(failure.class).retried) {
            if failure.class != ErrorClass::RateLimited {
                governor.turned_away();
            }
            governor.told_to_wait(wait, &failure.detail);
        }
    }

    /// Cost of the failed try if reported; else, if it may have been billed, the most it may have cost, if anybody knows that; and the
    /// payment by its accounts.
    fn billed(&self, failure: &Failure, at: Timestamp) -> (Option<Money>, Option<Option<Money>>, Paid) {
        let Some(usage) = &failure.usage else {
            return match failure.maybe_billed {
                true => (None, Some(self.at_most), Paid::Unknown),
                false => (None, None, Paid::Known(Money::ZERO)),
            };
        };
        let cost = self.cost(usage, failure.tier.as_deref(), at);
        self.all.metrics.billed(usage, cost);
        match cost {
            Some(cost) => (Some(cost), None, Paid::Known(cost)),
            None => (None, self.at_most.map(Some), Paid::Unknown),
        }
    }

    /// Counts the failure as one that may be the request's own fault, unless the endpoint answered no call meanwhile, because an outage is
    /// no request's fault.
    async fn poison(&mut self, failure: &Failure) -> Option<Try> {
        let has_answered_others = self.all.answered.load(Ordering::Relaxed) > self.answered_before;
        let suspect = self.context.suspect.as_mut().filter(|_| has_answered_others)?;
        self.all.quarantine.count(suspect, failure).await
    }
}
