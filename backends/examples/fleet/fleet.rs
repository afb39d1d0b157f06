//! A fleet over time, from event to event.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use jiff::Timestamp;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use regatta_backends::Permits;
use regatta_llm::SimulatedHolder;
use regatta_proto::{PoolReply, PoolRequest, SweepId, WorkerId};
use tokio::time::Instant;

use crate::books::Books;
use crate::row::{self, Row};
use crate::scenario::{ANSWERED_MS, Outcome, Scenario};
use crate::worker::Worker;

/// Time within which all workers start, in microseconds.
const START_US: u64 = 200_000;
/// When it is at the beginning, by the store's clock.
const BEGINNING: Timestamp = Timestamp::constant(1_780_000_000, 0);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A worker asks, if that is still when it wants to.
    Asks { worker: usize },
    /// A request waits for the lock of its pool's row.
    Comes { worker: usize, request: u64 },
    /// A row is free again.
    Unlocks { pool: usize },
    /// A worker has its answer.
    Hears { worker: usize, request: u64 },
    /// A worker waits for its answer no longer.
    GivesUp { worker: usize, request: u64 },
    /// A call is answered.
    Ends { worker: usize },
}

/// Counts of the measured time.
#[derive(Debug, Default)]
struct Counts {
    asked: u64,
    /// Times until an answer, in microseconds.
    answers: Vec<u64>,
}

struct Fleet {
    scenario: Scenario,
    permits: Permits,
    rng: ChaCha8Rng,
    workers: Vec<Worker>,
    /// When each worker asks next.
    plans: Vec<Option<u64>>,
    /// Told with each worker's request, until it is made.
    requests: Vec<Option<PoolRequest>>,
    replies: Vec<Option<PoolReply>>,
    rows: Vec<Row>,
    leased: Vec<Option<u64>>,
    books: Books,
    counts: Counts,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    number: u64,
    /// Time that tokio's clock shows, which is the store's.
    clock: u64,
}

/// Lets the fleet of `scenario` work until the measured time is over.
pub(crate) fn run(scenario: &Scenario) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime without threads").block_on(async { Fleet::new(*scenario).play().await })
}

impl Fleet {
    fn new(scenario: Scenario) -> Self {
        let Scenario { workers, endpoints, pools, costs, far_us, .. } = scenario;
        let mut rng = ChaCha8Rng::seed_from_u64(scenario.seed);
        let measured = (scenario.measured_ms.0 * 1_000, scenario.measured_ms.1 * 1_000);
        let beginning = Instant::now();
        let mut worker = |number: usize| {
            let pool = number % endpoints * pools + rng.random_range(0..pools);
            let name = WorkerId::new(format!("worker-{number:05}")).expect("a name");
            let sweep = SweepId::new("sweep").expect("a name");
            let holder = SimulatedHolder::open(row::name(pool), name, scenario.of_pool(), sweep, beginning);
            let is_far = far_us > 0 && number / endpoints % 2 == 1;
            let round_trip_us = if is_far { far_us } else { costs.round_trip_us };
            Worker::new(pool, round_trip_us, beginning, holder)
        };
        Self {
            workers: (0..workers).map(&mut worker).collect(),
            plans: vec![None; workers],
            requests: vec![None; workers],
            replies: vec![None; workers],
            rows: (0..endpoints * pools).map(|_| Row::new()).collect(),
            leased: vec![None; workers],
            books: Books::new(endpoints, workers, scenario.of_endpoint(), measured),
            counts: Counts::default(),
            events: BinaryHeap::new(),
            number: 0,
            clock: 0,
            permits: Permits::memory_at(BEGINNING),
            rng,
            scenario,
        }
    }

    async fn play(mut self) -> Outcome {
        for worker in 0..self.workers.len() {
            let at = self.rng.random_range(0..START_US);
            self.plan(worker, at);
        }
        let until = self.scenario.measured_ms.1 * 1_000;
        while let Some(Reverse((now, _, event))) = self.events.pop() {
            if now >= until {
                break;
            }
            self.step(now, event).await;
        }
        self.outcome(until)
    }

    fn push(&mut self, at: u64, event: Event) {
        self.number += 1;
        self.events.push(Reverse((at, self.number, event)));
    }

    async fn step(&mut self, now: u64, event: Event) {
        match event {
            Event::Asks { worker } if self.plans[worker] == Some(now) => match self.workers[worker].asks_at(now) {
                Some(at) if at > now => self.plan(worker, at),
                Some(_) => self.ask(now, worker),
                None => self.plans[worker] = None,
            },
            Event::Asks { .. } => {}
            Event::Comes { worker, request } => {
                let pool = self.workers[worker].pool;
                self.rows[pool].queue.push_back((worker, request));
                self.lease(now, pool).await;
            }
            Event::Unlocks { pool } => {
                self.rows[pool].is_locked = false;
                self.lease(now, pool).await;
            }
            Event::Hears { worker, request } => {
                let Some(reply) = self.replies[worker].take_if(|_| self.workers[worker].waits_for(request)) else {
                    return;
                };
                let jitter = self.rng.random_range(0.0..1.0);
                let took = self.workers[worker].hear(now, &reply, jitter);
                if self.books.is_measured(now) {
                    self.counts.answers.push(took);
                }
                self.go_on(now, worker);
            }
            Event::GivesUp { worker, request } if self.workers[worker].waits_for(request) => {
                let jitter = self.rng.random_range(0.0..1.0);
                self.workers[worker].give_up(now, jitter);
                (self.requests[worker], self.replies[worker]) = (None, None);
                self.go_on(now, worker);
            }
            Event::GivesUp { .. } => {}
            Event::Ends { worker } => {
                self.workers[worker].end();
                self.books.ends(now, self.endpoint(worker));
                self.go_on(now, worker);
            }
        }
    }

    fn endpoint(&self, worker: usize) -> usize {
        self.workers[worker].pool / self.scenario.pools
    }

    fn plan(&mut self, worker: usize, at: u64) {
        if self.plans[worker] != Some(at) {
            self.plans[worker] = Some(at);
            self.push(at, Event::Asks { worker });
        }
    }

    /// Begins what may begin, and plans the next request.
    fn go_on(&mut self, now: u64, worker: usize) {
        while self.workers[worker].begin(now) {
            let answered_ms = self.rng.random_range(ANSWERED_MS.0..=ANSWERED_MS.1);
            self.books.begins(now, self.endpoint(worker), worker);
            self.push(now + answered_ms * 1_000, Event::Ends { worker });
        }
        match self.workers[worker].asks_at(now) {
            Some(at) => self.plan(worker, at),
            None => self.plans[worker] = None,
        }
    }

    fn ask(&mut self, now: u64, worker: usize) {
        self.plans[worker] = None;
        let (request, told) = self.workers[worker].ask(now);
        let round_trip_us = self.workers[worker].round_trip_us;
        self.requests[worker] = Some(told);
        self.counts.asked += u64::from(self.books.is_measured(now));
        // A transaction is begun, and its first statement is on its way.
        self.push(now + round_trip_us * 3 / 2, Event::Comes { worker, request });
        let patience_us = u64::try_from(SimulatedHolder::PATIENCE.as_micros()).unwrap_or(u64::MAX);
        self.push(now + patience_us, Event::GivesUp { worker, request });
    }

    /// Makes the next lease of a pool whose row is free. Requests whose workers have given up leave the line.
    async fn lease(&mut self, now: u64, pool: usize) {
        while !self.rows[pool].is_locked {
            let Some((worker, request)) = self.rows[pool].queue.pop_front() else { return };
            let waits = self.workers[worker].waits_for(request);
            let Some(told) = self.requests[worker].take_if(|_| waits) else { continue };
            tokio::time::advance(Duration::from_micros(now - self.clock)).await;
            self.clock = now;
            self.replies[worker] = self.permits.lease(&told).await.ok();
            let (far, row) = (self.workers[worker].round_trip_us, &mut self.rows[pool]);
            row.list(now, worker, &mut self.leased);
            row.is_locked = true;
            let free_at = now + row.lease_us(&self.scenario.costs, far);
            row.locked_us += self.books.measured_since(now, free_at);
            self.push(free_at, Event::Unlocks { pool });
            self.push(free_at + far / 2, Event::Hears { worker, request });
        }
    }

    fn outcome(mut self, until: u64) -> Outcome {
        let Scenario { workers, endpoints, pools, bound, far_us, measured_ms, .. } = self.scenario;
        let lasted_s = (measured_ms.1 - measured_ms.0) as f64 / 1_000.0;
        let used = self.books.used(until);
        let (at_once, in_a_minute) = self.books.most();
        self.counts.answers.sort_unstable();
        let median = self.counts.answers.get(self.counts.answers.len() / 2).copied().unwrap_or(0);
        let locked_us = self.rows.iter().map(|row| row.locked_us).max().unwrap_or(0);
        Outcome {
            workers,
            endpoints,
            pools,
            bound,
            is_far: far_us > 0,
            asked_per_s: self.counts.asked as f64 / lasted_s,
            answered_per_s: self.counts.answers.len() as f64 / lasted_s,
            listed_max: self.rows.iter().map(|row| row.listed_max).max().unwrap_or(0),
            answer_ms: median as f64 / 1_000.0,
            locked: locked_us as f64 / 1e6 / lasted_s,
            used,
            at_once,
            in_a_minute,
            calls: self.books.calls(),
            all_at_work_ms: self.books.all_at_work().map(|at| at / 1_000),
            idle: self.books.idle(),
        }
    }
}
