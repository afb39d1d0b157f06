//! The rounds of an adaptive sweep that has not ended, for those who watch it.
//!
//! They are replayed from the recorded sessions, as the coordinator does when it plans a round. A round is looked at once all of its sessions
//! have ended and not before, so that what is shown changes from round to round only: whoever shows it keeps it until [`stage_of_rounds`]
//! changes. That also keeps it right: an interval that was looked at in the middle of a round would be none that decides anything.

use std::collections::{BTreeMap, HashMap, HashSet};

use regatta_backends::{CellProgress, Ledger, LedgerError};
use regatta_deciding::State;
use regatta_proto::{
    BenchmarkName, CellIndex, CostSum, Decide, DecideOver, DecideQuestion, ItemIndex, Margin, Money, Setting,
};
use serde::{Deserialize, Serialize};

use crate::decided::{DecidedContest, cost_of_grid};
use crate::{Sweep, SweepContest, contests};

/// The question of an adaptive sweep and what its rounds so far answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DecidedSoFar {
    /// The question, as the spec asks it.
    pub question: DecideQuestion,
    /// Largest difference that does not matter.
    pub margin: Margin,
    /// Probability that all answers are right, at least.
    pub confidence: f64,
    /// Population that the items are drawn from: new items like these, or these alone.
    pub over: DecideOver,
    /// Sessions that were bought, with those of the round under way.
    pub sessions: u64,
    /// Sessions that the whole grid has.
    pub sessions_max: u64,
    /// Projected money of the whole grid, at the mean cost of each model's sessions; absent where a call's price is unknown, or a model has
    /// no scored session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_of_grid: Option<Money>,
    /// One for each benchmark and setting.
    pub contests: Vec<ContestSoFar>,
}

/// A benchmark and setting of an adaptive sweep that has not ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContestSoFar {
    /// Number of the round that is bought, from 1, or that comes next; absent once the question is answered, or everything is bought.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<usize>,
    /// Answers and sequences since the end of the round before.
    pub answers: DecidedContest,
}

impl DecidedSoFar {
    /// The same without what each sequence was after earlier rounds.
    #[must_use]
    pub fn without_points(mut self) -> Self {
        for sequence in self.contests.iter_mut().flat_map(|contest| &mut contest.answers.sequences) {
            sequence.points.clear();
        }
        self
    }
}

/// Settled sessions of the cells, as they were read.
#[derive(Default)]
struct Settled {
    /// Leading sessions of each cell, in the order in which they are bought, before the first one that has not ended.
    leading: HashMap<CellIndex, usize>,
    /// Scores of each cell.
    known: HashMap<CellIndex, HashMap<ItemIndex, f64>>,
}

/// A text that changes when the rounds of `sweep` are to be replayed anew: when sessions were released, when those of a contest have all ended, and
/// when it was resumed, `generation` times by now.
#[must_use]
pub fn stage_of_rounds(sweep: &Sweep, progress: &[CellProgress], generation: u32) -> String {
    let mut have_ended: BTreeMap<(&BenchmarkName, &Setting), bool> = BTreeMap::new();
    for (cell, progress) in sweep.cells().iter().zip(progress) {
        *have_ended.entry((&cell.benchmark, &cell.setting)).or_insert(true) &= progress.settled == progress.items;
    }
    let released: Vec<String> = progress.iter().map(|cell| cell.items.to_string()).collect();
    let have_ended: String = have_ended.values().map(|have| if *have { '1' } else { '0' }).collect();
    format!("{generation}/{}/{have_ended}", released.join(","))
}

/// The rounds of `sweep` so far, whose cells have sessions as `progress` says and whose judges have cost `judging`. `None` for a sweep without a
/// question, and for one that plays its rounds by rules of a later version: it is shown all the same, and whoever plans its next round says why
/// that cannot be done.
///
/// # Errors
/// When the ledger fails.
pub async fn decided_so_far(
    ledger: &Ledger,
    sweep: &Sweep,
    progress: &[CellProgress],
    judging: CostSum,
) -> Result<Option<DecidedSoFar>, LedgerError> {
    let Some(decide) = &sweep.lock.decide else { return Ok(None) };
    let Ok(contests) = contests(sweep) else { return Ok(None) };
    let mut settled = Settled::default();
    for contest in &contests {
        for cell in progress.iter().filter(|cell| cell.items > 0) {
            if !contest.cells.iter().flatten().any(|of| *of == cell.index) {
                continue;
            }
            let rows = ledger.sessions(&sweep.id, cell.index).await?;
            let have_ended: HashSet<ItemIndex> = rows.iter().map(|row| row.item).collect();
            settled.leading.insert(cell.index, leading(contest.bought(cell.items as usize), &have_ended));
            settled.known.insert(cell.index, contest.known(&rows));
        }
    }
    Ok(Some(told(&decide.asked, &contests, progress, &settled, judging)))
}

/// Number of `items`, in their order, before the first one whose session has not ended.
fn leading(items: &[ItemIndex], have_ended: &HashSet<ItemIndex>) -> usize {
    items.iter().take_while(|item| have_ended.contains(*item)).count()
}

fn told(
    asked: &Decide,
    contests: &[SweepContest<'_>],
    progress: &[CellProgress],
    settled: &Settled,
    judging: CostSum,
) -> DecidedSoFar {
    let by_cell: HashMap<CellIndex, &CellProgress> = progress.iter().map(|cell| (cell.index, cell)).collect();
    let released = |cell: CellIndex| by_cell.get(&cell).map_or(0, |cell| cell.items as usize);
    let spent = |cell: CellIndex| by_cell.get(&cell).map_or(CostSum::default(), |cell| cell.cost);
    let scored = |cell: CellIndex| settled.known.get(&cell).map_or(0, HashMap::len);
    let have_ended = |cell: CellIndex| settled.leading.get(&cell).copied().unwrap_or(0);
    let answers = contests.iter().map(|contest| {
        let path = contest.contest.replay(&contest.scores(&have_ended, &|cell| settled.known.get(&cell)));
        let goes_on = matches!(path.state, State::Next(_));
        ContestSoFar {
            round: goes_on.then(|| path.looked.len() + 1),
            answers: contest.decided(&path, &released, goes_on),
        }
    });
    let cells = contests.iter().flat_map(|contest| contest.cells.iter().flatten());
    DecidedSoFar {
        question: asked.question.clone(),
        margin: asked.margin,
        confidence: asked.confidence,
        over: asked.over,
        sessions: cells.map(|cell| released(*cell) as u64).sum(),
        sessions_max: contests.iter().map(|of| of.sessions_max() * of.models.len() as u64).sum(),
        cost_of_grid: cost_of_grid(contests, &spent, &scored, judging),
        contests: answers.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_count_up_to_the_first_that_has_not_ended_in_the_order_of_the_round() {
        let items = [4, 0, 7, 2].map(ItemIndex);
        let leading_of = |ended: &[u32]| leading(&items, &ended.iter().copied().map(ItemIndex).collect());
        assert_eq!(leading_of(&[]), 0);
        assert_eq!(leading_of(&[0, 2, 4]), 2, "the third one runs, whatever has ended after it");
        assert_eq!(leading_of(&[0, 2, 4, 7, 9]), 4);
    }
}
