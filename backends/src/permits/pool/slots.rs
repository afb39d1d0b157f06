//! Slots: the distribution of concurrent calls.

use std::collections::BTreeMap;

use regatta_proto::{PoolRequest, SweepId};

use super::fair::{Claim, shares, whole};
use super::parties::Held;
use super::{Line, Pool};

/// A slot that rounding leaves over is another party's in each such time. Short turns would be fairer, but a slot lies idle from the end of
/// its holder's last call until both have asked again.
const TURN_MS: u64 = 4_000;
/// Multiples of the golden ratio's fraction are spread over 0..1 as evenly as possible, however many there are.
const GOLDEN: f64 = 0.618_033_988_749_895;

/// A party with its demand.
struct Wish<'a> {
    line: &'a Line,
    number: u32,
    wants: f64,
    /// Index among the parties of the worker that asks.
    own: Option<usize>,
}

impl Pool {
    /// Grants slots to all parties of the worker that asks.
    pub(super) fn grant_slots(&mut self, now: u64, request: &PoolRequest) {
        let targets = self.targets(now, request);
        for (index, target) in targets {
            let Some(held) = self.holders.get(&request.holder).and_then(|holder| holder.parties.get(index)) else {
                continue;
            };
            let free = self.free_slots(request, held);
            let slots = if held.in_flight > target || free < 0 {
                // Where more are filled than there are, because a silent holder's slots went to others or the limit has shrunk, no call takes the
                // place of one that ends.
                let too_many = u32::try_from(-free.min(0)).unwrap_or(u32::MAX);
                target.min(held.in_flight.saturating_sub(too_many))
            } else {
                let free = if self.is_registering(now) { 0 } else { u32::try_from(free).unwrap_or(u32::MAX) };
                held.in_flight + held.waiting.min(free).min(target - held.in_flight)
            };
            if let Some(held) = self.holders.get_mut(&request.holder).and_then(|holder| holder.parties.get_mut(index)) {
                held.slots = slots;
            }
        }
    }

    fn slots(&self, limit: u32) -> u32 {
        ((f64::from(limit) * self.steering.factor() + super::fair::NOTHING) as u32).max(1)
    }

    fn slots_of_model(&self, request: &PoolRequest, model: &str) -> Option<u32> {
        let limit = request.model_limits.get(model).and_then(|limits| limits.concurrency);
        limit.map(|limit| self.slots(limit))
    }

    /// Slots that nobody holds and that a party of the worker could have; negative if more are filled than there are.
    fn free_slots(&self, request: &PoolRequest, held: &Held) -> i64 {
        let parties = || self.holders.values().flat_map(|holder| &holder.parties);
        let of_all: i64 = parties().map(|held| i64::from(held.occupied())).sum();
        let free = i64::from(self.slots(request.limits.concurrency)) - of_all;
        let Some(line) = self.lines.get(&held.line) else { return free };
        let Some(limit) = self.slots_of_model(request, &line.model) else { return free };
        let is_of_model = |other: &&Held| self.lines.get(&other.line).is_some_and(|its| its.model == line.model);
        let of_model: i64 = parties().filter(is_of_model).map(|held| i64::from(held.occupied())).sum();
        free.min(i64::from(limit) - of_model)
    }

    /// The total number of slots for each party of the worker that asks: weighted max-min fair between sweeps, then fair between a sweep's
    /// models, then between workers.
    fn targets(&self, now: u64, request: &PoolRequest) -> Vec<(usize, u32)> {
        let wishes = self.wishes(now, request);
        let lines: Vec<&[Wish<'_>]> = wishes.chunk_by(|a, b| a.number == b.number).collect();
        let mut of_line: Vec<f64> = lines.iter().map(|wishes| wishes.iter().map(|wish| wish.wants).sum()).collect();
        // No sweep can use more of a model than is its share of the model's own limit.
        for model in request.model_limits.keys() {
            let Some(limit) = self.slots_of_model(request, model) else { continue };
            let at: Vec<usize> = (0..lines.len()).filter(|index| lines[*index][0].line.model == *model).collect();
            let claims: Vec<Claim> = at.iter().map(|index| claim(lines[*index][0].line, of_line[*index])).collect();
            for (index, share) in at.iter().zip(shares(f64::from(limit), &claims)) {
                of_line[*index] = share;
            }
        }
        let mut sweeps: BTreeMap<&SweepId, (Claim, Vec<usize>)> = BTreeMap::new();
        for (index, wishes) in lines.iter().enumerate() {
            let line = wishes[0].line;
            let (claim, members) = sweeps.entry(&line.sweep).or_insert_with(|| (claim(line, 0.0), Vec::new()));
            claim.wants += of_line[index];
            members.push(index);
        }
        let claims: Vec<Claim> = sweeps.values().map(|(claim, _)| *claim).collect();
        let capacity = f64::from(self.slots(request.limits.concurrency));
        let (mut parts, mut order) = (Vec::new(), Vec::new());
        for ((_, members), of_sweep) in sweeps.values().zip(shares(capacity, &claims)) {
            let claims: Vec<Claim> = members.iter().map(|index| Claim::equal(of_line[*index])).collect();
            for (index, of_line) in members.iter().zip(shares(of_sweep, &claims)) {
                let claims: Vec<Claim> = lines[*index].iter().map(|wish| Claim::equal(wish.wants)).collect();
                parts.extend(shares(of_line, &claims));
                order.extend(lines[*index].iter().map(|wish| wish.own));
            }
        }
        let phase = ((now / TURN_MS) as f64 * GOLDEN).fract();
        let numbers = whole(&parts, phase);
        order.into_iter().zip(numbers).filter_map(|(own, number)| own.map(|index| (index, number))).collect()
    }

    /// All parties, ordered by line. Who was not heard of lately wants no more than it holds.
    fn wishes(&self, now: u64, request: &PoolRequest) -> Vec<Wish<'_>> {
        let windows = self.windows(request);
        let mut wishes = Vec::new();
        for (worker, holder) in &self.holders {
            let is_fresh = holder.is_fresh(now);
            for (index, held) in holder.parties.iter().enumerate() {
                let Some(line) = self.lines.get(&held.line) else { continue };
                let wanted = held.in_flight.saturating_add(self.sendable(&windows, held));
                let wants = f64::from(if is_fresh { wanted } else { held.occupied() });
                let own = (*worker == request.holder).then_some(index);
                wishes.push(Wish { line, number: held.line, wants, own });
            }
        }
        wishes.sort_by_key(|wish| wish.number);
        wishes
    }
}

fn claim(line: &Line, wants: f64) -> Claim {
    Claim { priority: line.share.priority, weight: f64::from(line.share.weight.max(1)), wants }
}
