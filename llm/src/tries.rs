//! The life of one call: money, permit, try, and after a failure again, until an answer, the end of patience, or interruption.

mod life;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use regatta_proto::{Clock, EndpointName, EndpointSpec, Money, Retries, Try, Usage};
use tokio_util::sync::CancellationToken;

use crate::breaker::{Breaker, Pass};
use crate::errors::Failure;
use crate::holding::Holding;
use crate::metrics::EndpointMetrics;
use crate::money::{self, Purses, Reservation, UsedUp};
use crate::permits::{Ask, Governor, Permit};
use crate::quarantine::{Quarantine, Suspect};
use crate::silence::Silence;
use crate::{Meter, OpenContext, Payer};

use life::{Life, Step};

/// What governs all tries at one endpoint.
pub(crate) struct Tries {
    retries: Retries,
    governor: Governor,
    purses: Arc<Purses>,
    breaker: Breaker,
    quarantine: Quarantine,
    holding: Holding,
    metrics: Arc<EndpointMetrics>,
    clock: Arc<dyn Clock>,
    seed: u64,
    /// Service tier that all its requests ask for.
    tier: Option<String>,
    calls: AtomicU64,
    /// Calls that were answered.
    answered: AtomicU64,
    silence: Silence,
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
    /// Hears of the tries as they are sent.
    pub(crate) meter: Option<&'a dyn Meter>,
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
            breaker: Breaker::new(name.clone(), Duration::from_millis(retries.deadline_ms), metrics.breaker_open()),
            quarantine: Quarantine::new(store, context.pool.clone(), retries.quarantine_after),
            holding: Holding::new(name.clone()),
            metrics,
            clock: Arc::clone(&context.clock),
            seed: context.seed,
            tier: asked_tier(spec),
            calls: AtomicU64::new(0),
            answered: AtomicU64::new(0),
            silence: Silence::new(name.clone()),
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
        if let Some(held) = self.holding.refusal(errand.model) {
            return Some(held);
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
            // Nothing is known of the cost only where no account pays: `refusal` has seen to it.
            let at_most = at_most.unwrap_or(Money::ZERO);
            let mut reservation = self.purses.reserve(errand.payer.accounts, at_most).await?;
            let permit = self.governor.acquire(ask).await;
            // Last, so that nothing counts as possibly spent that still waits.
            match reservation.clear().await {
                Ok(()) => {}
                // Others got its money while the store took this process for dead: it lets go of its permit too, and stands in line again.
                Err(used_up) if used_up.may_come_back() => continue,
                Err(used_up) => return Err(used_up),
            }
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

/// Service tier that the spec has every request of an endpoint ask for; none where the provider chooses, or a field beside it has a say.
fn asked_tier(spec: &EndpointSpec) -> Option<String> {
    if spec.body.contains_key("speed") {
        return None;
    }
    ["service_tier", "serviceTier"].iter().find_map(|name| Some(spec.body.get(*name)?.as_str()?.to_owned()))
}

#[cfg(test)]
mod tests;
