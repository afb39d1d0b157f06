//! The circuit breaker of an endpoint: while the endpoint is down, its calls wait without using up tries, and occasional probes test
//! whether it is back.
//!
//! After a long enough run of failures to connect, over all calls of the endpoint, the breaker opens. While it is open, calls wait. One at
//! a time, at growing intervals, goes through as a probe; any answer closes the breaker. If the endpoint stays down for the calls' whole
//! deadline, it is given up: each waiting or further call makes one last try and ends with it, until any call is answered again. So a sweep
//! at a dead endpoint ends within a bounded time.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prometheus::IntGauge;
use regatta_proto::EndpointName;
use tokio::sync::{MutexGuard as DoorGuard, watch};
use tokio::time::{Instant, sleep_until};

/// Consecutive failures after which the endpoint counts as down.
const FAILURES: u32 = 32;
/// Shortest duration of the failures: many calls fail in the same millisecond, and a brief outage is over sooner.
const LASTED: Duration = Duration::from_secs(5);
/// Pause before the first probe, doubled for each further one.
const PROBE_AFTER: Duration = Duration::from_secs(1);
/// Longest pause between two probes.
const PROBE_AFTER_MAX: Duration = Duration::from_secs(15);

/// Counts failures to connect in a row, and holds calls after too many of them.
#[derive(Debug)]
pub(crate) struct Breaker {
    endpoint: EndpointName,
    /// Address of the spec; `None` where its kind has one of its own.
    base_url: Option<String>,
    /// A call was answered, or the first failure was warned of: a wrong address is seen at once, and a brief outage is no reason to warn.
    is_known: AtomicBool,
    /// Longest wait for an endpoint that is down, from its first failure.
    patience: Duration,
    /// Consecutive failures; 0 while the endpoint is up, so that a call costs a single load.
    failures: AtomicU32,
    down: Mutex<Down>,
    state: watch::Sender<State>,
    /// Number of endpoints that are down; includes this one while it is.
    open: IntGauge,
    /// Held by the one call that may probe next; the others queue here.
    door: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Down {
    since: Option<Instant>,
    probe_at: Option<Instant>,
    probe_after: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed,
    /// The endpoint is down, and calls wait.
    Open,
    /// The endpoint has been down for too long, and calls make one last try.
    GivenUp,
}

/// Permission to go on with a call.
#[derive(Debug)]
pub(crate) enum Pass<'a> {
    /// No restriction.
    Free,
    /// The call is the probe; no other call probes meanwhile.
    Probe {
        /// Lets the next call probe, when dropped.
        _door: DoorGuard<'a, ()>,
    },
    /// The call may make one last try.
    Last,
}

impl Pass<'_> {
    pub(crate) const fn is_probe(&self) -> bool {
        matches!(self, Self::Probe { .. })
    }
}

impl Breaker {
    /// A breaker that gives the endpoint up after `patience`, and increments `open` while the endpoint is down.
    pub(crate) fn new(
        (endpoint, base_url): (EndpointName, Option<String>),
        patience: Duration,
        open: IntGauge,
    ) -> Self {
        Self {
            endpoint,
            base_url,
            is_known: AtomicBool::new(false),
            patience,
            failures: AtomicU32::new(0),
            down: Mutex::default(),
            state: watch::Sender::new(State::Closed),
            open,
            door: tokio::sync::Mutex::new(()),
        }
    }

    /// Records an answer of the endpoint, with any status.
    pub(crate) fn reached(&self) {
        // A load, because every answer comes here.
        if !self.is_known.load(Ordering::Relaxed) {
            self.is_known.store(true, Ordering::Relaxed);
        }
        if self.failures.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut down = self.locked();
        self.failures.store(0, Ordering::Relaxed);
        *down = Down::default();
        if self.state.send_replace(State::Closed) != State::Closed {
            self.open.dec();
            tracing::info!(endpoint = %self.endpoint, "endpoint {} answers again", self.endpoint);
        }
    }

    /// Records a failure to connect, which `detail` describes.
    pub(crate) fn unreached(&self, detail: &str) {
        if !self.is_known.swap(true, Ordering::Relaxed) {
            let address = match &self.base_url {
                Some(url) => format!("{url} (endpoints.{}.base_url)", self.endpoint),
                None => format!("endpoint {}", self.endpoint),
            };
            tracing::warn!(endpoint = %self.endpoint, "cannot connect to {address}: {detail}; trying again");
        }
        let mut down = self.locked();
        let now = Instant::now();
        let since = *down.since.get_or_insert(now);
        let failures = self.failures.load(Ordering::Relaxed).saturating_add(1);
        self.failures.store(failures, Ordering::Relaxed);
        if *self.state.borrow() != State::Closed || failures < FAILURES || now - since < LASTED {
            return;
        }
        (down.probe_after, down.probe_at) = (PROBE_AFTER, Some(now + PROBE_AFTER));
        self.state.send_replace(State::Open);
        self.open.inc();
        tracing::warn!(
            endpoint = %self.endpoint,
            failures,
            "endpoint {} cannot be reached; its calls wait until it answers, for {} s at most",
            self.endpoint,
            self.patience.as_secs()
        );
    }

    /// `true` if calls wait.
    pub(crate) fn is_open(&self) -> bool {
        self.failures.load(Ordering::Relaxed) >= FAILURES && *self.state.borrow() == State::Open
    }

    /// `true` if calls make only one last try.
    pub(crate) fn is_given_up(&self) -> bool {
        self.failures.load(Ordering::Relaxed) >= FAILURES && *self.state.borrow() == State::GivenUp
    }

    /// Waits while the endpoint is down.
    pub(crate) async fn pass(&self) -> Pass<'_> {
        if !self.is_open() {
            return if self.is_given_up() { Pass::Last } else { Pass::Free };
        }
        let mut state = self.state.subscribe();
        let changed = async {
            // The sender lives in `self`, so the channel cannot close meanwhile.
            match state.wait_for(|state| *state != State::Open).await.as_deref() {
                Ok(State::GivenUp) => Pass::Last,
                _ => Pass::Free,
            }
        };
        tokio::select! {
            biased;
            pass = changed => pass,
            pass = self.probe() => pass,
        }
    }

    /// Waits for the turn to probe, or until the endpoint is given up.
    async fn probe(&self) -> Pass<'_> {
        let door = self.door.lock().await;
        let (probe_at, give_up_at) = {
            let down = self.locked();
            let now = Instant::now();
            (down.probe_at.unwrap_or(now), down.since.unwrap_or(now) + self.patience)
        };
        sleep_until(probe_at.min(give_up_at)).await;
        let mut down = self.locked();
        if give_up_at <= Instant::now() {
            let is_open = self.state.send_if_modified(|state| {
                let is_open = *state == State::Open;
                if is_open {
                    *state = State::GivenUp;
                }
                is_open
            });
            if is_open {
                tracing::error!(endpoint = %self.endpoint, "endpoint {} is given up until it answers", self.endpoint);
            }
            return Pass::Last;
        }
        down.probe_after = (down.probe_after * 2).min(PROBE_AFTER_MAX);
        down.probe_at = Some(Instant::now() + down.probe_after);
        Pass::Probe { _door: door }
    }

    fn locked(&self) -> MutexGuard<'_, Down> {
        self.down.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Breaker {
    fn drop(&mut self) {
        if *self.state.borrow() != State::Closed {
            self.open.dec();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use tokio::time::advance;

    use super::*;

    fn breaker(patience: Duration) -> Breaker {
        Breaker::new(("main".parse().unwrap(), None), patience, gauge())
    }

    fn gauge() -> IntGauge {
        IntGauge::new("open", "Endpoints that are down.").unwrap()
    }

    async fn open(patience: Duration) -> Breaker {
        let breaker = breaker(patience);
        (0..FAILURES).for_each(|_| breaker.unreached("refused"));
        advance(LASTED).await;
        breaker.unreached("refused");
        breaker
    }

    const LONG: Duration = Duration::from_secs(600);

    #[tokio::test(start_paused = true)]
    async fn it_counts_as_open_until_the_endpoint_answers_or_nobody_uses_it() {
        let (breaker, other) = (open(LONG).await, open(LONG).await);
        let (gauge, of_other) = (breaker.open.clone(), other.open.clone());
        assert_eq!((gauge.get(), of_other.get()), (1, 1));
        breaker.unreached("refused");
        assert_eq!(gauge.get(), 1);
        breaker.reached();
        breaker.reached();
        drop((breaker, other));
        assert_eq!((gauge.get(), of_other.get()), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn many_failures_in_one_moment_do_not_open_it() {
        let breaker = breaker(LONG);
        (0..1000).for_each(|_| breaker.unreached("refused"));
        assert!(!breaker.is_open());
        advance(LASTED).await;
        breaker.unreached("refused");
        assert!(breaker.is_open());
    }

    #[tokio::test(start_paused = true)]
    async fn a_few_failures_over_a_long_time_do_not_open_it() {
        let breaker = breaker(LONG);
        for _ in 1..FAILURES {
            breaker.unreached("refused");
            advance(LASTED).await;
        }
        assert!(!breaker.is_open());
        breaker.unreached("refused");
        assert!(breaker.is_open());
    }

    #[tokio::test(start_paused = true)]
    async fn one_answer_closes_it_lets_everybody_through_and_the_count_begins_anew() {
        let breaker = open(LONG).await;
        let (mut first, mut second) = (Box::pin(breaker.pass()), Box::pin(breaker.pass()));
        assert!((&mut first).now_or_never().is_none() && (&mut second).now_or_never().is_none());
        breaker.reached();
        assert!(matches!(first.await, Pass::Free) && matches!(second.await, Pass::Free));
        breaker.unreached("refused");
        assert!(!breaker.is_open());
    }

    #[tokio::test(start_paused = true)]
    async fn one_call_at_a_time_probes_and_ever_more_rarely() {
        let breaker = open(LONG).await;
        let begun = Instant::now();
        let mut at = Vec::new();
        for _ in 0..6 {
            let pass = breaker.pass().await;
            assert!(pass.is_probe());
            at.push(begun.elapsed().as_secs());
            assert!(breaker.pass().now_or_never().is_none(), "another one waits meanwhile");
            breaker.unreached("refused");
        }
        assert_eq!(at, [1, 3, 7, 15, 30, 45]);
    }

    #[tokio::test(start_paused = true)]
    async fn an_endpoint_that_stays_down_is_given_up_and_every_call_gets_its_last_try() {
        let breaker = open(Duration::from_secs(20)).await;
        let mut lasts = 0;
        while !breaker.is_given_up() {
            match breaker.pass().await {
                Pass::Probe { .. } => breaker.unreached("refused"),
                Pass::Last => lasts += 1,
                Pass::Free => panic!("it is down"),
            }
        }
        assert_eq!(lasts, 1);
        breaker.unreached("refused");
        assert!(matches!(breaker.pass().await, Pass::Last));
        breaker.reached();
        assert!(matches!(breaker.pass().await, Pass::Free));
    }
}
