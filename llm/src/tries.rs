//! The life of one call: permit, try, and after a failure again, until an answer, the end of patience, or interruption.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use regatta_proto::{EndpointName, ErrorClass, Limits, Retries, Try};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::breaker::Breaker;
use crate::errors::{Failure, rule};
use crate::metrics::EndpointMetrics;
use crate::permits::Permits;
use crate::retry::Schedule;

/// What governs all tries at one endpoint.
#[derive(Debug)]
pub(crate) struct Tries {
    retries: Retries,
    permits: Permits,
    breaker: Breaker,
    metrics: EndpointMetrics,
    seed: u64,
    calls: AtomicU64,
}

/// A call that was answered.
#[derive(Debug)]
pub(crate) struct Done<T> {
    pub(crate) value: T,
    /// Failed tries before.
    pub(crate) tries: Vec<Try>,
    /// Duration of the successful try.
    pub(crate) latency: Duration,
}

/// A call that was not.
#[derive(Debug)]
pub(crate) enum GivenUp {
    /// The last try is the reason.
    Failed(Vec<Try>),
    /// Interrupted, after these tries.
    Interrupted(Vec<Try>),
}

impl Tries {
    pub(crate) fn new(
        name: &EndpointName,
        limits: Limits,
        retries: Retries,
        metrics: EndpointMetrics,
        seed: u64,
    ) -> Self {
        Self {
            retries,
            permits: Permits::new(limits),
            breaker: Breaker::new(name.clone()),
            metrics,
            seed,
            calls: AtomicU64::new(0),
        }
    }

    pub(crate) fn metrics(&self) -> &EndpointMetrics {
        &self.metrics
    }

    /// Calls `once` until it succeeds. Jitter derives from `seed`, or from the endpoint's own where there is none. While waiting for
    /// a retry, a call holds no permit.
    pub(crate) async fn run<T, F, Fut>(
        &self,
        seed: Option<u64>,
        interrupt: &CancellationToken,
        once: F,
    ) -> Result<Done<T>, GivenUp>
    where
        F: Fn() -> Fut,
        Fut: Future<Output = Result<T, Failure>>,
    {
        let mut tries = Vec::new();
        let (mut schedule, mut refused) = (None, None);
        let mut spent = Duration::ZERO;
        loop {
            let Some(permit) = interrupt.run_until_cancelled(self.permits.acquire(tries.is_empty())).await else {
                return Err(GivenUp::Interrupted(tries));
            };
            let in_flight = self.metrics.begin();
            let begun = Instant::now();
            // In flight it is as good as paid: its answer is awaited, and only what would come after it is given up.
            let result = once().await;
            let latency = begun.elapsed();
            drop(in_flight);
            drop(permit);
            let failure = match result {
                Ok(value) => {
                    self.breaker.reached();
                    self.metrics.answered(latency);
                    return Ok(Done { value, tries, latency });
                }
                Err(failure) => failure,
            };
            let unreached = failure.unreached;
            let was_refused = failure.class == ErrorClass::RateLimited;
            if was_refused && refused.is_none() {
                // Kept to the end of the call, its tries in flight included.
                refused = Some(self.permits.refused());
            }
            if unreached {
                self.breaker.unreached()
            } else {
                self.breaker.reached()
            }
            spent += latency;
            let delay = if rule(failure.class).retried && !(unreached && self.breaker.is_open()) {
                schedule
                    .get_or_insert_with(|| Schedule::new(self.retries, seed.unwrap_or_else(|| self.next_seed())))
                    .next_delay(spent, was_refused, failure.retry_after)
            } else {
                None
            };
            self.metrics.failed(&failure, delay.is_some());
            tries.push(failure.into_try(latency));
            let Some(delay) = delay else {
                return Err(GivenUp::Failed(tries));
            };
            spent += delay;
            tokio::select! {
                () = interrupt.cancelled() => return Err(GivenUp::Interrupted(tries)),
                () = self.breaker.opened(), if unreached => {}
                () = sleep(delay) => {}
            }
        }
    }

    fn next_seed(&self) -> u64 {
        self.seed ^ self.calls.fetch_add(1, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests;
