//! The leases that this process holds of a pool, and the calls that wait for them. Pure but for the channels of the waiting calls: time is
//! a parameter.

use std::collections::BTreeMap;
use std::time::Duration;

use regatta_proto::{Limits, ModelLimits, Party as Told, PoolReply, PoolRequest, Share, SweepId};
use tokio::time::Instant;

use super::Permit;
use super::estimates::Estimates;
use super::party::{Line, Meters, Party, Taken, Waiter};
use super::signals::Heard;
use tokio::sync::oneshot;

/// Shortest time between two requests to the store, for calls that arrive at the same moment.
const ASK_GAP: Duration = Duration::from_millis(5);
/// Longest time between two requests while calls wait, whatever the store said, because another model may have room.
const ASK_GAP_MAX: Duration = Duration::from_secs(1);
/// Slots are renewed after this many times the validity of requests and tokens, and expire after `SLOTS_VALID` times it, as
/// [`PoolReply::valid_ms`] defines.
const RENEW_AFTER: u32 = 3;
const SLOTS_VALID: u32 = 10;
/// Longest pause before a store that does not answer is asked again.
const BACK_OFF_MAX: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct State {
    limits: Limits,
    model_limits: BTreeMap<String, ModelLimits>,
    pub(super) estimates: Estimates,
    parties: Vec<Party>,
    party_next: u64,
    /// Number of the last lease; what was taken from an earlier one cannot be returned.
    lease: u64,
    /// Time of the last request; `None` before the first.
    sent: Option<Instant>,
    /// Expiry of requests and tokens.
    units_until: Instant,
    /// Expiry of slots.
    slots_until: Instant,
    valid: Duration,
    /// Time at which to ask again for permits that were not granted.
    ask_again: Instant,
    /// Consecutive requests that the store did not answer.
    unanswered: u32,
    pub(super) heard: Heard,
    /// Next time at which the task that asks the store checks the state by itself.
    looks_at: Option<Instant>,
}

/// The next step of the task that asks the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// Ask the store.
    Ask,
    /// Check again at this time, or when notified.
    Look(Option<Instant>),
}

/// The parties of a request to the store, in its order.
#[derive(Debug)]
pub(super) struct Asked {
    parties: Vec<u64>,
    sent: Instant,
}

impl State {
    pub(super) fn new(limits: Limits, model_limits: BTreeMap<String, ModelLimits>, now: Instant) -> Self {
        Self {
            limits,
            model_limits,
            estimates: Estimates::default(),
            parties: Vec::new(),
            party_next: 0,
            lease: 0,
            sent: None,
            units_until: now,
            slots_until: now,
            valid: ASK_GAP_MAX,
            ask_again: now,
            unanswered: 0,
            heard: Heard::default(),
            looks_at: None,
        }
    }

    /// The party of a sweep's calls of a model, which is created if there is none. Models without limits of their own share one party, so
    /// that a slot which one of them frees can go to a conversation's next call of another without asking the store.
    pub(super) fn party(&mut self, sweep: &SweepId, model: &str, share: Share) -> u64 {
        let model = if self.model_limits.contains_key(model) { model } else { "" };
        if let Some(party) = self.parties.iter_mut().find(|party| party.sweep == *sweep && *party.model == *model) {
            party.share = share;
            return party.id;
        }
        let meters = Meters::of(&self.limits, self.model_limits.get(model));
        self.party_next += 1;
        self.parties.push(Party::new(self.party_next, sweep, model, share, meters));
        self.party_next
    }

    pub(super) fn party_ids(&self) -> Vec<u64> {
        self.parties.iter().map(|party| party.id).collect()
    }

    fn find(&mut self, id: u64) -> Option<&mut Party> {
        self.parties.iter_mut().find(|party| party.id == id)
    }

    fn is_held(&self, now: Instant) -> bool {
        self.heard.held_until(now).is_some()
    }

    /// Takes a slot, a request and `tokens` for a new call, if it is the call's turn and the lease has them.
    pub(super) fn take_at_once(
        &mut self,
        party: u64,
        tokens: u64,
        line: Line,
        at_front: bool,
        now: Instant,
    ) -> Option<Taken> {
        let (held, has_units, has_slots) = (self.is_held(now), now < self.units_until, now < self.slots_until);
        let found = self.find(party)?;
        let is_turn = at_front || found.is_first(line);
        let may_begin = !held && is_turn && found.has_room(tokens, has_units, has_slots);
        may_begin.then(|| self.take(party, tokens))?
    }

    fn take(&mut self, party: u64, tokens: u64) -> Option<Taken> {
        let (lease, slots_until, units_until) = (self.lease, self.slots_until, self.units_until);
        let party = self.find(party)?;
        let counts_units = party.meters.requests || party.meters.tokens.is_some();
        let until = if counts_units { units_until.min(slots_until) } else { slots_until };
        Some(Taken { party: party.id, tokens: party.take(tokens), lease, until })
    }

    pub(super) fn enqueue(&mut self, party: u64, waiter: Waiter, line: Line, at_front: bool) {
        if let Some(party) = self.find(party) {
            party.enqueue(waiter, line, at_front);
        }
    }

    /// The next call of a party that can begin, with the permits that it takes.
    pub(super) fn next(&mut self, party: u64, now: Instant) -> Option<(oneshot::Sender<Permit>, Taken)> {
        let (held, has_units, has_slots) = (self.is_held(now), now < self.units_until, now < self.slots_until);
        if held {
            return None;
        }
        let found = self.find(party)?;
        let tokens = found.head()?.tokens;
        if !found.has_room(tokens, has_units, has_slots) {
            return None;
        }
        let waiter = found.pop()?;
        Some((waiter.sender, self.take(party, tokens)?))
    }

    /// Ends a call that was sent and took `tokens`.
    pub(super) fn finish(&mut self, taken: &Taken, tokens: u64) {
        let Some(party) = self.find(taken.party) else { return };
        party.in_flight = party.in_flight.saturating_sub(1);
        if party.meters.tokens.is_some() {
            party.correction = party.correction.saturating_add(difference(tokens, taken.tokens));
        }
    }

    /// Returns permits that were not used.
    pub(super) fn give_back(&mut self, taken: &Taken) {
        let is_of_this_lease = taken.lease == self.lease;
        let Some(party) = self.find(taken.party) else { return };
        party.in_flight = party.in_flight.saturating_sub(1);
        if is_of_this_lease {
            party.requests += u32::from(party.meters.requests);
            party.tokens += taken.tokens;
        } else {
            // The store counts the request as sent, but lets its tokens be corrected.
            party.correction = party.correction.saturating_sub(i64::try_from(taken.tokens).unwrap_or(i64::MAX));
        }
    }

    /// Counts a refused call, which new ones wait for until it is done.
    pub(super) fn count_refused(&mut self, party: u64, is_done: bool) {
        let is_mostly_refused = self.heard.is_mostly_refused();
        if let Some(party) = self.find(party) {
            if is_done { party.refused_is_done() } else { party.refuse(is_mostly_refused) }
        }
    }

    /// The next step of the task that asks the store.
    pub(super) fn look(&mut self, now: Instant) -> Due {
        let due = self.due(now);
        self.looks_at = match due {
            Due::Ask => Some(now),
            Due::Look(at) => at,
        };
        due
    }

    /// `true` if a call of `party` that begins to wait makes something due before the task's next check.
    pub(super) fn is_due_earlier(&mut self, party: u64, now: Instant) -> bool {
        if self.is_held(now) {
            return false;
        }
        let (soonest, ask_again, looks_at) = (self.soonest(now), self.ask_again, self.looks_at);
        let Some(party) = self.find(party) else { return false };
        let at = if party.was_told { ask_again.max(soonest) } else { soonest };
        party.head().is_some() && looks_at.is_none_or(|looks_at| at < looks_at)
    }

    /// Earliest time of the next request to the store.
    fn soonest(&self, now: Instant) -> Instant {
        match self.sent {
            _ if self.unanswered > 0 => self.ask_again,
            Some(sent) => sent + ASK_GAP,
            None => now,
        }
    }

    fn due(&mut self, now: Instant) -> Due {
        let soonest = self.soonest(now);
        let ask_again = self.ask_again.max(soonest);
        let held_until = self.heard.held_until(now);
        let (has_units, has_slots) = (now < self.units_until, now < self.slots_until);
        let mut ask = self.heard.due(soonest);
        let mut is_known = false;
        for party in &mut self.parties {
            is_known |= party.was_told || party.in_flight > 0;
            let head = party.head().map(|waiter| waiter.tokens);
            if held_until.is_none() && head.is_some_and(|tokens| !party.has_room(tokens, has_units, has_slots)) {
                ask = earlier(ask, Some(if party.was_told { ask_again } else { soonest }));
            }
        }
        if let Some(sent) = self.sent.filter(|_| is_known) {
            let renewal = if self.unanswered > 0 { soonest } else { sent + self.valid * RENEW_AFTER };
            ask = earlier(ask, Some(renewal.max(soonest)));
        }
        match ask {
            Some(at) if at <= now => Due::Ask,
            _ => Due::Look(earlier(ask, held_until)),
        }
    }

    /// Writes the state into `request`. Until the answer arrives, nothing is used beyond the state that was reported, because the store may
    /// take everything else back.
    pub(super) fn tell(&mut self, request: &mut PoolRequest, now: Instant) -> Asked {
        self.lease += 1;
        self.sent = Some(now);
        self.parties.retain_mut(|party| !party.is_over());
        request.parties.clear();
        let mut asked = Asked { parties: Vec::with_capacity(self.parties.len()), sent: now };
        for party in &mut self.parties {
            party.was_told = !party.is_idle();
            if party.was_told {
                let (waiting, waiting_tokens) = party.waiting();
                request.parties.push(Told {
                    sweep: party.sweep.clone(),
                    model: (*party.model).to_owned(),
                    share: party.share,
                    in_flight: party.in_flight,
                    waiting,
                    waiting_tokens,
                    unsent_requests: party.requests,
                    unsent_tokens: party.tokens,
                    token_correction: party.correction,
                });
                asked.parties.push(party.id);
            }
            // Where fewer were granted than are filled, the others have theirs by now, and what ends is not followed by another.
            party.slots = party.slots.min(party.in_flight);
            (party.requests, party.tokens, party.correction) = (0, 0, 0);
        }
        request.signals = self.heard.tell(now);
        asked
    }

    /// Applies the store's grants. `jitter`, 0 to 1, keeps workers from asking again at the same moment. Returns `true` if the store had
    /// been away.
    pub(super) fn granted(&mut self, asked: &Asked, request: &PoolRequest, reply: &PoolReply, jitter: f64) -> bool {
        let sent = asked.sent;
        let was_away = std::mem::take(&mut self.unanswered) > 0;
        self.valid = Duration::from_millis(reply.valid_ms.max(1));
        self.units_until = sent + self.valid;
        self.slots_until = sent + self.valid * SLOTS_VALID;
        let (mut lacks_units, mut lacks_slots) = (false, false);
        for ((id, grant), told) in asked.parties.iter().zip(&reply.grants).zip(&request.parties) {
            let Some(party) = self.find(*id) else { continue };
            party.grant(grant, reply.factor);
            lacks_slots |= u64::from(grant.slots) < u64::from(told.in_flight) + u64::from(told.waiting);
            lacks_units |= (party.meters.requests && grant.requests < told.waiting)
                || (party.meters.tokens.is_some() && grant.tokens < told.waiting_tokens);
        }
        let retry = Duration::from_millis(reply.retry_ms);
        let wait = match (lacks_units, lacks_slots) {
            (true, _) => retry,
            // Other holders have the slots, and return them when they renew, not earlier.
            (false, true) => retry.max(self.valid / 2),
            (false, false) => Duration::ZERO,
        };
        self.ask_again = sent + wait.min(ASK_GAP_MAX).mul_f64(1.0 + jitter / 5.0).max(ASK_GAP);
        was_away
    }

    /// Records that the store did not answer, though it may have handled the request. So returned permits stay returned, and signals that
    /// must not get lost are reported again. Returns `true` for the first failure in a row.
    pub(super) fn unanswered(&mut self, asked: &Asked, request: &PoolRequest, now: Instant, jitter: f64) -> bool {
        self.unanswered = self.unanswered.saturating_add(1);
        let back_off = Duration::from_millis(50 << self.unanswered.min(10)).min(BACK_OFF_MAX);
        self.ask_again = now + back_off.mul_f64(0.5 + jitter / 2.0);
        for (id, told) in asked.parties.iter().zip(&request.parties) {
            if let Some(party) = self.find(*id) {
                party.correction = party.correction.saturating_add(told.token_correction.max(0));
            }
        }
        self.heard.tell_again(&request.signals, asked.sent);
        self.unanswered == 1
    }

    /// Calls in flight, of all parties.
    #[cfg(test)]
    pub(super) fn in_flight(&self) -> u32 {
        self.parties.iter().map(|party| party.in_flight).sum()
    }

    /// `true` if the store may count anything as held by this process.
    pub(super) fn is_known(&self) -> bool {
        self.parties.iter().any(|party| party.was_told || party.in_flight > 0)
    }
}

fn earlier(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    [a, b].into_iter().flatten().min()
}

fn difference(a: u64, b: u64) -> i64 {
    i64::try_from(i128::from(a) - i128::from(b)).unwrap_or(i64::MAX)
}
