//! Components of the variance of a paired difference.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Variance of the difference of two models in one session (of one item in one trial), by what varies.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Components {
    /// Between clusters of items; where every item is a cluster, all that is between items.
    pub cluster: f64,
    /// Between the items of a cluster.
    pub item: f64,
    /// Between the trials of an item.
    pub trial: f64,
    /// `true` if `trial` is known: a single trial does not tell it from the rest, which then holds it.
    pub knows_trials: bool,
}

impl Components {
    /// All of the variance of a single session's difference.
    pub(crate) fn in_session(&self) -> f64 {
        self.cluster + self.item + self.trial
    }

    /// The components of `differences`, by trial and then by position of the item: the analysis of variance of a nested design, whose
    /// mean squares have known expectations however unequal its groups are (Searle, Casella and McCulloch 1992, "Variance Components",
    /// section 3.6). What would come out negative is zero. `None` with fewer than two clusters.
    pub(crate) fn of(differences: &[Vec<Option<f64>>], clusters: &[u32]) -> Option<Self> {
        let mut within = Squares::default();
        // Of one over the number of trials, by item.
        let mut inverses = Vec::new();
        let mut of_cluster: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (position, cluster) in clusters.iter().enumerate() {
            let known = differences.iter().filter_map(|trial| trial.get(position).copied().flatten());
            let known: Vec<f64> = known.collect();
            if known.is_empty() {
                continue;
            }
            inverses.push(1.0 / known.len() as f64);
            of_cluster.entry(*cluster).or_default().push(within.add(&known));
        }
        let items = inverses.len() as f64;
        let groups = of_cluster.len() as f64;
        if of_cluster.len() < 2 {
            return None;
        }
        let trial = within.mean().unwrap_or(0.0);
        let of_trials = trial * inverses.iter().sum::<f64>() / items;
        let mut between_items = Squares::default();
        let means: Vec<(f64, f64)> =
            of_cluster.values().map(|items| (items.len() as f64, between_items.add(items))).collect();
        let all = means.iter().map(|(size, mean)| size * mean).sum::<f64>() / items;
        let between = means.iter().map(|(size, mean)| size * (mean - all).powi(2)).sum::<f64>() / (groups - 1.0);
        let size = (items - means.iter().map(|(size, _)| size * size).sum::<f64>() / items) / (groups - 1.0);
        let of_items = between_items.mean().unwrap_or(of_trials);
        Some(Self {
            cluster: ((between - of_items) / size).max(0.0),
            item: (of_items - of_trials).max(0.0),
            trial,
            knows_trials: within.mean().is_some(),
        })
    }
}

/// Squared deviations from the means of several groups.
#[derive(Default)]
struct Squares {
    sum: f64,
    freedom: f64,
}

impl Squares {
    /// Adds a group, and returns its mean.
    fn add(&mut self, group: &[f64]) -> f64 {
        let mean = group.iter().sum::<f64>() / group.len() as f64;
        self.sum += group.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        self.freedom += group.len() as f64 - 1.0;
        mean
    }

    /// `None` where no group has two members.
    fn mean(&self) -> Option<f64> {
        (self.freedom > 0.0).then(|| self.sum / self.freedom)
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{RngCore, SeedableRng};

    use super::*;

    fn close(found: f64, expected: f64) -> bool {
        (found - expected).abs() < 0.1 * expected
    }

    #[test]
    fn every_component_is_found_again() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        // Of variance 1/12 times the square of the width.
        let mut draw = |width: f64| width * (f64::from(random.next_u32()) / f64::from(u32::MAX) - 0.5);
        let (mut trials, mut clusters) = (vec![Vec::new(); 3], Vec::new());
        for cluster in 0..1500 {
            let of_cluster = draw(1.0);
            for _ in 0..=(cluster % 4) {
                clusters.push(cluster);
                let of_item = of_cluster + draw(2.0);
                trials.iter_mut().for_each(|trial| trial.push(Some(of_item + draw(3.0))));
            }
        }
        let found = Components::of(&trials, &clusters).unwrap();
        assert!(found.knows_trials && close(found.cluster, 1.0 / 12.0), "{found:?}");
        assert!(close(found.item, 4.0 / 12.0) && close(found.trial, 9.0 / 12.0), "{found:?}");
    }

    #[test]
    fn a_single_trial_says_nothing_of_trials_and_single_items_are_clusters() {
        let found = Components::of(&[vec![Some(1.0), Some(-1.0), Some(0.0), None]], &[0, 1, 2, 3]).unwrap();
        assert_eq!(found, Components { cluster: 1.0, item: 0.0, trial: 0.0, knows_trials: false });
        assert_eq!(Components::of(&[vec![Some(1.0), Some(0.0)]], &[0, 0]), None);
    }
}
