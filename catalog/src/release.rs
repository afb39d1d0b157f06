//! The order in which an adaptive sweep buys the items of a setting.
//!
//! Units are the groups of items whose scores are not independent; an item without a group is one by itself. Their order is a random
//! permutation, drawn by the sweep's seed, benchmark and name of the unit: the same for all models and trials, so that models are compared
//! over the same units, and uniform over all units, because only then is the value of the next unit what the sequences bet on. A draw that
//! kept the weights of tasks in every part (stratified) would break that.

use std::collections::BTreeMap;

use regatta_benchmarks::Dataset;
use regatta_proto::{BenchmarkName, Digest, ItemIndex};

/// Items in the order in which an adaptive sweep buys them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Release {
    /// All selected items.
    pub items: Vec<ItemIndex>,
    /// Number of items in the first unit, in the first two units, and so on.
    pub ends: Vec<usize>,
}

impl Release {
    /// The order of the `selected` items of `suite`.
    pub(crate) fn new(suite: &dyn Dataset, benchmark: &BenchmarkName, selected: &[ItemIndex], seed: u64) -> Self {
        let mut units: BTreeMap<Digest, Vec<ItemIndex>> = BTreeMap::new();
        for index in selected {
            let Some(item) = suite.items().get(index.0 as usize) else { continue };
            let (kind, name) = match &item.group {
                Some(group) => (b"group".as_slice(), group.as_bytes()),
                None => (b"item".as_slice(), item.id.as_str().as_bytes()),
            };
            let seed = seed.to_le_bytes();
            let ticket =
                Digest::of_parts([b"regatta/release/1".as_slice(), &seed, benchmark.as_str().as_bytes(), kind, name]);
            units.entry(ticket).or_default().push(*index);
        }
        let mut release = Self::default();
        for unit in units.into_values() {
            release.items.extend(unit);
            release.ends.push(release.items.len());
        }
        release
    }

    /// Items of each unit, in order.
    #[must_use]
    pub fn sizes(&self) -> Vec<u32> {
        let from = std::iter::once(0).chain(self.ends.iter().copied());
        from.zip(&self.ends).map(|(from, end)| (end - from) as u32).collect()
    }

    /// Number of items in the first `units` units.
    #[must_use]
    pub fn items_of(&self, units: usize) -> usize {
        units.checked_sub(1).and_then(|last| self.ends.get(last)).copied().unwrap_or(0)
    }
}
