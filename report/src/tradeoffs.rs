//! Time and money of a model beside those of another that it could replace, over the sessions that both have a score of and that no filter
//! ended.

use std::collections::{BTreeMap, HashMap, HashSet};

use regatta_backends::{AttemptRow, AttemptState, CallSums};
use regatta_proto::{BenchmarkName, CellIndex, CostSum, ItemIndex, Level, ModelRef};
use serde::{Deserialize, Serialize};

use crate::durations::is_answered;
use crate::failures::{Place, place};
use crate::statistics::{ItemAmounts, PairedRatio, RatioOfRun, holm, mean_ratio, ratio_of_sums};
use crate::tabulation::GroupResult;

/// Two models of a sweep, of which the other could replace the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tradeoff {
    /// Model that the other is compared with.
    pub first: ModelRef,
    /// The other model.
    pub other: ModelRef,
    /// Seconds in model calls, each from sending to the last byte, that a session of the other takes for one of the first: the geometric
    /// mean over items. Waits for limits and retries are no part of it. It has no interval: sessions that run at the same time share an
    /// endpoint's load, so that the items of a run are no independent draws of it. Absent where answers came from the response cache or
    /// by a batch API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<RatioOfRun>,
    /// Money of sessions of the other for that of the first, of the attempts that led to their scores: the ratio of the sums over items.
    /// Attempts that were repeated, by hand or by themselves, are no part of it. Absent where some of it is unknown or nothing, or answers
    /// came from the response cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<PairedRatio>,
}

/// Time and money of single sessions of a sweep.
pub(crate) struct Amounts {
    sessions: HashMap<Place, Session>,
    /// Cells whose calls tell nothing of a model's speed.
    untimed: HashSet<CellIndex>,
    /// Cells with answers of the response cache, which were not paid.
    cached: HashSet<CellIndex>,
}

#[derive(Clone, Copy, Default)]
struct Session {
    seconds: f64,
    cost: CostSum,
    /// Answered calls.
    calls: u64,
    is_answered: bool,
}

impl Amounts {
    /// Amounts of `attempts` at the sessions of a sweep, of which `scored` have a score.
    pub(crate) fn new(attempts: &[AttemptRow], scored: &HashSet<Place>, calls: &[(CellIndex, CallSums)]) -> Self {
        let mut sessions: HashMap<Place, Session> = HashMap::new();
        for attempt in attempts.iter().filter(|attempt| scored.contains(&place(attempt))) {
            let session = sessions.entry(place(attempt)).or_default();
            match attempt.state {
                AttemptState::Recorded => {
                    session.is_answered |= attempt.outcome.as_ref().is_some_and(is_answered);
                }
                AttemptState::HandedOver => {}
                AttemptState::Open | AttemptState::Lost | AttemptState::Waste => continue,
            }
            session.cost += attempt.cost;
            session.calls += u64::from(attempt.calls);
            session.seconds += attempt.latency_us as f64 / 1e6;
        }
        let cells = |is_of: fn(&CallSums) -> bool| {
            calls.iter().filter(|(_, sums)| is_of(sums)).map(|(cell, _)| *cell).collect::<HashSet<CellIndex>>()
        };
        Self {
            sessions,
            untimed: cells(|sums| sums.from_cache > 0 || sums.batched > 0),
            cached: cells(|sums| sums.from_cache > 0),
        }
    }

    /// Each of `alternatives`, a model and another that could replace it, with p-values that are corrected over all of them.
    pub(crate) fn tradeoffs(
        &self,
        groups: &[GroupResult],
        alternatives: &[(&ModelRef, &ModelRef)],
        level: Level,
    ) -> Vec<Tradeoff> {
        let of = |(first, other): &(&ModelRef, &ModelRef)| Tradeoff {
            first: (*first).clone(),
            other: (*other).clone(),
            seconds: self.seconds(groups, first, other).and_then(|items| mean_ratio(&items)),
            cost: self.cost(groups, first, other).and_then(|items| ratio_of_sums(&items, level)),
        };
        let mut found: Vec<Tradeoff> = alternatives.iter().map(of).collect();
        correct(found.iter_mut().filter_map(|of| of.cost.as_mut()).collect());
        found
    }

    /// Seconds of every item whose sessions had a call answered; `None` where the calls of either model tell nothing of its speed.
    fn seconds(&self, groups: &[GroupResult], first: &ModelRef, other: &ModelRef) -> Option<Vec<ItemAmounts>> {
        if is_any_in(&self.untimed, groups, [first, other]) {
            return None;
        }
        self.items(groups, first, other, |session| session.calls > 0, |session| Some(session.seconds))
    }

    /// Dollars of every item; `None` where some are unknown, or some answers of either model were not paid.
    fn cost(&self, groups: &[GroupResult], first: &ModelRef, other: &ModelRef) -> Option<Vec<ItemAmounts>> {
        if is_any_in(&self.cached, groups, [first, other]) {
            return None;
        }
        let dollars = |session: &Session| (session.cost.unknown_calls == 0).then(|| session.cost.known.dollars());
        self.items(groups, first, other, |_| true, dollars)
    }

    /// Amounts of the items that both have answered sessions of for which `has` is true, in every benchmark and setting; `None` where one is
    /// unknown.
    fn items(
        &self,
        groups: &[GroupResult],
        first: &ModelRef,
        other: &ModelRef,
        has: impl Fn(&Session) -> bool,
        amount: impl Fn(&Session) -> Option<f64>,
    ) -> Option<Vec<ItemAmounts>> {
        // An item that several settings ask is in one cluster.
        let mut clusters: BTreeMap<(&BenchmarkName, ItemIndex), u32> = BTreeMap::new();
        let mut items = Vec::new();
        for group in groups.iter().filter(|group| group.first.model == *first) {
            let is_opposite = |of: &&GroupResult| {
                let (own, of) = (&group.first, &of.first);
                of.model == *other && of.benchmark == own.benchmark && of.setting == own.setting
            };
            let Some(opposite) = groups.iter().find(is_opposite) else { continue };
            let mut firsts: HashMap<u32, ItemIndex> = HashMap::new();
            for (item, cluster) in group.selected.iter().zip(&group.clusters) {
                let named = *firsts.entry(*cluster).or_insert(*item);
                let next = clusters.len() as u32;
                let cluster = *clusters.entry((&group.first.benchmark, named)).or_insert(next);
                let mut trials = Vec::new();
                for (one, two) in group.cells.iter().zip(&opposite.cells) {
                    let answered =
                        |cell| self.sessions.get(&(cell, *item)).filter(|session| session.is_answered && has(session));
                    let (Some(one), Some(two)) = (answered(one.cell.index), answered(two.cell.index)) else { continue };
                    trials.push((amount(one)?, amount(two)?));
                }
                if !trials.is_empty() {
                    items.push(ItemAmounts { cluster, trials });
                }
            }
        }
        Some(items)
    }
}

/// `true` if a cell of `models` is among `cells`.
fn is_any_in(cells: &HashSet<CellIndex>, groups: &[GroupResult], models: [&ModelRef; 2]) -> bool {
    let own = groups.iter().filter(|group| models.contains(&&group.first.model));
    own.flat_map(|group| &group.cells).any(|cell| cells.contains(&cell.cell.index))
}

fn correct(ratios: Vec<&mut PairedRatio>) {
    let p: Vec<f64> = ratios.iter().map(|ratio| ratio.p.unwrap_or(1.0)).collect();
    for (ratio, corrected) in ratios.into_iter().zip(holm(&p, p.len())) {
        ratio.p_holm = ratio.p.map(|_| corrected);
    }
}

#[cfg(test)]
mod tests;
