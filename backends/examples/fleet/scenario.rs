//! Fleets to simulate, with the costs of their store, and the figures that come of it.

use std::fmt;

use regatta_proto::Limits;

/// Costs of the store's server. A lease is `BEGIN`, `SELECT … FOR UPDATE`, `UPDATE`, `COMMIT`: its pool's row is locked for two round trips and
/// for what the worker computes in between, which grows with the workers that the state lists.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Costs {
    /// Round trip between a worker and the server of its region, in microseconds.
    pub(crate) round_trip_us: u64,
    /// Computing of a lease of a pool without other workers, at worker and server, in microseconds.
    pub(crate) lease_us: u64,
    /// The same for each worker that the pool's state lists, in nanoseconds.
    pub(crate) holder_ns: u64,
}

impl Default for Costs {
    /// Computing as `cargo bench -p regatta-backends --features cluster --bench permits` measures it; the round trip is an assumption: two zones of one region.
    fn default() -> Self {
        Self { round_trip_us: 500, lease_us: 1_000, holder_ns: 3_000 }
    }
}

/// The limit that the endpoints' calls come up against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    /// Calls at once: one for each worker.
    Slots,
    /// Requests a minute: half of what the slots would let through.
    Requests,
}

/// Shortest and longest answer of a model, in milliseconds.
pub(crate) const ANSWERED_MS: (u64, u64) = (2_000, 8_000);
/// Sessions of a worker, each of which has or wants one call: two for each slot, as workers take.
pub(crate) const SESSIONS: u32 = 2;
/// Requests a minute for each worker, where these are limited. Its slot would do for twice as many.
const REQUESTS_PER_WORKER: u32 = 6;
/// Time for which a grant counts, in milliseconds: limits by the minute are used up and free again at this pace.
const COUNTED_MS: u64 = 61_750;

/// A fleet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scenario {
    pub(crate) seed: u64,
    pub(crate) workers: usize,
    /// Each worker serves one of them.
    pub(crate) endpoints: usize,
    /// Pools that each endpoint's workers are spread over at random, as by a hash of their names. Each has an equal part of the limits.
    pub(crate) pools: usize,
    pub(crate) bound: Bound,
    pub(crate) costs: Costs,
    /// Round trip of every second worker to the store, in microseconds; zero if it is as near as the others.
    pub(crate) far_us: u64,
    /// From when to when use and requests are measured, in milliseconds. It ends then.
    pub(crate) measured_ms: (u64, u64),
}

impl Scenario {
    pub(crate) fn of(workers: usize, endpoints: usize, pools: usize, bound: Bound) -> Self {
        let (costs, measured_ms) = (Costs::default(), (COUNTED_MS, 2 * COUNTED_MS));
        Self { seed: 1, workers, endpoints, pools, bound, costs, far_us: 0, measured_ms }
    }

    /// Limits of an endpoint.
    pub(crate) fn of_endpoint(&self) -> Limits {
        let workers = u32::try_from(self.workers / self.endpoints).unwrap_or(u32::MAX).max(1);
        let requests_per_minute = (self.bound == Bound::Requests).then_some(workers * REQUESTS_PER_WORKER);
        Limits { concurrency: workers, requests_per_minute, tokens_per_minute: None }
    }

    /// Limits of one of its pools.
    pub(crate) fn of_pool(&self) -> Limits {
        let (whole, pools) = (self.of_endpoint(), u32::try_from(self.pools).unwrap_or(u32::MAX));
        Limits {
            concurrency: (whole.concurrency / pools).max(1),
            requests_per_minute: whole.requests_per_minute.map(|limit| (limit / pools).max(1)),
            ..whole
        }
    }
}

/// Figures of a fleet, of the measured time unless they say otherwise.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) workers: usize,
    pub(crate) endpoints: usize,
    pub(crate) pools: usize,
    pub(crate) bound: Bound,
    pub(crate) is_far: bool,
    /// Requests to the store a second, and those of them that it answered before their workers gave up.
    pub(crate) asked_per_s: f64,
    pub(crate) answered_per_s: f64,
    /// Most workers that the state of one pool listed, ever.
    pub(crate) listed_max: usize,
    /// Median time until an answer, in milliseconds.
    pub(crate) answer_ms: f64,
    /// Part of the time for which the row of the busiest pool was locked, 0..=1.
    pub(crate) locked: f64,
    /// Part of the limit that was used, 0..=1.
    pub(crate) used: f64,
    /// Most calls at once at an endpoint, ever, as a part of its limit.
    pub(crate) at_once: f64,
    /// Most requests of an endpoint in a minute, ever, as a part of its limit; zero where they are not limited.
    pub(crate) in_a_minute: f64,
    /// Fewest and most calls of a worker.
    pub(crate) calls: (u32, u32),
    /// Time from the start until every worker has had a call, in milliseconds; `None` if some never had one.
    pub(crate) all_at_work_ms: Option<u64>,
    /// Workers that never had a call.
    pub(crate) idle: usize,
}

impl Outcome {
    pub(crate) const HEAD: &str = "workers endpoints pools limit    | asked/s answered/s listed answer ms locked | used at once in a minute | calls of a worker | all at work";
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = match (self.bound, self.is_far) {
            (Bound::Slots, false) => "slots",
            (Bound::Slots, true) => "slots far",
            (Bound::Requests, false) => "requests",
            (Bound::Requests, true) => "requests far",
        };
        write!(f, "{:>7} {:>9} {:>5} {bound:<9}", self.workers, self.endpoints, self.pools)?;
        write!(f, "| {:>7.0} {:>10.0} {:>6}", self.asked_per_s, self.answered_per_s, self.listed_max)?;
        write!(f, " {:>9.1} {:>5.0}% ", self.answer_ms, self.locked * 100.0)?;
        let [used, at_once, in_a_minute] = [self.used, self.at_once, self.in_a_minute].map(|part| part * 100.0);
        write!(f, "| {used:>3.0}% {at_once:>6.1}% {in_a_minute:>10.1}% ")?;
        let (fewest, most) = self.calls;
        write!(f, "| {fewest:>7} to {most:>6} ")?;
        match self.all_at_work_ms {
            Some(at) => write!(f, "| {:.1} s", at as f64 / 1000.0),
            None => write!(f, "| never: {} had no call", self.idle),
        }
    }
}
