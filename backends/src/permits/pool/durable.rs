//! The memory of a pool beyond a crash of its store.
//!
//! Permits are leased many times a second, and no lease waits for the disk: a state can be lost. But a lease by which more would have been
//! granted since the last durable state than that one allowed makes its own state durable, before anything is told. So a crash loses no more
//! than was allowed, and that much is taken to have been granted. A durable state has all who may fill slots, but not how many: a lease by which
//! somebody comes or goes makes its state durable, too. Once all of them have told, slots are granted as before. The file of an embedded run, whose process is its own store, has durable states
//! alone.

use regatta_proto::{PoolRequest, WorkerId};
use serde::{Deserialize, Serialize};

use super::parties::Units;
use super::spent::{COUNTED_MS, bucket};
use super::steering::SAME_HOLD_MS;
use super::{Pool, SLOTS_VALID_MS};

/// The part of a minute's limit that may be granted between two durable states: so much of one minute is idle after a crash.
const PARTS: f64 = 50.0;

/// An allowance beyond all limits, and far from overflowing.
const UNLIMITED: u64 = 1 << 48;

/// A durable state that is older than this, in milliseconds, is renewed: one of yesterday would pass for that of a pool that nobody uses.
const RENEWED_AFTER_MS: u64 = 3_600_000;

/// For so long after a crash, or after a time in which nobody reached the store, in milliseconds, workers keep their slots without a word: one that has
/// to find out that its connection is dead, more than once, tells late of the calls that it has under way.
pub(super) const SILENCE_MAX_MS: u64 = SLOTS_VALID_MS + 15_000;

/// Grants since the last durable state, and the most that there may be before the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Volatile {
    requests: u64,
    tokens: u64,
    requests_max: u64,
    tokens_max: u64,
    /// The factor or a hold is another.
    is_steered: bool,
    /// The end of the hold that the durable state knows.
    hold_until_ms: u64,
    /// When the durable state was written, by the pool's clock.
    #[serde(default)]
    saved_ms: u64,
    /// Workers that the durable state has; the version before counted none.
    #[serde(default)]
    holders: Option<usize>,
}

impl Volatile {
    /// Counts what is granted.
    pub(super) const fn grant(&mut self, requests: u64, tokens: u64) {
        self.requests = self.requests.saturating_add(requests);
        self.tokens = self.tokens.saturating_add(tokens);
    }

    /// Notes that the state is not at all what the durable one is.
    pub(super) const fn steer(&mut self) {
        self.is_steered = true;
    }
}

impl Pool {
    /// Counts what the parties of `holder` were granted beyond what they gave back in the same breath: `returned`, each.
    pub(super) fn count_granted(&mut self, holder: &WorkerId, returned: &[Units]) {
        let parties = self.holders.get(holder).map_or(&[][..], |holder| &holder.parties);
        for (held, returned) in parties.iter().zip(returned) {
            let requests = held.granted.requests.saturating_sub(returned.requests);
            self.volatile.grant(u64::from(requests), held.granted.tokens.saturating_sub(returned.tokens));
        }
    }

    /// `true` if the state has to be durable before anybody is told what `request` was granted. The caller makes it so.
    pub(in crate::permits) fn save_due(&mut self, clock_ms: u64, request: &PoolRequest) -> bool {
        let Volatile { requests, tokens, requests_max, tokens_max, is_steered, hold_until_ms, saved_ms, holders } =
            self.volatile;
        let hold = self.steering.hold_until_ms();
        let is_allowed = requests <= requests_max && tokens <= tokens_max;
        let now = self.clock.read(clock_ms);
        let has_all = holders == Some(self.holders.len()) && self.holders.values().all(|holder| holder.is_durable);
        let has_all = has_all && self.knows_all_at(saved_ms) == self.knows_all_at(now);
        let is_known = has_all && !is_steered && hold <= hold_until_ms + SAME_HOLD_MS;
        if is_allowed && is_known && now < saved_ms.saturating_add(RENEWED_AFTER_MS) {
            return false;
        }
        // Where a model may have much less than the endpoint, it is idle for a minute after a crash; every grant would be due otherwise.
        let models = || request.model_limits.values();
        let requests = models().filter_map(|limits| limits.requests_per_minute).min().map(u64::from);
        let requests = request.limits.requests_per_minute.map(u64::from).or(requests);
        let tokens = models().filter_map(|limits| limits.tokens_per_minute).min();
        let tokens = request.limits.tokens_per_minute.or(tokens);
        let part = |limit: u64| ((limit as f64 * self.steering.factor() / PARTS) as u64).max(1);
        let [requests_max, tokens_max] = [requests, tokens].map(|limit| limit.map_or(UNLIMITED, part).min(UNLIMITED));
        for holder in self.holders.values_mut() {
            holder.is_durable = true;
        }
        let (saved_ms, holders) = (now, Some(self.holders.len()));
        self.volatile =
            Volatile { requests_max, tokens_max, hold_until_ms: hold, saved_ms, holders, ..Volatile::default() };
        true
    }

    /// The pool of a durable state, after a crash. What may have been granted since counts as granted now; and so does the last grant of each
    /// party, of which a part may have been given back and granted again. Slots are to be told again, as by [`Pool::without_memory`].
    pub(in crate::permits) fn recovered(mut self, clock_ms: u64) -> Self {
        let now = self.clock.read(clock_ms);
        let is_counted = self.volatile.holders == Some(self.holders.len());
        self.knows_holders = is_counted && self.knows_all_at(self.volatile.saved_ms);
        self.registering_until_ms = now + if self.knows_holders { SLOTS_VALID_MS } else { SILENCE_MAX_MS };
        self.asked_ms = now;
        for holder in self.holders.values_mut() {
            holder.returns_until_ms = now + SILENCE_MAX_MS;
            for held in &mut holder.parties {
                let Units { bucket: at, requests, tokens } = std::mem::take(&mut held.granted);
                if let Some(line) = self.lines.get_mut(&held.line) {
                    line.spent.give_back(at, u64::from(requests), tokens);
                    line.spent.add(bucket(now), u64::from(requests), tokens);
                }
                // They may be under way; corrections of other calls are none of theirs.
                held.in_flight = held.in_flight.saturating_add(requests);
                (held.waiting, held.ready, held.lacking) = (0, 0, None);
            }
        }
        let Volatile { requests_max, tokens_max, .. } = std::mem::take(&mut self.volatile);
        self.forgotten.add(bucket(now), requests_max, tokens_max);
        if self.steering.held_for_ms(now) > 0 {
            self.steering.hold(
                now,
                clock_ms,
                self.steering.held_for_ms(now) + SAME_HOLD_MS,
                " before a crash of the store",
            );
        }
        self
    }

    /// `true` if the state of a moment has all who may fill slots: not where the past was lost, before those who did must have told.
    const fn knows_all_at(&self, ms: u64) -> bool {
        self.knows_holders || ms >= self.registering_until_ms
    }

    /// `true` while somebody may fill slots who has not told of them since the past was lost.
    pub(super) fn is_registering(&self, now: u64) -> bool {
        let have_all_told = || self.knows_holders && self.holders.values().all(|holder| holder.returns_until_ms == 0);
        now < self.registering_until_ms && !have_all_told()
    }

    /// The pool of a durable state that the one process of an embedded run has left to the next. Nothing fills slots any more: its calls ended with
    /// it. `None` where nothing counts any more of what it was granted.
    pub(in crate::permits) fn inherited(mut self, clock_ms: u64) -> Option<Self> {
        let now = self.clock.read(clock_ms);
        let is_over = now >= self.volatile.saved_ms.saturating_add(RENEWED_AFTER_MS + COUNTED_MS);
        if is_over && self.steering.held_for_ms(now) == 0 {
            return None;
        }
        let mut pool = self.recovered(clock_ms);
        pool.holders.clear();
        pool.registering_until_ms = 0;
        Some(pool)
    }
}
