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
    /// Sum of the squares of the single items' weights.
    weight_squares: f64,
    /// Sum of the squares of the single items' shifts.
    shift_squares: f64,
}

/// Influences of items, by cluster.
#[derive(Debug, Default)]
pub(crate) struct Clusters {
    by: BTreeMap<u32, Cluster>,
    /// Sum of the single items' shifts to the power of four.
    shift_fourths: f64,
}

/// One cluster's part in an estimate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Part {
    /// Share of all weight, 0..=1.
    pub(crate) weight: f64,
    /// Sum of its items' squared weights, on the same scale.
    pub(crate) weight_squares: f64,
    /// Sum of its items' shifts.
    pub(crate) shift: f64,
}

/// The deviations of single items from the estimate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Deviations {
    /// Sum of the squared shifts.
    pub(crate) squares: f64,
    /// Number of items that hold them: the square of the sum of squares over the sum of their squares. A single item that deviates is one.
    pub(crate) items: f64,
    /// The same of clusters, whose parts are the sums of their items' squares.
    pub(crate) clusters: f64,
}

/// Variance of an estimate, and the clusters that it is known from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Spread {
    /// Independent clusters that have an influence.
    pub(crate) clusters: u32,
    /// Squared standard error; `None` where a single cluster has all the weight: one says nothing about how they differ.
    pub(crate) variance: Option<f64>,
    /// Number of clusters that hold the variance: its square over the sum of its parts' squares. A few that hold it all tell little of it,
    /// however many others there are.
    pub(crate) holding: f64,
    /// Sum of the items' squared weights, which add up to 1: the variance of the mean of independent items of variance 1.
    pub(crate) alone: f64,
    /// The same of clusters: the variance if the items of each were all alike.
    pub(crate) together: f64,
    /// Deviations of single items; `None` where only clusters are told apart.
    pub(crate) deviations: Option<Deviations>,
    /// The clusters that have weight.
    pub(crate) parts: Vec<Part>,
    /// Design effect: the variance over that of independent items.
    design_effect: f64,
}

impl Clusters {
    /// Adds an item of `cluster`.
    pub(crate) fn add(&mut self, cluster: u32, influence: Influence) {
        let sums = self.by.entry(cluster).or_default();
        sums.shift += influence.shift;
        sums.weight += influence.weight;
        sums.weight_squares += influence.weight.powi(2);
        sums.shift_squares += influence.shift.powi(2);
        self.shift_fourths += influence.shift.powi(4);
    }

    /// The spread of the estimate whose influences were added.
    pub(crate) fn spread(&self) -> Spread {
        let all: f64 = self.by.values().map(|cluster| cluster.weight).sum();
        let weighty = || self.by.values().filter(|cluster| cluster.weight > 0.0);
        let part = |cluster: &Cluster| Part {
            weight: cluster.weight / all,
            weight_squares: cluster.weight_squares / all.powi(2),
            shift: cluster.shift,
        };
        let parts: Vec<Part> = weighty().map(part).collect();
        // A cluster pulls the estimate towards itself, so that its deviation is too small by what it weighs.
        let squares: Vec<f64> = parts.iter().map(|part| part.shift.powi(2) / (1.0 - part.weight)).collect();
        let is_known = parts.len() > 1 && squares.iter().all(|square| square.is_finite());
        let variance: f64 = squares.iter().sum();
        let shift_squares = || self.by.values().map(|cluster| cluster.shift_squares);
        let of_items: f64 = shift_squares().sum();
        Spread {
            clusters: self.by.len() as u32,
            variance: is_known.then_some(variance),
            holding: holding(variance, squares.iter().map(|square| square.powi(2)).sum()),
            alone: parts.iter().map(|part| part.weight_squares).sum(),
            together: parts.iter().map(|part| part.weight.powi(2)).sum(),
            deviations: Some(Deviations {
                squares: of_items,
                items: holding(of_items, self.shift_fourths),
                clusters: holding(of_items, shift_squares().map(|square| square.powi(2)).sum()),
            }),
            design_effect: if of_items > 0.0 { variance / of_items } else { 1.0 },
            parts,
        }
    }
}

/// Number of equal parts that have this `sum` and this sum of `squares`; 0 where there is nothing.
fn holding(sum: f64, squares: f64) -> f64 {
    if squares > 0.0 { sum.powi(2) / squares } else { 0.0 }
}

/// The spread of an estimate from the influences of its items, each with its cluster.
pub(crate) fn spread(influences: impl Iterator<Item = (u32, Influence)>) -> Spread {
    let mut clusters = Clusters::default();
    influences.for_each(|(cluster, influence)| clusters.add(cluster, influence));
    clusters.spread()
}

impl Spread {
    /// The same where items stand for their cluster, and nothing is known of how they differ within it.
    pub(crate) fn of_whole_clusters(self) -> Self {
        Self { deviations: None, ..self }
    }

    /// The correlation of the items of a cluster at which the variance would be `ratio` times that of the same items, if those were
    /// independent and of variance 1; 0..=1.
    pub(crate) fn alikeness(&self, ratio: f64) -> f64 {
        let room = self.together - self.alone;
        if room > 0.0 { ((ratio - self.alone) / room).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// The variance of the mean of items of variance 1, were the correlation of those of a cluster `alikeness`.
    pub(crate) fn error(&self, alikeness: f64) -> f64 {
        (1.0 - alikeness) * self.alone + alikeness * self.together
    }

    /// Satterthwaite's degrees of freedom of the variance, were the correlation of the items of a cluster `alikeness`.
    pub(crate) fn freedom(&self, alikeness: f64) -> f64 {
        // Cluster i's adjusted deviation is a linear form of the items; `cov` of two such forms has this much on its diagonal …
        let between = |alone: f64, together: f64| (1.0 - alikeness) * alone + alikeness * together;
        let all = self.error(alikeness);
        let clusters = || {
            self.parts.iter().map(|Part { weight, weight_squares, .. }| {
                let own = between(*weight_squares, weight.powi(2));
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
        Some(student::quantile(level.upper(), self.own_freedom()) * variance.sqrt())
    }

    /// The two-sided p-value of 0, of an estimate of `value`: at most the rest of a level where its interval does not hold 0.
    pub(crate) fn p(&self, value: f64) -> Option<f64> {
        let errors = value.abs() / self.variance.filter(|variance| *variance > 0.0)?.sqrt();
        Some(2.0 * student::above(errors, self.own_freedom()))
    }

    /// Degrees of freedom at the correlation that the items show.
    fn own_freedom(&self) -> f64 {
        self.freedom(self.alikeness(self.design_effect * self.alone))
    }
}

#[cfg(test)]
pub(super) mod tests;
