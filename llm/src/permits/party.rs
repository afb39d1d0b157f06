//! One party of a pool in this process: a sweep's calls of one model, both those in flight and those waiting, in order.

use std::collections::VecDeque;
use std::sync::Arc;

use regatta_proto::{Grant, Limits, ModelLimits, Share, SweepId};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Permit;

/// Refused calls that new ones never wait for, however small the endpoint's concurrency, so that a single refusal does not stop the rest.
const REFUSED_MIN: u32 = 16;

/// Limits of a party's calls besides slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Meters {
    /// Requests are counted if they are limited, or if tokens are: from unsent requests the store learns which tokens were not used.
    pub(super) requests: bool,
    /// Most tokens in a minute; `None` if they are not limited.
    pub(super) tokens: Option<u64>,
    /// Refused calls from which new ones wait.
    refused_max: u32,
}

impl Meters {
    pub(super) fn of(limits: &Limits, model: Option<&ModelLimits>) -> Self {
        let of_model = model.copied().unwrap_or_default();
        let tokens = [limits.tokens_per_minute, of_model.tokens_per_minute].into_iter().flatten().min();
        Self {
            requests: limits.requests_per_minute.or(of_model.requests_per_minute).is_some() || tokens.is_some(),
            tokens,
            // Half of the concurrency, which is more than the accidental refusals.
            refused_max: (limits.concurrency / 2).max(REFUSED_MIN),
        }
    }
}

/// A waiting call.
#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) tokens: u64,
    /// Receives the permit; closed if the call does not wait any more.
    pub(super) sender: oneshot::Sender<Permit>,
}

/// The two lines in which calls of a party wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    /// A call that was tried before.
    Retried,
    /// A new call.
    New,
}

/// A slot, a request and tokens that were taken from a party's lease.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken {
    pub(super) party: u64,
    pub(super) tokens: u64,
    /// Number of the lease that they are from.
    pub(super) lease: u64,
    /// Time at which they expire.
    pub(super) until: Instant,
}

#[derive(Debug)]
pub(super) struct Party {
    pub(super) id: u64,
    pub(super) sweep: SweepId,
    pub(super) model: Arc<str>,
    pub(super) share: Share,
    pub(super) meters: Meters,
    /// Slots that the party may fill.
    pub(super) slots: u32,
    pub(super) in_flight: u32,
    /// Requests of the last lease that were not taken yet.
    pub(super) requests: u32,
    pub(super) tokens: u64,
    /// Most tokens that a call can be granted; `None` if they are not limited.
    tokens_max: u64,
    /// Tokens used beyond the estimates since the last lease.
    pub(super) correction: i64,
    /// The store knows the party.
    pub(super) was_told: bool,
    /// Retried calls, which go before new ones: a new one would take the place of one that has waited.
    retried: VecDeque<Waiter>,
    new: VecDeque<Waiter>,
    /// Refused calls that are not done yet, including those in back-off. Beyond a bound, no new call begins until all of these are done:
    /// otherwise every session of the worker would start, be refused, and use its tries up.
    refused: u32,
    is_closed_to_new: bool,
}

impl Party {
    pub(super) fn new(id: u64, sweep: &SweepId, model: &str, share: Share, meters: Meters) -> Self {
        Self {
            id,
            sweep: sweep.clone(),
            model: model.into(),
            share,
            meters,
            slots: 0,
            in_flight: 0,
            requests: 0,
            tokens: 0,
            tokens_max: meters.tokens.unwrap_or(0),
            correction: 0,
            was_told: false,
            retried: VecDeque::new(),
            new: VecDeque::new(),
            refused: 0,
            is_closed_to_new: false,
        }
    }

    /// Tokens that a call of `tokens` has to be granted. An estimate above a minute's limit would wait for ever, so it is cut; the excess
    /// is corrected afterwards.
    pub(super) fn needed(&self, tokens: u64) -> u64 {
        tokens.min(self.tokens_max)
    }

    /// `true` if the lease lets a call of `tokens` begin.
    pub(super) fn has_room(&self, tokens: u64, has_units: bool, has_slots: bool) -> bool {
        let has_request = !self.meters.requests || (has_units && self.requests > 0);
        let has_tokens = self.meters.tokens.is_none() || (has_units && self.tokens >= self.needed(tokens));
        has_slots && self.in_flight < self.slots && has_request && has_tokens
    }

    /// `true` if a new call would be first in its line, and the line is open.
    pub(super) fn is_first(&self, line: Line) -> bool {
        let nobody = |line: &VecDeque<Waiter>| line.iter().all(|waiter| waiter.sender.is_closed());
        match line {
            Line::Retried => nobody(&self.retried),
            Line::New => !self.is_closed_to_new && nobody(&self.retried) && nobody(&self.new),
        }
    }

    pub(super) fn enqueue(&mut self, waiter: Waiter, line: Line, at_front: bool) {
        let queue = match line {
            Line::Retried => &mut self.retried,
            Line::New => &mut self.new,
        };
        if at_front { queue.push_front(waiter) } else { queue.push_back(waiter) }
    }

    /// The next call, if its line is open. Removes calls that do not wait any more.
    pub(super) fn head(&mut self) -> Option<&Waiter> {
        for line in [&mut self.retried, &mut self.new] {
            while line.front().is_some_and(|waiter| waiter.sender.is_closed()) {
                line.pop_front();
            }
        }
        match self.retried.front() {
            None if self.is_closed_to_new => None,
            None => self.new.front(),
            some => some,
        }
    }

    /// Removes the call that [`Party::head`] returns.
    pub(super) fn pop(&mut self) -> Option<Waiter> {
        self.retried.pop_front().or_else(|| self.new.pop_front())
    }

    /// Number of waiting calls that could begin, and their tokens, such that the store's average grant for one of them is enough for the
    /// first. Otherwise the first could wait for ever, and those behind it too.
    pub(super) fn waiting(&mut self) -> (u32, u64) {
        self.retried.retain(|waiter| !waiter.sender.is_closed());
        self.new.retain(|waiter| !waiter.sender.is_closed());
        let first = self.head().map_or(0, |waiter| waiter.tokens);
        let new = self.new.iter().filter(|_| !self.is_closed_to_new);
        let each = self.retried.iter().chain(new).map(|waiter| self.needed(waiter.tokens));
        let (count, tokens) = each.fold((0, 0), |(count, sum): (u32, u64), one| (count + 1, sum.saturating_add(one)));
        (count, tokens.max(self.needed(first).saturating_mul(u64::from(count))))
    }

    /// Takes a slot, a request and the tokens of a call; returns the tokens taken.
    pub(super) fn take(&mut self, tokens: u64) -> u64 {
        let tokens = self.needed(tokens);
        self.in_flight += 1;
        self.requests -= u32::from(self.meters.requests);
        self.tokens -= tokens;
        tokens
    }

    /// Applies a grant of the store, which uses `factor` of its limits. Grants of what is not limited are ignored.
    pub(super) fn grant(&mut self, grant: &Grant, factor: f64) {
        self.slots = grant.slots;
        self.requests = if self.meters.requests { grant.requests } else { 0 };
        self.tokens = if self.meters.tokens.is_some() { grant.tokens } else { 0 };
        self.tokens_max = self.meters.tokens.map_or(0, |limit| (limit as f64 * factor.clamp(0.0, 1.0)).max(1.0) as u64);
    }

    /// Counts a refused call. If the endpoint accepts most calls, refusals do not hold back new ones.
    pub(super) fn refuse(&mut self, is_mostly_refused: bool) {
        self.refused += 1;
        self.is_closed_to_new |= is_mostly_refused && self.refused >= self.meters.refused_max;
    }

    pub(super) fn refused_is_done(&mut self) {
        self.refused = self.refused.saturating_sub(1);
        self.is_closed_to_new &= self.refused > 0;
    }

    /// `true` if there is nothing to report to the store about it.
    pub(super) fn is_idle(&mut self) -> bool {
        self.in_flight == 0 && self.correction == 0 && self.requests == 0 && self.tokens == 0 && self.head().is_none()
    }

    /// `true` if the party can be removed.
    pub(super) fn is_over(&mut self) -> bool {
        self.refused == 0 && self.is_idle() && self.new.is_empty()
    }
}
