//! Requests and tokens: the distribution of a minute's limits.

use std::collections::BTreeMap;

use regatta_proto::{PoolRequest, SweepId, WorkerId};

use super::fair::{Claim, NOTHING, shares};
use super::parties::{Held, Lacking, Units};
use super::spent::bucket;
use super::{Line, Pool, Unit, VALID_MS};

/// Wait after which a party has priority, if it waits for more than is available while others of its sweep are served: its need is left
/// over for it. Otherwise a worker with large calls would never get its turn.
const PATIENCE_MS: u64 = 2 * VALID_MS;
/// The same between sweeps, which have their shares: for calls that are larger than their sweep's share.
const PATIENCE_BETWEEN_SWEEPS_MS: u64 = 60_000;

/// Unused shares of some sweeps are lent to others gradually; lent at once, a sweep with few slots would find nothing left for its next
/// calls. The pace is measured over this time.
const LENDING_MS: u64 = 5_000;
/// Multiple of the pace at which a window is used up in its minute; above 1, because what was lent has to be lent again a minute later,
/// after the pause that a burst makes.
const LENDING_PACE: f64 = 1.25;

/// The part of a limit of tokens that is granted. Which calls a correction is of is a guess (see [`super::spent`]); this makes up for wrong
/// ones. With few calls that each take a good part of the window, one of them can still be wrong by more.
const TOKENS_GRANTED: f64 = 0.995;

/// A limit by the minute, of the endpoint or of one of its models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window<'a> {
    unit: Unit,
    model: Option<&'a str>,
    capacity: u64,
}

/// Number of calls that a window lets a party send, and the time after which it is worth asking for more.
struct Bound {
    calls: u64,
    retry_ms: u64,
    /// There is less than one call needs.
    is_short: bool,
}

impl Window<'_> {
    fn covers(&self, line: &Line) -> bool {
        self.model.is_none_or(|model| line.model == model)
    }
}

impl Pool {
    /// Limits of the endpoint, then of the models that are in use.
    pub(super) fn windows<'a>(&self, request: &'a PoolRequest) -> Vec<Window<'a>> {
        let capacity =
            |limit: f64| if limit < 1.0 { 0 } else { ((limit * self.steering.factor() + NOTHING) as u64).max(1) };
        let of = |model, requests: Option<u32>, tokens: Option<u64>| {
            let requests = requests.map(|limit| (Unit::Requests, f64::from(limit)));
            let tokens = tokens.map(|limit| (Unit::Tokens, limit as f64 * TOKENS_GRANTED));
            let limits = requests.into_iter().chain(tokens);
            limits.map(move |(unit, limit)| Window { unit, model, capacity: capacity(limit) })
        };
        let endpoint = of(None, request.limits.requests_per_minute, request.limits.tokens_per_minute);
        let is_used = |model: &str| self.lines.values().any(|line| line.model == model);
        let models = request.model_limits.iter().filter(|(model, _)| is_used(model));
        let models = models
            .flat_map(|(model, limits)| of(Some(model.as_str()), limits.requests_per_minute, limits.tokens_per_minute));
        endpoint.chain(models).collect()
    }

    /// Requests or tokens left in a window.
    fn free(&self, window: &Window<'_>) -> u64 {
        let covered = self.lines.values().filter(|line| window.covers(line)).map(|line| line.spent.total(window.unit));
        covered.fold(window.capacity, u64::saturating_sub).saturating_sub(self.forgotten.total(window.unit))
    }

    /// Calls on a line that all windows but `except` leave room for, at least one: with none, whoever waits here could not be told from
    /// somebody who wants nothing.
    fn room(&self, windows: &[Window<'_>], except: Option<&Window<'_>>, line: &Line, call_tokens: u64) -> u64 {
        let others = windows.iter().filter(|window| Some(*window) != except && window.covers(line));
        let calls = others.map(|window| match window.unit {
            Unit::Requests => self.free(window),
            Unit::Tokens => self.free(window) / call_tokens.max(1),
        });
        calls.min().map_or(u64::MAX, |calls| calls.max(1))
    }

    /// Number of waiting calls of a party that the windows leave room for.
    pub(super) fn sendable(&self, windows: &[Window<'_>], held: &Held) -> u32 {
        let Some(line) = self.lines.get(&held.line) else { return 0 };
        let room = self.room(windows, None, line, held.call_tokens);
        held.waiting.min(u32::try_from(room).unwrap_or(u32::MAX))
    }

    /// Grants requests and tokens to all parties of the worker that asks. Returns when it is worth asking again, in milliseconds.
    pub(super) fn grant_units(&mut self, now: u64, request: &PoolRequest) -> u64 {
        let windows = self.windows(request);
        let parties = self.holders.get(&request.holder).map_or(&[][..], |holder| &holder.parties);
        let ready: Vec<u32> = parties.iter().map(|held| held.could_send().min(self.sendable(&windows, held))).collect();
        let parties = self.holders.get_mut(&request.holder).map(|holder| &mut holder.parties);
        for (held, ready) in parties.into_iter().flatten().zip(ready) {
            held.ready = ready;
        }
        (0..request.parties.len()).map(|index| self.grant_to(now, request, index)).min().unwrap_or(VALID_MS)
    }

    fn grant_to(&mut self, now: u64, request: &PoolRequest, index: usize) -> u64 {
        let held_for = self.steering.held_for_ms(now);
        let windows = self.windows(request);
        let Some(held) = self.holders.get(&request.holder).and_then(|holder| holder.parties.get(index)) else {
            return VALID_MS;
        };
        let Some(line) = self.lines.get(&held.line) else { return VALID_MS };
        let ready = held.ready;
        let mut calls = u64::from(ready);
        // What others hold or are due: they may give it up any time.
        let mut retry_ms = if held.waiting > ready || held.slots < held.in_flight { VALID_MS / 4 } else { VALID_MS };
        let mut lacking = None;
        if held_for > 0 && held.waiting > 0 {
            (calls, retry_ms) = (0, held_for);
        }
        for window in windows.iter().filter(|window| window.covers(line)) {
            if calls == 0 {
                break;
            }
            let bound = self.bound(now, &request.holder, &windows, window, held, line);
            if bound.calls < calls {
                (calls, retry_ms) = (bound.calls, bound.retry_ms);
            }
            if bound.is_short {
                let of_model = window.model.is_some();
                let before = held.lacking.filter(|before| before.unit == window.unit && before.of_model == of_model);
                lacking = Some(before.unwrap_or(Lacking { since_ms: now, unit: window.unit, of_model }));
            }
        }
        let requests = u32::try_from(calls).unwrap_or(u32::MAX);
        let granted = Units { bucket: bucket(now), requests, tokens: calls.saturating_mul(held.call_tokens) };
        let number = held.line;
        if let Some(line) = self.lines.get_mut(&number) {
            line.spent.add(granted.bucket, calls, granted.tokens);
        }
        if let Some(held) = self.holders.get_mut(&request.holder).and_then(|holder| holder.parties.get_mut(index)) {
            held.granted = granted;
            held.ready = ready.saturating_sub(requests).max(u32::from(held.waiting > requests && held.slots > 0));
            held.lacking = lacking;
        }
        retry_ms
    }

    /// The bound of one window for one party of a worker.
    fn bound(
        &self,
        now: u64,
        worker: &WorkerId,
        windows: &[Window<'_>],
        window: &Window<'_>,
        held: &Held,
        line: &Line,
    ) -> Bound {
        let cost = held.cost(window.unit);
        if cost == 0 {
            return Bound { calls: u64::MAX, retry_ms: VALID_MS, is_short: false };
        }
        let free = self.free(window).saturating_sub(self.left_for_others(now, window, held, line));
        let is_idle = free == window.capacity && free > 0;
        if free < cost && !is_idle {
            let covered = self.lines.values().filter(|line| window.covers(line)).map(|line| &line.spent);
            let all = covered.chain([&self.forgotten]);
            let next = all.filter_map(|spent| spent.next_forgotten_ms(window.unit)).min();
            let retry_ms = next.map_or(VALID_MS / 4, |at| at.saturating_sub(now));
            return Bound { calls: 0, retry_ms, is_short: true };
        }
        let due = self.due(now, windows, window, line, Held::unmet);
        let lent = self.due(now, windows, window, line, |held| held.ready).min(self.may_be_lent(now, window, cost));
        let due = due.max(lent);
        if due < NOTHING {
            return Bound { calls: 0, retry_ms: VALID_MS / 4, is_short: false };
        }
        let (free, cost) = (free as f64, cost as f64);
        let of_sweep = free.min(due.max(cost));
        let part = self.part(now, worker, window, held, line, of_sweep);
        // Rounded up, so that no unit is left over for nobody; but never beyond what is there.
        let calls = ((part / cost - NOTHING).ceil()).min((free / cost + NOTHING).floor()).max(1.0);
        Bound { calls: calls as u64, retry_ms: VALID_MS / 4, is_short: false }
    }

    /// A party's part of the units that its sweep may have now: all it needs, or in proportion to the needs of the sweep's other parties.
    fn part(&self, now: u64, worker: &WorkerId, window: &Window<'_>, held: &Held, line: &Line, of_sweep: f64) -> f64 {
        let is_rival = |other: &Held| {
            let its = self.lines.get(&other.line);
            its.is_some_and(|its| window.covers(its) && its.sweep == line.sweep) && !std::ptr::eq(other, held)
        };
        let units = |calls: u32, of: &Held| f64::from(calls) * of.cost(window.unit) as f64;
        let mine = units(held.ready, held);
        let mut wanted = mine;
        for (other_worker, holder) in self.holders.iter().filter(|(_, holder)| holder.is_fresh(now)) {
            for other in holder.parties.iter().filter(|other| is_rival(other)) {
                // Another worker may be able to use much more than the little that was there when it asked, but is not taken to be abler.
                let could_be = if other_worker == worker { other.ready } else { other.ready.max(held.ready) };
                wanted += units(other.unmet().min(could_be), other);
            }
        }
        let cost = held.cost(window.unit) as f64;
        if wanted > of_sweep { (of_sweep * mine / wanted).max(cost) } else { of_sweep }
    }

    /// Part of a window that may be lent now, for a call that takes `cost`.
    fn may_be_lent(&self, now: u64, window: &Window<'_>, cost: u64) -> f64 {
        let from = bucket(now.saturating_sub(LENDING_MS));
        let covered = self.lines.values().filter(|line| window.covers(line));
        let lately = covered.map(|line| line.spent.since(from, window.unit)).sum::<u64>() as f64;
        let pace = LENDING_PACE * window.capacity as f64 * LENDING_MS as f64 / 60_000.0;
        if lately < NOTHING { pace.max(cost as f64) } else { pace - lately }
    }

    /// Part of a window that the sweep of `line` may still have, by weighted max-min fairness over the spending and demand of all sweeps,
    /// where each party demands as many calls as `wants` returns.
    fn due(
        &self,
        now: u64,
        windows: &[Window<'_>],
        window: &Window<'_>,
        line: &Line,
        wants: impl Fn(&Held) -> u32,
    ) -> f64 {
        let mut calls: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for party in self.wanting(now) {
            let wanted = u64::from(wants(party));
            let (all, tokens) = calls.entry(party.line).or_default();
            *all += wanted;
            *tokens = tokens.saturating_add(wanted.saturating_mul(party.call_tokens));
        }
        let mut claims: BTreeMap<&SweepId, (Claim, u64)> = BTreeMap::new();
        for (number, each) in self.lines.iter().filter(|(_, each)| window.covers(each)) {
            let (all, tokens) = calls.get(number).copied().unwrap_or_default();
            let call_tokens = tokens.div_ceil(all.max(1));
            let sendable = all.min(self.room(windows, Some(window), each, call_tokens));
            let wants = match window.unit {
                Unit::Requests => sendable,
                Unit::Tokens => sendable.saturating_mul(call_tokens),
            };
            let spent = each.spent.total(window.unit);
            let weight = f64::from(each.share.weight.max(1));
            let none = (Claim { priority: each.share.priority, weight, wants: 0.0 }, 0);
            let (claim, spent_by_sweep) = claims.entry(&each.sweep).or_insert(none);
            claim.wants += (spent + wants) as f64;
            *spent_by_sweep += spent;
        }
        let all: Vec<Claim> = claims.values().map(|(claim, _)| *claim).collect();
        let mine =
            claims.iter().zip(shares(window.capacity as f64, &all)).find(|((sweep, _), _)| **sweep == &line.sweep);
        mine.map_or(0.0, |((_, (_, spent)), share)| share - *spent as f64)
    }

    /// Units of a window that parties which have waited longer than `held` need for their next call.
    fn left_for_others(&self, now: u64, window: &Window<'_>, held: &Held, line: &Line) -> u64 {
        let since = held.lacking.map_or(now, |lacking| lacking.since_ms);
        let is_waited_for = |other: &&Held| {
            let Some((lacking, its)) = other.lacking.zip(self.lines.get(&other.line)) else { return false };
            let is_same_sweep = its.sweep == line.sweep;
            let patience = if is_same_sweep { PATIENCE_MS } else { PATIENCE_BETWEEN_SWEEPS_MS };
            let goes_first = is_same_sweep || its.share.priority >= line.share.priority;
            window.covers(its)
                && goes_first
                && (lacking.unit, lacking.of_model) == (window.unit, window.model.is_some())
                && lacking.since_ms < since
                && lacking.since_ms + patience <= now
        };
        let waited_for = self.wanting(now).filter(|other| !std::ptr::eq(*other, held)).filter(is_waited_for);
        waited_for.map(|other| other.cost(window.unit).min(window.capacity)).sum()
    }
}

impl Held {
    /// Calls that wait and could be sent before the party asks again: on its free slots, and on those that become free, of which its last
    /// grant tells. More would lie about unused, and somebody else could have sent them.
    fn could_send(&self) -> u32 {
        if self.slots == 0 {
            return 0;
        }
        let free = self.slots.saturating_sub(self.in_flight);
        self.waiting.min(free.max(self.used.saturating_mul(2)).max(1))
    }
}
