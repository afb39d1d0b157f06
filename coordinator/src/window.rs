//! How many sessions may be outstanding per queue, and whose turn it is.

use std::collections::BTreeMap;

use regatta_backends::CellProgress;

/// What is outstanding, by queue, over all running sweeps.
pub(crate) struct Window {
    size: u64,
    queues: BTreeMap<String, Outstanding>,
}

#[derive(Default)]
struct Outstanding {
    sessions: u64,
    /// Sweeps that have more to dispatch.
    sweeps: u64,
}

impl Window {
    /// The window of `size` sessions per queue, over the progress of each running sweep.
    pub(crate) fn over<'a>(size: u32, sweeps: impl Iterator<Item = &'a [CellProgress]>) -> Self {
        let mut queues: BTreeMap<String, Outstanding> = BTreeMap::new();
        for progress in sweeps {
            for (queue, sessions) in outstanding(progress) {
                let more = progress.iter().any(|cell| cell.queue == queue && cell.dispatched < cell.items);
                let all = queues.entry(queue).or_default();
                all.sessions += sessions;
                all.sweeps += u64::from(more);
            }
        }
        Self { size: u64::from(size.max(1)), queues }
    }

    /// Sessions outstanding, by queue.
    pub(crate) fn outstanding(&self) -> impl Iterator<Item = (&str, u64)> {
        self.queues.iter().map(|(queue, all)| (queue.as_str(), all.sessions))
    }

    /// Sessions of one sweep that may be outstanding in `queue`.
    pub(crate) fn share(&self, queue: &str) -> u64 {
        let sweeps = self.queues.get(queue).map_or(1, |all| all.sweeps.max(1));
        (self.size / sweeps).max(1)
    }

    /// Whether a sweep that has `own` sessions outstanding in `queue` may dispatch `count` more at once.
    pub(crate) fn admits(&self, queue: &str, own: u64, count: u64) -> bool {
        let all = self.queues.get(queue).map_or(0, |all| all.sessions);
        // A shard larger than a share, or than a window that has become smaller since, must get its turn too.
        all == 0 || (all + count <= self.size && (own == 0 || own + count <= self.share(queue)))
    }

    /// `count` sessions were dispatched.
    pub(crate) fn take(&mut self, queue: &str, count: u64) {
        if let Some(all) = self.queues.get_mut(queue) {
            all.sessions += count;
        }
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
