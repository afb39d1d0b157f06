//! The population that a sample tells of: how much its items vary, and how alike those of a cluster are.
//!
//! Both are needed for the variance of a number within bounds, and few clusters, or few failures, tell little of either. So neither is
//! estimated: every possible value has a probability, and the interval is that of all of them together.

use std::cmp::Ordering;

use super::beta_binomial::{Trials, log_likelihood};
use super::clusters::{Deviations, Part, Spread};
use super::mixture::{Component, Mixture};

/// Probability beforehand that the items of a cluster are independent.
const INDEPENDENT: f64 = 0.55;
/// Possible correlations of the items of a cluster beside 0: the middles of so many equally probable parts of a beta distribution with the
/// parameters 1 and 3.
const CORRELATIONS: u32 = 8;
/// Possible variances of an item, from about what was found to what right or wrong has; all are equally probable beforehand.
const VARIANCES: u32 = 8;
/// Standard errors of the logarithm of the variance that was found by which the least of the possible ones is smaller.
const BELOW_FOUND: f64 = 0.5;

/// Belief about a population once a sample is known.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Population {
    /// Squared standard errors of the mean, over those that a single trial of its proportion would have.
    pub(crate) errors: Mixture,
    /// The mean of the correlations of two items of a cluster, 0..=1.
    pub(crate) correlation: f64,
    /// The variance of an item as it was found, over that of right or wrong; at most 1. Absent where nothing deviates, or only clusters are
    /// told apart.
    pub(crate) found: Option<f64>,
}

/// Deviations, as parts of a scale, that are none.
pub(super) const ROUNDING: f64 = 1e-12;

/// A share whose sample deviates from it by this much.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share<'a> {
    /// The share itself, 0..=1.
    pub(crate) value: f64,
    /// Length of its scale.
    pub(crate) scale: f64,
    pub(crate) spread: &'a Spread,
}

/// A possible value with its probability, of which only the ratios matter.
type Belief = (f64, f64);

impl Share<'_> {
    /// The population, from what the sample tells.
    pub(crate) fn population(&self) -> Population {
        let variances = self.variances();
        let correlations = self.correlations(mean(&variances), None);
        let errors = errors(self.spread, &correlations, &variances);
        Population { errors, correlation: mean(&correlations), found: self.found() }
    }

    /// Squared standard errors from what the sample tells, where its population is tested to have the mean `tested`, which is nearer to the
    /// middle of the scale than the share, or beyond: a sample that has fewer failures than there are looks less alike than it is, too. The
    /// mean that correlations are judged by lies half way to the tested one, and not beyond the middle.
    pub(crate) fn errors_if(&self, tested: f64) -> Mixture {
        let tested = if self.value > 0.5 { tested.max(0.5) } else { tested.min(0.5) };
        let variances = self.variances();
        let correlations = self.correlations(mean(&variances), Some(f64::midpoint(self.mean(), tested)));
        errors(self.spread, &correlations, &variances)
    }

    /// `true` if correlations are told by the sample, and so by the mean that is tested.
    pub(crate) fn tells_correlations(&self) -> bool {
        let Spread { alone, together, variance, .. } = *self.spread;
        let deviates = self.found().is_some() || variance.is_some_and(|variance| self.is_known(variance));
        deviates && together - alone >= ROUNDING
    }

    /// Number of successes, if the items are known to be right or wrong, each a cluster of its own: then it is binomial.
    pub(crate) fn successes(&self) -> Option<f64> {
        let Spread { alone, together, ref parts, .. } = *self.spread;
        let are_single = together - alone < ROUNDING && (parts.len() as f64 * alone - 1.0).abs() < ROUNDING.sqrt();
        (are_single && self.found()? > 1.0 - 1e-9).then(|| (self.value * self.items()).round())
    }

    /// The share with a success and a failure more (Laplace's rule), so that the ends are not certain.
    fn mean(&self) -> f64 {
        (self.value * self.items() + 1.0) / (self.items() + 2.0)
    }

    /// Variances that an item may have, over that of right or wrong.
    fn variances(&self) -> Vec<Belief> {
        match (self.found(), &self.spread.deviations) {
            (Some(found), Some(deviations)) if found < 1.0 - 1e-9 => variances(found, self.information(deviations)),
            _ => vec![(1.0, 1.0)],
        }
    }

    /// `true` if this `variance` is more than rounding, and has one of the proportion's to be compared with.
    pub(crate) fn is_known(&self, variance: f64) -> bool {
        self.value * (1.0 - self.value) > ROUNDING && variance > (ROUNDING * self.scale).powi(2)
    }

    /// The variance of an item over that of right or wrong, at most 1. `None` where nothing deviates, or only clusters are told apart.
    fn found(&self) -> Option<f64> {
        let deviations = self.spread.deviations.filter(|deviations| self.is_known(deviations.squares))?;
        Some(self.relative(deviations.squares / self.spread.alone).min(1.0))
    }

    /// A variance over that of a single trial of the proportion.
    pub(crate) fn relative(&self, variance: f64) -> f64 {
        variance / self.scale.powi(2) / (self.value * (1.0 - self.value))
    }

    /// Number of independent items that would have the same weights.
    pub(crate) fn items(&self) -> f64 {
        1.0 / self.spread.alone
    }

    /// Number of failures or of successes, whichever are fewer.
    pub(crate) fn failures(&self) -> f64 {
        self.items() * self.value.min(1.0 - self.value)
    }

    /// The normal deviates that would tell the variance of an item as precisely: 2/(kurtosis − 1) of each, of items or of clusters,
    /// whichever tell less. One is taken off because a tail that the sample has hardly seen makes its kurtosis too small.
    fn information(&self, Deviations { items, clusters, .. }: &Deviations) -> f64 {
        let of = |holding: f64, number: f64| {
            let holding = (holding - 1.0).max(0.25);
            if holding < number { 2.0 * holding * number / (number - holding) } else { f64::INFINITY }
        };
        let number = self.items();
        of(*items, number).min(of(*clusters, self.spread.parts.len() as f64)).min(number - 1.0)
    }

    /// Possible correlations of the items of a cluster, were the variance of each `variance` times that of right or wrong, and their mean
    /// the `known` one; `None`: that of the sample.
    fn correlations(&self, variance: f64, known: Option<f64>) -> Vec<Belief> {
        if !self.tells_correlations() {
            return prior();
        }
        // A mean that is estimated is as precise as the correlation allows; without a failure it is not.
        let estimated = match known {
            Some(_) => 0.0,
            None => self.failures().min(1.0),
        };
        let mean = known.unwrap_or_else(|| self.mean());
        let parts = counted(&self.spread.parts);
        let log_belief = |(correlation, prior): Belief| {
            let of_part = |part: &Part| {
                let items = part.weight.powi(2) / part.weight_squares;
                let number = items / variance;
                let share = self.value + part.shift / (part.weight * self.scale);
                let trials = Trials { number, successes: (share * number).clamp(0.0, number) };
                // What so many trials must be correlated by to vary as these items do.
                let between = if items > 1.0 + 1e-9 {
                    correlation * variance * (1.0 - 1.0 / items) / (1.0 - 1.0 / number)
                } else {
                    0.0
                };
                log_likelihood(trials, mean, between)
            };
            let error = self.spread.error(correlation);
            prior.ln() + estimated * error.ln() + parts.iter().map(|(part, count)| count * of_part(part)).sum::<f64>()
        };
        let logs: Vec<Belief> = prior().into_iter().map(|belief| (belief.0, log_belief(belief))).collect();
        let most = logs.iter().map(|(_, log)| *log).fold(f64::NEG_INFINITY, f64::max);
        logs.into_iter().map(|(correlation, log)| (correlation, (log - most).exp())).collect()
    }
}

/// The parts that differ, each with how often it is there: most clusters of a sample with few failures are the same.
fn counted(parts: &[Part]) -> Vec<(Part, f64)> {
    let mut sorted = parts.to_vec();
    let key = |part: &Part| [part.weight, part.weight_squares, part.shift];
    let order = |one: &Part, other: &Part| {
        let orders = key(one).into_iter().zip(key(other)).map(|(one, other)| one.total_cmp(&other));
        orders.fold(Ordering::Equal, Ordering::then)
    };
    sorted.sort_by(order);
    sorted.chunk_by(|one, other| order(one, other).is_eq()).map(|same| (same[0], same.len() as f64)).collect()
}

/// Correlations of the items of a cluster as they are believed in before anything is known.
fn prior() -> Vec<Belief> {
    let middle = |at: u32| 1.0 - (1.0 - (f64::from(at) + 0.5) / f64::from(CORRELATIONS)).cbrt();
    let others = (0..CORRELATIONS).map(|at| (middle(at), (1.0 - INDEPENDENT) / f64::from(CORRELATIONS)));
    std::iter::once((0.0, INDEPENDENT)).chain(others).collect()
}

/// Squared standard errors before anything is known, of a proportion.
pub(crate) fn errors_beforehand(spread: &Spread) -> Mixture {
    errors(spread, &prior(), &[(1.0, 1.0)])
}

fn errors(spread: &Spread, correlations: &[Belief], variances: &[Belief]) -> Mixture {
    let components = correlations.iter().flat_map(|(correlation, belief)| {
        variances.iter().map(move |(variance, other)| Component {
            probability: belief * other,
            variance: variance * spread.error(*correlation),
        })
    });
    Mixture::new(components.collect())
}

/// Possible variances of an item from somewhat below `found` to 1, after `information` normal deviates that had `found`.
fn variances(found: f64, information: f64) -> Vec<Belief> {
    // Of many deviates it is the standard error; where hardly anything is known, nothing speaks for less than was found.
    let least = found.ln() - BELOW_FOUND * (2.0 * information).sqrt() / (information + 1.0);
    let belief = |at: u32| {
        // Steps of the logarithm, so that each stands for as much of the scale as it is large.
        let log = least * (1.0 - (f64::from(at) + 0.5) / f64::from(VARIANCES));
        let variance = log.exp();
        let likelihood = -information / 2.0 * ((log - found.ln()) + found / variance - 1.0);
        (variance, variance * likelihood.exp())
    };
    (0..VARIANCES).map(belief).collect()
}

fn mean(beliefs: &[Belief]) -> f64 {
    let all: f64 = beliefs.iter().map(|(_, belief)| belief).sum();
    beliefs.iter().map(|(value, belief)| value * belief).sum::<f64>() / all
}
