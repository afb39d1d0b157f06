//! Shards: ranges of a cell's items, the unit of the coordinator's book-keeping.

use regatta_backends::NewShard;
use regatta_catalog::Sweep;
use regatta_proto::{Cell, ShardIndex};

/// Items of a shard. Large enough that a sweep of a million sessions has a few thousand rows, small enough that what is in doubt after
/// a crash in the middle of publishing one is little.
const SHARD_ITEMS: u32 = 128;
/// Items of a shard when a budget limits the sweep: a shard is dispatched whole or not at all, so small ones use the budget up.
const SHARD_ITEMS_BUDGETED: u32 = 4;

/// Shards that a window holds at least: a shard is dispatched whole, so large ones would leave much of a small window empty.
const SHARDS_PER_WINDOW: u32 = 8;

/// Cuts every cell of `sweep` into shards, in the order in which they are dispatched. `window` is that of a queue, in sessions.
pub(crate) fn cut(sweep: &Sweep, window: u32) -> Vec<NewShard> {
    let most = if sweep.lock.budget_usd.is_some() { SHARD_ITEMS_BUDGETED } else { SHARD_ITEMS };
    let most = most.min((window / SHARDS_PER_WINDOW).max(1));
    let mut shards = Vec::new();
    let mut cells: Vec<&Cell> = sweep.cells().iter().collect();
    cells.sort_by_key(|cell| sweep.lock.place(cell));
    for cell in cells {
        let items = sweep.selected(cell).len() as u32;
        for first in (0..items).step_by(most as usize) {
            shards.push(NewShard {
                index: ShardIndex(shards.len() as u32),
                cell: cell.index,
                first,
                count: most.min(items - first),
            });
        }
    }
    shards
}
