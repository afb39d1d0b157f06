//! What may run at once: permits before calls.
//!
//! Limits are per worker process. Limits of a whole fleet would be another source of permits behind [`Permits::acquire`].

pub(crate) mod store;

use std::collections::VecDeque;
use std::time::Duration;

use regatta_proto::Limits;
use tokio::sync::{Mutex, Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep_until};

use crate::backlog::{Backlog, Refused};

const MINUTE: Duration = Duration::from_secs(60);

/// The permits of one endpoint.
#[derive(Debug)]
pub(crate) struct Permits {
    slots: Semaphore,
    window: Option<Window>,
    backlog: Backlog,
}

/// Leave to send one request; given back when dropped.
#[derive(Debug)]
pub(crate) struct Permit<'a> {
    _slot: SemaphorePermit<'a>,
}

impl Permits {
    pub(crate) fn new(limits: Limits) -> Self {
        let slots = (limits.concurrency.max(1) as usize).min(Semaphore::MAX_PERMITS);
        Self {
            slots: Semaphore::new(slots),
            window: limits.requests_per_minute.map(Window::new),
            backlog: Backlog::new(limits.concurrency),
        }
    }

    /// Waits for leave, first come first served. The slot comes first: a place in the minute that is then waited with would let
    /// more requests into a later minute than allowed. A new call, other than a retry, also waits for the backlog of refused calls.
    pub(crate) async fn acquire(&self, is_new: bool) -> Permit<'_> {
        let slot = loop {
            if is_new {
                self.backlog.admit().await;
            }
            let Ok(slot) = self.slots.acquire().await else {
                // Only a closed semaphore refuses, and nobody closes it.
                return std::future::pending().await;
            };
            // The door may have closed while this call waited for its slot, which refused calls need now.
            if !(is_new && self.backlog.is_closed()) {
                break slot;
            }
        };
        if let Some(window) = &self.window {
            window.enter().await;
        }
        Permit { _slot: slot }
    }

    /// The endpoint's rate limit refused a call: until the guard is dropped, at its end, it counts towards the backlog.
    pub(crate) fn refused(&self) -> Refused<'_> {
        self.backlog.refuse()
    }
}

/// A sliding minute: of any two requests that are `per_minute` apart in order, at least a minute lies between.
#[derive(Debug)]
struct Window {
    per_minute: usize,
    /// When the last `per_minute` requests began. The lock is held while waiting, so that waiters keep their order.
    starts: Mutex<VecDeque<Instant>>,
}

impl Window {
    fn new(per_minute: u32) -> Self {
        Self { per_minute: per_minute.max(1) as usize, starts: Mutex::default() }
    }

    async fn enter(&self) {
        let mut starts = self.starts.lock().await;
        if starts.len() >= self.per_minute
            && let Some(oldest) = starts.front().copied()
        {
            // Interrupted here, the place stays free for the next one.
            sleep_until(oldest + MINUTE).await;
            starts.pop_front();
        }
        starts.push_back(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::future::join_all;
    use tokio::sync::Barrier;

    use super::*;

    fn permits(concurrency: u32, requests_per_minute: Option<u32>) -> Permits {
        Permits::new(Limits { concurrency, requests_per_minute, tokens_per_minute: None })
    }

    #[tokio::test]
    async fn no_more_calls_run_than_there_are_slots() {
        let (permits, running, most) = (permits(3, None), AtomicUsize::new(0), AtomicUsize::new(0));
        let full = Barrier::new(3);
        join_all((0..30).map(|_| async {
            let _permit = permits.acquire(true).await;
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            full.wait().await;
            running.fetch_sub(1, Ordering::SeqCst);
        }))
        .await;
        assert_eq!(most.load(Ordering::SeqCst), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn any_sliding_minute_holds_at_most_the_allowed_requests() {
        let (permits, starts) = (Arc::new(permits(50, Some(10))), Arc::new(Mutex::new(Vec::new())));
        let callers = (0..95u64).map(|caller| {
            let (permits, starts) = (Arc::clone(&permits), Arc::clone(&starts));
            async move {
                tokio::time::sleep(Duration::from_secs(caller % 7 * 9)).await;
                let _permit = permits.acquire(true).await;
                starts.lock().await.push(Instant::now());
            }
        });
        join_all(callers).await;
        let starts = starts.lock().await;
        assert!(starts.windows(11).all(|eleven| eleven[10] - eleven[0] >= MINUTE));
        assert!(starts[94] - starts[0] < MINUTE * 10, "nobody waits longer than the limit demands");
    }

    #[tokio::test(start_paused = true)]
    async fn a_waiter_that_leaves_takes_no_place_with_it() {
        let permits = permits(5, Some(1));
        drop(permits.acquire(true).await);
        let begun = Instant::now();
        assert!(tokio::time::timeout(Duration::from_secs(10), permits.acquire(true)).await.is_err());
        drop(permits.acquire(true).await);
        assert_eq!(begun.elapsed().as_secs(), 60);
    }
}
