//! One endpoint's queue: sessions that wait in it, that run, and that are not recorded yet. Times are in microseconds.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Shortest answer of a model, and by how much others are longer.
const ANSWERED_US: (u64, f64) = (2_000_000, 6_000_000.0);
/// Multiples of the golden ratio's fraction are spread over 0..1 as evenly as possible.
const GOLDEN: f64 = 0.618_033_988_749_895;

#[derive(Debug, Default)]
pub(crate) struct Queue {
    slots: u64,
    calls: u32,
    recorded_us: u64,
    pub(crate) dispatched: u64,
    recorded: u64,
    running: u64,
    begun: u64,
    /// Ends of what runs, and when what ended is recorded.
    ends: BinaryHeap<Reverse<u64>>,
    records: BinaryHeap<Reverse<u64>>,
    /// Running sessions times microseconds, of the measured time.
    pub(crate) filled: u128,
    changed_at: u64,
    measured: (u64, u64),
}

impl Queue {
    /// A queue whose endpoint has `slots`, for sessions of so many `calls`. What is filled is measured from and until `measured`.
    pub(crate) fn new(slots: u64, calls: u32, recorded_us: u64, measured: (u64, u64)) -> Self {
        Self { slots, calls, recorded_us, measured, ..Self::default() }
    }

    /// Sessions dispatched and not recorded.
    pub(crate) const fn outstanding(&self) -> u64 {
        self.dispatched - self.recorded
    }

    pub(crate) fn publish(&mut self, now: u64, sessions: u64) {
        self.until(now);
        self.dispatched += sessions;
        self.begin(now);
    }

    /// Lets time pass.
    pub(crate) fn until(&mut self, now: u64) {
        while let Some(at) = self.ends.peek().map(|Reverse(at)| *at).filter(|at| *at <= now) {
            self.ends.pop();
            self.fill(at);
            self.running -= 1;
            self.records.push(Reverse(at + self.recorded_us));
            self.begin(at);
        }
        while self.records.peek().is_some_and(|Reverse(at)| *at <= now) {
            self.records.pop();
            self.recorded += 1;
        }
        self.fill(now);
    }

    fn begin(&mut self, now: u64) {
        self.fill(now);
        while self.running < self.slots && self.begun < self.dispatched {
            self.running += 1;
            self.begun += 1;
            let lasts: f64 =
                (0..self.calls).map(|call| answered_us(self.begun * u64::from(self.calls) + u64::from(call))).sum();
            self.ends.push(Reverse(now + lasts as u64));
        }
    }

    fn fill(&mut self, now: u64) {
        let lasted = now.min(self.measured.1).saturating_sub(self.changed_at.max(self.measured.0));
        self.filled += u128::from(self.running) * u128::from(lasted);
        self.changed_at = now;
    }
}

fn answered_us(number: u64) -> f64 {
    ANSWERED_US.1.mul_add((number as f64 * GOLDEN).fract(), ANSWERED_US.0 as f64)
}
