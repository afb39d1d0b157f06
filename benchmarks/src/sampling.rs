//! Selection of a sweep's items: all, the first of each task, or a sample that keeps the proportions of the tasks.

mod sharing;

use std::collections::{BTreeMap, BTreeSet};

use regatta_proto::{BenchmarkName, Digest, ItemId, ItemIndex, Limit, Setting};

pub use self::sharing::{SampledBenchmark, SharingError, limits_within};
use crate::{Dataset, Item, SampledBy, SelectError};

/// Selects the items of `setting` and `tasks` (all tasks when empty) that a sweep with this `seed` runs, in ascending
/// order.
///
/// A sample depends on the seed, the benchmark and the items alone, so all models and trials get the same one.
/// Settings with the same items get the same sample.
///
/// # Errors
/// As [`Dataset::select`].
pub fn select_items(
    suite: &dyn Dataset,
    benchmark: &BenchmarkName,
    setting: &Setting,
    tasks: &[String],
    limit: Option<Limit>,
    seed: u64,
) -> Result<Vec<ItemIndex>, SelectError> {
    match limit {
        None => suite.select(setting, tasks, None),
        Some(Limit::First(count)) => suite.select(setting, tasks, Some(count)),
        Some(Limit::Sample(count)) => {
            let from = suite.select(setting, tasks, None)?;
            let urn = Urn { benchmark, seed };
            Ok(urn.draw(suite.items(), &from, suite.sampled_by(), count))
        }
    }
}

/// Selects the canaries of `setting`, in ascending order: the items that a sample of `count` has, so that they are the same whatever part of
/// the items a sweep runs.
///
/// # Errors
/// As [`Dataset::select`].
pub fn canary_items(
    suite: &dyn Dataset,
    benchmark: &BenchmarkName,
    setting: &Setting,
    tasks: &[String],
    count: Option<u32>,
    seed: u64,
) -> Result<BTreeSet<ItemIndex>, SelectError> {
    let Some(count) = count else { return Ok(BTreeSet::new()) };
    let drawn = select_items(suite, benchmark, setting, tasks, Some(Limit::Sample(count)), seed)?;
    Ok(drawn.into_iter().collect())
}

/// The `selected` ones among `items` that a spec lists; all of them when it lists none. Their order is that of `selected`, whatever the list's.
#[must_use]
pub fn listed_items(items: &[Item], selected: Vec<ItemIndex>, listed: &[ItemId]) -> Vec<ItemIndex> {
    if listed.is_empty() {
        return selected;
    }
    let listed: BTreeSet<&ItemId> = listed.iter().collect();
    let is_listed = |index: &ItemIndex| items.get(index.0 as usize).is_some_and(|item| listed.contains(&item.id));
    selected.into_iter().filter(is_listed).collect()
}

/// The selected items with the canaries that are not among them, in ascending order.
#[must_use]
pub fn with_canaries(selected: Vec<ItemIndex>, canaries: &BTreeSet<ItemIndex>) -> Vec<ItemIndex> {
    if canaries.is_empty() {
        return selected;
    }
    let all: BTreeSet<ItemIndex> = selected.into_iter().chain(canaries.iter().copied()).collect();
    all.into_iter().collect()
}

/// Inputs of the draw: the seed and the benchmark's name.
struct Urn<'a> {
    benchmark: &'a BenchmarkName,
    seed: u64,
}

impl Urn<'_> {
    /// Draws `count` units among the items at `from`, or all units when there are no more than `count`.
    fn draw(&self, items: &[Item], from: &[ItemIndex], unit: SampledBy, count: u32) -> Vec<ItemIndex> {
        let known = || from.iter().filter_map(|index| Some((*index, items.get(index.0 as usize)?)));
        let mut strata: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (_, item) in known() {
            strata.entry(&item.task).or_default().insert(name(item, unit));
        }
        let sizes: BTreeMap<&str, u64> = strata.iter().map(|(task, units)| (*task, units.len() as u64)).collect();
        let counts = self.apportion(&sizes, u64::from(count));
        let mut drawn: BTreeSet<(&str, &str)> = BTreeSet::new();
        for (task, units) in &strata {
            let mut order: Vec<(Digest, &str)> = units.iter().map(|unit| (self.ticket(unit), *unit)).collect();
            order.sort();
            let taken = counts.get(task).copied().unwrap_or(0) as usize;
            drawn.extend(order.into_iter().take(taken).map(|(_, unit)| (*task, unit)));
        }
        known().filter(|(_, item)| drawn.contains(&(&*item.task, name(item, unit)))).map(|(index, _)| index).collect()
    }

    /// Distributes `count` units over the strata in proportion to their sizes, by largest remainder (Hamilton's
    /// method), so that no stratum is a whole unit away from its share. Ties of remainders are broken by ticket.
    fn apportion<'t>(&self, sizes: &BTreeMap<&'t str, u64>, count: u64) -> BTreeMap<&'t str, u64> {
        let all: u64 = sizes.values().sum();
        if count >= all {
            return sizes.clone();
        }
        let mut counts: BTreeMap<&str, u64> = sizes.iter().map(|(task, size)| (*task, size * count / all)).collect();
        let mut remainders: Vec<(u64, Digest, &str)> =
            sizes.iter().map(|(task, size)| (size * count % all, self.ticket(task), *task)).collect();
        remainders.sort_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(&other.1)));
        let left = count - counts.values().sum::<u64>();
        for (_, _, task) in remainders.into_iter().take(left as usize) {
            *counts.entry(task).or_default() += 1;
        }
        counts
    }

    /// A pseudo-random number from the seed, the benchmark and `of`; the same on every machine.
    fn ticket(&self, of: &str) -> Digest {
        let seed = self.seed.to_le_bytes();
        Digest::of_parts([b"regatta/sample/1".as_slice(), &seed, self.benchmark.as_str().as_bytes(), of.as_bytes()])
    }
}

/// Name of the unit that `item` belongs to.
fn name(item: &Item, unit: SampledBy) -> &str {
    match (unit, &item.group) {
        (SampledBy::Group, Some(group)) => group,
        (SampledBy::Group, None) | (SampledBy::Item, _) => item.id.as_str(),
    }
}

#[cfg(test)]
mod tests;
