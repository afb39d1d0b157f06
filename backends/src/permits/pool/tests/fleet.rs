//! A fleet of workers, an endpoint that counts what arrives, and time that jumps from event to event.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;

/// One sweep's work in every worker.
#[derive(Debug, Clone)]
pub(super) struct Work {
    pub(super) sweep: &'static str,
    pub(super) model: &'static str,
    pub(super) share: Share,
    /// When its calls come, and end to come.
    pub(super) from_ms: u64,
    pub(super) to_ms: u64,
    /// Calls that always wait in a worker.
    pub(super) backlog: u32,
    /// Tokens of a call on average, as estimated.
    pub(super) tokens: u64,
    /// Tokens of single calls, in per cent of `tokens`. Calls are sent in order: the next one waits until its own tokens are there.
    pub(super) sizes_percent: (u64, u64),
    /// Range of the tokens that calls really take, in per cent of the estimate.
    pub(super) taken_percent: (u64, u64),
    pub(super) latency_ms: (u64, u64),
}

impl Work {
    pub(super) fn of(sweep: &'static str) -> Self {
        Self {
            sweep,
            model: "m",
            share: Share::default(),
            from_ms: 0,
            to_ms: u64::MAX,
            backlog: 10_000,
            tokens: 100,
            sizes_percent: (100, 100),
            taken_percent: (100, 100),
            latency_ms: (100, 900),
        }
    }

    pub(super) fn weighing(self, weight: u32) -> Self {
        Self { share: Share { weight, ..self.share }, ..self }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Scene {
    pub(super) seed: u64,
    pub(super) workers: usize,
    pub(super) limits: Limits,
    pub(super) model_limits: BTreeMap<String, ModelLimits>,
    pub(super) work: Vec<Work>,
    /// Round trip to the store.
    pub(super) store_ms: (u64, u64),
    /// From the moment a worker sends to the arrival at the endpoint.
    pub(super) arrival_ms: (u64, u64),
    /// Worker and moment of its death; another one with a new name begins in its place.
    pub(super) deaths: Vec<(usize, u64)>,
    /// Moments at which the store crashes, and for how long it is away.
    pub(super) crashes: Vec<(u64, u64)>,
    /// Moments at which nobody reaches the store any more, and for how long; it loses nothing.
    pub(super) outages: Vec<(u64, u64)>,
    /// Moments at which the process of an embedded run, which has all workers and the store in it, is killed and begun again.
    pub(super) restarts: Vec<u64>,
    pub(super) until_ms: u64,
}

impl Scene {
    pub(super) fn of(workers: usize, limits: Limits, work: Vec<Work>) -> Self {
        Self {
            seed: 1,
            workers,
            limits,
            model_limits: BTreeMap::new(),
            work,
            store_ms: (1, 20),
            arrival_ms: (1, 50),
            deaths: Vec::new(),
            crashes: Vec::new(),
            outages: Vec::new(),
            restarts: Vec::new(),
            until_ms: 180_000,
        }
    }
}

/// A request that arrived.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    pub(super) at: u64,
    pub(super) work: usize,
    pub(super) worker: usize,
    pub(super) tokens: u64,
}

#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) arrivals: Vec<Arrival>,
    /// Most calls in flight at once, by the workers' own count, and for each model.
    pub(super) most_in_flight: u32,
    pub(super) most_of_model: BTreeMap<&'static str, u32>,
    pub(super) leases: u64,
    pub(super) state_bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Ends {
        worker: usize,
        life: u32,
        work: usize,
        estimate: u64,
        taken: u64,
    },
    Asks {
        worker: usize,
        life: u32,
    },
    /// The store decides.
    Leases {
        worker: usize,
        life: u32,
    },
    Hears {
        worker: usize,
        life: u32,
    },
    Dies {
        worker: usize,
    },
    /// The store, of which the last durable state is left.
    Crashes {
        away_ms: u64,
    },
    IsAway {
        away_ms: u64,
    },
    /// All workers and the store.
    Restarts,
}

#[derive(Debug, Clone, Default)]
struct Side {
    slots: u32,
    in_flight: u32,
    requests: u32,
    tokens: u64,
    correction: i64,
    /// Tokens of the call that is next.
    next: u64,
}

#[derive(Debug, Clone)]
struct Worker {
    life: u32,
    sides: Vec<Side>,
    asked_at: u64,
    request: Option<PoolRequest>,
    reply: Option<PoolReply>,
    /// Works whose parties were told, in order.
    told: Vec<usize>,
    is_asking: bool,
    units_until: u64,
    slots_until: u64,
}

struct Fleet {
    scene: Scene,
    pool: Pool,
    durable: Pool,
    is_crashed: bool,
    away_until: u64,
    rng: ChaCha8Rng,
    workers: Vec<Worker>,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    number: u64,
    outcome: Outcome,
}

pub(super) fn run(scene: Scene) -> Outcome {
    let worker = Worker {
        life: 0,
        sides: vec![Side::default(); scene.work.len()],
        asked_at: 0,
        request: None,
        reply: None,
        told: Vec::new(),
        is_asking: false,
        units_until: 0,
        slots_until: 0,
    };
    let mut fleet = Fleet {
        rng: ChaCha8Rng::seed_from_u64(scene.seed),
        workers: vec![worker; scene.workers],
        pool: Pool::default(),
        durable: Pool::default(),
        is_crashed: false,
        away_until: 0,
        events: BinaryHeap::new(),
        number: 0,
        outcome: Outcome::default(),
        scene,
    };
    for worker in 0..fleet.scene.workers {
        let at = fleet.rng.random_range(0..200);
        fleet.push(at, Event::Asks { worker, life: 0 });
    }
    for (worker, at) in fleet.scene.deaths.clone() {
        fleet.push(at, Event::Dies { worker });
    }
    for (at, away_ms) in fleet.scene.crashes.clone() {
        fleet.push(at, Event::Crashes { away_ms });
    }
    for (at, away_ms) in fleet.scene.outages.clone() {
        fleet.push(at, Event::IsAway { away_ms });
    }
    for at in fleet.scene.restarts.clone() {
        fleet.push(at, Event::Restarts);
    }
    while let Some(Reverse((now, _, event))) = fleet.events.pop() {
        if now > fleet.scene.until_ms {
            break;
        }
        fleet.step(now, event);
    }
    fleet.outcome.arrivals.sort_by_key(|arrival| arrival.at);
    fleet.outcome
}

impl Fleet {
    fn push(&mut self, at: u64, event: Event) {
        self.number += 1;
        self.events.push(Reverse((at, self.number, event)));
    }

    fn draw(&mut self, (from, to): (u64, u64)) -> u64 {
        self.rng.random_range(from..=to)
    }

    fn step(&mut self, now: u64, event: Event) {
        match event {
            Event::Crashes { away_ms } => {
                self.is_crashed = true;
                self.away_until = self.away_until.max(now + away_ms);
            }
            Event::IsAway { away_ms } => self.away_until = self.away_until.max(now + away_ms),
            Event::Dies { worker } => self.kill(now, worker),
            Event::Restarts => {
                self.pool = self.durable.clone().inherited(START + now).unwrap_or_default();
                (0..self.workers.len()).for_each(|worker| self.kill(now, worker));
            }
            Event::Ends { worker, life, work, estimate, taken } => {
                if self.workers[worker].life == life {
                    let side = &mut self.workers[worker].sides[work];
                    side.in_flight -= 1;
                    side.correction += taken as i64 - estimate as i64;
                    self.send(now, worker);
                }
            }
            Event::Asks { worker, life } if self.workers[worker].life == life => self.ask(now, worker),
            Event::Leases { worker, life } if self.workers[worker].life == life => self.lease(now, worker),
            Event::Hears { worker, life } if self.workers[worker].life == life => self.hear(now, worker),
            Event::Asks { .. } | Event::Leases { .. } | Event::Hears { .. } => {}
        }
    }

    /// Ends a worker's life; another one begins in its place.
    fn kill(&mut self, now: u64, worker: usize) {
        let life = self.workers[worker].life + 1;
        let sides = vec![Side::default(); self.scene.work.len()];
        self.workers[worker] = Worker {
            life,
            sides,
            request: None,
            reply: None,
            is_asking: false,
            units_until: 0,
            slots_until: 0,
            ..self.workers[worker].clone()
        };
        self.push(now + 100, Event::Asks { worker, life });
    }

    /// Sees to it that every work has a next call.
    fn prepare(&mut self, worker: usize) {
        for number in 0..self.scene.work.len() {
            if self.workers[worker].sides[number].next == 0 {
                let (tokens, sizes) = (self.scene.work[number].tokens, self.scene.work[number].sizes_percent);
                self.workers[worker].sides[number].next = (tokens * self.draw(sizes) / 100).max(1);
            }
        }
    }

    fn waiting(&self, now: u64, work: usize) -> u32 {
        let work = &self.scene.work[work];
        if (work.from_ms..work.to_ms).contains(&now) { work.backlog } else { 0 }
    }

    fn ask(&mut self, now: u64, worker: usize) {
        if self.workers[worker].is_asking {
            return;
        }
        let mut parties = Vec::new();
        self.workers[worker].told.clear();
        self.prepare(worker);
        for number in 0..self.scene.work.len() {
            let waiting = self.waiting(now, number);
            let work = self.scene.work[number].clone();
            let side = &mut self.workers[worker].sides[number];
            if waiting > 0 || side.in_flight > 0 || side.requests > 0 || side.correction != 0 {
                let average = party(work.sweep, waiting, work.tokens);
                // As workers do: so many that what is granted for one of them is enough for the first.
                let waiting_tokens = average.waiting_tokens.max(side.next * u64::from(waiting));
                parties.push(Party {
                    waiting_tokens,
                    model: work.model.to_owned(),
                    share: work.share,
                    in_flight: side.in_flight,
                    unsent_requests: side.requests,
                    unsent_tokens: side.tokens,
                    token_correction: side.correction,
                    ..average
                });
                self.workers[worker].told.push(number);
            }
            let side = &mut self.workers[worker].sides[number];
            *side = Side {
                slots: side.slots.min(side.in_flight),
                in_flight: side.in_flight,
                next: side.next,
                ..Side::default()
            };
        }
        let life = self.workers[worker].life;
        let request = PoolRequest {
            model_limits: self.scene.model_limits.clone(),
            ..request(&format!("w{worker}-{life}"), self.scene.limits, parties)
        };
        let there = self.draw(self.scene.store_ms) / 2;
        let mine = &mut self.workers[worker];
        (mine.asked_at, mine.request, mine.is_asking) = (now, Some(request), true);
        self.push(now + there, Event::Leases { worker, life });
    }

    fn lease(&mut self, now: u64, worker: usize) {
        if now < self.away_until {
            let (later, life) = (self.away_until + self.draw((0, 5_000)), self.workers[worker].life);
            return self.push(later, Event::Leases { worker, life });
        }
        if std::mem::take(&mut self.is_crashed) {
            self.pool = self.durable.clone().recovered(START + now);
        }
        let Some(request) = self.workers[worker].request.take() else { return };
        self.outcome.leases += 1;
        if self.outcome.leases.is_multiple_of(64) {
            // PostgreSQL stores the state between any two leases.
            let stored = serde_json::to_string(&self.pool).unwrap();
            self.outcome.state_bytes = self.outcome.state_bytes.max(stored.len());
            let restored: Pool = serde_json::from_str(&stored).unwrap();
            assert_eq!(restored, self.pool);
        }
        self.workers[worker].reply = Some(self.pool.lease(START + now, &request));
        if self.pool.save_due(START + now, &request) {
            self.durable = self.pool.clone();
        }
        let (back, life) = (self.draw(self.scene.store_ms) / 2, self.workers[worker].life);
        self.push(now + back, Event::Hears { worker, life });
    }

    fn hear(&mut self, now: u64, worker: usize) {
        let mine = &mut self.workers[worker];
        let Some(reply) = mine.reply.take() else { return };
        mine.is_asking = false;
        mine.units_until = mine.asked_at + reply.valid_ms;
        mine.slots_until = mine.asked_at + 10 * reply.valid_ms;
        assert_eq!(mine.told.len(), reply.grants.len());
        for (work, grant) in mine.told.clone().into_iter().zip(&reply.grants) {
            let side = &mut mine.sides[work];
            (side.slots, side.requests, side.tokens) = (grant.slots, grant.requests, grant.tokens);
        }
        let (asked_at, life) = (mine.asked_at, mine.life);
        self.send(now, worker);
        let jitter = self.rng.random_range(0..=reply.retry_ms / 5);
        self.push((asked_at + reply.retry_ms + jitter).max(now + 5), Event::Asks { worker, life });
    }

    /// Sends all that a worker may send, and asks again at once when it ran out of requests before the time.
    fn send(&mut self, now: u64, worker: usize) {
        for number in 0..self.scene.work.len() {
            let work = self.scene.work[number].clone();
            loop {
                self.prepare(worker);
                let mine = &self.workers[worker];
                let side = &mine.sides[number];
                let tokens = side.next;
                let may = side.in_flight < side.slots
                    && now < mine.slots_until
                    && now < mine.units_until
                    && side.requests > 0
                    && side.tokens >= tokens;
                if !may || self.waiting(now, number) == 0 {
                    break;
                }
                let life = mine.life;
                let taken = tokens * self.draw(work.taken_percent) / 100;
                let (way, latency) = (self.draw(self.scene.arrival_ms), self.draw(work.latency_ms));
                let side = &mut self.workers[worker].sides[number];
                side.in_flight += 1;
                side.requests -= 1;
                side.tokens -= tokens;
                side.next = 0;
                self.outcome.arrivals.push(Arrival { at: now + way, work: number, worker, tokens: taken });
                self.push(now + latency.max(1), Event::Ends { worker, life, work: number, estimate: tokens, taken });
                self.count(number);
            }
        }
    }

    fn count(&mut self, work: usize) {
        let model = self.scene.work[work].model;
        let of = |only: Option<&str>| -> u32 {
            let sides = self.workers.iter().flat_map(|worker| worker.sides.iter().zip(&self.scene.work));
            sides.filter(|(_, work)| only.is_none_or(|model| work.model == model)).map(|(side, _)| side.in_flight).sum()
        };
        self.outcome.most_in_flight = self.outcome.most_in_flight.max(of(None));
        let most = of(Some(model)).max(self.outcome.most_of_model.get(model).copied().unwrap_or(0));
        self.outcome.most_of_model.insert(model, most);
    }
}

impl Outcome {
    /// The largest sum of `amount` that arrived within any minute.
    pub(super) fn most_in_a_minute(&self, amount: impl Fn(&Arrival) -> u64) -> u64 {
        self.minutes(amount).map(|(_, sum)| sum).max().unwrap_or(0)
    }

    /// The same of minutes in which more than one call arrived: a call that is larger than the whole limit can only be sent, and is, when it
    /// has its minute to itself.
    pub(super) fn most_of_several_in_a_minute(&self, amount: impl Fn(&Arrival) -> u64) -> u64 {
        self.minutes(amount).filter(|(calls, _)| *calls > 1).map(|(_, sum)| sum).max().unwrap_or(0)
    }

    /// For each minute that ends with an arrival, the calls in it that have an `amount`, and its sum.
    fn minutes(&self, amount: impl Fn(&Arrival) -> u64) -> impl Iterator<Item = (usize, u64)> {
        let (mut window, mut sum) = (VecDeque::new(), 0);
        let amounts = self.arrivals.iter().map(move |arrival| (arrival.at, amount(arrival)));
        amounts.filter(|(_, came)| *came > 0).map(move |(at, came)| {
            while let Some((_, left)) = window.pop_front_if(|(before, _)| *before + 60_000 <= at) {
                sum -= left;
            }
            window.push_back((at, came));
            sum += came;
            (window.len(), sum)
        })
    }

    /// Sum of the requests that arrived from `from` until before `to`.
    pub(super) fn between(&self, from: u64, to: u64, amount: impl Fn(&Arrival) -> u64) -> u64 {
        self.arrivals.iter().filter(|arrival| (from..to).contains(&arrival.at)).map(amount).sum()
    }
}
