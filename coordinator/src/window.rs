//! Limit on the outstanding sessions of each queue. Each sweep has queues of its own, so none waits behind another; permits decide which of
//! them gets the endpoint.

use std::collections::BTreeMap;

use regatta_backends::CellProgress;
use regatta_catalog::Sweep;
use regatta_proto::Lane;

/// Batches of the largest size that may be outstanding at once in a queue with the delivery mode `batch`: each takes hours.
const BATCHES: u64 = 8;

/// Outstanding sessions for each call that an endpoint with the delivery mode `live` may have in flight: workers take two, of which one may
/// wait for a retry, and sessions that are reported count until they are recorded.
const PER_CALL: u64 = 3;

/// Most sessions that a queue may have outstanding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window(u64);

impl Window {
    /// The window of the queue `queue` of `sweep`: `least` sessions, more where its endpoint has more of them in hand at once.
    pub(crate) fn of(sweep: &Sweep, queue: &str, least: u32) -> Self {
        let mut endpoints = sweep.lock.endpoints.iter();
        let of_queue = endpoints.find(|(name, endpoint)| endpoint.queue(name, &sweep.id) == queue);
        let in_hand = of_queue.map_or(0, |(_, endpoint)| match endpoint.lane {
            Lane::Batch => u64::from(endpoint.batch.unwrap_or_default().requests_max) * BATCHES,
            Lane::Live => u64::from(endpoint.limits.concurrency) * PER_CALL,
        });
        Self(in_hand.max(u64::from(least.max(1))))
    }

    /// `true` when a queue with `outstanding` sessions is not worth topping up: to do so in quarters keeps the number of ledger queries
    /// small, and what is left is still more than what an endpoint can have in flight.
    pub(crate) const fn is_full_enough(self, outstanding: u64) -> bool {
        outstanding * 4 > self.0 * 3
    }

    /// `true` if a queue with `outstanding` sessions may get `count` more at once.
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

/// True if a dispatched session of the cell is not recorded. A cell whose sessions are all recorded has none, whatever was counted.
pub(crate) const fn is_outstanding(cell: &CellProgress) -> bool {
    cell.dispatched > cell.recorded && cell.recorded < cell.items
}
