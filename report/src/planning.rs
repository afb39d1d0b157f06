//! Effects that a sweep will be able to see, and the sessions that it takes to see smaller ones: from the variance of a pilot, or from careful
//! assumptions.

mod documents;
mod judging;
mod spent;

use std::collections::BTreeMap;

use regatta_backends::{AttemptRow, JudgeCosts, SessionRow};
use regatta_benchmarks::{Measure, Metric, Unit};
use regatta_catalog::Sweep;
use regatta_proto::{BenchmarkLock, BenchmarkName, Cell, CellIndex, Evaluator, ModelRef, Setting, SweepId};
use serde::Serialize;

pub use self::documents::PilotCell;
pub use self::judging::JudgedSession;
use self::judging::Judging;
pub use self::spent::Spent;
use crate::pairs::{ByTrial, matched_by_trial};
use crate::statistics::{Components, Design, Threshold, are_right_or_wrong};
use crate::tabulation::partition::clusters;
use crate::tabulation::{GroupResult, Tabulation, deciding_key};

/// Most trials that a spec may have.
const TRIALS_MAX: u32 = 1000;
/// Most clusters of items that are looked at.
const CLUSTERS_MAX: u32 = 10_000_000;
/// Variance of the difference of two models that are right half of the time, independently of each other: 2 · 0.5 · 0.5.
const ASSUMED_VARIANCE: f64 = 0.5;
/// The part of it that whole clusters share, ...
const ASSUMED_OF_CLUSTERS: f64 = 0.1;
/// ... and the part that is between the trials of an item. The rest is between items.
const ASSUMED_OF_TRIALS: f64 = 0.4;

/// Power and level of the test that is planned for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Aim {
    /// Probability that a true difference is found, between 0 and 1.
    pub power: f64,
    /// Largest p-value, corrected over all pairs, that counts as a difference; between 0 and 1.
    pub level: f64,
}

/// Effects that the comparisons of one benchmark and setting can see.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outlook {
    /// Benchmark.
    pub benchmark: BenchmarkName,
    /// Setting.
    pub setting: Setting,
    /// Scoring rule of the metric that models are compared by.
    pub evaluator: Evaluator,
    /// The metric.
    pub metric: String,
    /// Unit in which people read it.
    pub unit: Unit,
    /// Smallest and largest value.
    pub range: (f64, f64),
    /// Models under test.
    pub models: u32,
    /// Trials of each item.
    pub trials: u16,
    /// Items that are run.
    pub items: u32,
    /// Independent clusters among these.
    pub clusters: u32,
    /// Items of the data set that could be run, beyond the limit.
    pub items_of_data: u32,
    /// Pairs of the benchmark over which p-values are corrected.
    pub pairs: u32,
    /// Source of the variance.
    pub basis: Basis,
    /// Variance of the difference of two models in one session.
    pub variance: Components,
    /// The smallest true difference that is found with the wished power; absent where the test can refuse nothing, as with fewer than
    /// six clusters, where nothing is known of the variance, and where it would be beyond the metric's range.
    pub smallest: Option<f64>,
    /// The same with any number of trials.
    pub smallest_of_many_trials: Option<f64>,
    /// Pairs of the pilot's models that the variance was chosen from.
    #[serde(skip)]
    of_pilot: Vec<PilotPair>,
    #[serde(skip)]
    design: Design,
    #[serde(skip)]
    threshold: Threshold,
    #[serde(skip)]
    power: f64,
}

/// Source of a variance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Assumed: two models that are right half of the time, independently of each other.
    Assumed,
    /// Assumed as well: no two of the pilot's models have a score of the metric in the same sessions of two independent clusters.
    Unpaired {
        /// The sweep.
        sweep: SweepId,
    },
    /// Assumed as well: the pilot's models agreed in every session, which says nothing of how models vary that differ.
    Agreed {
        /// The sweep.
        sweep: SweepId,
    },
    /// Assumed as well: each two of the pilot's models differed by the same in every session, some by more than nothing.
    Constant {
        /// The sweep.
        sweep: SweepId,
    },
    /// The pair of the pilot's models that varies most.
    Pilot {
        /// The sweep.
        sweep: SweepId,
        /// One model.
        one: ModelRef,
        /// The other.
        other: ModelRef,
        /// Pairs that it was chosen from. Of several, the others find a difference more often.
        pairs: u32,
    },
}

impl Basis {
    /// `true` where no pair of a pilot varied.
    #[must_use]
    pub const fn is_assumed(&self) -> bool {
        match self {
            Self::Assumed | Self::Unpaired { .. } | Self::Agreed { .. } | Self::Constant { .. } => true,
            Self::Pilot { .. } => false,
        }
    }
}

/// Design that sees a difference.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Need {
    /// The difference, in the metric's own scale.
    pub effect: f64,
    /// Probability that the sweep as it is finds it.
    pub power: f64,
    /// Trials that suffice with the items as they are; absent where no number does.
    pub trials: Option<u32>,
    /// Items that suffice with the trials as they are, in clusters like these; perhaps more than the data has.
    pub items: Option<u32>,
    /// The sweep as it is, for each pair of the pilot by itself; empty without a pilot.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<PairPower>,
}

/// Prospects of a pair of the pilot's models, by its own variance.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairPower {
    /// One model.
    pub one: ModelRef,
    /// The other.
    pub other: ModelRef,
    /// Variance of their difference in one session.
    pub variance: Components,
    /// Probability that the sweep as it is finds the difference, if this pair is the first of its family to be found: once others are, Holm's
    /// correction asks less of the rest. Absent where both differed by the same in every session, which says nothing of how they vary.
    pub power: Option<f64>,
    /// `true` if both had the same score in every session that has one of both.
    pub agreed: bool,
}

impl Outlook {
    /// The smallest design that sees a difference of `effect`.
    #[must_use]
    pub fn need(&self, effect: f64) -> Need {
        let (of, power) = (&self.variance, self.power);
        let clusters = self.design.clusters_needed(of, self.threshold, effect, power, CLUSTERS_MAX);
        let items = clusters.map(|clusters| self.design.with_clusters(clusters).items.ceil() as u32);
        Need {
            effect,
            power: self.design.power(of, self.threshold, effect),
            trials: self.design.trials_needed(of, self.threshold, effect, power, TRIALS_MAX),
            items,
            pairs: self.of_pilot.iter().map(|pair| self.prospects(pair, effect)).collect(),
        }
    }

    fn prospects(&self, pair: &PilotPair, effect: f64) -> PairPower {
        let [one, other] = pair.models.clone();
        let threshold = Threshold { is_binary: pair.is_binary, ..self.threshold };
        let power = || self.design.power(&pair.variance, threshold, effect);
        let varies = pair.variance.in_session() > 0.0;
        PairPower { one, other, variance: pair.variance, power: varies.then(power), agreed: pair.agreed }
    }
}

/// Variance and spending of a sweep that has run, for the plan of another one.
#[derive(Debug, Clone)]
pub struct Pilot {
    /// The sweep.
    pub sweep: SweepId,
    pairs: Vec<PilotPair>,
    /// Spending of answered sessions, by benchmark, setting and model.
    pub spent: BTreeMap<(BenchmarkName, Setting, ModelRef), Spent>,
    judging: Judging,
}

#[derive(Debug, Clone, PartialEq)]
struct PilotPair {
    benchmark: BenchmarkName,
    setting: Setting,
    models: [ModelRef; 2],
    key: (Evaluator, Metric),
    variance: Components,
    is_binary: bool,
    /// `true` if both models had the same score in every session that has one of both.
    agreed: bool,
}

/// Differences up to this are rounding.
const ROUNDING: f64 = 1e-9;

impl Pilot {
    /// Reads what `sweep` says as a pilot: all of its sessions, which are in `tabulation` too, its attempts and the bills of its judges. It need
    /// not have ended.
    #[must_use]
    pub fn new(
        sweep: &Sweep,
        tabulation: Tabulation<'_>,
        sessions: &BTreeMap<CellIndex, Vec<SessionRow>>,
        attempts: &[AttemptRow],
        bills: &[JudgeCosts],
    ) -> Self {
        let spent = spent::of_sweep(sweep, sessions, attempts);
        let judging = Judging::new(bills.iter().map(|of| (Some(&of.judge), of.usage, of.cost)), &sweep.lock, &spent);
        Self { sweep: sweep.id.clone(), pairs: pilot_pairs(&tabulation.into_groups()), spent, judging }
    }
}

fn pilot_pairs(groups: &[GroupResult]) -> Vec<PilotPair> {
    let mut pairs = Vec::new();
    for (at, one) in groups.iter().enumerate() {
        let is_comparable = |other: &&GroupResult| {
            other.first.benchmark == one.first.benchmark && other.first.setting == one.first.setting
        };
        for other in groups.iter().skip(at + 1).filter(is_comparable) {
            pairs.extend(pilot_pair(one, other));
        }
    }
    pairs
}

fn pilot_pair(one: &GroupResult, other: &GroupResult) -> Option<PilotPair> {
    let ByTrial { key, differences, clusters } = matched_by_trial(one, other)?;
    let deciding = |group: &GroupResult| {
        let at = *group.headline.first()?;
        Some(are_right_or_wrong(group.samples.get(at)?))
    };
    let [one_is_binary, other_is_binary] = [deciding(one)?, deciding(other)?];
    Some(PilotPair {
        benchmark: one.first.benchmark.clone(),
        setting: one.first.setting.clone(),
        models: [one.first.model.clone(), other.first.model.clone()],
        variance: Components::of(&differences, &clusters)?,
        is_binary: matches!(key.1.measure, Measure::Mean { .. }) && one_is_binary && other_is_binary,
        agreed: differences.iter().flatten().flatten().all(|difference| difference.abs() <= ROUNDING),
        key,
    })
}

/// Effects that the comparisons of every benchmark and setting of `sweep` can see, in the order of its grid. Settings in which nothing is
/// compared are left out.
#[must_use]
pub fn outlooks(sweep: &Sweep, pilot: Option<&Pilot>, aim: Aim) -> Vec<Outlook> {
    let firsts = sweep
        .cells()
        .iter()
        .filter(|cell| cell.trial.0 == 0 && sweep.lock.models.first().is_some_and(|model| model.id == cell.model));
    firsts.filter_map(|cell| outlook(sweep, cell, pilot, aim)).collect()
}

fn outlook(sweep: &Sweep, cell: &Cell, pilot: Option<&Pilot>, aim: Aim) -> Option<Outlook> {
    let (suite, lock) = (sweep.suite(cell)?, sweep.benchmark(cell)?);
    let key = deciding_key(suite.as_ref(), lock, &cell.setting)?;
    let selected = sweep.selected(cell);
    let clusters = clusters(selected.iter().map(|index| sweep.item(cell, *index)));
    let design = Design::of(&clusters, u32::from(sweep.lock.trials));
    let pairs = pairs(sweep, cell, lock);
    let level = aim.level / f64::from(pairs.max(1));
    let assumed = || (Basis::Assumed, assumed(&key.1), matches!(key.1.measure, Measure::Mean { .. }));
    let is_known =
        |pair: &&PilotPair| pair.benchmark == cell.benchmark && pair.setting == cell.setting && pair.key == key;
    let in_spec = |pair: &&PilotPair| pair.models.iter().all(|model| sweep.lock.model(model).is_some());
    let seen = |pair: &PilotPair| {
        let threshold = Threshold { level, is_binary: pair.is_binary };
        design.smallest_effect(&pair.variance, threshold, aim.power).unwrap_or(f64::INFINITY)
    };
    let all: Vec<&PilotPair> = pilot.iter().flat_map(|pilot| &pilot.pairs).filter(is_known).collect();
    let ours: Vec<&PilotPair> = all.iter().copied().filter(|pair| in_spec(pair)).collect();
    let from = if ours.is_empty() { all } else { ours };
    let of_pilot = pilot.map(|pilot| {
        let pairs = from.len() as u32;
        let sweep = pilot.sweep.clone();
        let varying = from.iter().filter(|pair| pair.variance.in_session() > 0.0);
        match varying.max_by(|one, other| seen(one).total_cmp(&seen(other))) {
            Some(worst) => {
                let [one, other] = worst.models.clone();
                (Basis::Pilot { sweep, one, other, pairs }, worst.variance, worst.is_binary)
            }
            None if pairs > 0 => {
                let (_, variance, is_binary) = assumed();
                let have_agreed = from.iter().all(|pair| pair.agreed);
                let basis = if have_agreed { Basis::Agreed { sweep } } else { Basis::Constant { sweep } };
                (basis, variance, is_binary)
            }
            None => {
                let (_, variance, is_binary) = assumed();
                (Basis::Unpaired { sweep }, variance, is_binary)
            }
        }
    });
    let (basis, variance, is_binary) = of_pilot.unwrap_or_else(assumed);
    let threshold = Threshold { level, is_binary };
    let is_known = variance.cluster.is_finite();
    let width = key.1.range.1 - key.1.range.0;
    let is_possible = |effect: &f64| is_known && *effect <= width;
    let smallest = |design: Design| design.smallest_effect(&variance, threshold, aim.power).filter(is_possible);
    Some(Outlook {
        benchmark: cell.benchmark.clone(),
        setting: cell.setting.clone(),
        evaluator: key.0,
        metric: key.1.name.clone(),
        unit: key.1.unit,
        range: key.1.range,
        models: sweep.lock.models.len() as u32,
        trials: sweep.lock.trials,
        items: selected.len() as u32,
        clusters: design.clusters,
        items_of_data: suite.select(&cell.setting, &lock.tasks, None).map_or(selected.len(), |all| all.len()) as u32,
        pairs,
        basis,
        variance,
        smallest: smallest(design),
        smallest_of_many_trials: smallest(Design { trials: f64::INFINITY, ..design }),
        of_pilot: from.into_iter().cloned().collect(),
        design,
        threshold,
        power: aim.power,
    })
}

/// Pairs that the benchmark of `cell` has: models in the same setting, and settings of the same model that are measured alike.
fn pairs(sweep: &Sweep, cell: &Cell, lock: &BenchmarkLock) -> u32 {
    let Some(suite) = sweep.suite(cell) else { return 0 };
    let models = sweep.lock.models.len();
    let keys: Vec<_> = lock.settings.iter().map(|setting| deciding_key(suite.as_ref(), lock, setting)).collect();
    let measured = keys.iter().flatten().count();
    let two_of = |count: usize| count * count.saturating_sub(1) / 2;
    let alike = |at: usize| keys[at + 1..].iter().filter(|other| keys[at].is_some() && **other == keys[at]).count();
    let of_settings: usize = (0..keys.len()).map(alike).sum();
    (measured * two_of(models) + models * of_settings) as u32
}

/// A proportion of one half, stretched to the range of `metric`; infinite where that has no end.
fn assumed(metric: &Metric) -> Components {
    let variance = ASSUMED_VARIANCE * (metric.range.1 - metric.range.0).powi(2);
    Components {
        cluster: ASSUMED_OF_CLUSTERS * variance,
        item: (1.0 - ASSUMED_OF_CLUSTERS - ASSUMED_OF_TRIALS) * variance,
        trial: ASSUMED_OF_TRIALS * variance,
        knows_trials: false,
    }
}
