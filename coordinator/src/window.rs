//! How many sessions may be outstanding per queue. Each sweep has queues of its own, so none waits behind another; which of them gets
//! the endpoint is decided by permits.

use std::collections::BTreeMap;

use regatta_backends::CellProgress;

/// What is outstanding, by queue, over all running sweeps.
pub(crate) struct Window {
    size: u64,
    queues: BTreeMap<String, u64>,
}

impl Window {
    /// The window of `size` sessions per queue, over the progress of each running sweep.
    pub(crate) fn over<'a>(size: u32, sweeps: impl Iterator<Item = &'a [CellProgress]>) -> Self {
        let queues = sweeps.flat_map(outstanding).collect();
        Self { size: u64::from(size.max(1)), queues }
    }

    /// Sessions outstanding, by queue.
    pub(crate) fn outstanding(&self) -> impl Iterator<Item = (&str, u64)> {
        self.queues.iter().map(|(queue, sessions)| (queue.as_str(), *sessions))
    }

    /// Whether a queue with `outstanding` sessions is not worth topping up: doing so in halves keeps the number of ledger queries small
    /// without ever letting a queue run dry.
    pub(crate) const fn is_half_full(&self, outstanding: u64) -> bool {
        outstanding * 2 > self.size
    }

    /// Whether a queue with `outstanding` sessions may get `count` more at once.
    pub(crate) const fn admits(&self, outstanding: u64, count: u64) -> bool {
        // A shard larger than a window that has become smaller since must get its turn too.
        outstanding == 0 || outstanding + count <= self.size
    }
}

/// Sessions of one sweep dispatched and not yet recorded, by queue; queues with nothing left are there too.
pub(crate) fn outstanding(progress: &[CellProgress]) -> BTreeMap<String, u64> {
    let mut queues = BTreeMap::new();
    for cell in progress {
        *queues.entry(cell.queue.clone()).or_insert(0) += cell.dispatched.saturating_sub(cell.recorded);
    }
    queues
}
