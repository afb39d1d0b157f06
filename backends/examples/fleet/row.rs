//! The row of one pool in the store: who waits for its lock, and the workers that its state lists.

use std::collections::VecDeque;

use crate::scenario::Costs;

/// A holder is listed until it has been silent for this long.
const LISTED_US: u64 = 10_000_000;

#[derive(Debug)]
pub(crate) struct Row {
    /// Requests that wait for the lock, by worker and number.
    pub(crate) queue: VecDeque<(usize, u64)>,
    pub(crate) is_locked: bool,
    /// Time for which it was locked while that was measured, in microseconds.
    pub(crate) locked_us: u64,
    /// Leases of the last ten seconds, oldest first.
    leases: VecDeque<(u64, usize)>,
    listed: usize,
    pub(crate) listed_max: usize,
}

/// Name of a pool.
pub(crate) fn name(pool: usize) -> String {
    format!("pool-{pool}")
}

impl Row {
    pub(crate) fn new() -> Self {
        Self {
            queue: VecDeque::new(),
            is_locked: false,
            locked_us: 0,
            leases: VecDeque::new(),
            listed: 0,
            listed_max: 0,
        }
    }

    /// Enters the lease of `worker`. `leased` has the time of each worker's last one.
    pub(crate) fn list(&mut self, now: u64, worker: usize, leased: &mut [Option<u64>]) {
        while let Some((at, silent)) = self.leases.pop_front_if(|(at, _)| *at + LISTED_US <= now) {
            if leased[silent] == Some(at) {
                leased[silent] = None;
                self.listed -= 1;
            }
        }
        self.listed += usize::from(leased[worker].is_none());
        leased[worker] = Some(now);
        self.leases.push_back((now, worker));
        self.listed_max = self.listed_max.max(self.listed);
    }

    /// Time for which a lease of a worker that far away locks the row, in microseconds.
    pub(crate) const fn lease_us(&self, costs: &Costs, round_trip_us: u64) -> u64 {
        2 * round_trip_us + costs.lease_us + self.listed as u64 * costs.holder_ns / 1_000
    }
}
