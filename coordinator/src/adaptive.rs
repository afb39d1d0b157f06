//! Rounds of sweeps that stop when their question is answered.
//!
//! The ledger holds all shards from the start, and for each cell how many of its sessions are released. When everything that is released is
//! settled, the rounds are replayed from the recorded sessions; that says which ones come next. So a coordinator that dies between two
//! rounds leaves nothing behind but what the next one finds again, and releasing the same twice changes nothing.

use std::collections::BTreeMap;

use regatta_backends::{CellProgress, CostMoments};
use regatta_catalog::{DecideError, Sweep, SweepContest, contests};
use regatta_deciding::{Path, State};
use regatta_proto::{CellIndex, ModelRef};

use crate::rounds::Watched;
use crate::{Coordinator, CoordinatorError};

/// Sessions of each cell in the first round; `None` for a sweep without a question, which runs them all.
pub(crate) fn first_round(sweep: &Sweep) -> Result<Option<BTreeMap<CellIndex, u32>>, DecideError> {
    if sweep.lock.decide.is_none() {
        return Ok(None);
    }
    let contests = contests(sweep)?;
    let first = contests.iter().flat_map(|contest| {
        let path = contest.contest.replay(&contest.scores(&|_| 0, &|_| None));
        next_of(contest, &path)
    });
    Ok(Some(first.collect()))
}

/// Sessions that each cell of an adaptive sweep has after each of its rounds, if it is bought to the end.
pub(crate) fn round_ends(sweep: &Sweep) -> Result<BTreeMap<CellIndex, Vec<u32>>, DecideError> {
    let mut ends: BTreeMap<CellIndex, Vec<u32>> = BTreeMap::new();
    for contest in contests(sweep)? {
        let everyone: Vec<usize> = (0..contest.models.len()).collect();
        for round in contest.contest.rounds() {
            for (cell, sessions) in contest.sessions_of(round, &everyone) {
                let ends = ends.entry(cell).or_default();
                if ends.last().is_none_or(|last| *last < sessions) {
                    ends.push(sessions);
                }
            }
        }
    }
    Ok(ends)
}

fn next_of(contest: &SweepContest<'_>, path: &Path) -> Vec<(CellIndex, u32)> {
    match path.state {
        State::Next(round) => contest.sessions_of(round, &path.live),
        State::Decided | State::Exhausted => Vec::new(),
    }
}

/// A model that the next round would buy for, of whose sessions too many were not measured: while its endpoint is down, say, nothing that
/// is bought for the others decides anything. The sweep ends, and a resume runs these sessions again before it goes on.
fn too_little_measured<'s>(
    contest: &SweepContest<'s>,
    path: &Path,
    progress: &[CellProgress],
    coverage_min: f64,
) -> Option<&'s ModelRef> {
    let is_lacking = |one: &&usize| {
        let cells = progress.iter().filter(|cell| contest.cells[**one].contains(&cell.index));
        let (all, lacking) = cells.fold((0, 0), |(all, lacking), cell| (all + cell.items, lacking + cell.not_measured));
        lacking as f64 > (1.0 - coverage_min) * all as f64
    };
    path.live.iter().find(is_lacking).and_then(|one| contest.models.get(*one).copied())
}

/// The next round of a contest.
struct Offer {
    /// Sessions that cells are to have.
    sessions: Vec<(CellIndex, u32)>,
    /// Nano-dollars for what its open sequences narrow by; `None` while that is unknown.
    price: Option<f64>,
}

/// The cheaper half of the offers: what a budget buys first must be what it buys most with. All of them while a price is unknown.
fn cheapest(mut offers: Vec<Offer>) -> Vec<(CellIndex, u32)> {
    if offers.iter().all(|offer| offer.price.is_some()) {
        offers.sort_by(|one, other| one.price.unwrap_or(f64::MAX).total_cmp(&other.price.unwrap_or(f64::MAX)));
        offers.truncate(offers.len().div_ceil(2));
    }
    offers.into_iter().flat_map(|offer| offer.sessions).collect()
}

/// Nano-dollars of what `sessions` has beyond what is released, at what each model's sessions have cost: with all attempts that led to a
/// result, so that it is the same whoever was killed. `None` where a model has no session of known cost.
fn cost(
    contest: &SweepContest<'_>,
    sessions: &[(CellIndex, u32)],
    released: &BTreeMap<CellIndex, u64>,
    costs: &BTreeMap<CellIndex, CostMoments>,
) -> Option<f64> {
    let mut total = 0.0;
    for trials in &contest.cells {
        let of_model = |cell: &CellIndex| trials.contains(cell);
        let more = sessions.iter().filter(|(cell, _)| of_model(cell));
        let more: u64 =
            more.map(|(cell, items)| u64::from(*items).saturating_sub(released.get(cell).copied().unwrap_or(0))).sum();
        let known = trials.iter().filter_map(|cell| costs.get(cell));
        let (count, sum) = known.fold((0, 0.0), |(count, sum), cost| (count + cost.sessions, sum + cost.sum));
        if more > 0 {
            total += if count > 0 { more as f64 * sum / count as f64 } else { return None };
        }
    }
    Some(total)
}

impl Coordinator {
    /// Releases the next round of an adaptive sweep all of whose released sessions are settled, and says whether there is one.
    pub(crate) async fn release_next(
        &self,
        watched: &Watched,
        progress: &[CellProgress],
    ) -> Result<bool, CoordinatorError> {
        let sweep = &watched.sweep;
        if sweep.lock.decide.is_none() {
            return Ok(false);
        }
        let released: BTreeMap<CellIndex, u64> = progress.iter().map(|cell| (cell.index, cell.items)).collect();
        let mut costs: BTreeMap<CellIndex, CostMoments> = BTreeMap::new();
        for (cell, _, of_task) in self.ledger.cost_moments(&sweep.id).await? {
            costs.entry(cell).or_default().merge(&of_task);
        }
        let mut offers = Vec::new();
        for contest in contests(sweep)? {
            let mut known = BTreeMap::new();
            for cell in contest.cells.iter().flatten().filter(|cell| released.get(cell).is_some_and(|items| *items > 0))
            {
                known.insert(*cell, contest.known(&self.ledger.sessions(&sweep.id, *cell).await?));
            }
            let of_cell = |cell| released.get(&cell).copied().unwrap_or(0) as usize;
            let path = contest.contest.replay(&contest.scores(&of_cell, &|cell| known.get(&cell)));
            if let State::Next(round) = path.state {
                if let Some(model) = too_little_measured(&contest, &path, progress, sweep.lock.coverage_min) {
                    tracing::warn!(sweep = %sweep.id, %model, "no further round: too few of its sessions were measured");
                    continue;
                }
                let sessions = next_of(&contest, &path);
                let cost = cost(&contest, &sessions, &released, &costs);
                offers.push(Offer {
                    sessions,
                    price: cost.map(|cost| cost / path.narrowing(round).max(f64::MIN_POSITIVE)),
                });
            }
        }
        let next = match sweep.lock.budget_usd {
            Some(_) => cheapest(offers),
            None => offers.into_iter().flat_map(|offer| offer.sessions).collect(),
        };
        if next.is_empty() {
            return Ok(false);
        }
        self.lead_on(watched.term).await?;
        let done = self.ledger.release(&sweep.id, &next, watched.generation, watched.term).await?;
        tracing::info!(sweep = %sweep.id, cells = next.len(), "released the next round");
        if done { Ok(true) } else { Err(CoordinatorError::NotLeading) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(cell: u32, price: Option<f64>) -> Offer {
        Offer { sessions: vec![(CellIndex(cell), 10)], price }
    }

    fn chosen(offers: Vec<Offer>) -> Vec<u32> {
        cheapest(offers).into_iter().map(|(cell, _)| cell.0).collect()
    }

    #[test]
    fn a_budget_buys_first_where_a_sequence_narrows_most_for_its_money() {
        assert_eq!(chosen(vec![offer(0, Some(9.0)), offer(1, Some(2.0)), offer(2, Some(5.0))]), [1, 2]);
        assert_eq!(chosen(vec![offer(0, Some(9.0))]), [0], "the last one open is always bought");
        assert_eq!(chosen(vec![offer(0, Some(9.0)), offer(1, None)]), [0, 1], "no choice without prices");
    }
}
