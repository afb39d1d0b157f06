//! Power of the test of a paired difference.
//!
//! Cluster sign-flips refuse what Student's t over clusters refuses, up to terms that vanish with their number, so the power is that of
//! the t-test: the noncentral t in the approximation of Johnson and Welch (1940, "Applications of the non-central t-distribution").
//! McNemar's exact test, of single items that are right or wrong once, loses about one discordant item to being discrete.

use super::components::Components;
use super::normal::cumulative;
use super::student::quantile;

/// So many clusters have their sign-flips counted one by one: their smallest p-value is two over the number of patterns.
const ALL_FLIPS: u32 = 16;

/// Trials, items and clusters that are run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Design {
    /// Items.
    pub(crate) items: f64,
    /// Independent clusters that these make up.
    pub(crate) clusters: u32,
    /// Sum over the clusters of the squares of their sizes.
    pub(crate) squares: f64,
    /// Trials of each item; infinite for what no number of trials betters.
    pub(crate) trials: f64,
}

/// Level and test at which a difference counts as found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Threshold {
    /// Largest p-value that counts as a difference, corrections for several comparisons included; between 0 and 1.
    pub(crate) level: f64,
    /// `true` if every session is right or wrong, so that one trial of single items has McNemar's test.
    pub(crate) is_binary: bool,
}

impl Design {
    /// The design whose clusters are these, one entry for each item.
    pub(crate) fn of(clusters: &[u32], trials: u32) -> Self {
        let mut sizes = std::collections::BTreeMap::<u32, f64>::new();
        clusters.iter().for_each(|cluster| *sizes.entry(*cluster).or_default() += 1.0);
        Self {
            items: clusters.len() as f64,
            clusters: sizes.len() as u32,
            squares: sizes.values().map(|size| size * size).sum(),
            trials: f64::from(trials),
        }
    }

    /// The same with so many clusters of the same sizes.
    pub(crate) fn with_clusters(self, clusters: u32) -> Self {
        let times = f64::from(clusters) / f64::from(self.clusters);
        Self { items: self.items * times, clusters, squares: self.squares * times, ..self }
    }

    /// Variance of the mean difference.
    fn variance(&self, of: &Components) -> f64 {
        of.cluster * self.squares / (self.items * self.items) + (of.item + of.trial / self.trials) / self.items
    }

    /// `true` if the test can refuse anything at all.
    fn can_refuse(&self, test: Threshold) -> bool {
        let is_counted = self.clusters <= ALL_FLIPS;
        self.clusters > 1 && !(is_counted && 2.0 * 0.5_f64.powi(self.clusters as i32) > test.level)
    }

    /// The probability that a true difference of `effect` is found; 0 where `of` is nothing, as of models that agreed wherever they were
    /// compared: that says nothing of how they vary where they differ.
    pub(crate) fn power(&self, of: &Components, test: Threshold, effect: f64) -> f64 {
        let in_session = of.in_session();
        if !self.can_refuse(test) || in_session == 0.0 {
            return 0.0;
        }
        // What is right or wrong differs by -1, 0 or 1, so that it differs in a part |e| of the sessions at least to differ by e.
        let least = if test.is_binary { effect.abs() - effect.powi(2) } else { 0.0 };
        let stretched = (least / in_session).max(1.0);
        let is_mcnemar = test.is_binary && self.trials <= 1.0 && f64::from(self.clusters) >= self.items;
        let effect = if is_mcnemar { effect.abs() - 1.0 / self.items } else { effect.abs() };
        let error = (stretched * self.variance(of)).sqrt();
        // So many trials that nothing else is left of the variance.
        if error == 0.0 {
            return f64::from(u8::from(effect > 0.0));
        }
        let freedom = f64::from(self.clusters - 1);
        let critical = quantile(1.0 - test.level / 2.0, f64::from(self.clusters) - 1.0);
        let scale = (1.0 + critical * critical / (2.0 * freedom)).sqrt();
        let central = critical * (1.0 - 1.0 / (4.0 * freedom));
        let shift = effect / error;
        cumulative((shift - central) / scale) + cumulative((-shift - central) / scale)
    }

    /// The smallest true difference that is found with probability `power`; `None` where the test can refuse nothing, and where `of` is
    /// nothing.
    pub(crate) fn smallest_effect(&self, of: &Components, test: Threshold, power: f64) -> Option<f64> {
        if !self.can_refuse(test) || of.in_session() == 0.0 {
            return None;
        }
        let (mut low, mut high) = (0.0, 1e-6);
        while self.power(of, test, high) < power && high < 1e12 {
            high *= 2.0;
        }
        for _ in 0..80 {
            let middle = f64::midpoint(low, high);
            if self.power(of, test, middle) < power {
                low = middle;
            } else {
                high = middle;
            }
        }
        Some(high)
    }

    /// The smallest number of trials, up to `most`, with which `effect` is found with probability `power`.
    pub(crate) fn trials_needed(
        &self,
        of: &Components,
        test: Threshold,
        effect: f64,
        power: f64,
        most: u32,
    ) -> Option<u32> {
        let finds = |trials: u32| Self { trials: f64::from(trials), ..*self }.power(of, test, effect) >= power;
        first(1, most, finds)
    }

    /// The smallest number of clusters, up to `most`, with which `effect` is found with probability `power`.
    pub(crate) fn clusters_needed(
        &self,
        of: &Components,
        test: Threshold,
        effect: f64,
        power: f64,
        most: u32,
    ) -> Option<u32> {
        first(2, most, |clusters| self.with_clusters(clusters).power(of, test, effect) >= power)
    }
}

/// The first number of `from..=most` of which `holds` is true, if it stays true from there on.
fn first(from: u32, most: u32, holds: impl Fn(u32) -> bool) -> Option<u32> {
    if from > most || !holds(most) {
        return None;
    }
    let (mut low, mut high) = (from, most);
    while low < high {
        let middle = low.midpoint(high);
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(low)
}

#[cfg(test)]
mod tests;
