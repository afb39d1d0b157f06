//! The life of one call: money, permit, try, and after a failure again, until an answer, the end of patience, or interruption.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use regatta_proto::{Circumstances, Clock, EndpointName, EndpointSpec, ErrorClass, Money, Retries, Try, Usage};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::breaker::{Breaker, Pass};
use crate::errors::{Failure, rule};
use crate::metrics::EndpointMetrics;
use crate::money::{self, OUTPUT_TOKENS_MAX, Paid, Purses, Reservation, UsedUp};
use crate::permits::{Ask, Estimate, Governor, Line, Permit};
use crate::quarantine::{Quarantine, Suspect};
use crate::retry::Schedule;
use crate::{OpenContext, Payer};

/// What governs all tries at one endpoint.
pub(crate) struct Tries {
    retries: Retries,
    governor: Governor,
    purses: Arc<Purses>,
    breaker: Breaker,
    quarantine: Quarantine,
    metrics: Arc<EndpointMetrics>,
    clock: Arc<dyn Clock>,
    seed: u64,
    calls: AtomicU64,
    /// Calls that were answered.
    answered: AtomicU64,
}

/// What is to be tried, and on whose behalf.
#[derive(Debug)]
pub(crate) struct Errand<'a> {
    pub(crate) model: &'a str,
    pub(crate) payer: Payer<'a>,
    /// Which attempt at its session this is; a later one is not sent at all when its request has failed too often.
    pub(crate) attempt: u32,
    /// Bytes of everything the model reads.
    pub(crate) prompt_bytes: u64,
    /// Most tokens that may be generated, where the request says.
    pub(crate) max_output: Option<u64>,
    /// The request, when it can be quarantined.
    pub(crate) suspect: Option<Suspect<'a>>,
    /// Source of the jitter; the endpoint's own where there is none.
    pub(crate) seed: Option<u64>,
    /// Once it fires, no further try begins and every wait ends.
    pub(crate) interrupt: &'a CancellationToken,
}

/// An answer, as far as its tries are concerned.
pub(crate) trait Answered {
    fn usage(&self) -> &Usage;
    /// Whether the meters that cost money were told.
    fn usage_is_known(&self) -> bool;
    /// The service tier it was served in.
    fn tier(&self) -> Option<&str>;
    fn first_token(&self) -> Option<Duration>;
    /// The endpoint wants to be left alone for this long, answered or not.
    fn exhausted_for(&self) -> Option<Duration>;
}

/// A call that was answered.
#[derive(Debug)]
pub(crate) struct Done<T> {
    pub(crate) value: T,
    /// Failed tries before.
    pub(crate) tries: Vec<Try>,
    /// Duration of the successful try.
    pub(crate) latency: Duration,
    /// When it was sent.
    pub(crate) at: Timestamp,
    /// What it cost; `None` when its price or its usage is unknown.
    pub(crate) cost: Option<Money>,
}

/// A call that was not.
#[derive(Debug)]
pub(crate) enum GivenUp {
    /// The last try is the reason.
    Failed(Vec<Try>),
    /// Interrupted, after these tries.
    Interrupted(Vec<Try>),
}

/// Everything that one try needs before it is sent.
struct Ready<'a> {
    pass: Pass<'a>,
    reservation: Reservation,
    permit: Permit,
}

impl Tries {
    pub(crate) fn open(name: &EndpointName, spec: &EndpointSpec, context: &OpenContext<'_>) -> Self {
        let metrics = Arc::new(EndpointMetrics::new(Arc::clone(&context.metrics), name));
        let retries = spec.retries;
        let store = Arc::clone(&context.permits);
        Self {
            retries,
            governor: Governor::open(spec, context, Arc::clone(&metrics)),
            purses: Arc::clone(&context.purses),
            breaker: Breaker::new(name.clone(), Duration::from_millis(retries.deadline_ms)),
            quarantine: Quarantine::new(store, context.pool.clone(), retries.quarantine_after),
            metrics,
            clock: Arc::clone(&context.clock),
            seed: context.seed,
            calls: AtomicU64::new(0),
            answered: AtomicU64::new(0),
        }
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.metrics.in_flight()
    }

    /// Calls `once` until it succeeds. While waiting for a retry, a call holds neither permit nor money.
    pub(crate) async fn run<T, F, Fut>(&self, mut errand: Errand<'_>, once: F) -> Result<Done<T>, GivenUp>
    where
        T: Answered,
        F: Fn() -> Fut,
        Fut: Future<Output = Result<T, Failure>>,
    {
        if let Some(refusal) = self.refusal(&mut errand).await {
            return Err(GivenUp::Failed(vec![refusal]));
        }
        let mut life = Life::begin(self, errand);
        loop {
            match life.step(&once).await {
                Step::Again => {}
                Step::Answered { value, latency, at, cost } => {
                    return Ok(Done { value, tries: life.tries, latency, at, cost });
                }
                Step::Failed => return Err(GivenUp::Failed(life.tries)),
                Step::Interrupted => return Err(GivenUp::Interrupted(life.tries)),
            }
        }
    }

    /// Why the call is not sent at all.
    async fn refusal(&self, errand: &mut Errand<'_>) -> Option<Try> {
        if let (Some(account), None) = (errand.payer.accounts.first(), errand.payer.price) {
            return Some(money::unpriced(account, errand.model));
        }
        let suspect = errand.suspect.as_mut().filter(|_| errand.attempt > 1)?;
        let refusal = self.quarantine.look(suspect).await;
        if refusal.is_some() {
            self.metrics.quarantined();
        }
        refusal
    }

    /// Waits for everything that a try needs: an endpoint that is up, money, a permit.
    async fn make_ready(
        &self,
        errand: &Errand<'_>,
        at_most: Option<Money>,
        ask: &Ask<'_>,
    ) -> Result<Ready<'_>, UsedUp> {
        loop {
            let pass = self.breaker.pass().await;
            let reservation = self.purses.reserve(errand.payer.accounts, at_most.unwrap_or_default()).await?;
            let permit = self.governor.acquire(ask).await;
            // It may have gone down while this call stood in line.
            if !(matches!(pass, Pass::Free) && self.breaker.is_open()) {
                return Ok(Ready { pass, reservation, permit });
            }
        }
    }

    fn next_seed(&self) -> u64 {
        self.seed ^ self.calls.fetch_add(1, Ordering::Relaxed)
    }
}

/// One call under way.
struct Life<'a> {
    all: &'a Tries,
    errand: Errand<'a>,
    estimate: Estimate,
    /// What a try can cost at most; `None` when the price is unknown.
    at_most: Option<Money>,
    /// Calls answered by the endpoint when this one began.
    answered_before: u64,
    tries: Vec<Try>,
    schedule: Option<Schedule>,
    /// Kept to the end of the call once it was refused, its tries in flight included.
    refused: Option<crate::permits::Refused>,
    /// Time of tries and back-off. Waiting for our own permits and money is not the endpoint's trouble and does not count.
    spent: Duration,
}

enum Step<T> {
    Answered { value: T, latency: Duration, at: Timestamp, cost: Option<Money> },
    Again,
    Failed,
    Interrupted,
}

impl<'a> Life<'a> {
    fn begin(all: &'a Tries, errand: Errand<'a>) -> Self {
        let most = errand.max_output.unwrap_or(u64::from(OUTPUT_TOKENS_MAX));
        Self {
            estimate: all.governor.estimate(errand.model, errand.prompt_bytes, errand.max_output),
            at_most: errand.payer.price.map(|price| price.at_most(errand.prompt_bytes, most)),
            answered_before: all.answered.load(Ordering::Relaxed),
            all,
            errand,
            tries: Vec::new(),
            schedule: None,
            refused: None,
            spent: Duration::ZERO,
        }
    }

    fn ask(&self) -> Ask<'a> {
        Ask {
            sweep: self.errand.payer.sweep,
            share: self.errand.payer.share,
            model: self.errand.model,
            tokens: self.estimate.total(),
            line: if self.tries.is_empty() { Line::New } else { Line::Retried },
        }
    }

    fn cost(&self, usage: &Usage, tier: Option<&str>, at: Timestamp) -> Option<Money> {
        let price = self.errand.payer.price?;
        Some(price.cost(usage, &Circumstances { variant: tier, at: Some(at) }))
    }

    /// One try, from waiting for what it needs to waiting for the next one.
    async fn step<T, F, Fut>(&mut self, once: F) -> Step<T>
    where
        T: Answered,
        F: Fn() -> Fut,
        Fut: Future<Output = Result<T, Failure>>,
    {
        let ask = self.ask();
        let ready = self.all.make_ready(&self.errand, self.at_most, &ask);
        let Ready { pass, mut reservation, mut permit } = match self.errand.interrupt.run_until_cancelled(ready).await {
            Some(Ok(ready)) => ready,
            Some(Err(used_up)) => {
                self.tries.push(used_up.into_try());
                return Step::Failed;
            }
            None => return Step::Interrupted,
        };
        permit.sent();
        reservation.sent();
        let in_flight = self.all.metrics.begin();
        let (at, begun) = (self.all.clock.now(), Instant::now());
        // In flight it is as good as paid: its answer is awaited, and only what would come after it is given up.
        let result = once().await;
        let latency = begun.elapsed();
        drop(in_flight);
        match result {
            Ok(value) => {
                let cost = self.answered(&value, latency, at, permit, reservation);
                Step::Answered { value, latency, at, cost }
            }
            Err(failure) => self.failed(failure, latency, at, (pass, permit, reservation)).await,
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
        all.answered.fetch_add(1, Ordering::Relaxed);
        let usage = Some(value.usage()).filter(|_| value.usage_is_known());
        let cost = usage.and_then(|usage| self.cost(usage, value.tier(), at));
        if let Some(wait) = value.exhausted_for() {
            all.governor.hold(wait, "a limit of the endpoint is used up");
        }
        if let Some(usage) = usage {
            all.governor.learn(self.errand.model, self.errand.prompt_bytes, usage);
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
        let unreached = failure.unreached;
        if unreached {
            all.breaker.unreached()
        } else {
            all.breaker.reached()
        }
        let was_probe = pass.is_probe();
        drop(pass);
        // Before the slot goes to the next call, which the endpoint may not want to see either.
        self.tell_fleet(&failure);
        let (cost, at_most) = self.billed(&failure, at);
        permit.failed(failure.usage.map_or(self.estimate.input, |usage| usage.total()));
        reservation.settle(if at_most.is_some() { Paid::Unknown } else { Paid::Known(cost.unwrap_or_default()) });
        self.spent += latency;

        let is_held = unreached && all.breaker.is_open();
        let poison = self.poison(&failure).await;
        let delay = if poison.is_some() || is_held || !rule.retried || (unreached && all.breaker.is_given_up()) {
            None
        } else {
            let (retries, seed) = (all.retries, self.errand.seed.unwrap_or_else(|| all.next_seed()));
            let schedule = self.schedule.get_or_insert_with(|| Schedule::new(retries, seed));
            schedule.next_delay(self.spent, failure.class == ErrorClass::RateLimited, failure.retry_after)
        };
        all.metrics.failed(&failure, delay.is_some() || is_held);
        // A probe looks after the endpoint and says nothing about its call, which could otherwise make hundreds of them.
        if !(is_held && was_probe) {
            self.tries.push(Try { cost, at_most, ..failure.into_try(latency) });
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
        match self.errand.interrupt.run_until_cancelled(sleep(delay)).await {
            Some(()) => Step::Again,
            None => Step::Interrupted,
        }
    }

    /// What the endpoint said concerns all calls of the fleet.
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
            governor.hold(wait, &failure.detail);
        }
    }

    /// What the failed try cost as far as told, else what it may have cost.
    fn billed(&self, failure: &Failure, at: Timestamp) -> (Option<Money>, Option<Money>) {
        let cost = failure.usage.as_ref().and_then(|usage| self.cost(usage, None, at));
        if let Some(usage) = &failure.usage {
            self.all.metrics.billed(usage, cost);
        }
        (cost, self.at_most.filter(|_| failure.usage.is_none() && failure.maybe_billed))
    }

    /// Counts the failure as one that may be the request's own fault, unless the endpoint answered nobody meanwhile: an outage is no
    /// request's fault.
    async fn poison(&mut self, failure: &Failure) -> Option<Try> {
        let has_answered_others = self.all.answered.load(Ordering::Relaxed) > self.answered_before;
        let suspect = self.errand.suspect.as_mut().filter(|_| has_answered_others)?;
        self.all.quarantine.count(suspect, failure).await
    }
}

#[cfg(test)]
mod tests;
