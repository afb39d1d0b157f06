//! Decisions of the rounds of an adaptive sweep, and the share of the whole grid that they took.

mod sentences;

use std::collections::{BTreeMap, HashMap, HashSet};

use regatta_backends::{CellProgress, SessionRow};
use regatta_benchmarks::{Better, Unit};
use regatta_catalog::{DecideError, Sweep, SweepContest, contests};
use regatta_deciding::{Estimand, Interval, Path, Relation, State, Track};
use regatta_proto::{
    BenchmarkName, Cell, CellIndex, CostSum, DecideOver, DecideQuestion, Evaluator, ItemIndex, Margin, ModelRef, Money,
    Setting, SweepState,
};
use serde::{Deserialize, Serialize};

pub(crate) use self::sentences::{headline, sentences};
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

/// A benchmark and setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DecidedContest {
    /// Benchmark.
    pub benchmark: BenchmarkName,
    /// Setting.
    pub setting: Setting,
    /// Scoring rule.
    pub evaluator: Evaluator,
    /// Metric that was decided by.
    pub metric: String,
    /// Unit in which people read it.
    #[serde(default, skip_serializing_if = "Unit::is_plain")]
    pub unit: Unit,
    /// Direction in which the metric improves.
    #[serde(default)]
    pub better: Better,
    /// Smallest and largest value of the metric.
    pub range: (f64, f64),
    /// True if the question is answered in this contest.
    pub decided: bool,
    /// Rounds that were looked at.
    pub rounds: usize,
    /// Clusters of items there are.
    pub units: usize,
    /// The best model, or one within the margin of it, where that was asked and is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<ModelRef>,
    /// Models that may be the best, where that was asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<ModelRef>,
    /// All models.
    pub contestants: Vec<DecidedContestant>,
    /// Every sequence. They hold at all rounds together; where the best was asked for, those of the best model do.
    pub sequences: Vec<DecidedSequence>,
}

/// A model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DecidedContestant {
    /// The model.
    pub model: ModelRef,
    /// Sessions of the model.
    pub sessions: u64,
    /// Round after which nothing more was bought for it, while others went on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped_in: Option<usize>,
}

/// A value, or a difference of two. Of a difference, positive is better for `one`, whichever way the metric goes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DecidedSequence {
    /// The model.
    pub one: ModelRef,
    /// The model that it is compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<ModelRef>,
    /// Estimate, in the metric's own scale; absent when nothing was looked at.
    pub value: Option<f64>,
    /// Lower end of the sequence.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Answer that the sequence gives.
    pub relation: SequenceRelation,
    /// Round in which that was known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_in: Option<usize>,
    /// The sequence after each round.
    pub points: Vec<SequencePoint>,
}

/// Answer that a confidence sequence gives about `one` and the other model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SequenceRelation {
    /// Nothing that answers the question.
    Open,
    /// `one` is better.
    Better,
    /// `one` is worse.
    Worse,
    /// They differ by the margin at most.
    Equivalent,
    /// The value is known to within the margin.
    Narrow,
}

/// A sequence after a round.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SequencePoint {
    /// Number of the round.
    pub round: usize,
    /// Clusters of items that were bought by then, in each of the trials.
    pub units: usize,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
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
            cost_of_grid: self.cost_of_grid(spent, judging),
            contests: self.contests.iter().zip(&paths).map(|(contest, path)| self.contest(contest, path)).collect(),
        })
    }

    /// Projected money of all sessions if each cost the mean of its model's scored ones, waste included, with judges in proportion. `None`
    /// when a call's price is unknown, or a model has no scored session.
    fn cost_of_grid(&self, spent: &BTreeMap<CellIndex, Spending>, judging: CostSum) -> Option<Money> {
        let (mut total, mut bought_cost) = (0.0, 0.0);
        for contest in &self.contests {
            for cells in &contest.cells {
                let (mut cost, mut sessions) = (CostSum::default(), 0.0);
                for cell in cells {
                    cost += spent.get(cell).map_or(CostSum::default(), |spending| spending.cost);
                    sessions += self.known.get(cell).map_or(0, HashMap::len) as f64;
                }
                if cost.unknown_calls > 0 || sessions == 0.0 {
                    return None;
                }
                bought_cost += cost.known.0 as f64;
                total += cost.known.0 as f64 / sessions * contest.sessions_max() as f64;
            }
        }
        let judged =
            if bought_cost > 0.0 { judging.known.0 as f64 * total / bought_cost } else { judging.known.0 as f64 };
        (judging.unknown_calls == 0).then(|| Money((total + judged).round() as u64))
    }

    fn contest(&self, contest: &SweepContest<'_>, path: &Path) -> DecidedContest {
        let model = |one: usize| (*contest.models[one]).clone();
        let is_best = self.sweep.lock.decide.as_ref().is_some_and(|of| of.asked.question == DecideQuestion::Best);
        let sessions = |one: usize| {
            contest.cells[one].iter().map(|cell| self.released.get(cell).copied().unwrap_or(0) as u64).sum()
        };
        DecidedContest {
            benchmark: contest.benchmark.clone(),
            setting: contest.setting.clone(),
            evaluator: contest.evaluator,
            metric: contest.metric.name.clone(),
            unit: contest.metric.unit,
            better: contest.metric.better,
            range: contest.metric.range,
            decided: path.state == State::Decided,
            rounds: path.looked.len(),
            units: contest.contest.sizes.len(),
            best: path.winner.map(model),
            candidates: if is_best { path.candidates.iter().map(|one| model(*one)).collect() } else { Vec::new() },
            contestants: (0..contest.models.len())
                .map(|one| DecidedContestant {
                    model: model(one),
                    sessions: sessions(one),
                    dropped_in: path.dropped_in[one].filter(|round| *round < path.looked.len()),
                })
                .collect(),
            sequences: path.tracks.iter().map(|track| sequence(contest, path, track)).collect(),
        }
    }
}

/// `track` in the metric's own scale.
fn sequence(contest: &SweepContest<'_>, path: &Path, track: &Track) -> DecidedSequence {
    let (from, to) = contest.metric.range;
    let scaled = |interval: Interval| match (track.estimand, contest.metric.better) {
        (Estimand::Difference(..), _) => (interval.low * (to - from), interval.high * (to - from)),
        (Estimand::Mean(_), Better::Higher) => (from + interval.low * (to - from), from + interval.high * (to - from)),
        (Estimand::Mean(_), Better::Lower) => (to - interval.high * (to - from), to - interval.low * (to - from)),
    };
    let (one, other) = match track.estimand {
        Estimand::Mean(one) => (one, None),
        Estimand::Difference(one, other) => (one, Some(other)),
    };
    let (low, high) = scaled(track.interval);
    DecidedSequence {
        one: contest.models[one].clone(),
        other: other.map(|other| contest.models[other].clone()),
        value: track.value.map(|value| scaled(Interval { low: value, high: value }).0),
        low,
        high,
        relation: match track.relation {
            Relation::Open => SequenceRelation::Open,
            Relation::Greater => SequenceRelation::Better,
            Relation::Less => SequenceRelation::Worse,
            Relation::Equivalent => SequenceRelation::Equivalent,
            Relation::Narrow => SequenceRelation::Narrow,
        },
        settled_in: track.settled_in,
        points: track
            .closing
            .iter()
            .map(|closing| {
                let (low, high) = scaled(closing.interval);
                let units = path.looked.get(closing.round - 1).map_or(0, |round| round.units);
                SequencePoint { round: closing.round, units, low, high }
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests;
