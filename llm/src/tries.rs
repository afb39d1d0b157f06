//! The life of one call: reservation, permit, try, and retries, until an answer, the deadline, or interruption.

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
use crate::money::{self, BudgetLeases, Reservation, UsedUp};
use crate::permits::{Ask, Governor, Permit};
use crate::quarantine::{Quarantine, Suspect};
use crate::silence::Silence;
use crate::standstill::Standstill;
use crate::{Meter, OpenContext, Payer};

use life::{Life, Step};

/// The shared state of all tries at one endpoint.
pub(crate) struct Tries {
    retries: Retries,
    governor: Governor,
    budget_leases: Arc<BudgetLeases>,
    breaker: Breaker,
    quarantine: Quarantine,
    holding: Holding,
    metrics: Arc<EndpointMetrics>,
    clock: Arc<dyn Clock>,
    seed: u64,
    /// Service tier that all requests ask for.
    tier: Option<String>,
    calls: AtomicU64,
    /// Number of calls that were answered.
    answered: AtomicU64,
    silence: Silence,
    standstill: Standstill,
}

/// The try context: the call to try, and the sweep that it is for.
#[derive(Debug)]
pub(crate) struct TryContext<'a> {
    pub(crate) model: &'a str,
    pub(crate) payer: Payer<'a>,
    /// Number of the attempt at the session. A later attempt is not sent at all if its request has failed too often.
    pub(crate) attempt: u32,
    /// Bytes of the whole prompt.
    pub(crate) prompt_bytes: u64,
    /// Most tokens of images and files in it, beyond its bytes. Limits of tokens a minute do without: they learn from what calls use.
    pub(crate) media_tokens: u64,
    /// Most tokens that may be generated; `None` if the request does not say.
    pub(crate) max_output: Option<u64>,
    /// The request, if it can be quarantined.
    pub(crate) suspect: Option<Suspect<'a>>,
    /// Seed of the jitter; the endpoint's own if `None`.
    pub(crate) seed: Option<u64>,
    /// Once it fires, no further try begins and every wait ends.
    pub(crate) interrupt: &'a CancellationToken,
    /// Observes the tries as they are sent.
    pub(crate) meter: Option<&'a dyn Meter>,
}

/// An answer, as far as its tries need it.
pub(crate) trait Answered {
    fn usage(&self) -> &Usage;
    /// `true` if the token counts that cost money were reported.
    fn usage_is_known(&self) -> bool;
    /// The service tier that the answer was served in.
    fn tier(&self) -> Option<&str>;
    fn first_token(&self) -> Option<Duration>;
    /// Time for which the endpoint asks not to be called; may come with a successful answer.
    fn exhausted_for(&self) -> Option<Duration>;
}

/// A call that was answered.
#[derive(Debug)]
pub(crate) struct Done<T> {
    pub(crate) value: T,
    /// Failed tries before the successful one.
    pub(crate) tries: Vec<Try>,
    /// Duration of the successful try.
    pub(crate) latency: Duration,
    /// Time at which the successful try was sent.
    pub(crate) at: Timestamp,
    /// Cost of the try; `None` if its price or its usage is unknown.
    pub(crate) cost: Option<Money>,
    /// Time that the call waited before the successful try; see [`regatta_proto::Call::waited_us`].
    pub(crate) waited_us: u64,
}

/// A call that was not answered.
#[derive(Debug)]
pub(crate) enum GivenUp {
    /// The last try is the reason.
    Failed(Vec<Try>),
    /// Interrupted after these tries.
    Interrupted(Vec<Try>),
}

/// The permissions of one try, before it is sent.
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
            budget_leases: Arc::clone(&context.budget_leases),
            breaker: Breaker::new(
                (name.clone(), spec.base_url.clone()),
                Duration::from_millis(retries.deadline_ms),
                metrics.breaker_open(),
            ),
            quarantine: Quarantine::new(store, context.pool.clone(), spec.request_settings(), retries.quarantine_after),
            holding: Holding::new(name.clone()),
            metrics,
            clock: Arc::clone(&context.clock),
            seed: context.seed,
            tier: asked_tier(spec),
            calls: AtomicU64::new(0),
            answered: AtomicU64::new(0),
            silence: Silence::new(name.clone()),
            standstill: context.standstill.clone(),
        }
    }

    /// `true` if the endpoint's spec leaves it to requests which service tier they ask for.
    pub(crate) const fn leaves_tier_open(&self) -> bool {
        self.tier.is_none()
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.metrics.in_flight()
    }

    /// Calls `once` until it succeeds. While it waits for a retry, a call holds neither permit nor money.
    pub(crate) async fn run<T, F, Fut>(&self, mut context: TryContext<'_>, once: F) -> Result<Done<T>, GivenUp>
    where
        T: Answered,
        F: Fn() -> Fut,
        Fut: Future<Output = Result<T, Failure>>,
    {
        if let Some(refusal) = self.refusal(&mut context).await {
            return Err(GivenUp::Failed(vec![refusal]));
        }
        let mut life = Life::begin(self, context);
        loop {
            match life.step(&once).await {
                Step::Again => {}
                Step::Answered { value, latency, at, cost, waited_us } => {
                    return Ok(Done { value, tries: life.tries, latency, at, cost, waited_us });
                }
                Step::Failed => return Err(GivenUp::Failed(life.tries)),
                Step::Interrupted => return Err(GivenUp::Interrupted(life.tries)),
            }
        }
    }

    /// The reason why the call is not sent at all; `None` if it is.
    async fn refusal(&self, context: &mut TryContext<'_>) -> Option<Try> {
        if let (Some(account), None) = (context.payer.accounts.first(), context.payer.price) {
            return Some(money::unpriced(account, context.model));
        }
        if let Some(held) = self.holding.refusal(context.model) {
            return Some(held);
        }
        let suspect = context.suspect.as_mut().filter(|_| context.attempt > 1)?;
        let refusal = self.quarantine.look(suspect).await;
        if refusal.is_some() {
            self.metrics.quarantined();
        }
        refusal
    }

    /// Waits for everything that a try needs: an endpoint that is up, a reservation, and a permit.
    async fn make_ready(
        &self,
        context: &TryContext<'_>,
        at_most: Option<Money>,
        ask: &Ask<'_>,
    ) -> Result<Ready<'_>, UsedUp> {
        loop {
            let pass = self.breaker.pass().await;
            // The cost is unknown only if no account pays, which `refusal` has checked.
            let at_most = at_most.unwrap_or(Money::ZERO);
            let mut reservation = self.budget_leases.reserve(context.payer.accounts, at_most).await?;
            let permit = self.governor.acquire(ask).await;
            // Done last, so that a waiting call does not count as possibly spent.
            match reservation.clear().await {
                Ok(()) => {}
                // Others got its money while the store took this process for dead, so the call returns its permit and queues again.
                Err(used_up) if used_up.may_come_back() => continue,
                Err(used_up) => return Err(used_up),
            }
            // What this process held may be others' by now, and the session that calls about to be dropped.
            if let Some(until) = self.standstill.paused_until() {
                drop((permit, reservation));
                tokio::time::sleep_until(until).await;
                continue;
            }
            // The endpoint may have gone down while this call waited.
            if !(matches!(pass, Pass::Free) && self.breaker.is_open()) {
                return Ok(Ready { pass, reservation, permit });
            }
        }
    }

    fn next_seed(&self) -> u64 {
        self.seed ^ self.calls.fetch_add(1, Ordering::Relaxed)
    }
}

/// The service tier that the spec requests for an endpoint; `None` if the provider chooses, or another field decides.
fn asked_tier(spec: &EndpointSpec) -> Option<String> {
    if spec.body.contains_key("speed") {
        return None;
    }
    ["service_tier", "serviceTier"].iter().find_map(|name| Some(spec.body.get(*name)?.as_str()?.to_owned()))
}

#[cfg(test)]
mod tests;
