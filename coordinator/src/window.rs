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

/// Most sessions that a queue may have outstanding. Public for simulations of the dispatcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window(u64);

impl Window {
    /// The window of the queue `queue` of `sweep`: `least` sessions, more where its endpoint has more of them in hand at once.
    pub(crate) fn of(sweep: &Sweep, queue: &str, least: u32) -> Self {
        let mut endpoints = sweep.lock.endpoints.iter();
        let of_queue = endpoints.find(|(name, endpoint)| endpoint.queue(name, &sweep.id) == queue);
        let in_hand = of_queue.map_or(0, |(_, endpoint)| match endpoint.lane {
            Lane::Batch => u64::from(endpoint.batch.unwrap_or_default().requests_max) * BATCHES,
            Lane::Live => Self::live(endpoint.limits.concurrency, least).0,
        });
        Self(in_hand.max(u64::from(least.max(1))))
    }

    /// The window of a queue whose endpoint answers at once, up to `concurrency` calls: `least` sessions, or more.
    #[must_use]
    pub fn live(concurrency: u32, least: u32) -> Self {
        Self((u64::from(concurrency) * PER_CALL).max(u64::from(least.max(1))))
    }

    /// `true` when a queue with `outstanding` sessions is not worth topping up: to do so in quarters keeps the number of ledger queries
    /// small, and what is left is still more than what an endpoint can have in flight.
    #[must_use]
    pub const fn is_full_enough(self, outstanding: u64) -> bool {
        outstanding * 4 > self.0 * 3
    }

    /// `true` if a queue with `outstanding` sessions may get `count` more at once.
    #[must_use]
    pub const fn admits(self, outstanding: u64, count: u64) -> bool {
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

#[cfg(test)]
mod tests {
    use regatta_proto::{CellIndex, CostSum, Money, Usage};

    use super::*;

    fn cell(queue: &str, items: u64, dispatched: u64, recorded: u64) -> CellProgress {
        CellProgress {
            index: CellIndex(0),
            queue: queue.to_owned(),
            items,
            dispatched,
            recorded,
            settled: recorded,
            measured: recorded,
            model_failures: 0,
            not_measured: 0,
            usage: Usage::default(),
            cost: CostSum::default(),
            wasted: CostSum::default(),
            maybe_spent: Money::ZERO,
        }
    }

    fn of(cells: &[CellProgress]) -> Vec<(String, u64)> {
        outstanding(cells).into_iter().collect()
    }

    #[test]
    fn what_is_dispatched_and_not_recorded_is_outstanding_in_its_queue() {
        let cells = [cell("a", 10, 7, 3), cell("b", 10, 0, 0), cell("a", 5, 5, 4)];
        assert_eq!(of(&cells), [("a".to_owned(), 5), ("b".to_owned(), 0)]);
    }

    #[test]
    fn a_cell_whose_sessions_are_all_recorded_has_nothing_outstanding_whatever_was_counted() {
        let complete = cell("a", 2620, 5080, 2620);
        assert!(!is_outstanding(&complete));
        assert_eq!(of(&[complete, cell("a", 10, 4, 3)]), [("a".to_owned(), 1)], "others of its queue count on");
    }

    #[test]
    fn what_was_recorded_without_being_counted_as_dispatched_fills_no_window() {
        assert_eq!(of(&[cell("a", 10, 3, 5), cell("a", 10, 4, 2)]), [("a".to_owned(), 2)]);
    }

    #[test]
    fn a_queue_is_topped_up_when_a_quarter_of_its_window_is_free_and_never_beyond_it() {
        let window = Window(8);
        assert_eq!([6, 7, 8].map(|outstanding| window.is_full_enough(outstanding)), [false, true, true]);
        assert_eq!([(6, 2), (6, 3), (0, 9)].map(|(own, count)| window.admits(own, count)), [true, false, true]);
    }
}
