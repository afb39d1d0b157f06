//! The pool of permits of one endpoint, for all workers and sweeps that use it: a pure state machine. Time is given.
//!
//! - **Never over the limit.** Every grant is written down by the time it was made and counts until the last moment at which it could
//!   share a minute with a new one ([`spent`]). So in any sliding minute no more arrive than the limit says, and at least 97 % of it can be
//!   used: 60 s of 61.75 s. A pool that was idle grants a minute's worth at once; nothing is spread over the minute.
//! - **Slots** are held until their holder asks for less or is silent for long; what is left of its units then stays counted. The slots a
//!   party may fill can be fewer than it fills at the moment: then it starts nothing until enough of its calls have ended.
//! - **Fair between sweeps, then between workers.** A sweep may have as much as weighted max-min fairness gives it of a whole window, what
//!   it has spent in it included; so one that comes late catches up as the window moves on. What others are due and cannot use yet, for want
//!   of slots, is lent, but little by little. Of what is scarce, a worker gets at most its part of its sweep's demand, and who has waited
//!   for long for more than is there is waited for.
//! - **A crash forgets little.** What the store may lose is bounded, and counts as granted; who may fill slots is known ([`durable`]).
//! - **Everything expires.** A worker that falls silent wants nothing any more after 3 s, and holds nothing after 10 s; after a time in which nobody
//!   could ask, 25 s after the first one who can.
//!
//! Limits are those of the asker's own spec; what all others have been granted counts against them.

mod durable;
mod fair;
mod parties;
mod slots;
mod spent;
mod steering;
mod windows;

use std::collections::BTreeMap;

use jiff::Timestamp;
use regatta_proto::{Grant, Party, PoolReply, PoolRequest, Share, SweepId, WorkerId};
use serde::{Deserialize, Serialize};

use self::durable::{SILENCE_MAX_MS, Volatile};
use self::parties::{Held, Holder, Units};
use self::spent::{Spent, bucket};
pub(super) use self::steering::Change;
use self::steering::Steering;
use super::PoolHolder;
use super::steady::Steady;

/// Validity of granted requests and tokens, in milliseconds.
pub(super) const VALID_MS: u64 = 1_000;
/// Validity of slots without renewal, in milliseconds.
pub(super) const SLOTS_VALID_MS: u64 = 10 * VALID_MS;
/// Longest time from a permit's last moment until the request arrives at the endpoint, in milliseconds.
const MARGIN_MS: u64 = 500;
/// Validity of reported demand, in milliseconds: a party that lacks something asks again within `VALID_MS`.
const DEMAND_VALID_MS: u64 = 3 * VALID_MS;
/// Time within which somebody asks for permits while any slot is held, in milliseconds: slots are renewed every three seconds. Where nobody did, nobody
/// reached the store.
const RENEWED_WITHIN_MS: u64 = 4 * VALID_MS;
/// Time after which nothing is under way any more of what was under way when a pool was asked last, in milliseconds: the longest time-out of a call is
/// a day.
const OVER_AFTER_MS: u64 = 25 * 3_600_000;
/// Least pause before a party asks again, in milliseconds.
const RETRY_MIN_MS: u64 = 20;
/// Most requests to the pool per second by all workers together: with many workers, each asks less often.
const RETRIES_PER_SECOND: u64 = 100;

/// A quantity that is limited by the minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Unit {
    #[serde(rename = "r")]
    Requests,
    #[serde(rename = "t")]
    Tokens,
}

/// One sweep's use of one model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Line {
    sweep: SweepId,
    model: String,
    share: Share,
    spent: Spent,
}

/// The permits of one endpoint.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Pool {
    clock: Steady,
    steering: Steering,
    /// By a number that parties refer to; gone when nothing is spent on it and nobody holds it.
    lines: BTreeMap<u32, Line>,
    holders: BTreeMap<WorkerId, Holder>,
    /// Until then no slot is granted but those that are filled: who fills some has not told yet, since the past was lost.
    #[serde(default)]
    registering_until_ms: u64,
    /// All who may have filled slots when the past was lost are among the holders: nobody else is waited for.
    #[serde(default)]
    knows_holders: bool,
    /// When anybody asked last.
    #[serde(default)]
    asked_ms: u64,
    #[serde(default)]
    volatile: Volatile,
    /// Grants before a crash that are not known otherwise, as many as there can have been. They count in every window.
    #[serde(default)]
    forgotten: Spent,
}

impl Pool {
    /// A pool whose past is lost: what the fleet has sent in the last minute is not known, so nothing is granted before it has passed. Nor
    /// is it known who fills slots: these are registered again when their holders renew them, and no others are granted before all must
    /// have.
    pub(super) fn without_memory(clock_ms: u64) -> Self {
        let mut pool = Self::default();
        let now = pool.clock.read(clock_ms);
        pool.registering_until_ms = now + SILENCE_MAX_MS;
        pool.steering.hold(
            now,
            clock_ms,
            60_000 + VALID_MS + MARGIN_MS,
            ": the store has lost what was granted before",
        );
        // A durable state of before knows nothing of that.
        pool.volatile.steer();
        pool
    }

    /// The last changes of the factor, oldest first.
    pub(super) fn changes(&self) -> impl Iterator<Item = &Change> {
        self.steering.changes().iter()
    }

    /// Takes what a worker gives back, hears what it tells, and grants it what it may have. `clock_ms` is the store's clock, in
    /// milliseconds since 1970.
    pub(super) fn lease(&mut self, clock_ms: u64, request: &PoolRequest) -> PoolReply {
        let now = self.clock.read(clock_ms);
        let parties = self.holders.values().flat_map(|holder| &holder.parties);
        let in_flight = parties.map(|held| u64::from(held.in_flight)).sum();
        let changes = self.steering.hear(now, clock_ms, &request.signals, in_flight);
        self.log(changes, &request.pool);
        if changes > 0 {
            self.volatile.steer();
        }
        self.wait_for_the_silent(now);
        self.forget(now);
        let returned = self.take_stock(now, request);
        self.grant_slots(now, request);
        let retry_ms = self.grant_units(now, request);
        self.count_granted(&request.holder, &returned);
        let asking = self.holders.values().filter(|holder| !holder.parties.is_empty()).count();
        let retry_min = RETRY_MIN_MS.max(asking as u64 * 1000 / RETRIES_PER_SECOND);
        PoolReply {
            grants: self.granted(&request.holder),
            valid_ms: VALID_MS,
            retry_ms: retry_ms.max(retry_min).min(VALID_MS),
            factor: self.steering.factor(),
        }
    }

    /// The holders that have reported recently. `clock_ms` is the store's clock, in milliseconds since 1970.
    pub(super) fn holders(&mut self, clock_ms: u64) -> Vec<PoolHolder> {
        let now = self.clock.read(clock_ms);
        let heard = self.holders.iter().filter(|(_, holder)| holder.is_remembered(now) && !holder.parties.is_empty());
        heard
            .map(|(name, holder)| {
                let sum = |count: fn(&Held) -> u32| holder.parties.iter().map(count).fold(0, u32::saturating_add);
                let seen_ms = clock_ms.saturating_sub(now.saturating_sub(holder.seen_ms));
                PoolHolder {
                    holder: name.clone(),
                    seen_at: i64::try_from(seen_ms)
                        .ok()
                        .and_then(|at| Timestamp::from_millisecond(at).ok())
                        .unwrap_or(Timestamp::MAX),
                    slots: sum(Held::occupied),
                    in_flight: sum(|held| held.in_flight),
                    waiting: sum(|held| held.waiting),
                }
            })
            .collect()
    }

    fn log(&self, changes: usize, pool: &str) {
        for change in self.changes().skip(self.steering.changes().len().saturating_sub(changes)) {
            let Change { from, to, reason, .. } = change;
            tracing::info!(
                pool,
                pool.factor = to,
                pool.factor_before = from,
                reason,
                "use of an endpoint's limits: {reason}"
            );
        }
    }

    /// Gives all who fill slots time to tell of them again, if nobody asked for so long that the store must have been away: else the first one that is back
    /// would be granted what the others fill. Times in which nobody asks do not count.
    fn wait_for_the_silent(&mut self, now: u64) {
        let asked_ms = std::mem::replace(&mut self.asked_ms, now);
        if !(asked_ms + RENEWED_WITHIN_MS..asked_ms + OVER_AFTER_MS).contains(&now) {
            return;
        }
        let away_ms = now - asked_ms;
        if asked_ms < self.registering_until_ms {
            self.registering_until_ms += away_ms;
        }
        for holder in self.holders.values_mut() {
            holder.returns_until_ms = match holder.returns_until_ms {
                0 if holder.is_filled() => now + SILENCE_MAX_MS,
                0 => 0,
                until => until + away_ms,
            };
        }
    }

    /// Forgets whom nobody has heard of, and what no longer counts.
    fn forget(&mut self, now: u64) {
        self.holders.retain(|_, holder| holder.is_remembered(now));
        self.forgotten.forget(bucket(now));
        let held: Vec<u32> = self.holders.values().flat_map(|holder| &holder.parties).map(|held| held.line).collect();
        self.lines.retain(|number, line| {
            line.spent.forget(bucket(now));
            !line.spent.is_empty() || held.contains(number)
        });
    }

    /// Enters what the worker holds and wants now, and takes back what it did not use: of each party, that is returned.
    fn take_stock(&mut self, now: u64, request: &PoolRequest) -> Vec<Units> {
        let (is_durable, mut before) = match self.holders.remove(&request.holder) {
            Some(holder) => (holder.is_durable, holder.parties),
            None if request.parties.is_empty() => return Vec::new(),
            None => (false, Vec::new()),
        };
        let mut returned = Vec::with_capacity(request.parties.len());
        let mut parties = Vec::with_capacity(request.parties.len());
        for party in &request.parties {
            let line = self.line_of(party);
            let old = before.iter().position(|held| held.line == line).map(|index| before.swap_remove(index));
            let granted = old.as_ref().map_or_else(Units::default, |old| old.granted);
            let unsent = self.settle(now, line, party, granted);
            let used = granted.requests - unsent.requests;
            parties.push(Held::of(line, party, used, old.and_then(|old| old.lacking)));
            returned.push(unsent);
        }
        self.holders.insert(request.holder.clone(), Holder { seen_ms: now, returns_until_ms: 0, is_durable, parties });
        returned
    }

    /// Corrects what was spent on a line by what the party tells about its last grant, which is of nothing where it is not known. Returns
    /// how much of that was not used.
    fn settle(&mut self, now: u64, number: u32, party: &Party, granted: Units) -> Units {
        let held = self.holders.values().flat_map(|holder| &holder.parties);
        let elsewhere: u64 = held.filter(|held| held.line == number).map(Held::may_be_in_flight).sum();
        // No more than was granted, however often it is told.
        let requests = party.unsent_requests.min(granted.requests);
        let unsent = Units { requests, tokens: party.unsent_tokens.min(granted.tokens), ..granted };
        let Some(line) = self.lines.get_mut(&number) else { return unsent };
        let surplus = party.token_correction.min(0).unsigned_abs();
        let deficit = u64::try_from(party.token_correction).unwrap_or(0);
        line.spent.give_back(unsent.bucket, u64::from(unsent.requests), unsent.tokens);
        line.spent.take_back(surplus, u64::from(party.in_flight) + elsewhere);
        line.spent.add(bucket(now), 0, deficit);
        self.volatile.grant(0, deficit);
        unsent
    }

    /// The line of a party, entered if it is new. What the party says about its sweep's share holds from now on.
    fn line_of(&mut self, party: &Party) -> u32 {
        for line in self.lines.values_mut().filter(|line| line.sweep == party.sweep) {
            line.share = party.share;
        }
        let known = self.lines.iter().find(|(_, line)| line.sweep == party.sweep && line.model == party.model);
        if let Some((number, _)) = known {
            return *number;
        }
        let number = (0..).find(|number| !self.lines.contains_key(number)).unwrap_or(u32::MAX);
        let (sweep, model, share) = (party.sweep.clone(), party.model.clone(), party.share);
        self.lines.insert(number, Line { sweep, model, share, spent: Spent::default() });
        number
    }

    /// Parties whose holder was heard of so lately that what they want is believed.
    fn wanting(&self, now: u64) -> impl Iterator<Item = &Held> {
        let fresh = self.holders.values().filter(move |holder| holder.is_fresh(now));
        fresh.flat_map(|holder| &holder.parties)
    }

    fn granted(&self, holder: &WorkerId) -> Vec<Grant> {
        let parties = self.holders.get(holder).map_or(&[][..], |holder| &holder.parties);
        parties.iter().map(Held::grant).collect()
    }
}

#[cfg(test)]
mod tests;
