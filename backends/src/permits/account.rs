//! The money of a sweep, or of one of its models, shared by all workers: a pure state machine. Time is given.
//!
//! - **Never over the cap.** Money is reserved before it is spent; what was spent, what may have been spent, and what anybody has reserved
//!   are together never more than the cap, as far as grants go. Only a call that costs more than its reservation could break that.
//! - **Totals, not differences.** A worker tells everything it has ever spent here, so a repeated request changes nothing, and one that was
//!   overtaken by a newer one is recognised by its smaller totals.
//! - **Sent only what was granted for it.** Of what a worker has reserved, it may have so much under way as it was told. What waits for
//!   permits or for a further try is reserved, and costs nothing.
//! - **One name sends at a time.** Several may act for one holder (two copies of a batch's job, say). What may be under way is then claimed
//!   under a name, and a request under another name changes nothing: it learns whose the claim is, and since when that one is silent. A name
//!   may stand for good, for a holder for which nothing is to be sent any more.
//! - **What died may have been spent.** Of a worker that falls silent, what it may have had under way is lost: nobody knows what its calls
//!   cost. It stays counted until that worker comes back and tells. The rest of its reservation is free again.

use std::collections::BTreeMap;

use regatta_proto::{AccountReply, AccountRequest, AttemptId, Claimed, Money, WorkerId};
use serde::{Deserialize, Serialize};

use super::steady::Steady;

/// Cap of an account without a budget: it only counts.
pub(super) const UNLIMITED: Money = Money(u64::MAX);
/// For how long a reservation may be used for new calls without renewal, in milliseconds.
pub(super) const VALID_MS: u64 = 10_000;
/// A worker that is silent for this long is dead, in milliseconds: longer than it may begin calls for.
pub(super) const DEAD_MS: u64 = 30_000;
/// Delay, in milliseconds, after which a worker that has no call gives its reservation back: a sweep ends when it is known what it cost,
/// and a database shall not be written to after each call.
const IDLE_MS: u64 = 200;
/// Beyond so many workers, those that have been silent for longest are only kept as sums.
const HOLDERS_MAX: usize = 1_000;
/// Only workers that have been silent for this long, in milliseconds: should one come back after all, what it spent would count twice.
const FORGET_MS: u64 = 24 * 3_600_000;

/// State of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AccountState {
    /// Most that may be spent.
    pub cap: Money,
    /// Money spent, as endpoints reported it.
    pub spent: Money,
    /// On top, what may have been billed without being told.
    pub maybe_spent: Money,
    /// Reserved by workers that are alive.
    pub reserved: Money,
    /// Part of `reserved` that workers may have under way.
    pub may_send: Money,
    /// Money that workers which died may have had under way: may have been spent.
    pub lost: Money,
    /// Neither spent nor reserved by anybody.
    pub left: Money,
}

impl AccountState {
    /// Upper bound of what may be billed without another grant: spent, maybe spent, under way, and lost.
    #[must_use]
    pub fn at_most(&self) -> Money {
        self.spent + self.maybe_spent + self.may_send + self.lost
    }

    /// `true` if nobody who is alive has a call under way, or may begin one without another grant.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.reserved == Money::ZERO
    }

    /// `true` if the account has a budget.
    #[must_use]
    pub fn is_capped(&self) -> bool {
        self.cap != UNLIMITED
    }

    /// Money that no other holder can get.
    fn taken(&self) -> Money {
        self.spent + self.maybe_spent + self.reserved + self.lost
    }
}

/// Totals that a worker has reported, and its reservation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Holder {
    seen_ms: u64,
    spent: Money,
    maybe_spent: Money,
    reserved: Money,
    /// Part of `reserved` that may be under way; `None` where an older build wrote it, and all of it may be.
    #[serde(default)]
    may_send: Option<Money>,
    /// Name under which `may_send` was granted last, where it was under one, or that stands for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    claim: Option<Claim>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Claim {
    by: AttemptId,
    /// Time of the last request under this name.
    heard_ms: u64,
    #[serde(default)]
    is_for_good: bool,
}

impl Holder {
    fn may_send(&self) -> Money {
        self.may_send.unwrap_or(self.reserved)
    }

    const fn is_dead(&self, now: u64) -> bool {
        self.seen_ms + DEAD_MS <= now
    }
}

/// An account.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Account {
    clock: Steady,
    cap: Money,
    holders: BTreeMap<WorkerId, Holder>,
    /// Sums over processes of the past and workers that are not remembered one by one.
    spent_before: Money,
    maybe_spent_before: Money,
    lost_before: Money,
}

impl Account {
    /// An account of which `spent` is spent already. Whatever processes of the past were granted beyond that is lost.
    pub(super) fn new(cap: Money, spent: Money, granted: Money) -> Self {
        Self { cap, spent_before: spent, lost_before: less(granted, spent), ..Self::default() }
    }

    /// Changes the cap. Money that is reserved stays reserved, also beyond a smaller cap.
    pub(super) const fn set_cap(&mut self, cap: Money) {
        self.cap = cap;
    }

    /// Hears what a worker has spent, and reserves for it as much of what it wants as there is. `clock_ms` is the store's clock, in
    /// milliseconds since 1970.
    pub(super) fn settle(&mut self, clock_ms: u64, request: &AccountRequest) -> AccountReply {
        let now = self.clock.read(clock_ms);
        self.forget(now);
        let before = self.holders.get(&request.holder).cloned().unwrap_or_default();
        if let Some(claim) =
            before.claim.as_ref().filter(|claim| request.claim.as_ref().is_some_and(|by| *by != claim.by))
        {
            let claimed = Claimed { by: claim.by.clone(), silent_ms: now.saturating_sub(claim.heard_ms) };
            return AccountReply { claimed: Some(claimed), ..self.reply(now, &before) };
        }
        let was_overtaken = request.spent < before.spent || request.maybe_spent < before.maybe_spent;
        let mut holder = Holder { seen_ms: now, ..before.clone() };
        if !was_overtaken {
            (holder.spent, holder.maybe_spent) = (request.spent, request.maybe_spent);
            (holder.reserved, holder.may_send) = (Money::ZERO, None);
            self.holders.insert(request.holder.clone(), holder.clone());
            let room = self.state(now).left;
            // What is in flight cannot be taken back, but also not be claimed without having been granted, or once more when a part of that is
            // spent. Of a worker that was taken for dead others may have got what it had not sent.
            let sent = request.sent.min(before.may_send());
            let spent = less(request.spent + request.maybe_spent, before.spent + before.maybe_spent);
            let granted = if before.is_dead(now) { sent } else { less(before.reserved, spent) };
            let kept = sent.max(request.in_flight.min(granted));
            let useful = request.wanted.min(room);
            holder.reserved = if useful < request.in_flight + request.least { kept } else { useful.max(kept) };
            holder.may_send = Some(request.to_send.max(sent).min(holder.reserved));
        }
        if let Some(by) = &request.claim {
            let was_for_good = before.claim.as_ref().is_some_and(|claim| claim.is_for_good);
            let is_for_good = request.claims_for_good || was_for_good;
            let claim = || Claim { by: by.clone(), heard_ms: now, is_for_good };
            holder.claim = (is_for_good || holder.may_send() > Money::ZERO).then(claim);
        }
        self.holders.insert(request.holder.clone(), holder.clone());
        AccountReply { was_overtaken, ..self.reply(now, &holder) }
    }

    fn reply(&self, now: u64, holder: &Holder) -> AccountReply {
        let AccountState { cap, spent, maybe_spent, lost, left, .. } = self.state(now);
        let may_come = less(cap, spent + maybe_spent + lost);
        let may_send = holder.may_send();
        AccountReply {
            reserved: holder.reserved,
            may_send,
            left,
            may_come,
            valid_ms: VALID_MS,
            idle_ms: IDLE_MS,
            claimed: None,
            was_overtaken: false,
        }
    }

    /// State of the account.
    pub(super) fn read(&mut self, clock_ms: u64) -> AccountState {
        let now = self.clock.read(clock_ms);
        self.state(now)
    }

    fn state(&self, now: u64) -> AccountState {
        let mut state = AccountState {
            cap: self.cap,
            spent: self.spent_before,
            maybe_spent: self.maybe_spent_before,
            lost: self.lost_before,
            ..AccountState::default()
        };
        for holder in self.holders.values() {
            state.spent += holder.spent;
            state.maybe_spent += holder.maybe_spent;
            if holder.is_dead(now) {
                state.lost += holder.may_send();
            } else {
                state.reserved += holder.reserved;
                state.may_send += holder.may_send();
            }
        }
        state.left = less(self.cap, state.taken());
        state
    }

    fn forget(&mut self, now: u64) {
        while self.holders.len() >= HOLDERS_MAX {
            let silent = self.holders.iter().filter(|(_, holder)| holder.seen_ms + FORGET_MS <= now);
            let Some(worker) = silent.min_by_key(|(_, holder)| holder.seen_ms).map(|(worker, _)| worker.clone()) else {
                return;
            };
            if let Some(holder) = self.holders.remove(&worker) {
                self.spent_before += holder.spent;
                self.maybe_spent_before += holder.maybe_spent;
                self.lost_before += holder.may_send();
            }
        }
    }
}

const fn less(amount: Money, by: Money) -> Money {
    Money(amount.0.saturating_sub(by.0))
}

#[cfg(test)]
mod tests;
