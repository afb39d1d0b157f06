//! A dead endpoint must not cost every session all its retries.
//!
//! After a long enough run of failures to connect, over all sessions of the endpoint, each further session makes one try and gives
//! up, until anything is answered again. Sessions that wait for a retry then are woken for their last one.

use std::time::Duration;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use regatta_proto::EndpointName;
use tokio::sync::watch;
use tokio::time::Instant;

/// Failures in a row before the endpoint counts as dead.
const FAILURES: u32 = 32;
/// How long they must have lasted: a restart of the endpoint is no death, and many sessions fail in the same millisecond.
const LASTED: Duration = Duration::from_secs(5);

/// Counts failures to connect in a row.
#[derive(Debug)]
pub(crate) struct Breaker {
    endpoint: EndpointName,
    failures: AtomicU32,
    since: Mutex<Option<Instant>>,
    open: watch::Sender<bool>,
}

impl Breaker {
    pub(crate) fn new(endpoint: EndpointName) -> Self {
        Self { endpoint, failures: AtomicU32::new(0), since: Mutex::new(None), open: watch::Sender::new(false) }
    }

    /// The endpoint answered, whatever it said.
    pub(crate) fn reached(&self) {
        if self.failures.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        self.failures.store(0, Ordering::Relaxed);
        *since = None;
        if self.open.send_replace(false) {
            tracing::info!(endpoint = %self.endpoint, "endpoint {} answers again", self.endpoint);
        }
    }

    /// No connection came about.
    pub(crate) fn unreached(&self) {
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        let began = *since.get_or_insert_with(Instant::now);
        let failures = self.failures.load(Ordering::Relaxed).saturating_add(1);
        self.failures.store(failures, Ordering::Relaxed);
        if failures >= FAILURES && began.elapsed() >= LASTED && !self.open.send_replace(true) {
            tracing::warn!(
                endpoint = %self.endpoint,
                failures,
                "endpoint {} cannot be reached; each call tries once until it answers",
                self.endpoint
            );
        }
    }

    /// Whether the endpoint counts as dead.
    pub(crate) fn is_open(&self) -> bool {
        *self.open.borrow()
    }

    /// Waits until it does.
    pub(crate) async fn opened(&self) {
        // The sender lives in `self`, so the channel cannot close meanwhile.
        let _ = self.open.subscribe().wait_for(|open| *open).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn many_failures_in_one_moment_are_no_death() {
        let breaker = Breaker::new("main".parse().unwrap());
        (0..1000).for_each(|_| breaker.unreached());
        assert!(!breaker.is_open());
        tokio::time::advance(LASTED).await;
        breaker.unreached();
        assert!(breaker.is_open());
    }

    #[tokio::test(start_paused = true)]
    async fn a_few_failures_over_a_long_time_are_no_death() {
        let breaker = Breaker::new("main".parse().unwrap());
        for _ in 1..FAILURES {
            breaker.unreached();
            tokio::time::advance(LASTED).await;
        }
        assert!(!breaker.is_open());
        breaker.unreached();
        assert!(breaker.is_open());
    }

    #[tokio::test(start_paused = true)]
    async fn one_answer_ends_it_and_the_count_begins_anew() {
        let breaker = Breaker::new("main".parse().unwrap());
        for _ in 0..FAILURES {
            breaker.unreached();
            tokio::time::advance(LASTED).await;
        }
        breaker.reached();
        assert!(!breaker.is_open());
        breaker.unreached();
        assert!(!breaker.is_open());
    }
}
