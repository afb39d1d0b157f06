//! The difference of two models over the same items.

use regatta_benchmarks::{Measure, Metric};
use regatta_proto::Level;
use serde::{Deserialize, Serialize};

use super::clusters::{Influence, Spread, spread};
use super::discordance::{Discordance, OneSided};
use super::flips::Flips;
use super::linear::Linear;
use super::linearised::{averaged, linear, with_samples};
use super::mcnemar::mcnemar;
use super::means::mean;
use super::paired::Paired;
use super::ratio::{End, ratio};
use super::sample::{Sample, Samples, Trials};
use super::shares::{Share, beyond, by_cluster};

/// A paired difference: how much higher one's scores are than the other's, over the sessions (items and trials) that both have a score of.
///
/// Where sessions are missing, interval and p-value are those that hold whatever these would have scored; `missing` has what they would be
/// without the sessions that are missing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// Difference: of a mean, the mean over items of the mean difference over trials; of a ratio of sums, the mean over trials of the
    /// difference of the ratios; of all other metrics, the difference of their values.
    pub value: f64,
    /// Lower end of the interval at the level of the sweep; absent for a single cluster of items, and of an amount that does not differ at
    /// all. It holds the differences that the sign-flip test does not refuse (for so few clusters that they can refuse none, fewer than six at
    /// 95 %: Student's t), and on a scale the score interval, which is longer where both seldom differ. Where sessions are missing it reaches
    /// from the lower end of the interval that `bound_low` of `missing` would have to the upper end of that of `bound_high`, and is absent
    /// where there is no such bound.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// Items that both have a score of.
    pub n: u32,
    /// Independent clusters among these.
    #[serde(default)]
    pub clusters: u32,
    /// The p-value of "no difference", not corrected for how many differences were looked at; absent where nothing could vary, and for a
    /// single cluster of items. On a scale it
    /// is the larger one of sign-flips (or McNemar's test) and the score test, as the interval holds what either does not refuse: it is at
    /// most one less the level exactly where the interval leaves 0 out, if there are enough clusters for sign-flips to refuse anything, and
    /// up to what 10,000 drawn patterns resolve where the test is McNemar's. Where sessions
    /// are missing it is the largest of those without them, and with all of them at either bound; 1 where these do not agree on which of
    /// both is higher, or where there is no such bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// The test that `p` is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<Test>,
    /// Bounds and complete-case values where sessions have no score; absent where none is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<Gaps>,
    /// `true` if too few sessions have a score in both for a difference to be claimed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withheld: bool,
}

/// A difference of which sessions are missing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Gaps {
    /// Part of the sessions (items and trials) that has a score in both, 0..=1.
    pub coverage: f64,
    /// The difference if every session without a score had been all wrong for the one, and all right for the other. Absent where what is
    /// missing could move it without limit.
    pub bound_low: Option<f64>,
    /// The difference if it had been the other way round.
    pub bound_high: Option<f64>,
    /// Lower end of the interval over the sessions that both have a score of: if those were missing at random.
    pub complete_low: Option<f64>,
    /// Upper end of it.
    pub complete_high: Option<f64>,
    /// The p-value over these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub complete_p: Option<f64>,
}

impl Difference {
    /// The same, withheld if less than `coverage_min` of the sessions has a score in both.
    #[must_use]
    pub fn withheld_below(self, coverage_min: f64) -> Self {
        Self { withheld: self.missing.is_some_and(|missing| missing.coverage < coverage_min), ..self }
    }

    /// The difference over the sessions that both have a score of, as if nothing were missing.
    #[must_use]
    pub fn complete(&self) -> Self {
        let of = |missing: Gaps| Self {
            low: missing.complete_low,
            high: missing.complete_high,
            p: missing.complete_p,
            missing: None,
            withheld: false,
            ..*self
        };
        self.missing.map_or(*self, of)
    }

    /// The difference of the other from the one.
    #[must_use]
    pub fn turned(&self) -> Self {
        let turn = |end: Option<f64>| end.map(|end| -end);
        let missing = self.missing.map(|missing| Gaps {
            bound_low: turn(missing.bound_high),
            bound_high: turn(missing.bound_low),
            complete_low: turn(missing.complete_high),
            complete_high: turn(missing.complete_low),
            ..missing
        });
        Self { value: -self.value, low: turn(self.high), high: turn(self.low), missing, ..*self }
    }

    /// `true` if the sessions that have a score show a difference at `level`, and the missing ones could turn it.
    #[must_use]
    pub fn may_turn(&self, level: Level) -> bool {
        let is_shown = |p: Option<f64>| p.is_some_and(|p| p <= level.alpha());
        self.missing.is_some_and(|missing| is_shown(missing.complete_p) && !is_shown(self.p))
    }
}

/// A test of "no difference".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// McNemar's exact test: every item is right or wrong, and a cluster by itself.
    Mcnemar,
    /// Cluster sign-flips, all of them.
    AllFlips,
    /// Cluster sign-flips, 9,999 that a seed draws.
    SampledFlips,
    /// Hoeffding's bound on the p-value of all sign-flips, where that is too small for a sample.
    FlipsBound,
    /// The score test, where its p-value is the larger one: of a scale on which both seldom differ.
    Score,
}

impl Test {
    /// Name in documents.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mcnemar => "mcnemar",
            Self::AllFlips => "all_flips",
            Self::SampledFlips => "sampled_flips",
            Self::FlipsBound => "flips_bound",
            Self::Score => "score",
        }
    }
}

/// A difference with the share that each cluster has in it.
pub(crate) struct Shared {
    pub(crate) value: f64,
    pub(crate) n: u32,
    pub(crate) shares: Vec<Share>,
    /// Items that only one of both got right, where that is all there is to say.
    discordant: Option<(u64, u64)>,
}

/// Difference of ours from theirs in `metric`. `None` without a session that both have a score of. `seed` draws the sign-flips.
pub(crate) fn paired_difference(metric: &Metric, paired: Paired<'_>, seed: u64, level: Level) -> Option<Difference> {
    let paired = paired.bought();
    let complete = tested(metric, shared(metric, paired.paired())?, seed, level);
    let coverage = paired.coverage();
    if coverage >= 1.0 {
        return Some(complete);
    }
    let at = |end: End| {
        let completed = paired.completed(metric, end)?;
        Some(tested(metric, shared(metric, completed.paired())?, seed, level))
    };
    let (low, high) = (at(End::Low), at(End::High));
    let missing = Gaps {
        coverage,
        bound_low: low.map(|low| low.value),
        bound_high: high.map(|high| high.value),
        complete_low: complete.low,
        complete_high: complete.high,
        complete_p: complete.p,
    };
    let missing = Some(missing);
    let (Some(low), Some(high)) = (low, high) else {
        return Some(Difference { low: None, high: None, p: complete.p.map(|_| 1.0), missing, ..complete });
    };
    let cases = [complete, low, high];
    let end = |of: fn(&Difference) -> Option<f64>, further: fn(f64, f64) -> f64| {
        let ends: Option<Vec<f64>> = cases.iter().map(of).collect();
        ends?.into_iter().reduce(further)
    };
    let tests: Option<Vec<(f64, Option<Test>)>> = cases.iter().map(|case| Some((case.p?, case.test))).collect();
    let largest = tests.and_then(|tests| tests.into_iter().max_by(|(one, _), (other, _)| one.total_cmp(other)));
    let agree = cases.iter().all(|case| case.value > 0.0) || cases.iter().all(|case| case.value < 0.0);
    Some(Difference {
        low: end(|case| case.low, f64::min),
        high: end(|case| case.high, f64::max),
        p: largest.map(|(p, _)| if agree { p } else { 1.0 }),
        test: largest.and_then(|(_, test)| test),
        missing,
        ..complete
    })
}

/// Difference of ours from theirs over the sessions that both have a number of, whatever is missing: for what a session took, which
/// is a matter of those that came to an end.
pub(crate) fn complete_difference(metric: &Metric, paired: Paired<'_>, seed: u64, level: Level) -> Option<Difference> {
    Some(tested(metric, shared(metric, paired)?, seed, level))
}

/// Interval and test of a difference of which nothing is missing.
fn tested(metric: &Metric, found: Shared, seed: u64, level: Level) -> Difference {
    let Shared { value, n, shares, discordant } = found;
    let most = metric.range.1 - metric.range.0;
    let flips = Flips::new(&shares, seed);
    let spread = spread_about(value, &shares);
    let refused = flips.interval(level.alpha()).or_else(|| student(value, &spread, level));
    let ends = match scale_of(metric) {
        Some(width) => joined(refused, on_scale(&shares, &spread, width, n, level)),
        // Nothing says how an amount varies that never did.
        None => refused.filter(|(low, high)| high > low),
    };
    let of_signs = match discordant {
        Some((ours, theirs)) => (mcnemar(ours, theirs), Test::Mcnemar),
        None if flips.is_exact() => (flips.p(), Test::AllFlips),
        None if flips.is_bound() => (flips.p(), Test::FlipsBound),
        None => (flips.p(), Test::SampledFlips),
    };
    let of_score = scale_of(metric).and_then(|width| {
        let discordance = Discordance::of(shares.iter().map(|share| share.sum), width);
        let OneSided { more, less } = discordance.tests(&spread, width, n, 0.0)?;
        Some(((2.0 * more.min(less)).min(1.0), Test::Score))
    });
    let larger = of_score.filter(|(p, _)| *p > of_signs.0).unwrap_or(of_signs);
    // A single cluster says nothing about how clusters differ.
    let (p, test) = if shares.len() < 2 { (None, None) } else { (Some(larger.0), Some(larger.1)) };
    Difference {
        value,
        low: ends.map(|(low, _)| low.min(value).max(-most)),
        high: ends.map(|(_, high)| high.max(value).min(most)),
        n,
        clusters: shares.len() as u32,
        p,
        test,
        missing: None,
        withheld: false,
    }
}

/// The one-sided p-values against being worse by `margin`, that hold whatever the sessions without a score would have scored: 1 for what
/// some of that denies. `None` where nothing could vary.
pub(crate) fn tests_whatever_is_missing(
    metric: &Metric,
    paired: Paired<'_>,
    is_better_more: bool,
    margin: f64,
    seed: u64,
) -> Option<OneSided> {
    let paired = paired.bought();
    let tests = |paired: Paired<'_>| {
        let found = shared(metric, paired).filter(|found| !found.shares.is_empty())?;
        Some(tests_of_margin(metric, &found, is_better_more, margin, seed))
    };
    let complete = tests(paired.paired())?;
    if paired.coverage() >= 1.0 {
        return Some(complete);
    }
    let cases = [End::Low, End::High].map(|end| tests(paired.completed(metric, end)?.paired()));
    Some(cases.into_iter().fold(complete, |most, case| match case {
        Some(case) => OneSided { more: most.more.max(case.more), less: most.less.max(case.less) },
        None => OneSided { more: 1.0, less: 1.0 },
    }))
}

/// The one-sided p-values of `found`, turned so that more is better, against being worse by `margin`. On a scale sign-flips and the score
/// test have to agree: where both models seldom differ, flips take what was not seen for what cannot be.
pub(crate) fn tests_of_margin(
    metric: &Metric,
    found: &Shared,
    is_better_more: bool,
    margin: f64,
    seed: u64,
) -> OneSided {
    let sign = if is_better_more { 1.0 } else { -1.0 };
    let gains: Vec<Share> = found.shares.iter().map(|share| Share { sum: sign * share.sum, ..*share }).collect();
    let flips = Flips::new(&beyond(&gains, -margin), seed);
    let of_flips = OneSided { more: flips.p_more(), less: flips.p_less() };
    let Some(width) = scale_of(metric) else { return of_flips };
    let discordance = Discordance::of(gains.iter().map(|share| share.sum), width);
    let spread = spread_about(sign * found.value, &gains);
    match discordance.tests(&spread, width, found.n, -margin) {
        Some(score) => OneSided { more: score.more.max(of_flips.more), less: score.less.max(of_flips.less) },
        // A single cluster, of which flips refuse nothing.
        None => of_flips,
    }
}

/// Width of the scale that the metric's values lie on; `None` for amounts.
fn scale_of(metric: &Metric) -> Option<f64> {
    let width = metric.range.1 - metric.range.0;
    (metric.unit.scale().is_some() && width.is_finite() && width > 0.0).then_some(width)
}

/// The spread of a difference of `value` over its clusters.
fn spread_about(value: f64, shares: &[Share]) -> Spread {
    let influence = |share: &Share| Influence { shift: share.sum - value * share.weight, weight: share.weight };
    spread((0..).zip(shares.iter().map(influence)))
}

/// Student's interval, for so few clusters that no test could refuse anything.
fn student(value: f64, spread: &Spread, level: Level) -> Option<(f64, f64)> {
    let half = spread.half(level)?;
    Some((value - half, value + half))
}

/// The score interval, of a scale of `width`.
fn on_scale(shares: &[Share], spread: &Spread, width: f64, items: u32, level: Level) -> Option<(f64, f64)> {
    let discordance = Discordance::of(shares.iter().map(|share| share.sum), width);
    let (low, high) = discordance.interval(spread, width, items, level.upper())?;
    Some((low * width, high * width))
}

/// The interval that holds both.
fn joined(one: Option<(f64, f64)>, other: Option<(f64, f64)>) -> Option<(f64, f64)> {
    match (one, other) {
        (Some((low, high)), Some((lower, higher))) => Some((low.min(lower), high.max(higher))),
        (one, other) => one.or(other),
    }
}

/// [`paired_difference`] for tests to which neither seed nor level matters.
#[cfg(test)]
pub(crate) fn difference(metric: &Metric, ours: &[Trials], theirs: &[Trials], clusters: &[u32]) -> Option<Difference> {
    paired_difference(metric, Paired { ours, theirs, clusters }, 7, Level::USUAL)
}

/// Differences of each item in each trial by itself: by trial, then by position. Of a mean it is the item's difference; of
/// everything else the difference of the trial moved by the item's influence on it. `None` where not both have a score.
pub(crate) fn by_trial(metric: &Metric, paired: Paired<'_>) -> Vec<Vec<Option<f64>>> {
    let trials = paired.ours.iter().chain(paired.theirs).map(Vec::len).min().unwrap_or(0);
    let of = |samples: &[Trials], trial: usize| -> Vec<Trials> {
        samples.iter().map(|trials| vec![trials[trial].clone()]).collect()
    };
    let said = |trial| {
        let (ours, theirs) = (of(paired.ours, trial), of(paired.theirs, trial));
        let all = linearised(metric, Paired { ours: &ours, theirs: &theirs, ..paired })?;
        let count = all.by_item.iter().flatten().count() as f64;
        Some(
            all.by_item
                .iter()
                .map(|influence| influence.map(|influence| all.value + count * influence.shift))
                .collect(),
        )
    };
    (0..trials).map(|trial| said(trial).unwrap_or_else(|| vec![None; paired.clusters.len()])).collect()
}

/// The difference with the influence of every item on it.
fn linearised(metric: &Metric, paired: Paired<'_>) -> Option<Linear> {
    let positions: Vec<usize> = (0..paired.clusters.len()).collect();
    let leaves = |samples| with_samples(metric, samples, &positions, paired.clusters);
    let (ours, theirs) = (leaves(paired.ours), leaves(paired.theirs));
    let parts = ours.iter().zip(&theirs).map(|((leaf, ours), (_, theirs))| of_leaf(leaf, ours, theirs));
    averaged(metric, &parts.collect::<Option<Vec<Linear>>>()?)
}

/// The difference with its shares.
pub(crate) fn shared(metric: &Metric, paired: Paired<'_>) -> Option<Shared> {
    let Paired { ours, theirs, clusters } = paired;
    let positions: Vec<usize> = (0..clusters.len()).collect();
    let leaves = |samples| with_samples(metric, samples, &positions, clusters);
    let (ours, theirs) = (leaves(ours), leaves(theirs));
    if let (Measure::Mean { .. }, [(_, ours)], [(_, theirs)]) = (&metric.measure, ours.as_slice(), theirs.as_slice()) {
        return of_means(ours, theirs);
    }
    let all = linearised(metric, paired)?;
    let influences = || positions.iter().zip(&all.by_item).filter_map(|(at, influence)| Some((*at, (*influence)?)));
    let n = influences().count();
    // An influence says how an item moves the difference; with its part of the difference itself, all add up to that.
    let share = |(at, influence): (usize, Influence)| {
        let weight = 1.0 / n as f64;
        (clusters[at], Share { sum: influence.shift + all.value * weight, weight })
    };
    let shares = by_cluster(influences().map(share));
    Some(Shared { value: all.value, n: n as u32, shares, discordant: None })
}

/// The difference of a metric that is no average, over what both have a score of.
fn of_leaf(leaf: &Metric, ours: &Samples<'_>, theirs: &Samples<'_>) -> Option<Linear> {
    if matches!(leaf.measure, Measure::Mean { .. }) {
        let differences: Vec<Option<f64>> = ours.positions.iter().map(|at| of_item(ours, theirs, *at)).collect();
        let value = mean(&differences.iter().flatten().copied().collect::<Vec<f64>>())?;
        let count = differences.iter().flatten().count() as f64;
        let influence = |one: f64| Influence { shift: (one - value) / count, weight: 1.0 / count };
        let by_item = differences.iter().map(|difference| difference.map(influence)).collect();
        return Some(Linear { value, by_item, trials: Vec::new() });
    }
    let (our_trials, their_trials) = (restricted(ours.trials, theirs.trials), restricted(theirs.trials, ours.trials));
    let (ours, theirs) = (Samples { trials: &our_trials, ..*ours }, Samples { trials: &their_trials, ..*theirs });
    match leaf.measure {
        Measure::Pooled { .. } | Measure::GroupMean { .. } => Some(linear(leaf, &ours)?.less(&linear(leaf, &theirs)?)),
        Measure::Mean { .. } | Measure::Ratio { .. } | Measure::F1 { .. } | Measure::Average { .. } => {
            of_ratios(leaf, &ours, &theirs)
        }
    }
}

/// The mean difference over the trials in which both have a score of the item at `position`.
fn of_item(ours: &Samples<'_>, theirs: &Samples<'_>, position: usize) -> Option<f64> {
    let of_trial = |(ours, theirs): (Sample, Sample)| match (ours, theirs) {
        (Sample::Scored { top: ours, .. }, Sample::Scored { top: theirs, .. }) => Some(ours - theirs),
        _ => None,
    };
    mean(&ours.of(position).zip(theirs.of(position)).filter_map(of_trial).collect::<Vec<f64>>())
}

fn of_means(ours: &Samples<'_>, theirs: &Samples<'_>) -> Option<Shared> {
    let of = |position: &usize| Some((ours.clusters[*position], of_item(ours, theirs, *position)?));
    let differences: Vec<(u32, f64)> = ours.positions.iter().filter_map(of).collect();
    let value = mean(&differences.iter().map(|(_, difference)| *difference).collect::<Vec<f64>>())?;
    let weight = 1.0 / differences.len() as f64;
    let shares = by_cluster(
        differences.iter().map(|(cluster, difference)| (*cluster, Share { sum: difference * weight, weight })),
    );
    let is_binary = shares.len() == differences.len()
        && differences.iter().all(|(_, difference)| [-1.0, 0.0, 1.0].contains(difference));
    let count = |of: f64| differences.iter().filter(|(_, difference)| *difference == of).count() as u64;
    let discordant = is_binary.then(|| (count(1.0), count(-1.0)));
    Some(Shared { value, n: differences.len() as u32, shares, discordant })
}

/// `trials` without the sessions that `others` have no score of.
fn restricted(trials: &[Vec<Sample>], others: &[Vec<Sample>]) -> Trials {
    let both = |(sample, other): (&Sample, &Sample)| match other {
        Sample::Missing { .. } => *other,
        Sample::Nothing
        | Sample::NotBought
        | Sample::Void
        | Sample::DropsRun
        | Sample::ZeroesGroup
        | Sample::Scored { .. } => *sample,
    };
    trials.iter().zip(others).map(|(trial, other)| trial.iter().zip(other).map(both).collect()).collect()
}

fn of_ratios(metric: &Metric, ours: &Samples<'_>, theirs: &Samples<'_>) -> Option<Linear> {
    // Only trials in which both have a ratio can be compared.
    let trials: Vec<usize> = (0..ours.trials.len()).filter(|trial| has_both(metric, ours, theirs, *trial)).collect();
    let of = |samples: &Samples<'_>| {
        let trials: Vec<Vec<Sample>> = trials.iter().map(|trial| samples.trials[*trial].clone()).collect();
        ratio(metric, &Samples { trials: &trials, ..*samples })
    };
    let difference = of(ours)?.less(&of(theirs)?);
    let value = mean(&difference.trials.iter().flatten().copied().collect::<Vec<f64>>())?;
    Some(Linear { value, ..difference })
}

fn has_both(metric: &Metric, ours: &Samples<'_>, theirs: &Samples<'_>, trial: usize) -> bool {
    let has = |samples: &Samples<'_>| {
        let one = samples.trials.get(trial).map(std::slice::from_ref);
        one.is_some_and(|trials| ratio(metric, &Samples { trials, ..*samples }).is_some())
    };
    has(ours) && has(theirs)
}

#[cfg(test)]
mod gaps;

#[cfg(test)]
mod tests;
