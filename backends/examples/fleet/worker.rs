//! One worker at its pool: the leases of `llm`, and calls without an endpoint. Times are in microseconds since the beginning.

use std::time::Duration;

use regatta_llm::{SimulatedCall, SimulatedHolder};
use regatta_proto::{PoolReply, PoolRequest};
use tokio::time::Instant;

use crate::scenario::SESSIONS;

#[derive(Debug)]
pub(crate) struct Worker {
    /// Number of its pool among all pools.
    pub(crate) pool: usize,
    pub(crate) round_trip_us: u64,
    beginning: Instant,
    holder: SimulatedHolder,
    calls: Vec<SimulatedCall>,
    /// Number of the last request, and when it was made.
    asked: u64,
    asked_at: u64,
    is_asking: bool,
}

impl Worker {
    /// A worker with [`SESSIONS`] sessions, each of which wants a call.
    pub(crate) fn new(pool: usize, round_trip_us: u64, beginning: Instant, mut holder: SimulatedHolder) -> Self {
        (0..SESSIONS).for_each(|_| holder.wait());
        let calls = Vec::new();
        Self { pool, round_trip_us, beginning, holder, calls, asked: 0, asked_at: 0, is_asking: false }
    }

    fn at(&self, now: u64) -> Instant {
        self.beginning + Duration::from_micros(now)
    }

    /// Begins a call, if one waits and may.
    pub(crate) fn begin(&mut self, now: u64) -> bool {
        let call = self.holder.begin(self.at(now));
        let has_begun = call.is_some();
        self.calls.extend(call);
        has_begun
    }

    /// Ends a call with an answer. Its session wants the next one at once.
    pub(crate) fn end(&mut self) {
        // All calls are alike.
        if let Some(call) = self.calls.pop() {
            self.holder.answered(&call);
            self.holder.wait();
        }
    }

    /// `true` if it waits for the answer to that request.
    pub(crate) const fn waits_for(&self, request: u64) -> bool {
        self.is_asking && self.asked == request
    }

    /// When it asks next, if nothing changes before; `None` while it waits for an answer.
    pub(crate) fn asks_at(&mut self, now: u64) -> Option<u64> {
        if self.is_asking {
            return None;
        }
        let at = self.holder.asks_at(self.at(now))?;
        // Rounded up: a moment earlier nothing is due.
        u64::try_from(at.duration_since(self.beginning).as_nanos().div_ceil(1_000)).ok()
    }

    /// Asks; returns the request and its number.
    pub(crate) fn ask(&mut self, now: u64) -> (u64, PoolRequest) {
        (self.asked, self.asked_at, self.is_asking) = (self.asked + 1, now, true);
        (self.asked, self.holder.ask(self.at(now)))
    }

    /// Takes the store's answer. `jitter` is 0 to 1. Returns the time since it asked.
    pub(crate) fn hear(&mut self, now: u64, reply: &PoolReply, jitter: f64) -> u64 {
        self.is_asking = false;
        self.holder.hear(reply, jitter);
        now - self.asked_at
    }

    /// Gives the request up.
    pub(crate) fn give_up(&mut self, now: u64, jitter: f64) {
        self.is_asking = false;
        self.holder.give_up(self.at(now), jitter);
    }
}
