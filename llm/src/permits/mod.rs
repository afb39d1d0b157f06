//! What may run at once: permits before calls.
//!
//! Limits hold for the whole fleet: slots, requests and tokens are leased from the fleet's one [`store`], for all calls of this process
//! that draw on a pool. A [`Governor`] hands them on: to a party's retried calls first, then in the order in which calls came. A slot that
//! is freed goes to the next call of the same party without asking the store; what is not needed goes back with the next lease. Nothing
//! is ever used beyond what the store is sure to know: neither what is void by time, nor, while a request to it is under way, what it may
//! be taking back.

mod estimates;
mod leasing;
mod party;
mod signals;
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
    /// No hold that an endpoint asks for is honoured beyond this.
    hold_max: Duration,
    /// Ends the task that asks the store; it gives back what is held.
    _closing: DropGuard,
}

#[derive(Debug)]
struct Pool {
    state: Mutex<State>,
    /// Something has become due earlier than the task that asks the store knows.
    look: Notify,
    metrics: Arc<EndpointMetrics>,
}

/// Who asks for a permit, and for what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask<'a> {
    pub(crate) sweep: &'a SweepId,
    pub(crate) share: Share,
    pub(crate) model: &'a str,
    /// Tokens that the call will take, as estimated.
    pub(crate) tokens: u64,
    pub(crate) line: Line,
}

impl Governor {
    /// The permits of the endpoint of `spec`. Spawns the task that asks the store.
    pub(crate) fn open(spec: &EndpointSpec, context: &OpenContext<'_>, metrics: Arc<EndpointMetrics>) -> Self {
        /// An endpoint that is opened twice in one process is two holders: each tells the store everything that it holds.
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

    /// Waits for leave to send one request, first come first served within a party. Leaving the line early loses nobody's turn.
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
            // Declared before the receiver, so that it is dropped after it: whoever stood behind gets its turn when this call leaves.
            let _leaving = Leaving { pool: &self.pool, party };
            let receiver = receiver;
            if let Ok(permit) = receiver.await
                && permit.is_valid()
            {
                self.pool.metrics.waited(begun.elapsed());
                return permit;
            }
            // It took too long to come to it, and what was taken is void.
            at_front = true;
        }
    }

    /// What a call is expected to take; nothing where nobody counts it.
    pub(crate) fn estimate(&self, model: &str, prompt_bytes: u64, max_output: Option<u64>) -> Estimate {
        if !self.counts_tokens {
            return Estimate::default();
        }
        self.pool.locked().estimates.of(model, prompt_bytes, max_output)
    }

    /// An answer took `usage`.
    pub(crate) fn learn(&self, model: &str, prompt_bytes: u64, usage: &Usage) {
        if self.counts_tokens {
            self.pool.locked().estimates.learn(model, prompt_bytes, usage);
        }
    }

    /// The endpoint refused a call for being one too many: the fleet is told. Until the guard is dropped, at the call's end, it counts
    /// towards the refused calls that new ones wait for.
    pub(crate) fn refused(&self, ask: &Ask<'_>, reason: &str) -> Refused {
        let mut state = self.pool.locked();
        let party = state.party(ask.sweep, ask.model, ask.share);
        state.heard.refused(reason);
        state.count_refused(party, false);
        drop(state);
        self.pool.look.notify_one();
        Refused { pool: Arc::clone(&self.pool), party }
    }

    /// As [`Governor::refused`], for a call that is counted already.
    pub(crate) fn refused_again(&self, reason: &str) {
        self.pool.locked().heard.refused(reason);
        self.pool.look.notify_one();
    }

    /// The endpoint turned a call away, not for being one too many, and said when to come again.
    pub(crate) fn turned_away(&self) {
        self.pool.locked().heard.turned_away();
    }

    /// The endpoint told a call to come again after `wait`. When it means all calls, none of the fleet is sent to it for so long.
    pub(crate) fn told_to_wait(&self, wait: Duration, reason: &str) {
        if wait.is_zero() {
            return;
        }
        self.pool.locked().heard.told_to_wait(wait.min(self.hold_max), reason, Instant::now());
        self.pool.look.notify_one();
    }

    /// The endpoint asked to be left alone: no call of the fleet is sent to it for a while.
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

    /// A permit at once, or a place in the line.
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

    /// Hands what is at hand to the calls of a party that wait.
    fn hand_on(self: &Arc<Self>, party: u64) {
        loop {
            let next = self.locked().next(party, Instant::now());
            let Some((sender, taken)) = next else { return };
            // Outside of the lock: a permit that nobody receives any more is dropped here, and that locks again.
            drop(sender.send(Permit { pool: Arc::clone(self), taken: Some(taken), was_sent: false }));
        }
    }

    fn hand_on_to_all(self: &Arc<Self>) {
        let parties = self.locked().party_ids();
        parties.into_iter().for_each(|party| self.hand_on(party));
    }
}

/// Leave to send one request. What it holds goes back when it is dropped: all of it before the request was sent, its slot afterwards.
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

    /// The request is sent now: its request and its tokens are used up. `false` if the permit has become void since it was given, as in a
    /// process that was stopped for a while: then it must not be sent, because others may have got what it held.
    #[must_use]
    pub(crate) fn sent(&mut self) -> bool {
        self.was_sent = self.is_valid();
        self.was_sent
    }

    /// The call was answered and took `tokens`.
    pub(crate) fn answered(self, tokens: Option<u64>) {
        self.finish(tokens, true);
    }

    /// The call failed and took `tokens`.
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

/// A call that waits; gone from its line when dropped.
struct Leaving<'a> {
    pool: &'a Arc<Pool>,
    party: u64,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.pool.hand_on(self.party);
    }
}

/// A refused call; done when dropped.
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
