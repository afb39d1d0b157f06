//! How many sessions may be outstanding per queue. Each sweep has queues of its own, so none waits behind another; which of them gets
//! the endpoint is decided by permits.

use std::collections::BTreeMap;

use regatta_backends::CellProgress;
use regatta_catalog::Sweep;
use regatta_proto::Lane;

/// Batches of the largest size that may be outstanding at once in a queue of the batch lane: each takes hours.
const BATCHES: u64 = 8;

/// How many sessions a queue may have outstanding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window(u64);

impl Window {
    /// The window of the queue `queue` of `sweep`: `size` sessions, more where they are gathered into batches.
    pub(crate) fn of(sweep: &Sweep, queue: &str, size: u32) -> Self {
        let size = u64::from(size.max(1));
        let mut endpoints = sweep.lock.endpoints.iter();
        let batched = endpoints
            .find(|(name, endpoint)| endpoint.lane == Lane::Batch && endpoint.queue(name, &sweep.id) == queue)
            .map(|(_, endpoint)| u64::from(endpoint.batch.unwrap_or_default().requests_max) * BATCHES);
        Self(batched.map_or(size, |batched| batched.max(size)))
    }

    /// Whether a queue with `outstanding` sessions is not worth topping up: doing so in halves keeps the number of ledger queries small
    /// without ever letting a queue run dry.
    pub(crate) const fn is_half_full(self, outstanding: u64) -> bool {
        outstanding * 2 > self.0
    }

    /// Whether a queue with `outstanding` sessions may get `count` more at once.
    pub(crate) const fn admits(self, outstanding: u64, count: u64) -> bool {
        // A shard larger than a window that has become smaller since must get its turn too.
        outstanding == 0 || outstanding + count <= self.0
    }
}

/// Sessions of one sweep dispatched and not yet recorded, by queue; queues with nothing left are there too.
pub(crate) fn outstanding(progress: &[CellProgress]) -> BTreeMap<String, u64> {
    let mut queues = BTreeMap::new();
    for cell in progress {
        let outstanding = if is_outstanding(cell) { cell.dispatched - cell.recorded } else { 0 };
        *queues.entry(cell.queue.clone()).or_insert(0) += outstanding;
    }
    queues
}

/// Whether sessions of a cell were dispatched and are not recorded. Of one whose sessions are all recorded none is, whatever was counted.
pub(crate) const fn is_outstanding(cell: &CellProgress) -> bool {
    cell.dispatched > cell.recorded && cell.recorded < cell.items
}
