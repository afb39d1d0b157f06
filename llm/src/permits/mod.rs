//! Permits: limits of concurrency and rate that every call waits for.
//!
//! Limits hold for the whole fleet: slots, requests and tokens are leased from the fleet's one [`store`], for all calls of this process
//! that use a pool. A [`Governor`] distributes them: to a party's retried calls first, then in order of arrival. A slot that becomes free
//! goes to the next call of the same party without asking the store; unneeded slots return with the next lease. Nothing is used that the
//! store may not count: neither expired leases nor, while a request to the store is in flight, leases that it may be taking back.

mod estimates;
mod leasing;
mod party;
mod signals;
#[cfg(feature = "simulation")]
pub(crate) mod simulated;
mod state;
pub(crate) mod store;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use regatta_proto::{EndpointSpec, PoolRequest, Share, Signals, SweepId, Usage, WorkerId};
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::OpenContext;
use crate::metrics::EndpointMetrics;

pub(crate) use estimates::Estimate;
pub(crate) use party::Line;
use party::{Taken, Waiter};
use state::State;

/// The permits of one endpoint in this process.
#[derive(Debug)]
pub(crate) struct Governor {
    pool: Arc<Pool>,
    counts_tokens: bool,
    /// Longest hold that an endpoint may ask for.
    hold_max: Duration,
    /// Ends the task that asks the store, which then returns all leases.
    _closing: DropGuard,
}

#[derive(Debug)]
struct Pool {
    state: Mutex<State>,
    /// Wakes the task that asks the store earlier than planned.
    look: Notify,
    metrics: Arc<EndpointMetrics>,
}

/// A request for a permit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask<'a> {
    pub(crate) sweep: &'a SweepId,
    pub(crate) share: Share,
    pub(crate) model: &'a str,
    /// Estimated tokens of the call.
    pub(crate) tokens: u64,
    pub(crate) line: Line,
}

impl Governor {
    /// Opens the permits of the endpoint of `spec`. Spawns the task that asks the store.
    pub(crate) fn open(spec: &EndpointSpec, context: &OpenContext<'_>, metrics: Arc<EndpointMetrics>) -> Self {
        /// An endpoint that is opened twice in one process is two holders, because each reports everything that it holds.
        static OPENED: AtomicU64 = AtomicU64::new(0);
        let number = OPENED.fetch_add(1, Ordering::Relaxed);
        let holder = WorkerId::new(format!("{}.{number}", context.holder)).unwrap_or_else(|_| context.holder.clone());
        let request = PoolRequest {
            pool: context.pool.clone(),
            holder,
            limits: spec.limits,
            model_limits: spec.model_limits.clone(),
            parties: Vec::new(),
            signals: Signals::default(),
        };
        let state = State::new(spec.limits, spec.model_limits.clone(), Instant::now());
        let pool = Arc::new(Pool { state: Mutex::new(state), look: Notify::new(), metrics });
        let closing = CancellationToken::new();
        let leasing = leasing::Leasing {
            pool: Arc::clone(&pool),
            store: Arc::clone(&context.permits),
            request,
            rng: regatta_proto::rng(context.seed, &format!("llm/lease/{}", context.holder)),
            closing: closing.clone(),
        };
        tokio::spawn(leasing.run());
        Self {
            pool,
            counts_tokens: spec.limits.tokens_per_minute.is_some()
                || spec.model_limits.values().any(|limits| limits.tokens_per_minute.is_some()),
            hold_max: Duration::from_millis(spec.retries.max_delay_ms),
            _closing: closing.drop_guard(),
        }
    }

    /// Waits for the permit to send one request, in order of arrival within a party. A call that leaves the line early takes no turn from
    /// others.
    pub(crate) async fn acquire(&self, ask: &Ask<'_>) -> Permit {
        let begun = Instant::now();
        let mut at_front = false;
        loop {
            let (receiver, party) = match self.pool.take_or_wait(ask, at_front) {
                Ok(permit) => {
                    self.pool.metrics.waited(begun.elapsed());
                    return permit;
                }
                Err(waits) => waits,
            };
            let _waiting = self.pool.metrics.wait();
            // Declared before the receiver so that it is dropped after it, and the call behind gets its turn when this one leaves.
            let _leaving = Leaving { pool: &self.pool, party };
            let receiver = receiver;
            if let Ok(permit) = receiver.await
                && permit.is_valid()
            {
                self.pool.metrics.waited(begun.elapsed());
                return permit;
            }
            // The permit expired before it was received.
            at_front = true;
        }
    }

    /// Estimates the tokens of a call; zero if the endpoint does not limit tokens.
    pub(crate) fn estimate(&self, model: &str, prompt_bytes: u64, max_output: Option<u64>) -> Estimate {
        if !self.counts_tokens {
            return Estimate::default();
        }
        self.pool.locked().estimates.of(model, prompt_bytes, max_output)
    }

    /// Learns from the usage of an answer.
    pub(crate) fn learn(&self, model: &str, prompt_bytes: u64, usage: &Usage) {
        if self.counts_tokens {
            self.pool.locked().estimates.learn(model, prompt_bytes, usage);
        }
    }

    /// Reports to the fleet that the endpoint refused a call because of a rate limit. Until the guard is dropped, at the call's end, it
    /// counts towards the refused calls that new ones wait for.
    pub(crate) fn refused(&self, ask: &Ask<'_>, reason: &str) -> Refused {
        let mut state = self.pool.locked();
        let party = state.party(ask.sweep, ask.model, ask.share);
        state.heard.refused(reason);
        state.count_refused(party, false);
        drop(state);
        self.pool.look.notify_one();
        Refused { pool: Arc::clone(&self.pool), party }
    }

    /// Like [`Governor::refused`], for a call that is counted already.
    pub(crate) fn refused_again(&self, reason: &str) {
        self.pool.locked().heard.refused(reason);
        self.pool.look.notify_one();
    }

    /// Records that the endpoint turned a call away for another reason than a rate limit, and said when to retry.
    pub(crate) fn turned_away(&self) {
        self.pool.locked().heard.turned_away();
    }

    /// Records that the endpoint told a call to retry after `wait`. If that applies to all calls, the fleet sends none for so long.
    pub(crate) fn told_to_wait(&self, wait: Duration, reason: &str) {
        if wait.is_zero() {
            return;
        }
        self.pool.locked().heard.told_to_wait(wait.min(self.hold_max), reason, Instant::now());
        self.pool.look.notify_one();
    }

    /// Holds all calls of the fleet, because the endpoint asked not to be called for a while.
    pub(crate) fn hold(&self, duration: Duration, reason: &str) {
        if duration.is_zero() {
            return;
        }
        let now = Instant::now();
        self.pool.locked().heard.hold(now + duration.min(self.hold_max), reason, now);
        self.pool.look.notify_one();
    }
}

impl Pool {
    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a permit at once, or a place in the line.
    fn take_or_wait(
        self: &Arc<Self>,
        ask: &Ask<'_>,
        at_front: bool,
    ) -> Result<Permit, (oneshot::Receiver<Permit>, u64)> {
        let now = Instant::now();
        let mut state = self.locked();
        let party = state.party(ask.sweep, ask.model, ask.share);
        if let Some(taken) = state.take_at_once(party, ask.tokens, ask.line, at_front, now) {
            return Ok(Permit { pool: Arc::clone(self), taken: Some(taken), was_sent: false });
        }
        let (sender, receiver) = oneshot::channel();
        state.enqueue(party, Waiter { tokens: ask.tokens, sender }, ask.line, at_front);
        let is_due_earlier = state.is_due_earlier(party, now);
        drop(state);
        if is_due_earlier {
            self.look.notify_one();
        }
        Err((receiver, party))
    }

    /// Gives the available permits to the waiting calls of a party.
    fn hand_on(self: &Arc<Self>, party: u64) {
        loop {
            let next = self.locked().next(party, Instant::now());
            let Some((sender, taken)) = next else { return };
            // Sent outside of the lock, because a permit without a receiver is dropped here, which takes the lock again.
            drop(sender.send(Permit { pool: Arc::clone(self), taken: Some(taken), was_sent: false }));
        }
    }

    fn hand_on_to_all(self: &Arc<Self>) {
        let parties = self.locked().party_ids();
        parties.into_iter().for_each(|party| self.hand_on(party));
    }
}

/// Permission to send one request. Returned when dropped: all of it before the request was sent, only its slot afterwards.
#[derive(Debug)]
pub(crate) struct Permit {
    pool: Arc<Pool>,
    taken: Option<Taken>,
    was_sent: bool,
}

impl Permit {
    fn is_valid(&self) -> bool {
        self.taken.is_some_and(|taken| Instant::now() < taken.until)
    }

    /// Marks the request as sent, which uses up its request and its tokens. `false` if the permit has expired meanwhile, as in a process
    /// that was stopped for a while: then it must not be sent, because others may hold the permit.
    #[must_use]
    pub(crate) fn sent(&mut self) -> bool {
        self.was_sent = self.is_valid();
        self.was_sent
    }

    /// Ends an answered call that took `tokens`.
    pub(crate) fn answered(self, tokens: Option<u64>) {
        self.finish(tokens, true);
    }

    /// Ends a failed call that took `tokens`.
    pub(crate) fn failed(self, tokens: u64) {
        self.finish(Some(tokens), false);
    }

    fn finish(mut self, tokens: Option<u64>, was_answered: bool) {
        let Some(taken) = self.taken.take() else { return };
        let mut state = self.pool.locked();
        state.finish(&taken, tokens.unwrap_or(taken.tokens));
        if was_answered {
            state.heard.answered();
        }
        drop(state);
        self.pool.hand_on(taken.party);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let Some(taken) = self.taken.take() else { return };
        let mut state = self.pool.locked();
        if self.was_sent {
            state.finish(&taken, taken.tokens)
        } else {
            state.give_back(&taken)
        }
        drop(state);
        self.pool.hand_on(taken.party);
    }
}

/// A waiting call, which is removed from its line when dropped.
struct Leaving<'a> {
    pool: &'a Arc<Pool>,
    party: u64,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.pool.hand_on(self.party);
    }
}

/// A refused call, which counts until dropped.
#[derive(Debug)]
pub(crate) struct Refused {
    pool: Arc<Pool>,
    party: u64,
}

impl Drop for Refused {
    fn drop(&mut self) {
        let mut state = self.pool.locked();
        state.count_refused(self.party, true);
        let is_due_earlier = state.is_due_earlier(self.party, Instant::now());
        drop(state);
        self.pool.hand_on(self.party);
        if is_due_earlier {
            self.pool.look.notify_one();
        }
    }
}

#[cfg(test)]
pub(crate) mod fake;
#[cfg(test)]
mod tests;
