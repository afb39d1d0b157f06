//! Intervals of what only a benchmark's official code computes: its aggregates, again without one cluster of items after another.

use std::collections::BTreeMap;

use regatta_benchmarks::{Measured, PaperColumn, PaperTable, Score, Scores, Table, Tables};
use regatta_proto::{Evaluator, ItemIndex, Level, Setting};

use crate::statistics::{Influence, Spread, interval_of, spread};

/// Aggregates are computed so many times at most; more clusters than that are left out several at a time, every so many-th together.
pub(crate) const GROUPS_MAX: u32 = 40;

/// Numbers of a cell when some clusters are left out.
pub(crate) struct LeftOut {
    /// Number of items that are left out.
    pub(crate) items: u32,
    /// The benchmark's aggregates of the others: of every trial, and of all together.
    pub(crate) tables: Vec<(Evaluator, Vec<Table>, Table)>,
}

/// The groups of clusters that are left out one after another; none for a single cluster.
pub(crate) fn left_out(
    suite: &dyn Tables,
    evaluators: &[Evaluator],
    trials: &[Vec<(ItemIndex, Scores)>],
    items: &[ItemIndex],
    clusters: &[u32],
) -> Vec<LeftOut> {
    let groups = clusters.iter().max().map_or(0, |last| last + 1).min(GROUPS_MAX);
    if groups < 2 {
        return Vec::new();
    }
    let group_of: BTreeMap<ItemIndex, u32> =
        items.iter().copied().zip(clusters.iter().map(|cluster| cluster % groups)).collect();
    let without = |group: u32| {
        let kept = |item: &ItemIndex| group_of.get(item) != Some(&group);
        let tables = evaluators.iter().map(|evaluator| {
            let trials: Vec<Vec<(ItemIndex, &Score)>> =
                trials.iter().map(|trial| under(*evaluator, trial, &kept)).collect();
            let singles = trials.iter().map(|trial| suite.tabulate(*evaluator, std::slice::from_ref(trial))).collect();
            (*evaluator, singles, suite.tabulate(*evaluator, &trials))
        });
        let items = group_of.values().filter(|of_item| **of_item == group).count() as u32;
        LeftOut { items, tables: tables.collect() }
    };
    (0..groups).map(without).collect()
}

/// The scores that a trial has under `evaluator` of the items that are kept.
pub(crate) fn under<'s>(
    evaluator: Evaluator,
    trial: &'s [(ItemIndex, Scores)],
    kept: &dyn Fn(&ItemIndex) -> bool,
) -> Vec<(ItemIndex, &'s Score)> {
    let scores = trial.iter().filter(|(item, _)| kept(item));
    scores.filter_map(|(item, scores)| Some((*item, scores.get(&evaluator)?))).collect()
}

/// The tables of a benchmark that were made with some clusters of a setting left out.
pub(crate) struct Without<'s> {
    pub(crate) setting: &'s Setting,
    /// The part of the setting's items that is left out, 0..=1.
    pub(crate) part: f64,
    /// All items of the setting.
    pub(crate) items: u32,
    pub(crate) tables: Vec<PaperTable>,
}

/// Gives an interval to every number of `tables` that has none and that changes with the items, widened for sessions that are missing.
pub(crate) fn add_intervals(tables: &mut [PaperTable], without: &[Without<'_>], level: Level) {
    for (at, table) in tables.iter_mut().enumerate() {
        let PaperTable { columns, rows, .. } = table;
        for (row_at, row) in rows.iter_mut().enumerate() {
            let missing = 1.0 - row.coverage;
            for (entry_at, entry) in row.entries.iter_mut().enumerate() {
                let Some(column) = columns.get(entry_at) else { continue };
                let value_of = |without: &Without<'_>| {
                    let row = without.tables.get(at)?.rows.get(row_at)?;
                    row.entries.get(entry_at)?.ours.value
                };
                add_interval(&mut entry.ours, column, missing, without, &value_of, level);
            }
        }
    }
}

/// A number without one group of clusters.
pub(crate) struct Removal {
    pub(crate) cluster: u32,
    /// The part of the items that is left out, 0..=1.
    pub(crate) part: f64,
    /// All items.
    pub(crate) items: u32,
    /// The number of the others.
    pub(crate) left: f64,
}

/// The spread of `value` over the groups of clusters that are removed one after another.
pub(crate) fn spread_over(value: f64, removals: impl IntoIterator<Item = Removal>) -> Spread {
    let influences = removals.into_iter().map(|Removal { cluster, part, items, left }| {
        // Left-out items are many; each has an equal part of what their cluster has.
        let items = (part * f64::from(items)).round().max(1.0) as u32;
        let shift = (1.0 - part) * (value - left) / f64::from(items);
        (cluster, items, Influence { shift, weight: part / f64::from(items) })
    });
    let influences: Vec<(u32, u32, Influence)> = influences.collect();
    let are_single = influences.iter().all(|(_, items, _)| *items == 1);
    let each =
        influences.into_iter().flat_map(|(cluster, items, influence)| (0..items).map(move |_| (cluster, influence)));
    // How the items of a cluster differ is known where each is a cluster of its own.
    let found = spread(each);
    if are_single { found } else { found.of_whole_clusters() }
}

fn add_interval(
    ours: &mut Measured,
    column: &PaperColumn,
    missing: f64,
    without: &[Without<'_>],
    value_of: &dyn Fn(&Without<'_>) -> Option<f64>,
    level: Level,
) {
    let (Some(value), None) = (ours.value, ours.low) else { return };
    let values: Option<Vec<f64>> = without.iter().map(value_of).collect();
    // A number that is not there without some of the items has no interval that this could tell.
    let Some(values) = values else { return };
    let moves = |setting: &Setting| {
        without.iter().zip(&values).any(|(without, left)| without.setting == setting && *left != value)
    };
    let relevant = without.iter().zip(&values).enumerate().filter(|(_, (without, _))| moves(without.setting));
    let removals = relevant.map(|(cluster, (without, left))| Removal {
        cluster: cluster as u32,
        part: without.part,
        items: without.items,
        left: *left,
    });
    let spread = spread_over(value, removals).of_whole_clusters();
    let all = || values.iter().copied().chain([value]);
    let scale = column.unit.scale().filter(|(from, to)| all().all(|value| (*from..=*to).contains(&value)));
    if let Some((low, high)) = interval_of(value, scale, &spread, missing, level) {
        (ours.low, ours.high) = (Some(low), Some(high));
    }
}

#[cfg(test)]
mod tests;
