//! The score interval of a paired difference, for what sign-flips cannot see.
//!
//! Sign-flips only move clusters in which both differ. Where few do, their interval is too short, and it has no width where none does: two
//! models that agree on forty items may well differ on the next. So a difference on a scale is treated as that of two proportions of the
//! same items, known by how often one alone is right: its interval is Tango's (Statistics in Medicine 17, 1998), of as many items as tell
//! as much (the effective sample size, with a prior variance that few clusters of deviations are drawn towards), with Student's quantile. Where both never differ it is
//! as wide as Wilson's about a proportion of nothing. The interval that is printed holds both, and a margin is passed only where both tests
//! say so: forty items without a difference are no proof that there is none of two points.

use super::clusters::Spread;
use super::population::ROUNDING;
use super::student;

/// Weight of the prior variance, in normal deviates.
const PRIOR_INFORMATION: f64 = 2.0;
/// Correlation of the items of a cluster in the prior variance.
const PRIOR_ALIKENESS: f64 = 0.2;

/// Halvings of a bracket of width 2 at most: below a double's last digit.
const STEPS: u32 = 60;

/// Rates at which two models differ over the same items, as parts of the scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Discordance {
    /// The one is better: the sum of differences in its favour; 0..=1.
    more: f64,
    /// The other is better. Both add up to at most 1.
    less: f64,
}

/// P-values of tests in one direction each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct OneSided {
    /// P-value of "no more", against "it is more".
    pub(crate) more: f64,
    /// P-value of "no less", against "it is less".
    pub(crate) less: f64,
}

impl Discordance {
    /// Discordance of clusters whose differences add up to the whole difference, over a scale of `width`.
    pub(crate) fn of(sums: impl Iterator<Item = f64>, width: f64) -> Self {
        let (mut more, mut less) = (0.0, 0.0);
        for sum in sums {
            more += (sum / width).max(0.0);
            less += (-sum / width).max(0.0);
        }
        let value = (more - less).clamp(-1.0, 1.0);
        // Linearised parts of a ratio may add up to more than there is; models that always differ do so as much as can be.
        let total = (more + less).clamp(value.abs(), 1.0);
        Self { more: f64::midpoint(total, value), less: f64::midpoint(total, -value) }
    }

    fn value(self) -> f64 {
        self.more - self.less
    }

    /// The interval of the difference as a part of the scale, from the `spread` of its clusters over `items`. `upper` is the probability
    /// below its upper end. `None` for a single cluster, which says nothing about how clusters differ.
    pub(crate) fn interval(self, spread: &Spread, width: f64, items: u32, upper: f64) -> Option<(f64, f64)> {
        let trials = self.trials(spread, width, items)?;
        let quantile = student::quantile(upper, spread.freedom(0.0));
        Some((self.end(trials, quantile, -1.0), self.end(trials, quantile, 1.0)))
    }

    /// P-values of "the difference is no more than `bound`", and of "it is no less", over a scale of `width`; `None` as for the interval.
    pub(crate) fn tests(self, spread: &Spread, width: f64, items: u32, bound: f64) -> Option<OneSided> {
        let bound = (bound / width).clamp(-1.0, 1.0);
        let apart = self.value() - bound;
        let trials = self.trials(spread, width, items)?;
        let errors = apart / (self.variance(bound) / trials).sqrt();
        if errors.is_nan() {
            return Some(OneSided { more: 1.0, less: 1.0 });
        }
        let above = student::above(errors, spread.freedom(0.0));
        Some(OneSided { more: above, less: 1.0 - above })
    }

    /// Independent items that would tell as much.
    fn trials(self, spread: &Spread, width: f64, items: u32) -> Option<f64> {
        let most = self.more + self.less - self.value().powi(2);
        Some(effective(spread, spread.variance? / width.powi(2), most, 1.0 / f64::from(items)))
    }

    /// The difference farthest on the `side` of the one seen that is no more than `quantile` standard errors away from it.
    fn end(self, trials: f64, quantile: f64, side: f64) -> f64 {
        let (mut near, mut far) = (self.value(), side);
        for _ in 0..STEPS {
            let middle = f64::midpoint(near, far);
            if (self.value() - middle).powi(2) * trials <= quantile.powi(2) * self.variance(middle) {
                near = middle;
            } else {
                far = middle;
            }
        }
        near
    }

    /// The variance of one item's difference, were the true difference `value` and all else as likely as can be (Tango's closed form).
    fn variance(self, value: f64) -> f64 {
        let (linear, constant) =
            ((2.0 - self.value()) * value - self.more - self.less, -self.less * value * (1.0 - value));
        let root = (linear.powi(2) - 8.0 * constant).max(0.0).sqrt();
        // The same root of the quadratic either way, without the difference of two numbers that are nearly equal.
        let less = match linear > 0.0 {
            true => -2.0 * constant / (linear + root),
            false => (root - linear) / 4.0,
        };
        (2.0 * less + value * (1.0 - value)).max(0.0)
    }
}

/// Independent trials that would tell as much as clusters with this `spread` and a `variance` do, if one trial has at most the variance
/// `most`; `alone` is what the variance of 1 would be of items that are independent.
fn effective(spread: &Spread, variance: f64, most: f64, alone: f64) -> f64 {
    let prior = (1.0 - PRIOR_ALIKENESS) * alone + PRIOR_ALIKENESS * spread.together;
    if most < ROUNDING || variance < ROUNDING.powi(2) {
        return 1.0 / prior;
    }
    let information = information(spread);
    (information + PRIOR_INFORMATION) / (information * variance / most + PRIOR_INFORMATION * prior)
}

/// Normal deviates that would tell the variance as precisely as these clusters do: 2/(kurtosis − 1) of a cluster, at most the number of
/// clusters less one.
fn information(spread: &Spread) -> f64 {
    let count = spread.parts.len() as f64;
    let found =
        if spread.holding < count { 2.0 * spread.holding * count / (count - spread.holding) } else { f64::INFINITY };
    found.min(count - 1.0)
}

#[cfg(test)]
mod tests;
