//! Standard errors that know which items are not independent.
//!
//! The variance is the bias-reduced one of cluster-robust inference (CR2), its degrees of freedom are Satterthwaite's: R. M. Bell and
//! D. F. McCaffrey, "Bias reduction in standard errors for linear regression with multi-stage samples", Survey Methodology 28 (2002).

use std::collections::BTreeMap;

use regatta_proto::Level;

use super::student;

/// Linearised influence of an item on an estimate, and its part in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Influence {
    /// By how much the item moves the estimate from what it would be if the item were like the others.
    pub(crate) shift: f64,
    /// The item's part of what the estimate averages over, in any unit: for a mean 1, for a ratio what it has below the line.
    pub(crate) weight: f64,
}

/// Contribution of the items of one cluster together.
#[derive(Debug, Clone, Copy, Default)]
struct Cluster {
    shift: f64,
    weight: f64,
    /// Of the single items' weights.
    weight_squares: f64,
}

/// Influences of items, by cluster.
#[derive(Debug, Default)]
pub(crate) struct Clusters {
    by: BTreeMap<u32, Cluster>,
    shift_squares: f64,
}

/// Variance of an estimate, and the clusters that it is known from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Spread {
    /// Independent clusters that have an influence.
    pub(crate) clusters: u32,
    /// Squared standard error; `None` where a single cluster has all the weight: one says nothing about how they differ.
    pub(crate) variance: Option<f64>,
    /// The normal deviates that would tell the variance as precisely as these clusters do. A few clusters that hold all the deviation
    /// tell little, however many others there are: it is 2/(kurtosis − 1) of a cluster, at most the number of clusters less one.
    pub(crate) information: f64,
    /// Sum of the items' squared weights, which add up to 1: the variance of the mean of independent items of variance 1.
    pub(crate) alone: f64,
    /// The same of clusters: the variance if the items of each were all alike.
    pub(crate) together: f64,
    /// Design effect: the variance over that of independent items.
    design_effect: f64,
    /// Weights of the clusters, and sums of their items' squared weights.
    weights: Vec<(f64, f64)>,
}

impl Clusters {
    /// Adds an item of `cluster`.
    pub(crate) fn add(&mut self, cluster: u32, influence: Influence) {
        let sums = self.by.entry(cluster).or_default();
        sums.shift += influence.shift;
        sums.weight += influence.weight;
        sums.weight_squares += influence.weight.powi(2);
        self.shift_squares += influence.shift.powi(2);
    }

    /// The spread of the estimate whose influences were added.
    pub(crate) fn spread(&self) -> Spread {
        let all: f64 = self.by.values().map(|cluster| cluster.weight).sum();
        let weighty = || self.by.values().filter(|cluster| cluster.weight > 0.0);
        let weights: Vec<(f64, f64)> =
            weighty().map(|cluster| (cluster.weight / all, cluster.weight_squares / all.powi(2))).collect();
        // A cluster pulls the estimate towards itself, so that its deviation is too small by what it weighs.
        let squares: Vec<f64> =
            weighty().zip(&weights).map(|(cluster, (weight, _))| cluster.shift.powi(2) / (1.0 - weight)).collect();
        let count = weights.len() as f64;
        let is_known = weights.len() > 1 && squares.iter().all(|square| square.is_finite());
        let variance: f64 = squares.iter().sum();
        let fourth: f64 = squares.iter().map(|square| square.powi(2)).sum();
        let holding = if fourth > 0.0 { variance.powi(2) / fourth } else { 0.0 };
        let information = if holding < count { 2.0 * holding * count / (count - holding) } else { f64::INFINITY };
        Spread {
            clusters: self.by.len() as u32,
            variance: is_known.then_some(variance),
            information: information.min(count - 1.0),
            alone: weights.iter().map(|(_, squares)| squares).sum(),
            together: weights.iter().map(|(weight, _)| weight.powi(2)).sum(),
            design_effect: if self.shift_squares > 0.0 { variance / self.shift_squares } else { 1.0 },
            weights,
        }
    }
}

/// The spread of an estimate from the influences of its items, each with its cluster.
pub(crate) fn spread(influences: impl Iterator<Item = (u32, Influence)>) -> Spread {
    let mut clusters = Clusters::default();
    influences.for_each(|(cluster, influence)| clusters.add(cluster, influence));
    clusters.spread()
}

impl Spread {
    /// The correlation of the items of a cluster at which the variance would be `ratio` times that of the same items, if those were
    /// independent and of variance 1; 0..=1.
    pub(crate) fn alikeness(&self, ratio: f64) -> f64 {
        let room = self.together - self.alone;
        if room > 0.0 { ((ratio - self.alone) / room).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Satterthwaite's degrees of freedom of the variance, were the correlation of the items of a cluster `alikeness`.
    pub(crate) fn freedom(&self, alikeness: f64) -> f64 {
        // Cluster i's adjusted deviation is a linear form of the items; `cov` of two such forms has this much on its diagonal …
        let between = |alone: f64, together: f64| (1.0 - alikeness) * alone + alikeness * together;
        let all = between(self.alone, self.together);
        let clusters = || {
            self.weights.iter().map(|(weight, squares)| {
                let own = between(*squares, weight.powi(2));
                (1.0 / (1.0 - weight), *weight, own, own - 2.0 * weight * own + weight.powi(2) * all)
            })
        };
        let trace: f64 = clusters().map(|(adjusted, _, _, diagonal)| adjusted * diagonal).sum();
        let diagonal: f64 = clusters().map(|(adjusted, _, _, diagonal)| (adjusted * diagonal).powi(2)).sum();
        // … and w_i w_j·all − w_j·own_i − w_i·own_j beside it, whose squares are summed without going through all pairs.
        let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
            clusters().map(|(adjusted, weight, own, _)| adjusted * of(weight, own)).sum()
        };
        let (squared, mixed, owned) = (sum(&|w, _| w * w), sum(&|w, own| w * own), sum(&|_, own| own * own));
        let with_self: f64 = clusters()
            .map(|(adjusted, weight, own, _)| (adjusted * (2.0 * weight * own - weight.powi(2) * all)).powi(2))
            .sum();
        let beside = 2.0 * owned * squared + all.powi(2) * squared.powi(2) + 2.0 * mixed.powi(2)
            - 4.0 * all * mixed * squared
            - with_self;
        // A form has at least one degree of freedom, whatever rounding says.
        (trace.powi(2) / (diagonal + beside)).max(1.0)
    }

    /// Half of Student's interval, for what has no bounds that its distribution leans on.
    pub(crate) fn half(&self, level: Level) -> Option<f64> {
        let variance = self.variance?;
        let alikeness = self.alikeness(self.design_effect * self.alone);
        Some(student::quantile(level.upper(), self.freedom(alikeness)) * variance.sqrt())
    }
}

#[cfg(test)]
pub(super) mod tests;
