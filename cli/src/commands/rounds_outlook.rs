//! Expected rounds, sessions and cost of an adaptive sweep before anything is spent, from rounds with simulated models.

use std::collections::BTreeMap;

use regatta_catalog::{Sweep, SweepContest, contests};
use regatta_coordinator::CellEstimate;
use regatta_deciding::State;
use regatta_deciding::simulation::{Draws, Form, Population, play};
use regatta_proto::{BenchmarkName, CellIndex, ModelRef, Money, Setting, counted};
use serde::Serialize;

use super::rounds_pilot::{Likely, RoundsPilot};

/// Simulated sweeps.
const SWEEPS: u64 = 200;
/// Sessions that may be simulated in all: larger sweeps are simulated less often.
const SESSIONS_MAX: u64 = 20_000_000;
/// True values of models are drawn between these where no pilot has them.
const MEANS: (f64, f64) = (0.5, 0.8);
/// Parts of the luck of a session that are its cluster's, its item's and its model's on that item.
const SHARED: (f64, f64, f64) = (0.1, 0.3, 0.2);

/// Expected rounds, sessions and cost of one benchmark and setting.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct RoundsOutlook {
    benchmark: BenchmarkName,
    setting: Setting,
    /// Metric that decides.
    metric: String,
    /// Models whose values are those of the pilot; the others' are assumed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    of_pilot: Vec<ModelRef>,
    /// Rounds, at most.
    rounds: usize,
    /// Share of the simulated sweeps that answer the question, from 0 to 1.
    decided: f64,
    /// Mean number of sessions.
    sessions: u64,
    /// Number of sessions that nine of ten sweeps stay below.
    sessions_most: u64,
    /// Sessions of the whole grid: no sweep takes more.
    sessions_max: u64,
    /// Mean cost; absent where a price is unknown.
    cost: Option<Money>,
    /// Cost that nine of ten sweeps stay below.
    cost_most: Option<Money>,
    /// Cost of the whole grid.
    cost_max: Option<Money>,
}

/// Plays the rounds of every benchmark and setting of `sweep`; nothing for a sweep without a question.
pub(crate) fn rounds_outlooks(
    sweep: &Sweep,
    cells: &[CellEstimate],
    pilot: Option<&RoundsPilot>,
) -> anyhow::Result<Vec<RoundsOutlook>> {
    let costs: BTreeMap<CellIndex, Option<f64>> = cells
        .iter()
        .map(|one| {
            let judges = one.judges.map_or(Some(Money::ZERO), |judges| judges.cost);
            let all = one.cost.zip(judges).map(|(own, judges)| (own + judges).0 as f64 / one.sessions.max(1) as f64);
            (one.cell.index, all)
        })
        .collect();
    Ok(contests(sweep)?.iter().map(|contest| outlook(sweep.lock.seed, contest, &costs, pilot)).collect())
}

fn outlook(
    seed: u64,
    contest: &SweepContest<'_>,
    costs: &BTreeMap<CellIndex, Option<f64>>,
    pilot: Option<&RoundsPilot>,
) -> RoundsOutlook {
    let of_model = |trials: &Vec<CellIndex>| costs.get(trials.first()?).copied().flatten();
    let per_session: Option<Vec<f64>> = contest.cells.iter().map(of_model).collect();
    let models = contest.models.len();
    let likely: Vec<Option<Likely>> =
        contest.models.iter().map(|model| pilot.and_then(|pilot| pilot.value(contest, model))).collect();
    let known = contest.models.iter().zip(&likely).filter(|(_, likely)| likely.is_some());
    let of_pilot: Vec<ModelRef> = known.map(|(model, _)| (*model).clone()).collect();
    let sessions_max = contest.sessions_max() * models as u64;
    let sweeps = (SESSIONS_MAX / sessions_max.max(1)).clamp(10, SWEEPS);
    let (mut decided, mut sessions, mut money) = (0_u64, Vec::new(), Vec::new());
    for number in 0..sweeps {
        let seed = seed.wrapping_add(number);
        let mut draws = Draws::new(seed ^ 0x5eed);
        let draw = |one: &Option<Likely>| match one {
            Some(likely) => likely.draw(&mut draws),
            None => MEANS.0 + (MEANS.1 - MEANS.0) * draws.uniform(),
        };
        let means = likely.iter().map(draw).collect();
        let (of_cluster, of_item, of_contestant) = SHARED;
        let population = Population { means, form: Form::Binary, of_cluster, of_item, of_contestant, missing: 0.0 };
        let played = play(&contest.contest, &population.grid(&contest.contest, seed));
        decided += u64::from(played.path.state == State::Decided);
        sessions.push(played.sessions.iter().sum::<u64>());
        let cost = |per_session: &Vec<f64>| {
            per_session.iter().zip(&played.sessions).map(|(each, count)| each * *count as f64).sum::<f64>()
        };
        money.extend(per_session.as_ref().map(cost));
    }
    sessions.sort_unstable();
    money.sort_by(f64::total_cmp);
    let nanos = |money: f64| Money(money.round() as u64);
    let grid = |each: &Vec<f64>| nanos(each.iter().map(|each| each * contest.sessions_max() as f64).sum());
    RoundsOutlook {
        benchmark: contest.benchmark.clone(),
        setting: contest.setting.clone(),
        metric: contest.metric.name.clone(),
        of_pilot,
        rounds: contest.contest.rounds().len(),
        decided: decided as f64 / sweeps as f64,
        sessions: sessions.iter().sum::<u64>() / sweeps,
        sessions_most: sessions.get(sessions.len() * 9 / 10).copied().unwrap_or(sessions_max),
        sessions_max,
        cost: per_session.as_ref().map(|_| nanos(money.iter().sum::<f64>() / money.len().max(1) as f64)),
        cost_most: money.get(money.len() * 9 / 10).copied().map(nanos),
        cost_max: per_session.as_ref().map(grid),
    }
}

impl RoundsOutlook {
    /// `worfbench two-shot by f1: …`.
    pub(crate) fn line(&self) -> String {
        let Self { benchmark, setting, metric, rounds, sessions, sessions_most, sessions_max, .. } = self;
        let rounds = counted(*rounds as u64, "round", "rounds");
        let money = |cost: Option<Money>| cost.map(|cost| format!(" ({cost})")).unwrap_or_default();
        format!(
            "{benchmark} {setting} by {metric}: answered with a probability of {:.0} % in at most {rounds}, after {sessions} \
             sessions{} on average, nine times of ten below {sessions_most}{}, never more than {sessions_max}{}",
            100.0 * self.decided,
            money(self.cost),
            money(self.cost_most),
            money(self.cost_max),
        )
    }
}

/// Assumptions behind these numbers, as one line.
pub(crate) fn basis(pilot: Option<&RoundsPilot>) -> String {
    let (low, high) = MEANS;
    match pilot {
        Some(pilot) => format!(
            "rounds: simulated with models whose true values are drawn from where {} has them, as uncertain as they are there, and between \
             {low} and {high} where it has none",
            pilot.name()
        ),
        None => format!(
            "rounds: simulated with models whose true values are drawn between {low} and {high}; real ones may be closer together, or farther \
             apart (--pilot RUN takes them from a run)"
        ),
    }
}
