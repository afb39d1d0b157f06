//! The same model through several endpoints, side by side: quality over the same items and seeds, money, time and trouble.

use std::collections::BTreeMap;

use regatta_backends::{CallSums, Sketch};
use regatta_benchmarks::{Better, Measure, Unit};
use regatta_catalog::Sweep;
use regatta_proto::{BenchmarkName, CellIndex, CostSum, ErrorClass, Evaluator, ModelRef, Money, Setting, SweepLock};
use serde::{Deserialize, Serialize};

use crate::pairs::{seed, untested_alone};
use crate::statistics::{Difference, Estimate, Paired, Trials, paired_difference};
use crate::summary::{LeaderboardRow, SessionCounts, per};
use crate::tabulation::GroupResult;

/// Endpoints that serve the same model, in one benchmark and setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Benchmark.
    pub benchmark: BenchmarkName,
    /// Setting of the benchmark.
    pub setting: Setting,
    /// The model, whoever serves it.
    pub family: String,
    /// One for each endpoint, in the order of the spec; the others are compared with the first.
    pub providers: Vec<Provider>,
}

/// One endpoint's service of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Provider {
    /// Endpoint and name.
    pub model: ModelRef,
    /// True if answers came from a simulated endpoint.
    pub simulated: bool,
    /// The metrics that leaderboards show.
    pub quality: Vec<Quality>,
    /// Sessions.
    pub sessions: SessionCounts,
    /// Money of all attempts, waste included.
    pub cost: CostSum,
    /// Money of the attempts that led to scores, over the sessions that have one and were not cut off (`cut_off` of the row); absent when some
    /// of it is unknown, or answers came from the response cache.
    pub cost_per_session: Option<Money>,
    /// Money of all attempts that led to scores over the sum of the scores under the first metric: a score of one half is half a success.
    /// Absent without any, when the metric is no share in 0..=1 or is withheld, when some of the money is unknown, and when answers came from
    /// the response cache.
    pub cost_per_success: Option<Money>,
    /// Answered calls, those from the cache left out.
    pub calls: u64,
    /// Seconds from request to last byte.
    pub latency: Option<Percentiles>,
    /// Seconds from request to first token, of streamed answers.
    pub first_token: Option<Percentiles>,
    /// Generated tokens per second of streamed answers; the median over calls.
    pub tokens_per_second: Option<f64>,
    /// Failed tries by class of error.
    pub errors: BTreeMap<ErrorClass, u64>,
    /// Calls by what answered.
    pub served: BTreeMap<String, u64>,
}

/// A metric and its difference to the first endpoint's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// Scoring rule.
    pub evaluator: Evaluator,
    /// Name of the metric under `evaluator`.
    pub metric: String,
    /// Unit in which the metric is shown.
    #[serde(default, skip_serializing_if = "Unit::is_plain")]
    pub unit: Unit,
    /// Estimate of the metric with its interval.
    pub estimate: Estimate,
    /// Difference from the first endpoint, over the items that have a score of both; absent for the first endpoint itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<Difference>,
}

/// Percentiles over sessions, or over the calls of the whole fleet.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    /// Half of them were faster.
    pub p50: f64,
    /// Nine of ten were.
    pub p90: f64,
    /// All but one of a hundred were.
    pub p99: f64,
    /// Number of sessions or calls that were measured; absent in documents of a version that did not tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n: Option<u64>,
}

impl Percentiles {
    /// By nearest rank; `None` of nothing.
    pub(crate) fn of_sorted(values: &[f64]) -> Option<Self> {
        let of = |q: f64| values.get(((q * values.len() as f64).ceil() as usize).saturating_sub(1)).copied();
        Self::of_quantiles(values.len() as u64, of)
    }

    pub(crate) fn of_sketch(sketch: &Sketch) -> Option<Self> {
        Self::of_quantiles(sketch.count(), |q| sketch.quantile(q))
    }

    /// `None` where a quantile is.
    fn of_quantiles(n: u64, quantile: impl Fn(f64) -> Option<f64>) -> Option<Self> {
        Some(Self { p50: quantile(0.5)?, p90: quantile(0.9)?, p99: quantile(0.99)?, n: Some(n) })
    }
}

/// True if another endpoint of the sweep serves the same model too.
pub(crate) fn is_compared(sweep: &Sweep, model: &ModelRef) -> bool {
    let Some(own) = sweep.lock.model(model) else { return false };
    let mut others = sweep.lock.models.iter().filter(|other| other.id != own.id);
    others.any(|other| other.family() == own.family() && other.id.endpoint != own.id.endpoint)
}

/// All comparisons of a sweep. `calls` are the sums of every cell's calls.
pub(crate) fn comparisons(
    sweep: &Sweep,
    groups: &[GroupResult],
    rows: &[LeaderboardRow],
    calls: &[(CellIndex, CallSums)],
) -> Vec<Comparison> {
    let mut found: Vec<(Comparison, &GroupResult)> = Vec::new();
    for group in groups.iter().filter(|group| is_compared(sweep, &group.first.model)) {
        let cell = &group.first;
        let Some(family) = sweep.lock.model(&cell.model).map(regatta_proto::ModelSpec::family) else { continue };
        let of_group = |row: &&LeaderboardRow| {
            row.benchmark == cell.benchmark && row.setting == cell.setting && row.model == cell.model
        };
        let Some(row) = rows.iter().find(of_group) else { continue };
        let same = |known: &&mut (Comparison, &GroupResult)| {
            let one = &known.0;
            one.benchmark == cell.benchmark && one.setting == cell.setting && one.family == family
        };
        match found.iter_mut().find(same) {
            Some((comparison, first)) => comparison.providers.push(provider(
                group,
                row,
                calls,
                Some(First { group: first, seed: seed(sweep.lock.seed, group, first), lock: &sweep.lock }),
            )),
            None => {
                let comparison = Comparison {
                    benchmark: cell.benchmark.clone(),
                    setting: cell.setting.clone(),
                    family: family.to_owned(),
                    providers: vec![provider(group, row, calls, None)],
                };
                found.push((comparison, group));
            }
        }
    }
    found.into_iter().map(|(comparison, _)| comparison).collect()
}

/// The first endpoint of a comparison, and what the difference from it is computed with.
#[derive(Clone, Copy)]
struct First<'g> {
    group: &'g GroupResult,
    seed: u64,
    lock: &'g SweepLock,
}

fn provider(
    group: &GroupResult,
    row: &LeaderboardRow,
    calls: &[(CellIndex, CallSums)],
    first: Option<First<'_>>,
) -> Provider {
    let mut sums = CallSums::default();
    for (cell, of_cell) in calls {
        if group.cells.iter().any(|own| own.cell.index == *cell) {
            sums.merge(of_cell);
        }
    }
    let quality: Vec<Quality> = group
        .headline
        .iter()
        .map(|at| {
            let (evaluator, metric) = &group.keys[*at];
            let difference = first.and_then(|first| {
                let (ours, theirs) = (group.samples.get(*at)?, first.group.samples.get(*at)?);
                let paired = Paired { ours, theirs, clusters: &group.clusters };
                let difference = paired_difference(metric, paired, first.seed, first.lock.level)?;
                Some(untested_alone(difference).withheld_below(first.lock.coverage_min))
            });
            Quality {
                evaluator: *evaluator,
                metric: metric.name.clone(),
                unit: metric.unit,
                estimate: group.estimates[*at],
                difference,
            }
        })
        .collect();
    let each_success = |count: f64| per(row.spending.of_scored(), count).filter(|_| row.cached == 0);
    Provider {
        model: row.model.clone(),
        simulated: row.simulated,
        quality,
        sessions: row.sessions,
        cost: row.spending.cost,
        cost_per_session: row.spending.per_session(row.sessions.scored(), row.cached),
        cost_per_success: successes(group).and_then(each_success),
        calls: sums.calls.saturating_sub(sums.from_cache),
        latency: Percentiles::of_sketch(&sums.latency),
        first_token: Percentiles::of_sketch(&sums.first_token),
        tokens_per_second: sums.tokens_per_second.quantile(0.5),
        errors: sums.errors,
        served: sums.served,
    }
}

/// Sum of the scores under the first metric that leaderboards show, over the sessions that have a value of it: of a metric that is no mean
/// over items, each has the value of all. `None` if it is no share of success, and where its value is withheld.
fn successes(group: &GroupResult) -> Option<f64> {
    let at = *group.headline.first()?;
    let (_, metric) = &group.keys[at];
    let is_share = metric.better == Better::Higher && metric.unit.scale() == Some((0.0, 1.0));
    let value = group.estimates[at].shown().filter(|_| is_share)?;
    let leaves = group.samples.get(at)?;
    match (&metric.measure, leaves.as_slice()) {
        (Measure::Mean { .. }, [trials]) => {
            Some(trials.iter().flatten().filter_map(|sample| sample.parts()).map(|(top, _)| top).sum())
        }
        _ => {
            let counts = |trials: &Trials| {
                let parts = trials.iter().flatten().filter_map(|sample| sample.parts());
                parts.filter(|(_, bottom)| *bottom > 0.0).count()
            };
            Some(value * leaves.iter().map(counts).max()? as f64)
        }
    }
}
