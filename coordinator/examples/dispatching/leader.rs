//! The rounds of the leader, step by step.

use std::fmt;

use regatta_coordinator::{CoordinatorConfig, SHARDS_AT_ONCE, Window, shard_items};

use crate::Costs;
use crate::queue::Queue;

/// Sessions of the sweep: more than it gets through.
const SESSIONS: usize = 10_000_000;
/// From when to when the figures are measured, in microseconds.
const MEASURED_US: (u64, u64) = (60_000_000, 120_000_000);

/// Workers, and what they work on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fleet {
    pub(crate) workers: u32,
    /// Queues of the sweep; each worker consumes one.
    pub(crate) endpoints: u32,
    /// Calls at once for each worker.
    pub(crate) slots: u32,
    /// Calls of a session, one after another.
    pub(crate) calls: u32,
    /// The sweep has a budget, and small shards therefore.
    pub(crate) has_budget: bool,
}

impl Fleet {
    pub(crate) const fn of(workers: u32, endpoints: u32) -> Self {
        Self { workers, endpoints, slots: 1, calls: 1, has_budget: false }
    }
}

/// Figures of the measured time, unless they say otherwise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) fleet: [u32; 4],
    pub(crate) has_budget: bool,
    /// Items of a shard.
    pub(crate) shard: u32,
    pub(crate) messages_per_s: f64,
    pub(crate) operations_per_s: f64,
    /// Part of the time in which the leader did something, 0..=1.
    pub(crate) busy: f64,
    /// Part of the slots that were filled, 0..=1.
    pub(crate) used: f64,
    /// Time from the start until there was a job for each worker, in milliseconds; `None` if that never was.
    pub(crate) all_at_work_ms: Option<u64>,
}

struct Leader {
    fleet: Fleet,
    costs: Costs,
    queues: Vec<Queue>,
    window: Window,
    shard: u64,
    now: u64,
    /// Messages, operations of the ledger, and microseconds at work, of the measured time.
    messages: u64,
    operations: u64,
    busy_us: u64,
    all_at_work: Option<u64>,
}

pub(crate) fn run(fleet: &Fleet, costs: &Costs) -> Outcome {
    let config = CoordinatorConfig::default();
    let of_queue = fleet.workers / fleet.endpoints * fleet.slots;
    let queue = |_| Queue::new(u64::from(of_queue), fleet.calls, costs.recorded_us, MEASURED_US);
    let mut leader = Leader {
        fleet: *fleet,
        costs: *costs,
        queues: (0..fleet.endpoints).map(queue).collect(),
        window: Window::live(of_queue, config.window),
        shard: u64::from(shard_items(fleet.has_budget, SESSIONS, config.window)),
        now: 0,
        messages: 0,
        operations: 0,
        busy_us: 0,
        all_at_work: None,
    };
    let tick = u64::try_from(config.tick.as_micros()).unwrap_or(u64::MAX);
    while leader.now < MEASURED_US.1 {
        let begun = leader.now;
        leader.round();
        leader.busy_us += leader.now.min(MEASURED_US.1).saturating_sub(begun.max(MEASURED_US.0));
        leader.now = leader.now.max(begun + tick);
    }
    leader.outcome()
}

impl Leader {
    /// One look at the sweep, as `tick` and `look_after` of the coordinator.
    fn round(&mut self) {
        // The lead, the sweeps, the lead again, and progress.
        self.write();
        self.read();
        self.write();
        self.read();
        let mut outstanding = Vec::with_capacity(self.queues.len());
        for queue in &mut self.queues {
            queue.until(self.now);
            outstanding.push(queue.outstanding());
        }
        self.write();
        if self.fleet.has_budget {
            // The account, and what judges have cost.
            self.read();
            self.read();
        }
        for (number, own) in outstanding.into_iter().enumerate() {
            if !self.window.is_full_enough(own) || self.fleet.has_budget {
                self.top_up(number, own);
            }
        }
        // What the sweep has cost and will.
        self.read();
        self.read();
    }

    fn top_up(&mut self, number: usize, mut own: u64) {
        // The next shards.
        self.read();
        for _ in 0..SHARDS_AT_ONCE {
            if !self.window.admits(own, self.shard) {
                break;
            }
            // Who is under way, recorded, and at which attempt, and where they left off; the lead, and the claim.
            (0..4).for_each(|_| self.read());
            self.write();
            self.write();
            self.now += self.shard * self.costs.message_us + self.costs.confirm_us;
            self.messages += if self.is_measured() { self.shard } else { 0 };
            self.queues[number].publish(self.now, self.shard);
            own += self.shard;
            // The shard is dispatched.
            self.write();
            self.look_for_idle();
        }
    }

    /// The broker hands jobs to consumers in turn, so each has one when there were as many as consumers.
    fn look_for_idle(&mut self) {
        let consumers = u64::from(self.fleet.workers / self.fleet.endpoints);
        if self.all_at_work.is_none() && self.queues.iter().all(|queue| queue.dispatched >= consumers) {
            self.all_at_work = Some(self.now);
        }
    }

    fn is_measured(&self) -> bool {
        (MEASURED_US.0..MEASURED_US.1).contains(&self.now)
    }

    fn read(&mut self) {
        self.operation(self.costs.read_us);
    }

    fn write(&mut self) {
        self.operation(self.costs.write_us);
    }

    fn operation(&mut self, takes_us: u64) {
        self.now += takes_us;
        self.operations += u64::from(self.is_measured());
    }

    fn outcome(mut self) -> Outcome {
        self.queues.iter_mut().for_each(|queue| queue.until(MEASURED_US.1));
        let Fleet { workers, endpoints, slots, calls, has_budget } = self.fleet;
        let lasted_us = (MEASURED_US.1 - MEASURED_US.0) as f64;
        let filled: u128 = self.queues.iter().map(|queue| queue.filled).sum();
        let slots_in_all = workers / endpoints * endpoints * slots;
        Outcome {
            fleet: [workers, endpoints, slots, calls],
            has_budget,
            shard: u32::try_from(self.shard).unwrap_or(u32::MAX),
            messages_per_s: self.messages as f64 * 1e6 / lasted_us,
            operations_per_s: self.operations as f64 * 1e6 / lasted_us,
            busy: self.busy_us as f64 / lasted_us,
            used: filled as f64 / (f64::from(slots_in_all) * lasted_us),
            all_at_work_ms: self.all_at_work.map(|at| at / 1_000),
        }
    }
}

impl Outcome {
    pub(crate) const HEAD: &str =
        "workers endpoints slots calls shard | messages/s ledger ops/s leader busy | slots used | a job for each after";
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [workers, endpoints, slots, calls] = self.fleet;
        let shard = if self.has_budget { format!("{} $", self.shard) } else { self.shard.to_string() };
        write!(f, "{workers:>7} {endpoints:>9} {slots:>5} {calls:>5} {shard:>5}")?;
        write!(f, " | {:>10.0} {:>12.0} {:>10.0}%", self.messages_per_s, self.operations_per_s, self.busy * 100.0)?;
        write!(f, " | {:>9.0}% | ", self.used * 100.0)?;
        match self.all_at_work_ms {
            Some(at) => write!(f, "{:.1} s", at as f64 / 1_000.0),
            None => write!(f, "never"),
        }
    }
}
