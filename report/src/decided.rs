//! Decisions of the rounds of an adaptive sweep, and the share of the whole grid that they took.

mod sentences;
mod so_far;

use std::collections::{BTreeMap, HashMap, HashSet};

use regatta_backends::{CellProgress, SessionRow};
use regatta_catalog::{DecideError, Sweep, SweepContest, contests, cost_of_grid};
use regatta_deciding::{Path, State};
use regatta_proto::{Cell, CellIndex, CostSum, DecideOver, DecideQuestion, ItemIndex, Margin, Money, SweepState};
use serde::{Deserialize, Serialize};

pub use regatta_catalog::{DecidedContest, DecidedContestant, DecidedSequence, SequencePoint, SequenceRelation};

pub(crate) use self::sentences::{headline, sentences};
pub use self::so_far::{RenderedDecided, render_decided, render_decided_so_far};
use crate::summary::Spending;

/// The question of an adaptive sweep and its answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decided {
    /// The question, as the spec asks it.
    pub question: DecideQuestion,
    /// Largest difference that does not matter.
    pub margin: Margin,
    /// Probability that all answers are right, at least.
    pub confidence: f64,
    /// Population that the items are drawn from: new items like these, or these alone.
    pub over: DecideOver,
    /// Reason why the sweep stopped.
    pub ended: Ending,
    /// Sessions that were bought.
    pub sessions: u64,
    /// Sessions that the whole grid has.
    pub sessions_max: u64,
    /// Money of all attempts and judges.
    pub cost: CostSum,
    /// Projected money of the whole grid, at the mean cost of each model's sessions; absent where a call's price is unknown, or a model has
    /// no scored session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_of_grid: Option<Money>,
    /// One for each benchmark and setting.
    pub contests: Vec<DecidedContest>,
}

/// Reason why an adaptive sweep stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The question was answered in all contests.
    Decided,
    /// All sessions that may be bought were bought.
    Exhausted,
    /// The budget was used up.
    Budget,
    /// Too few sessions of a model were measured to go on.
    Unmeasured,
    /// The sweep was cancelled.
    Cancelled,
}

/// Collects what the contests of a sweep need; nothing for one without a question.
pub(crate) struct Deciding<'s> {
    sweep: &'s Sweep,
    contests: Vec<SweepContest<'s>>,
    bought: HashMap<CellIndex, HashSet<ItemIndex>>,
    released: HashMap<CellIndex, usize>,
    known: HashMap<CellIndex, HashMap<ItemIndex, f64>>,
}

impl<'s> Deciding<'s> {
    pub(crate) fn new(sweep: &'s Sweep, progress: &[CellProgress]) -> Result<Self, DecideError> {
        let contests = contests(sweep)?;
        let released: HashMap<CellIndex, usize> =
            progress.iter().map(|cell| (cell.index, cell.items as usize)).collect();
        let of = |contest: &SweepContest<'_>, cell: &CellIndex| {
            let released = released.get(cell).copied().unwrap_or(0);
            (*cell, contest.bought(released).iter().copied().collect())
        };
        let cells =
            contests.iter().flat_map(|contest| contest.cells.iter().flatten().map(move |cell| of(contest, cell)));
        let bought = cells.collect();
        Ok(Self { sweep, contests, bought, released, known: HashMap::new() })
    }

    /// Takes note of the settled sessions of `cell`.
    pub(crate) fn add(&mut self, cell: &Cell, rows: &[SessionRow]) {
        let is_of = |contest: &&SweepContest<'_>| contest.cells.iter().flatten().any(|of| *of == cell.index);
        if let Some(contest) = self.contests.iter().find(is_of) {
            self.known.insert(cell.index, contest.known(rows));
        }
    }

    /// Items of the sessions that `cell` has; `None` where it has all.
    pub(crate) fn bought(&self, cell: &Cell) -> Option<&HashSet<ItemIndex>> {
        self.bought.get(&cell.index)
    }

    /// The answers, with what the sweep has cost.
    pub(crate) fn decided(
        &self,
        spent: &BTreeMap<CellIndex, Spending>,
        judging: CostSum,
        state: SweepState,
    ) -> Option<Decided> {
        let lock = &self.sweep.lock;
        let asked = &lock.decide.as_ref()?.asked;
        let released = |cell: CellIndex| self.released.get(&cell).copied().unwrap_or(0);
        let paths: Vec<Path> = self
            .contests
            .iter()
            .map(|contest| contest.contest.replay(&contest.scores(&released, &|cell| self.known.get(&cell))))
            .collect();
        let ended = match state {
            _ if paths.iter().all(|path| path.state == State::Decided) => Ending::Decided,
            SweepState::Incomplete if paths.iter().any(|path| matches!(path.state, State::Next(_))) => {
                Ending::Unmeasured
            }
            SweepState::Cancelled => Ending::Cancelled,
            SweepState::StoppedByBudget => Ending::Budget,
            SweepState::Running | SweepState::Tabulating | SweepState::Complete | SweepState::Incomplete => {
                Ending::Exhausted
            }
        };
        let spent_on = |cell: CellIndex| spent.get(&cell).map_or(CostSum::default(), |spending| spending.cost);
        let scored = |cell: CellIndex| self.known.get(&cell).map_or(0, HashMap::len);
        let mut cost = judging;
        spent.values().for_each(|spending| cost += spending.cost);
        Some(Decided {
            question: asked.question.clone(),
            margin: asked.margin,
            confidence: asked.confidence,
            over: asked.over,
            ended,
            sessions: self.bought.values().map(|items| items.len() as u64).sum(),
            sessions_max: self.contests.iter().map(|of| of.sessions_max() * of.models.len() as u64).sum(),
            cost,
            cost_of_grid: cost_of_grid(&self.contests, &spent_on, &scored, judging),
            contests: self.contests.iter().zip(&paths).map(|(of, path)| of.decided(path, &released, false)).collect(),
        })
    }
}

#[cfg(test)]
mod tests;
