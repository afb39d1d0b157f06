//! Standard errors that know which items are not independent.

use std::collections::BTreeMap;

use super::student::quantile_97_5;

/// Sums of what items contribute, by cluster.
#[derive(Default)]
pub(crate) struct Clusters {
    sums: BTreeMap<u32, f64>,
    items: u32,
}

/// Half of a 95 % interval, and how many independent clusters stand behind it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    /// `None` for fewer than two clusters: one says nothing about how they differ.
    pub(crate) half: Option<f64>,
    pub(crate) clusters: u32,
}

impl Clusters {
    /// Adds the contribution of an item of `cluster`.
    pub(crate) fn add(&mut self, cluster: u32, contribution: f64) {
        *self.sums.entry(cluster).or_default() += contribution;
        self.items += 1;
    }

    /// Of a mean over the items, whose deviations from it were added.
    pub(crate) fn of_mean(&self) -> Spread {
        let (clusters, items) = (self.sums.len() as f64, f64::from(self.items));
        let squares: f64 = self.sums.values().map(|sum| sum.powi(2)).sum();
        self.spread((squares / (clusters - 1.0) / clusters) * (clusters / items).powi(2))
    }

    /// Of an estimate to which the items' linearised influences were added (Taylor's linearisation, as survey statistics uses it).
    pub(crate) fn of_influences(&self) -> Spread {
        let clusters = self.sums.len() as f64;
        let squares: f64 = self.sums.values().map(|sum| sum.powi(2)).sum();
        self.spread(squares * clusters / (clusters - 1.0))
    }

    fn spread(&self, variance: f64) -> Spread {
        let clusters = self.sums.len() as u32;
        let half = (clusters > 1).then(|| quantile_97_5(clusters - 1) * variance.sqrt());
        Spread { half, clusters }
    }
}
