//! Faults of a history, with their times.

use std::fmt;

use rand::Rng;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Roles of processes, in the order in which they are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Plans and dispatches.
    Coordinator,
    /// Runs sessions.
    Worker,
    /// Records and scores.
    Scorer,
}

/// The sweep of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Workload {
    /// Sessions of one call, whose scores wait for similarities.
    Calls,
    /// The same, in a sweep with a question, and so in rounds.
    Rounds,
    /// Conversations of many calls between three models, whose scores wait for judgements in words.
    Talks,
    /// Sessions of one call by the batch lane, in batches that the endpoint takes twenty seconds for, and of which a fifth of the lines fail.
    Batches,
}

/// A store that all processes share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// Sweeps, sessions, attempts.
    Ledger,
    /// Jobs, reports, broadcasts.
    Queue,
    /// Transcripts, checkpoints, documents.
    Blobs,
    /// Permits and accounts.
    Permits,
}

impl Store {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Ledger, Self::Queue, Self::Blobs, Self::Permits];
}

/// A fault of one process at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blow {
    /// It dies, wherever it is, and another takes its place after `down_ms`.
    Kill {
        /// Time until then.
        down_ms: u64,
    },
    /// The process's consumers lose their connection while it goes on: what they hold is delivered again, to any process.
    Cut,
    /// It stands still, and goes on where it was after `ms`. Meanwhile the broker gives it up, if that takes long.
    Pause {
        /// For how long.
        ms: u64,
    },
    /// The clock of the process is put forward or back while it works.
    Clock {
        /// By how much.
        hours: i64,
    },
    /// The sweep is cancelled, and resumed at once. It befalls all.
    CancelAndResume,
    /// A store fails every call of every process for `ms`.
    Outage {
        /// Store that is away.
        store: Store,
        /// For how long.
        ms: u64,
    },
    /// The same for this process alone.
    OutageOfOne {
        /// Store that is away.
        store: Store,
        /// For how long.
        ms: u64,
    },
}

/// A blow with its moment and its victim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Milliseconds since the start.
    pub at_ms: u64,
    /// Number of the process among all.
    pub process: usize,
    /// Fault that strikes it.
    pub blow: Blow,
}

/// Longest time for which a worker stands still whose sweep may be cancelled and resumed meanwhile. Workers are waited for that had told of
/// their sessions within the last three quarters of a minute.
const PAUSE_AMONG_CANCELS_MS: u64 = 20_000;

/// Longest time until an answer.
pub(crate) const ANSWERS_MS: u64 = 4_000;
/// The same of a model that thinks for longer than a shard may be in doubt.
const SLOW_ANSWERS_MS: u64 = 120_000;

/// Faults and conditions of a history. They derive from the seed, and may be made simpler than that.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Seed of every draw that is not in the plan: latencies, and which calls fail.
    pub seed: u64,
    /// The sweep that runs.
    pub workload: Workload,
    /// Processes of each kind.
    pub coordinators: usize,
    /// Processes of each kind.
    pub workers: usize,
    /// Processes of each kind.
    pub scorers: usize,
    /// Longest time that a model thinks about an answer.
    pub answers_ms: u64,
    /// Time from the start in which the endpoint takes calls and answers none.
    pub silent_ms: u64,
    /// Longest latency of a store's call, to and fro each.
    pub latency_ms: u64,
    /// Share of calls to stores that fail without an effect.
    pub failing: f64,
    /// Share of calls to stores that take effect and look failed.
    pub unconfirmed: f64,
    /// Share of reports that come twice.
    pub doubled: f64,
    /// Share of jobs that the broker loses after it has confirmed them.
    pub lost: f64,
    /// Share of calls to models that are refused for being too many.
    pub refused: f64,
    /// Share of calls to models whose connection breaks.
    pub dropped: f64,
    /// Hours by which the wall clocks of the processes differ, at most.
    pub skew_hours: i64,
    /// Blows, in the order of their moments.
    pub events: Vec<Event>,
}

impl Plan {
    /// Nothing goes wrong.
    #[must_use]
    pub const fn calm(seed: u64, workload: Workload) -> Self {
        Self {
            seed,
            workload,
            coordinators: 1,
            workers: 2,
            scorers: 1,
            answers_ms: ANSWERS_MS,
            silent_ms: 0,
            latency_ms: 3,
            failing: 0.0,
            unconfirmed: 0.0,
            doubled: 0.0,
            lost: 0.0,
            refused: 0.0,
            dropped: 0.0,
            skew_hours: 0,
            events: Vec::new(),
        }
    }

    /// The troubles of `seed`: each kind in some plans, so that most have a few of them and some have one alone.
    #[must_use]
    pub fn of_seed(seed: u64, workload: Workload) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let some =
            |rng: &mut ChaCha8Rng, most: f64| if rng.random_bool(0.4) { rng.random_range(0.0..most) } else { 0.0 };
        let mut plan = Self {
            seed,
            workload,
            coordinators: rng.random_range(1..=2),
            workers: rng.random_range(1..=3),
            scorers: rng.random_range(1..=2),
            answers_ms: if seed % 8 == 7 { SLOW_ANSWERS_MS } else { ANSWERS_MS },
            silent_ms: 0,
            latency_ms: [0, 3, 40, 700][rng.random_range(0..4)],
            failing: some(&mut rng, 0.1),
            unconfirmed: some(&mut rng, 0.05),
            doubled: some(&mut rng, 0.2),
            lost: 0.0,
            refused: some(&mut rng, 0.3),
            dropped: some(&mut rng, 0.1),
            skew_hours: if rng.random_bool(0.3) { 30 } else { 0 },
            events: Vec::new(),
        };
        // Conversations take longer, and so do the faults among them.
        let until_ms = if workload == Workload::Talks { 60_000 } else { 20_000 };
        // A batch of a cancelled sweep is paid, and so are its sessions in the next.
        let has_cancels = rng.random_bool(0.3) && workload != Workload::Batches;
        for _ in 0..rng.random_range(0..6) {
            let process = rng.random_range(0..plan.processes());
            let blow = match rng.random_range(0..10) {
                0..5 => Blow::Kill { down_ms: rng.random_range(0..20_000) },
                5..7 => Blow::Cut,
                _ if has_cancels => Blow::CancelAndResume,
                _ => Blow::Pause { ms: rng.random_range(100..90_000) },
            };
            plan.events.push(Event { at_ms: rng.random_range(0..until_ms), process, blow });
        }
        if rng.random_bool(0.3) {
            let (store, ms) = (Store::ALL[rng.random_range(0..4)], rng.random_range(1_000..60_000));
            let at_ms = rng.random_range(0..until_ms);
            plan.events.push(Event { at_ms, process: 0, blow: Blow::Outage { store, ms } });
        }
        if rng.random_bool(0.1) {
            plan.lost = rng.random_range(0.0..0.1);
        }
        // One that stands still while its sweep is cancelled and resumed hears of it when it goes on.
        if has_cancels && rng.random_bool(0.3) {
            let process = rng.random_range(plan.coordinators..plan.coordinators + plan.workers);
            let blow = Blow::Pause { ms: rng.random_range(100..PAUSE_AMONG_CANCELS_MS) };
            plan.events.push(Event { at_ms: rng.random_range(0..until_ms), process, blow });
        }
        if seed % 16 == 11 {
            let process = rng.random_range(0..plan.processes());
            let blow = Blow::Clock { hours: [-30, -1, 1, 30][rng.random_range(0..4)] };
            plan.events.push(Event { at_ms: rng.random_range(0..until_ms), process, blow });
        }
        // One scorer holds what the other must not answer for.
        if plan.scorers > 1 && rng.random_bool(0.3) {
            let process = plan.processes() - 1 - rng.random_range(0..plan.scorers);
            let store = [Store::Ledger, Store::Blobs][rng.random_range(0..2)];
            let blow = Blow::OutageOfOne { store, ms: rng.random_range(1_000..600_000) };
            plan.events.push(Event { at_ms: rng.random_range(0..until_ms), process, blow });
        }
        if workload == Workload::Batches {
            // A batch is known by its message alone, and published once more where a broker does not say that it has it.
            (plan.lost, plan.unconfirmed) = (0.0, 0.0);
            // One that may have been handed in is looked for by its time.
            plan.skew_hours = 0;
            plan.answers_ms = ANSWERS_MS;
            plan.events.retain(|event| !matches!(event.blow, Blow::Clock { .. }));
        }
        plan.events.sort_by_key(|event| event.at_ms);
        plan
    }

    /// Number of processes; coordinators come first, then workers, then scorers.
    #[must_use]
    pub const fn processes(&self) -> usize {
        self.coordinators + self.workers + self.scorers
    }

    /// True if a session's last checkpoint has all calls that were answered some seconds ago: nothing keeps its worker from writing it, and
    /// nothing makes it void.
    #[must_use]
    pub(crate) fn keeps_checkpoints(&self) -> bool {
        let is_harmless = |event: &Event| !matches!(event.blow, Blow::CancelAndResume | Blow::Outage { .. });
        self.failing + self.unconfirmed == 0.0 && self.events.iter().all(is_harmless)
    }

    /// Moments at which a worker is killed, cut off, or stopped, and at which a broker gives up one that stands still.
    #[must_use]
    pub(crate) fn losses_of_workers(&self) -> Vec<u64> {
        let of_workers = self.events.iter().filter(|event| self.kind(event.process) == Kind::Worker);
        let losses = of_workers.filter_map(|event| match event.blow {
            Blow::Kill { .. } | Blow::Cut | Blow::Pause { .. } => Some(event.at_ms),
            Blow::Clock { .. } | Blow::CancelAndResume | Blow::Outage { .. } | Blow::OutageOfOne { .. } => None,
        });
        losses.collect()
    }

    /// True if the sweep may be cancelled and resumed.
    #[must_use]
    pub(crate) fn has_cancels(&self) -> bool {
        self.events.iter().any(|event| event.blow == Blow::CancelAndResume)
    }

    /// Kind of the process with that number.
    #[must_use]
    pub const fn kind(&self, process: usize) -> Kind {
        if process < self.coordinators {
            Kind::Coordinator
        } else if process < self.coordinators + self.workers {
            Kind::Worker
        } else {
            Kind::Scorer
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, workload, coordinators, workers, scorers, latency_ms, .. } = self;
        writeln!(
            f,
            "seed {seed}, {workload:?}: {coordinators} coordinators, {workers} workers, {scorers} scorers, latency {latency_ms} ms"
        )?;
        let shares = [
            ("failing", self.failing),
            ("unconfirmed", self.unconfirmed),
            ("doubled", self.doubled),
            ("lost", self.lost),
            ("refused", self.refused),
            ("dropped", self.dropped),
        ];
        if self.answers_ms > ANSWERS_MS {
            writeln!(f, "  answers take up to {} s", self.answers_ms / 1000)?;
        }
        for (name, share) in shares.into_iter().filter(|(_, share)| *share > 0.0) {
            writeln!(f, "  {name}: {share:.3}")?;
        }
        if self.skew_hours != 0 {
            writeln!(f, "  clocks: {} hours apart at most", self.skew_hours)?;
        }
        for Event { at_ms, process, blow } in &self.events {
            writeln!(f, "  at {at_ms} ms: {blow:?} of process {process} ({:?})", self.kind(*process))?;
        }
        Ok(())
    }
}
