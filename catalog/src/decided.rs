//! Answers of a contest of an adaptive sweep, for reports and for those who watch it.

use regatta_benchmarks::{Better, Unit};
use regatta_deciding::{Estimand, Interval, Path, Question, Relation, State, Track};
use regatta_proto::{BenchmarkName, CellIndex, CostSum, Evaluator, ModelRef, Money, Setting};
use serde::{Deserialize, Serialize};

use crate::SweepContest;

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
    /// The sequence after each round; empty in the status of a sweep that runs, which is asked for every second.
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

impl SweepContest<'_> {
    /// Answers of the rounds of `path`. `released` returns the number of a cell's sessions. `goes_on` is `true` while another round follows: then
    /// models are told too that the last one has dropped.
    #[must_use]
    pub fn decided(&self, path: &Path, released: &dyn Fn(CellIndex) -> usize, goes_on: bool) -> DecidedContest {
        let model = |one: usize| (*self.models[one]).clone();
        let is_best = self.contest.question == Question::Best;
        let sessions = |one: usize| self.cells[one].iter().map(|cell| released(*cell) as u64).sum();
        let dropped_in = |one: usize| path.dropped_in[one].filter(|round| goes_on || *round < path.looked.len());
        DecidedContest {
            benchmark: self.benchmark.clone(),
            setting: self.setting.clone(),
            evaluator: self.evaluator,
            metric: self.metric.name.clone(),
            unit: self.metric.unit,
            better: self.metric.better,
            range: self.metric.range,
            decided: path.state == State::Decided,
            rounds: path.looked.len(),
            units: self.contest.sizes.len(),
            best: path.winner.map(model),
            candidates: if is_best { path.candidates.iter().map(|one| model(*one)).collect() } else { Vec::new() },
            contestants: (0..self.models.len())
                .map(|one| DecidedContestant {
                    model: model(one),
                    sessions: sessions(one),
                    dropped_in: dropped_in(one),
                })
                .collect(),
            sequences: path.tracks.iter().map(|track| sequence(self, path, track)).collect(),
        }
    }
}

/// Projected money of all sessions of `contests` if each cost the mean of its model's scored ones, waste included, with judges in proportion.
/// `cost` and `scored` return the money of a cell and the number of its sessions that have a score. `None` when a call's price is unknown, or a
/// model has no scored session.
#[must_use]
pub fn cost_of_grid(
    contests: &[SweepContest<'_>],
    cost: &dyn Fn(CellIndex) -> CostSum,
    scored: &dyn Fn(CellIndex) -> usize,
    judging: CostSum,
) -> Option<Money> {
    let (mut total, mut bought_cost) = (0.0, 0.0);
    for contest in contests {
        for cells in &contest.cells {
            let (mut of_model, mut sessions) = (CostSum::default(), 0.0);
            for cell in cells {
                of_model += cost(*cell);
                sessions += scored(*cell) as f64;
            }
            if of_model.unknown_calls > 0 || sessions == 0.0 {
                return None;
            }
            bought_cost += of_model.known.0 as f64;
            total += of_model.known.0 as f64 / sessions * contest.sessions_max() as f64;
        }
    }
    let judged = if bought_cost > 0.0 { judging.known.0 as f64 * total / bought_cost } else { judging.known.0 as f64 };
    (judging.unknown_calls == 0).then(|| Money((total + judged).round() as u64))
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
