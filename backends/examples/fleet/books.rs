//! Calls as the endpoints see them, against their limits.

use std::collections::VecDeque;

use regatta_proto::Limits;

const MINUTE_US: u64 = 60_000_000;

#[derive(Debug, Default)]
struct Endpoint {
    in_flight: u32,
    most: u32,
    /// Calls in flight times microseconds, within the measured time.
    filled: u128,
    changed_at: u64,
    minute: VecDeque<u64>,
    most_in_a_minute: usize,
}

#[derive(Debug)]
pub(crate) struct Books {
    endpoints: Vec<Endpoint>,
    measured: (u64, u64),
    limits: Limits,
    /// Calls of each worker in the measured time, and when it had its first one ever.
    calls: Vec<u32>,
    first: Vec<Option<u64>>,
}

impl Books {
    pub(crate) fn new(endpoints: usize, workers: usize, limits: Limits, measured: (u64, u64)) -> Self {
        let endpoints = (0..endpoints).map(|_| Endpoint::default()).collect();
        Self { endpoints, measured, limits, calls: vec![0; workers], first: vec![None; workers] }
    }

    pub(crate) fn is_measured(&self, now: u64) -> bool {
        (self.measured.0..self.measured.1).contains(&now)
    }

    /// Part of the time from `since` until `now` that is measured.
    pub(crate) fn measured_since(&self, since: u64, now: u64) -> u64 {
        now.min(self.measured.1).saturating_sub(since.max(self.measured.0))
    }

    pub(crate) fn begins(&mut self, now: u64, endpoint: usize, worker: usize) {
        self.fill(now, endpoint);
        let is_measured = self.is_measured(now);
        let book = &mut self.endpoints[endpoint];
        book.in_flight += 1;
        book.most = book.most.max(book.in_flight);
        while book.minute.pop_front_if(|at| *at + MINUTE_US <= now).is_some() {}
        book.minute.push_back(now);
        book.most_in_a_minute = book.most_in_a_minute.max(book.minute.len());
        self.calls[worker] += u32::from(is_measured);
        self.first[worker].get_or_insert(now);
    }

    pub(crate) fn ends(&mut self, now: u64, endpoint: usize) {
        self.fill(now, endpoint);
        self.endpoints[endpoint].in_flight -= 1;
    }

    fn fill(&mut self, now: u64, endpoint: usize) {
        let lasted = self.measured_since(self.endpoints[endpoint].changed_at, now);
        let book = &mut self.endpoints[endpoint];
        book.filled += u128::from(book.in_flight) * u128::from(lasted);
        book.changed_at = now;
    }

    /// Part of the limit that calls come up against which was used until `now`.
    pub(crate) fn used(&mut self, now: u64) -> f64 {
        (0..self.endpoints.len()).for_each(|endpoint| self.fill(now, endpoint));
        let (endpoints, lasts) = (self.endpoints.len() as f64, (self.measured.1 - self.measured.0) as f64);
        match self.limits.requests_per_minute {
            Some(limit) => {
                let calls: u64 = self.calls.iter().copied().map(u64::from).sum();
                calls as f64 / (endpoints * f64::from(limit) * lasts / MINUTE_US as f64)
            }
            None => {
                let filled: u128 = self.endpoints.iter().map(|book| book.filled).sum();
                filled as f64 / (endpoints * f64::from(self.limits.concurrency) * lasts)
            }
        }
    }

    /// Most calls at once, and in a minute, as parts of the limits.
    pub(crate) fn most(&self) -> (f64, f64) {
        let most = self.endpoints.iter().map(|book| book.most).max().unwrap_or(0);
        let in_a_minute = self.endpoints.iter().map(|book| book.most_in_a_minute).max().unwrap_or(0);
        let of_limit = |limit: u32| in_a_minute as f64 / f64::from(limit);
        (f64::from(most) / f64::from(self.limits.concurrency), self.limits.requests_per_minute.map_or(0.0, of_limit))
    }

    /// Fewest and most calls of a worker.
    pub(crate) fn calls(&self) -> (u32, u32) {
        let calls = || self.calls.iter().copied();
        (calls().min().unwrap_or(0), calls().max().unwrap_or(0))
    }

    /// When the last worker had its first call, in microseconds.
    pub(crate) fn all_at_work(&self) -> Option<u64> {
        self.first.iter().copied().try_fold(0, |last, first| Some(first?.max(last)))
    }

    /// Workers that never had a call.
    pub(crate) fn idle(&self) -> usize {
        self.first.iter().filter(|first| first.is_none()).count()
    }
}
