//! Every model, setting and cast of a sweep against every other, over the sessions that both have a score of.

mod matching;

use std::collections::HashSet;
use std::fmt;

use regatta_benchmarks::{Better, Metric, Unit};
use regatta_catalog::Sweep;
use regatta_proto::{BenchmarkName, Digest, Evaluator, ItemIndex, Level, ModelRef, Setting};
use serde::{Deserialize, Serialize};

use self::matching::matched;
use crate::statistics::{Difference, Gaps, Rank, by_trial, holm, paired_difference, ranks};
use crate::tabulation::GroupResult;

/// In a benchmark with more models times settings, each is compared with the best alone: the number of pairs grows as their square.
const ALL_PAIRS: usize = 64;

/// The pairs of a benchmark: models in the same setting, and settings (casts are some) of the same model. Their metric is the first that
/// leaderboards show. They are one family, over which p-values are corrected by Holm's method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairFamily {
    /// Benchmark.
    pub benchmark: BenchmarkName,
    /// Pairs there are, those that were not looked at included.
    pub size: u32,
    /// `true` if there are so many that each contestant was only compared with the best.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub with_best_only: bool,
    /// Pairs that share a session with a score, in the order of the spec.
    pub pairs: Vec<Pair>,
}

/// Two contestants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// The one.
    pub one: Contestant,
    /// The other; it differs in its model or in its setting.
    pub other: Contestant,
    /// Scoring rule.
    pub evaluator: Evaluator,
    /// Name of the metric.
    pub metric: String,
    /// Unit in which people read it.
    #[serde(default, skip_serializing_if = "Unit::is_plain")]
    pub unit: Unit,
    /// Direction in which the metric improves.
    #[serde(default)]
    pub better: Better,
    /// Difference of the one's metric from the other's. The interval is of this pair alone.
    pub difference: Difference,
    /// P-value, corrected over the family; absent where the difference has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_holm: Option<f64>,
}

/// A model in a setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contestant {
    /// Model.
    pub model: ModelRef,
    /// Setting.
    pub setting: Setting,
    /// `true` if its answers came from a simulated endpoint.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub simulated: bool,
}

/// The rank of a model among those of its setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ranking {
    /// Benchmark.
    pub benchmark: BenchmarkName,
    /// Setting.
    pub setting: Setting,
    /// Model.
    pub model: ModelRef,
    /// Places that it may have.
    pub rank: Rank,
}

impl PairFamily {
    /// The same without claims of pairs of which less than `coverage_min` of the sessions has a score in both.
    fn withheld_below(mut self, coverage_min: f64) -> Self {
        for pair in &mut self.pairs {
            pair.difference = pair.difference.withheld_below(coverage_min);
        }
        self
    }
}

impl Pair {
    /// The better and the worse of both; `None` where the sweep shows no difference at `level` that holds whatever the missing sessions would
    /// have scored, and where too few sessions have a score in both.
    #[must_use]
    pub fn order(&self, level: Level) -> Option<(&Contestant, &Contestant)> {
        let is_higher = self.difference.value > 0.0;
        match self.better {
            _ if self.difference.withheld || self.difference.value == 0.0 || !self.is_at_most(level.alpha(), 1) => None,
            Better::Higher if is_higher => Some((&self.one, &self.other)),
            Better::Lower if !is_higher => Some((&self.one, &self.other)),
            Better::Higher | Better::Lower => Some((&self.other, &self.one)),
        }
    }

    /// `true` if the p-value, corrected for so many families, is at most `alpha`.
    fn is_at_most(&self, alpha: f64, families: usize) -> bool {
        self.p_holm.is_some_and(|p| p * families as f64 <= alpha)
    }

    /// `true` if two models are compared, and not two settings of one.
    #[must_use]
    pub fn is_of_models(&self) -> bool {
        self.one.setting == self.other.setting
    }
}

impl fmt::Display for Contestant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.model, self.setting)
    }
}

impl From<&GroupResult> for Contestant {
    fn from(group: &GroupResult) -> Self {
        Self { model: group.first.model.clone(), setting: group.first.setting.clone(), simulated: group.simulated }
    }
}

/// The families of a sweep: one for each benchmark that has something to compare.
pub(crate) fn families(sweep: &Sweep, groups: &[GroupResult]) -> Vec<PairFamily> {
    let of_benchmarks = groups.chunk_by(|one, other| one.first.benchmark == other.first.benchmark);
    let families = of_benchmarks.filter_map(|of| family(sweep.lock.seed, sweep.lock.level, of));
    families.map(|family| family.withheld_below(sweep.lock.coverage_min)).collect()
}

fn family(seed: u64, level: Level, groups: &[GroupResult]) -> Option<PairFamily> {
    let mut size = 0;
    let mut pairs = Vec::new();
    let with_best_only = groups.len() > ALL_PAIRS;
    for (at, one) in groups.iter().enumerate() {
        for other in groups.iter().skip(at + 1).filter(|other| is_comparable(one, other)) {
            size += 1;
            if !with_best_only || is_best_of_its_kind(groups, one, other) {
                pairs.extend(pair(seed, level, one, other));
            }
        }
    }
    let raw: Vec<f64> = pairs.iter().map(|pair| pair.difference.p.unwrap_or(1.0)).collect();
    for (pair, corrected) in pairs.iter_mut().zip(holm(&raw, size)) {
        pair.p_holm = pair.difference.p.map(|_| corrected);
    }
    let benchmark = groups.first()?.first.benchmark.clone();
    (!pairs.is_empty()).then_some(PairFamily { benchmark, size: size as u32, with_best_only, pairs })
}

/// The metric by which a leaderboard is ordered, by position.
pub(crate) fn deciding(group: &GroupResult) -> Option<usize> {
    group.headline.first().copied()
}

fn deciding_metric(group: &GroupResult) -> Option<&(Evaluator, Metric)> {
    group.keys.get(deciding(group)?)
}

/// `true` if two contestants differ in one thing, and are measured alike over some of the same items.
fn is_comparable(one: &GroupResult, other: &GroupResult) -> bool {
    let (first, second) = (&one.first, &other.first);
    let differ_in_one = (first.model == second.model) != (first.setting == second.setting);
    let are_alike = deciding_metric(one).is_some() && deciding_metric(one) == deciding_metric(other);
    differ_in_one && are_alike && share_an_item(&one.selected, &other.selected)
}

/// Settings may be about other items altogether.
fn share_an_item(one: &[ItemIndex], other: &[ItemIndex]) -> bool {
    if one == other {
        return !one.is_empty();
    }
    let others: HashSet<&ItemIndex> = other.iter().collect();
    one.iter().any(|item| others.contains(item))
}

/// `true` if one of both is the best of all that it could be compared with in the same way.
fn is_best_of_its_kind(groups: &[GroupResult], one: &GroupResult, other: &GroupResult) -> bool {
    let of_models = one.first.setting == other.first.setting;
    let is_of_kind = |group: &&GroupResult| match of_models {
        true => group.first.setting == one.first.setting,
        false => group.first.model == one.first.model && deciding_metric(group) == deciding_metric(one),
    };
    let goodness = |group: &GroupResult| {
        let at = deciding(group)?;
        let value = group.estimates[at].value?;
        Some(if group.keys[at].1.better == Better::Lower { -value } else { value })
    };
    let mut best: Option<(&GroupResult, f64)> = None;
    for group in groups.iter().filter(is_of_kind) {
        let Some(value) = goodness(group) else { continue };
        if best.is_none_or(|(_, highest)| value > highest) {
            best = Some((group, value));
        }
    }
    best.is_some_and(|(best, _)| best.first == one.first || best.first == other.first)
}

fn pair(of_sweep: u64, level: Level, one: &GroupResult, other: &GroupResult) -> Option<Pair> {
    let (evaluator, metric) = deciding_metric(one)?;
    let seed = seed(of_sweep, one, other);
    let matched = matched(one, other, deciding(one)?, deciding(other)?)?;
    let difference = paired_difference(metric, matched.paired(), seed, level)?;
    Some(Pair {
        one: one.into(),
        other: other.into(),
        evaluator: *evaluator,
        metric: metric.name.clone(),
        unit: metric.unit,
        better: metric.better,
        difference: untested_alone(difference),
        p_holm: None,
    })
}

/// The difference, of a single cluster without a test: that says nothing about how clusters differ.
pub(crate) fn untested_alone(difference: Difference) -> Difference {
    if difference.clusters > 1 {
        return difference;
    }
    let missing = difference.missing.map(|missing| Gaps { complete_p: None, ..missing });
    Difference { p: None, test: None, missing, ..difference }
}

/// Differences of two contestants by item.
pub(crate) struct ByTrial {
    /// The metric by which they are compared.
    pub(crate) key: (Evaluator, Metric),
    /// By trial, then by position of the item; `None` where not both have a score.
    pub(crate) differences: Vec<Vec<Option<f64>>>,
    /// Cluster of each position.
    pub(crate) clusters: Vec<u32>,
}

/// Differences of `one` and `other` by item. `None` where they are not measured alike, or share no item.
pub(crate) fn matched_by_trial(one: &GroupResult, other: &GroupResult) -> Option<ByTrial> {
    let key = deciding_metric(one)?;
    if deciding_metric(other) != Some(key) {
        return None;
    }
    let matched = matched(one, other, deciding(one)?, deciding(other)?)?;
    let paired = matched.paired();
    let differences = by_trial(&key.1, paired);
    Some(ByTrial { key: key.clone(), differences, clusters: paired.clusters.to_vec() })
}

/// Order of the models of a pair. Over all benchmarks of a sweep, one wrong claim has a probability of at most one less the level: the
/// p-values of a family, which are corrected over its pairs, are multiplied by the number of benchmarks that compare models.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ModelOrders {
    benchmarks: usize,
    level: Level,
}

impl ModelOrders {
    /// The orders of a sweep with these `families`.
    pub(crate) fn new(families: &[PairFamily], level: Level) -> Self {
        let benchmarks = families.iter().filter(|family| family.pairs.iter().any(Pair::is_of_models)).count();
        Self { benchmarks, level }
    }

    /// The better and the worse of two models of one of the families; `None` where the sweep shows no difference.
    pub(crate) fn of<'p>(&self, pair: &'p Pair) -> Option<(&'p Contestant, &'p Contestant)> {
        pair.order(self.level).filter(|_| pair.is_at_most(self.level.alpha(), self.benchmarks))
    }
}

/// The seed of a pair's sign-flips: of the sweep's seed and the pair alone, so that more models change no other pair's numbers.
pub(crate) fn seed(of_sweep: u64, one: &GroupResult, other: &GroupResult) -> u64 {
    let mut names = [Contestant::from(one).to_string(), Contestant::from(other).to_string()];
    names.sort();
    let benchmark = one.first.benchmark.as_str();
    flips_seed(of_sweep, &[benchmark, &names[0], &names[1]])
}

/// A seed of sign-flips, for what `names` tell.
#[must_use]
pub fn flips_seed(seed: u64, names: &[&str]) -> u64 {
    let named = names.iter().map(|name| name.as_bytes());
    let seed = seed.to_le_bytes();
    let digest = Digest::of_parts([b"regatta/sign-flips/1".as_slice(), &seed].into_iter().chain(named));
    let [a, b, c, d, e, f, g, h, ..] = *digest.bytes();
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

/// The ranks of the models of every setting, in the order of `groups`. A model without a value, or by itself, has none.
pub(crate) fn rankings(groups: &[GroupResult], families: &[PairFamily], level: Level) -> Vec<Ranking> {
    let has_value = |group: &&GroupResult| {
        deciding(group).and_then(|at| group.estimates.get(at)).is_some_and(|estimate| estimate.value.is_some())
    };
    let mut found = Vec::new();
    let is_same = |one: &GroupResult, other: &GroupResult| {
        one.first.benchmark == other.first.benchmark && one.first.setting == other.first.setting
    };
    for of in groups.chunk_by(is_same) {
        if of.len() < 2 {
            continue;
        }
        let pairs = families.iter().filter(|family| of.iter().any(|group| group.first.benchmark == family.benchmark));
        let orders = pairs
            .flat_map(|family| &family.pairs)
            .filter(|pair| pair.is_of_models())
            .filter_map(|pair| pair.order(level));
        let place = |contestant: &Contestant| of.iter().position(|group| Contestant::from(group) == *contestant);
        let better: Vec<(usize, usize)> = orders.filter_map(|(won, lost)| Some((place(won)?, place(lost)?))).collect();
        let ranked = of.iter().zip(ranks(of.len(), &better)).filter(|(group, _)| has_value(group));
        found.extend(ranked.map(|(group, rank)| Ranking {
            benchmark: group.first.benchmark.clone(),
            setting: group.first.setting.clone(),
            model: group.first.model.clone(),
            rank,
        }));
    }
    found
}

#[cfg(test)]
mod tests;
