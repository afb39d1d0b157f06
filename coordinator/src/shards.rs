//! Shards: ranges of a cell's items, the unit of the coordinator's book-keeping.

use regatta_backends::{NewShard, ShardRow};
use regatta_catalog::{DecideError, Sweep};
use regatta_proto::{Cell, CellIndex, ItemIndex, ShardIndex};

use crate::adaptive;

/// Items of a shard. Large enough that a sweep of a million sessions has a few thousand rows, small enough that what is in doubt after
/// a crash in the middle of publishing one is little.
const SHARD_ITEMS: u32 = 128;
/// Items of a shard when a budget limits the sweep: a shard is dispatched whole or not at all, so that a session by itself leaves less of the
/// budget unspent than the worst case of one.
const SHARD_ITEMS_BUDGETED: u32 = 1;
/// The same of a sweep with more sessions than [`FEW`], whose rows would be too many: what is left is a small part of a budget for so many.
const SHARD_ITEMS_BUDGETED_MANY: u32 = 4;
/// Sessions of a sweep up to which each of them may be a shard, in all its rounds.
const FEW: usize = 10_000;

/// Shards that a window holds at least: a shard is dispatched whole, so large ones would leave much of a small window empty.
const SHARDS_PER_WINDOW: u32 = 8;

/// Items of `shard`; none where its cell is not of `sweep`.
pub(crate) fn items<'s>(sweep: &'s Sweep, shard: &ShardRow) -> &'s [ItemIndex] {
    let order = sweep.cell(shard.cell).map_or(&[][..], |cell| sweep.dispatch_order(cell));
    let from = shard.first as usize;
    &order[from.min(order.len())..(from + shard.count as usize).min(order.len())]
}

/// Most items of a shard in a sweep of so many `sessions`. `window` is that of a queue, in sessions. Public for simulations of the dispatcher.
#[must_use]
pub fn shard_items(has_budget: bool, sessions: usize, window: u32) -> u32 {
    let most = match (has_budget, sessions <= FEW) {
        (true, true) => SHARD_ITEMS_BUDGETED,
        (true, false) => SHARD_ITEMS_BUDGETED_MANY,
        (false, _) => SHARD_ITEMS,
    };
    most.min((window / SHARDS_PER_WINDOW).max(1))
}

/// Cuts every cell of `sweep` into shards, in the order in which they are dispatched. `window` is that of a queue, in sessions.
///
/// # Errors
/// When the sweep asks what cannot be decided.
pub(crate) fn cut(sweep: &Sweep, window: u32) -> Result<Vec<NewShard>, DecideError> {
    let sessions: usize = sweep.cells().iter().map(|cell| sweep.selected(cell).len()).sum();
    let most = shard_items(sweep.lock.budget_usd.is_some(), sessions, window);
    let mut cells: Vec<&Cell> = sweep.cells().iter().collect();
    cells.sort_by_key(|cell| sweep.lock.place(cell));
    let ends = adaptive::round_ends(sweep)?;
    // By round, then as planned: what a cell gets in its first round goes before anything of a second one.
    let mut ranges: Vec<(usize, CellIndex, u32, u32)> = Vec::new();
    for cell in cells {
        let all = [sweep.selected(cell).len() as u32];
        let ends = ends.get(&cell.index).map_or(all.as_slice(), Vec::as_slice);
        let mut from = 0;
        for (round, end) in ends.iter().enumerate() {
            for first in (from..*end).step_by(most as usize) {
                ranges.push((round, cell.index, first, most.min(end - first)));
            }
            from = *end;
        }
    }
    ranges.sort_by_key(|(round, ..)| *round);
    let shard = |(index, (_, cell, first, count))| NewShard { index: ShardIndex(index), cell, first, count };
    Ok((0..).zip(ranges).map(shard).collect())
}
