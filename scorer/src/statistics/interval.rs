//! Intervals of numbers that lie within bounds.
//!
//! Student's interval about a mean near an end of its range is too short on the side that matters, and has no width at all where every
//! item scored the same. So a number within bounds is treated as a proportion of its range: its variance says how many independent
//! trials of that proportion would have told as much (the effective sample size, as for surveys of small proportions: E. L. Korn and
//! B. I. Graubard, Survey Methodology 24, 1998), and Wilson's interval (J. Amer. Statist. Assoc. 22, 1927) is taken of so many, with
//! Student's quantile in the place of the normal one. Few clusters tell little of their own variance, and least where only one or two
//! of them hold any deviation; there it is drawn towards what a proportion would have. `docs/statistics.md` has the coverage.

use regatta_proto::Level;

use super::clusters::Spread;
use super::student;

/// Weight of the prior variance, in normal deviates.
const PRIOR_INFORMATION: f64 = 2.0;
/// Correlation of the items of a cluster in the prior variance. This and the belief in it are what covers best in the coverage study.
const PRIOR_ALIKENESS: f64 = 0.2;

/// Deviations, as parts of a scale, that are none.
const ROUNDING: f64 = 1e-12;

/// Where a number can lie.
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
    /// Of a proportion of a range: Wilson's.
    Wilson {
        /// Ends of the range.
        range: (f64, f64),
        /// Independent trials of a proportion that would tell as much.
        effective: f64,
        /// Student's quantile.
        quantile: f64,
    },
    /// So much to either side, but not beyond a range.
    Student {
        /// Half the width.
        half: f64,
        /// Ends of the range.
        range: (f64, f64),
    },
}

impl Margin {
    /// Of an estimate of `value` in `range` over clusters. `None` for a single cluster, and where items that are all alike leave no
    /// measure of what is unseen because the range is no scale.
    pub(crate) fn over_clusters(value: f64, range: Range, spread: &Spread, level: Level) -> Option<Self> {
        let variance = spread.variance?;
        let prior = (1.0 - PRIOR_ALIKENESS) * spread.alone + PRIOR_ALIKENESS * spread.together;
        let Some(ratio) = relative(value, range, variance, spread.information, prior) else {
            let half = spread.half(level).filter(|half| *half > ROUNDING * value.abs())?;
            return Some(Self::Student { half, range: range.ends() });
        };
        let range = range.ends();
        let quantile = student::quantile(level.upper(), spread.freedom(spread.alikeness(ratio)));
        Some(Self::Wilson { range, effective: 1.0 / ratio, quantile })
    }

    /// Of an estimate of `value` in `range` with a `variance` that has `freedom` degrees of freedom, from `sessions` that count alike.
    pub(crate) fn of_variance(
        value: f64,
        range: Range,
        variance: f64,
        freedom: f64,
        sessions: f64,
        level: Level,
    ) -> Option<Self> {
        let quantile = student::quantile(level.upper(), freedom);
        let information = if variance > 0.0 { freedom } else { 0.0 };
        match relative(value, range, variance, information, 1.0 / sessions) {
            Some(ratio) => Some(Self::Wilson { range: range.ends(), effective: 1.0 / ratio, quantile }),
            None => {
                let half = quantile * variance.sqrt();
                (half > ROUNDING * value.abs()).then_some(Self::Student { half, range: range.ends() })
            }
        }
    }

    /// The interval about `value`.
    pub(crate) fn around(&self, value: f64) -> (f64, f64) {
        match *self {
            Self::Student { half, range: (from, to) } => {
                ((value - half).max(from.min(value)), (value + half).min(to.max(value)))
            }
            Self::Wilson { range: (from, to), effective, quantile } => {
                let share = ((value - from) / (to - from)).clamp(0.0, 1.0);
                let (low, high) = wilson(share, effective, quantile);
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

/// The variance over that of one trial of a proportion: 1 over the effective sample size. `None` of what is no scale.
fn relative(value: f64, range: Range, variance: f64, information: f64, prior: f64) -> Option<f64> {
    let Range::Scale { from, to } = range else { return None };
    let width = to - from;
    let share = ((value - from) / width).clamp(0.0, 1.0);
    let most = share * (1.0 - share);
    let found = variance / width.powi(2);
    // Where all score the same nothing is found but rounding, and the prior stands alone.
    if most < ROUNDING || found < ROUNDING.powi(2) {
        return Some(prior);
    }
    Some(drawn_to(prior, found / most, information))
}

/// The relative variance that was `found` with so much `information`, drawn towards the `prior`.
fn drawn_to(prior: f64, found: f64, information: f64) -> f64 {
    (information * found + PRIOR_INFORMATION * prior) / (information + PRIOR_INFORMATION)
}

/// Independent trials that would tell as much as clusters with this `spread` and a `variance` do, if one trial has at most the variance
/// `most`; `alone` is what the variance of 1 would be of items that are independent.
pub(crate) fn effective(spread: &Spread, variance: f64, most: f64, alone: f64) -> f64 {
    let prior = (1.0 - PRIOR_ALIKENESS) * alone + PRIOR_ALIKENESS * spread.together;
    if most < ROUNDING || variance < ROUNDING.powi(2) {
        return 1.0 / prior;
    }
    1.0 / drawn_to(prior, variance / most, spread.information)
}

/// Wilson's score interval of a `share` of `trials`.
fn wilson(share: f64, trials: f64, quantile: f64) -> (f64, f64) {
    let squared = quantile.powi(2) / trials;
    let middle = (share + squared / 2.0) / (1.0 + squared);
    let half = (share * (1.0 - share) * squared + squared.powi(2) / 4.0).sqrt() / (1.0 + squared);
    ((middle - half).max(0.0), (middle + half).min(1.0))
}

#[cfg(test)]
mod tests;
