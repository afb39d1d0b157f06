//! Intervals of numbers that lie within bounds.
//!
//! Student's interval about a mean near an end of its range is too short on the side that matters, and has no width at all where every
//! item scored the same. So a number within bounds is treated as a proportion of its range: its variance says how many independent
//! trials of that proportion would have told as much (the effective sample size, as for surveys of small proportions: E. L. Korn and
//! B. I. Graubard, Survey Methodology 24, 1998), and Wilson's interval (J. Amer. Statist. Assoc. 22, 1927) is taken of so many. Where many
//! clusters hold the deviation, the variance is theirs, with Student's quantile. Where few do, it tells little, and nothing where none
//! deviates; there all variances that the sample allows are taken together. `docs/statistics.md` has the coverage.

use regatta_proto::Level;

use super::binomial::mid_p;
use super::clusters::Spread;
use super::mixture::{Component, Mixture};
use super::population::{ROUNDING, Share, errors_beforehand};
use super::student;

/// Clusters that hold the deviation, over the square root of the number of clusters that weigh alike: up to the first their variance is not
/// believed, from the second on alone. These are what covers best in the coverage study.
const HOLDING: (f64, f64) = (1.0, 1.6);
/// Part of its squared width that no interval is shorter than that of independent items: few clusters may agree by chance.
const LEAST: f64 = 0.25;
/// Up to so many clusters no interval is shorter than what all variances together make it, and from the second number on it may be.
const FEW_CLUSTERS: (f64, f64) = (5.0, 10.0);
/// Correction of a squared distance for each unit by which the correlation is believed to be larger than the second number: the belief is
/// drawn towards the middle of all that may be, and so covers too much where items are independent and too little where they are alike.
const CORRELATED: (f64, f64) = (0.35, 0.1);
/// Correction of a squared distance where there are many failures and many successes.
const MANY_FAILURES: f64 = -0.03;
/// Up to so many clusters both corrections are whole; more clusters tell their correlation themselves.
const CORRECTED_CLUSTERS: f64 = 10.0;
/// Factor of the squared distance to an end on whose other side nothing can be missed, over that of an error on one side alone.
const CAUTION: f64 = 0.85;
/// Power of the part of the items' weight that is shared within clusters, by which such an end is eased.
const EASED: f64 = 4.4;
/// Steps at most towards an end whose variance depends on where it is; a dozen is enough.
const STEPS: u32 = 50;
/// Weight of the variance of right or wrong in one over reruns, in normal deviates.
const PRIOR_INFORMATION: f64 = 2.0;

/// Range of a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Range {
    /// Anywhere on a scale, and at its ends as well as in the middle.
    Scale {
        /// Smaller end.
        from: f64,
        /// Larger end; larger than the other.
        to: f64,
    },
    /// Between ends that no session need come near, or that are infinite, as of a number of turns or dollars.
    Amount {
        /// Smallest possible value.
        from: f64,
        /// Largest possible value.
        to: f64,
    },
}

impl Range {
    const fn ends(self) -> (f64, f64) {
        match self {
            Self::Scale { from, to } | Self::Amount { from, to } => (from, to),
        }
    }
}

/// Figures that an interval needs beside its value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Margin {
    /// Margin of a proportion of a range: Wilson's.
    Wilson {
        /// Ends of the range.
        range: (f64, f64),
        /// Distance of the lower end.
        low: Distance,
        /// Distance of the upper end.
        high: Distance,
        /// Lower end of the interval of a sample without a failure, 0.5..=1; and that without a success mirrors it.
        perfect: f64,
    },
    /// So much to either side, but not beyond a range.
    Student {
        /// Half the width.
        half: f64,
        /// Ends of the range.
        range: (f64, f64),
    },
}

/// Distance of an end of Wilson's interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Distance {
    /// The square of a quantile over the number of independent trials of a proportion that would tell as much.
    squared: f64,
    /// The same for ends beyond which a sample without a failure reaches, whatever the truth.
    eased: f64,
}

impl Margin {
    /// Margin of an estimate of `value` in `range` over clusters. `None` for a single cluster, and where items that are all alike leave no
    /// measure of what is unseen because the range is no scale.
    pub(crate) fn over_clusters(value: f64, range: Range, spread: &Spread, level: Level) -> Option<Self> {
        let variance = spread.variance?;
        let Range::Scale { from, to } = range else {
            let half = spread.half(level).filter(|half| *half > ROUNDING * value.abs())?;
            return Some(Self::Student { half, range: range.ends() });
        };
        let share = Share { value: ((value - from) / (to - from)).clamp(0.0, 1.0), scale: to - from, spread };
        Some(of_share(&share, variance, (from, to), level))
    }

    /// Margin of an estimate of `value` in `range` with a `variance` that has `freedom` degrees of freedom, from `sessions` that count
    /// alike.
    pub(crate) fn of_variance(
        value: f64,
        range: Range,
        variance: f64,
        freedom: f64,
        sessions: f64,
        level: Level,
    ) -> Option<Self> {
        let quantile = student::quantile(level.upper(), freedom);
        let Range::Scale { from, to } = range else {
            let half = quantile * variance.sqrt();
            return (half > ROUNDING * value.abs()).then_some(Self::Student { half, range: range.ends() });
        };
        let share = ((value - from) / (to - from)).clamp(0.0, 1.0);
        let (most, prior) = (share * (1.0 - share), 1.0 / sessions);
        let found = variance / (to - from).powi(2);
        // Where all score the same nothing is found but rounding, and the prior stands alone.
        let ratio = if most < ROUNDING || found < ROUNDING.powi(2) {
            prior
        } else {
            (freedom * found / most + PRIOR_INFORMATION * prior) / (freedom + PRIOR_INFORMATION)
        };
        let squared = quantile.powi(2) * ratio;
        let distance = Distance { squared, eased: squared };
        Some(Self::Wilson { range: (from, to), low: distance, high: distance, perfect: 1.0 })
    }

    /// The interval about `value`.
    pub(crate) fn around(&self, value: f64) -> (f64, f64) {
        match *self {
            Self::Student { half, range: (from, to) } => {
                ((value - half).max(from.min(value)), (value + half).min(to.max(value)))
            }
            Self::Wilson { range: (from, to), low, high, perfect } => {
                let share = ((value - from) / (to - from)).clamp(0.0, 1.0);
                let eased = (wilson(share, low.eased).0, wilson(share, high.eased).1);
                let low = wilson(share, low.squared).0.max(eased.0.min(1.0 - perfect));
                let high = wilson(share, high.squared).1.min(eased.1.max(perfect));
                // Rounding may not put the value outside of its own interval.
                ((from + low * (to - from)).min(value), (from + high * (to - from)).max(value))
            }
        }
    }
}

/// The interval about `value`, on a scale or without one, of which the part `missing` of its sessions is not known: as of an average over
/// sessions, that part may lie at either end of the scale. Without a scale it may lie anywhere, and there is no interval.
pub(crate) fn interval_of(
    value: f64,
    scale: Option<(f64, f64)>,
    spread: &Spread,
    missing: f64,
    level: Level,
) -> Option<(f64, f64)> {
    let Some((from, to)) = scale else {
        let range = Range::Amount { from: f64::NEG_INFINITY, to: f64::INFINITY };
        return Some(Margin::over_clusters(value, range, spread, level)?.around(value)).filter(|_| missing == 0.0);
    };
    let margin = Margin::over_clusters(value, Range::Scale { from, to }, spread, level)?;
    let (low, high) = (value + missing * (from - value), value + missing * (to - value));
    Some((margin.around(low).0, margin.around(high).1))
}

/// Margin of a `share` whose clusters have this `variance`.
fn of_share(share: &Share<'_>, variance: f64, range: (f64, f64), level: Level) -> Margin {
    let upper = level.upper();
    let spread = share.spread;
    let population = share.population();
    // Items tell their own variance, and single ones as few as there are.
    let unknown = student::quantile(upper, (share.items() - 1.0).max(1.0)) / normal_quantile(upper);
    let of = |errors: &Mixture| (errors.quantile(upper) * unknown).powi(2);
    let known = share.is_known(variance).then(|| {
        let freedom = spread.freedom(population.correlation);
        let student = student::quantile(upper, freedom).powi(2) * share.relative(variance);
        let independent = normal_quantile(upper).powi(2) * population.found.unwrap_or(0.0) / share.items();
        student.max(LEAST * independent)
    });
    let (few, many) = HOLDING;
    let part = known.map_or(0.0, |_| ((spread.holding * spread.together.sqrt() - few) / (many - few)).clamp(0.0, 1.0));
    let (few, enough) = FEW_CLUSTERS;
    let doubted = ((enough - spread.parts.len() as f64) / (enough - few)).clamp(0.0, 1.0);
    let in_clusters = 1.0 - spread.alone / spread.together;
    let corrected = 1.0 + in_clusters * correction(share, population.correlation);
    let squared = |errors: &Mixture| {
        let believed = of(errors);
        (part * known.unwrap_or(0.0).max(doubted * believed) + (1.0 - part) * believed) * corrected
    };
    let outward = squared(&population.errors);
    let is_aside = (share.value - 0.5).abs() > ROUNDING;
    let depends = is_aside && (part < 1.0 || doubted > 0.0) && share.tells_correlations();
    let inward = if depends {
        towards_the_middle(share.value, outward, |tested| squared(&share.errors_if(tested)))
    } else {
        outward
    };
    let (mut low, mut high) = if share.value > 0.5 { (inward, outward) } else { (outward, inward) };
    if let Some(successes) = share.successes() {
        let (from, to) = mid_p(successes, share.items().round(), 1.0 - upper);
        (low, high) = (low.min(squared_distance(share.value, from)), high.min(squared_distance(share.value, to)));
    }
    // What makes intervals too wide is that nobody knows how alike the items of a cluster are; single ones are exact as they are.
    let one_sided = normal_quantile(1.0 - 2.0 * (1.0 - upper)) / normal_quantile(upper);
    let ease = 1.0 - (1.0 - CAUTION * one_sided.powi(2)) * in_clusters.powf(EASED);
    let perfect = 1.0 / (1.0 + of(&errors_beforehand(spread)));
    let [low, high] = [low, high].map(|squared| Distance { squared, eased: squared * ease });
    Margin::Wilson { range, low, high, perfect: perfect.max(0.5) }
}

/// Part by which a squared distance is larger for what the study has shown of the belief, where all items of a cluster weigh in one.
fn correction(share: &Share<'_>, correlation: f64) -> f64 {
    let (slope, from) = CORRELATED;
    let failures = share.failures();
    let of_clusters = (CORRECTED_CLUSTERS / share.spread.parts.len() as f64).min(1.0);
    of_clusters * (slope * (correlation - from) + MANY_FAILURES * failures / (failures + 1.0))
}

/// The squared distance at which the end towards the middle of the scale lies, where `squared` says what it is if that end is tested: no end
/// but this is as far as it has to be. The search begins (secants) at the distance that `first` is.
fn towards_the_middle(share: f64, first: f64, squared: impl Fn(f64) -> f64) -> f64 {
    let end = |squared: f64| if share > 0.5 { wilson(share, squared).0 } else { wilson(share, squared).1 };
    let mut before = end(first);
    let mut found = squared(before);
    let (mut tested, mut off_before) = (end(found), end(found) - before);
    for _ in 0..STEPS {
        found = squared(tested);
        let off = end(found) - tested;
        if off.abs() < ROUNDING || (off - off_before).abs() < f64::MIN_POSITIVE {
            break;
        }
        let next = tested - off * (tested - before) / (off - off_before);
        (before, off_before) = (tested, off);
        // The distance changes slowly, so that a secant that leads out of the scale, or beyond the share, is none to follow.
        tested = if (next - 0.5) * (share - 0.5).signum() < (share - 0.5).abs() && (0.0..=1.0).contains(&next) {
            next
        } else {
            end(found)
        };
    }
    found
}

/// The squared distance at which Wilson's interval of a `share` has an `end`.
fn squared_distance(share: f64, end: f64) -> f64 {
    (share - end).powi(2) / (end * (1.0 - end))
}

fn normal_quantile(probability: f64) -> f64 {
    Mixture::new(vec![Component { probability: 1.0, variance: 1.0 }]).quantile(probability)
}

/// Wilson's score interval of a `share`, with the square of a quantile over the number of trials.
fn wilson(share: f64, squared: f64) -> (f64, f64) {
    let middle = (share + squared / 2.0) / (1.0 + squared);
    let half = (share * (1.0 - share) * squared + squared.powi(2) / 4.0).sqrt() / (1.0 + squared);
    ((middle - half).max(0.0), (middle + half).min(1.0))
}

#[cfg(test)]
mod tests;
