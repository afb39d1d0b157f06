//! Numbers that are no means over items, with how each item moves them.

use super::clusters::{Clusters, Influence, Spread};
use super::sample::Samples;

/// A number with the linearised influence of every item on it: influences of several numbers add up as the numbers do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Linear {
    pub(crate) value: f64,
    /// In the order of the positions; `None`: nothing of the item could vary.
    pub(crate) by_item: Vec<Option<Influence>>,
    /// The number that each trial has by itself.
    pub(crate) trials: Vec<Option<f64>>,
}

impl Linear {
    /// The spread of the items' influences, and how many items have one.
    pub(crate) fn spread(&self, positions: &[usize], clusters: &[u32]) -> (Spread, u32) {
        let mut sums = Clusters::default();
        let mut n = 0;
        for (position, influence) in positions.iter().zip(&self.by_item) {
            let Some(influence) = influence else { continue };
            sums.add(clusters[*position], *influence);
            n += 1;
        }
        (sums.spread(), n)
    }

    /// The difference of this number and `other`, of the same items.
    pub(crate) fn less(&self, other: &Self) -> Self {
        const NONE: Influence = Influence { shift: 0.0, weight: 0.0 };
        let less = |(one, other): (&Option<Influence>, &Option<Influence>)| {
            let is_any = one.is_some() || other.is_some();
            let (one, other) = (one.unwrap_or(NONE), other.unwrap_or(NONE));
            is_any
                .then(|| Influence { shift: one.shift - other.shift, weight: f64::midpoint(one.weight, other.weight) })
        };
        let by_item = self.by_item.iter().zip(&other.by_item).map(less).collect();
        let trials = self.trials.iter().zip(&other.trials).map(|(one, other)| Some((*one)? - (*other)?)).collect();
        Self { value: self.value - other.value, by_item, trials }
    }
}

/// The number `of` each trial by itself, in the order of the trials.
pub(crate) fn single_trials(samples: &Samples<'_>, of: impl Fn(&Samples<'_>) -> Option<f64>) -> Vec<Option<f64>> {
    samples.trials.chunks(1).map(|trials| of(&Samples { trials, ..*samples })).collect()
}
