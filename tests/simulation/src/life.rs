//! One process's life: what befalls its calls, and its end.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use regatta_backends::Permits;
use regatta_backends::faults::{Connection, Fate, Trouble};
use regatta_llm::{PermitStore, ResponseStore, Standstill, StoreError};
use regatta_proto::{
    AccountReply, AccountRequest, AttemptId, Clock, Digest, Failing, PoolReply, PoolRequest, Report, SessionKey,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::plan::{Plan, Store};

/// The moment at which every history begins.
pub(crate) const BEGINNING: Timestamp = Timestamp::constant(1_780_000_000, 0);

/// Stores that are away, for all processes.
#[derive(Debug, Default)]
pub(crate) struct Outages(Mutex<Vec<(Store, Instant)>>);

impl Outages {
    /// `store` is away for `length` from now on.
    pub(crate) fn begin(&self, store: Store, length: Duration) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((store, Instant::now() + length));
    }

    fn is_away(&self, store: Store) -> bool {
        let now = Instant::now();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|(away, until)| *away == store && now < *until)
    }
}

/// One process from its start to its death.
pub(crate) struct Life {
    plan: Plan,
    outages: Arc<Outages>,
    dead: CancellationToken,
    state: Mutex<State>,
    standstill: Standstill,
    skew: SignedDuration,
    begun: Instant,
}

struct State {
    rng: ChaCha8Rng,
    connections: Vec<Arc<dyn Connection>>,
    /// Stores that are away for this process alone, until when.
    away: Vec<(Store, Instant)>,
    /// By how much its clock was put forward since it began.
    jumped: SignedDuration,
    /// When it stood still last, from and until.
    pause: Option<(Instant, Instant)>,
    /// Sessions whose end it has reported, and knows to be reported.
    reported: BTreeSet<SessionKey>,
    /// Attempts whose end it has reported: what it tells of them may come later.
    ended: BTreeSet<AttemptId>,
    /// Sessions of which it has told, and knows to have told, that they run.
    told: BTreeSet<SessionKey>,
}

impl Life {
    /// The life of the `generation`-th process with that number. `begun` is the beginning of the history.
    pub(crate) fn new(
        plan: &Plan,
        process: usize,
        generation: u64,
        begun: Instant,
        outages: &Arc<Outages>,
    ) -> Arc<Self> {
        let seed = plan.seed
            ^ (process as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ generation.wrapping_mul(0xd1b5_4a32_d192_ed03);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let skew = SignedDuration::from_hours(rng.random_range(-plan.skew_hours..=plan.skew_hours));
        let (connections, pause) = (Vec::new(), None);
        let jumped = SignedDuration::ZERO;
        let state = State {
            rng,
            connections,
            away: Vec::new(),
            jumped,
            pause,
            reported: BTreeSet::new(),
            ended: BTreeSet::new(),
            told: BTreeSet::new(),
        };
        let (plan, outages, dead) = (plan.clone(), outages.clone(), CancellationToken::new());
        let standstill = Standstill::watch();
        Arc::new(Self { plan, outages, dead, state: Mutex::new(state), standstill, skew, begun })
    }

    /// Nothing that it does has an effect from now on.
    pub(crate) fn end(&self) {
        self.dead.cancel();
        for connection in std::mem::take(&mut self.locked().connections) {
            connection.end();
        }
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.dead.is_cancelled()
    }

    /// Breaks the connections of its consumers, which then have another.
    pub(crate) fn cut(&self) {
        let connections = self.locked().connections.clone();
        for connection in connections {
            connection.reset();
        }
    }

    /// It cannot reach `store` for `length` from now on.
    pub(crate) fn cut_off(&self, store: Store, length: Duration) {
        self.locked().away.push((store, Instant::now() + length));
    }

    fn is_cut_off(&self, store: Store) -> bool {
        let now = Instant::now();
        self.locked().away.iter().any(|(away, until)| *away == store && now < *until)
    }

    /// Puts the process's clock forward by `hours`; back, if they are negative.
    pub(crate) fn put_clock(&self, hours: i64) {
        self.locked().jumped += SignedDuration::from_hours(hours);
    }

    /// It stands still for so long, or for longer where it does already. Returns since when and until when it does.
    pub(crate) fn pause(&self, length: Duration) -> (Instant, Instant) {
        let (now, mut state) = (Instant::now(), self.locked());
        let (since, until) = state.pause.filter(|(_, until)| now < *until).unwrap_or((now, now));
        let until = until.max(now + length);
        state.pause = Some((since, until));
        drop(state);
        self.standstill.stands_still(until);
        (since, until)
    }

    pub(crate) fn stands_still(&self) -> bool {
        self.locked().pause.is_some_and(|(_, until)| Instant::now() < until)
    }

    /// The moment before which all that it wanted to be kept `within` a time is kept.
    pub(crate) fn kept_before(&self, within: Duration) -> Instant {
        let now = Instant::now();
        let pause = self.locked().pause.filter(|(_, until)| now < *until + within);
        let worked_until = pause.map_or(now, |(since, _)| since);
        worked_until.checked_sub(within).map_or(self.begun, |kept_before| kept_before.max(self.begun))
    }

    pub(crate) fn standstill(&self) -> Standstill {
        self.standstill.clone()
    }

    pub(crate) fn has_reported(&self, key: &SessionKey) -> bool {
        self.locked().reported.contains(key)
    }

    /// Sessions of which it has told that they run.
    pub(crate) fn told(&self) -> BTreeSet<SessionKey> {
        self.locked().told.clone()
    }

    /// The process's way to `store`.
    pub(crate) fn reach(self: &Arc<Self>, store: Store) -> Reach {
        Reach { life: self.clone(), store }
    }

    /// Seed of what the process draws itself.
    pub(crate) fn seed(&self) -> u64 {
        self.locked().rng.random()
    }

    /// Returns when it does not stand still, and never when it is dead.
    pub(crate) async fn go_on(&self) {
        loop {
            if self.is_dead() {
                std::future::pending::<()>().await;
            }
            let pause = self.locked().pause.filter(|(_, until)| *until > Instant::now());
            match pause {
                Some((_, until)) => tokio::time::sleep_until(until).await,
                None => return,
            }
        }
    }

    /// Half a call to `store`: on its way, and perhaps lost.
    async fn pass(&self, store: Store, share_lost: f64) -> Result<(), Trouble> {
        self.go_on().await;
        let (latency, is_lost) = {
            let rng = &mut self.locked().rng;
            let latency = if self.plan.latency_ms == 0 { 0 } else { rng.random_range(0..=self.plan.latency_ms) };
            (latency, share_lost > 0.0 && rng.random_bool(share_lost))
        };
        if latency > 0 {
            tokio::time::sleep(Duration::from_millis(latency)).await;
        }
        self.go_on().await;
        if is_lost || self.outages.is_away(store) || self.is_cut_off(store) { Err(Trouble) } else { Ok(()) }
    }

    fn draw(&self, share: f64) -> bool {
        share > 0.0 && self.locked().rng.random_bool(share)
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The way of one process to one store.
pub(crate) struct Reach {
    life: Arc<Life>,
    store: Store,
}

impl Fate for Reach {
    fn before(&self) -> BoxFuture<'_, Result<(), Trouble>> {
        self.life.pass(self.store, self.life.plan.failing).boxed()
    }

    fn after(&self) -> BoxFuture<'_, Result<(), Trouble>> {
        self.life.pass(self.store, self.life.plan.unconfirmed).boxed()
    }

    fn loses(&self) -> bool {
        self.life.draw(self.life.plan.lost)
    }

    fn doubles(&self) -> bool {
        self.life.draw(self.life.plan.doubled)
    }

    fn reported(&self, reports: &[Report]) {
        let running = reports.iter().filter_map(|report| match report {
            Report::Progress(progress) => Some(progress.open.iter().map(|open| (&open.key, &open.id))),
            Report::Session(_)
            | Report::HandedOver { .. }
            | Report::Judge(_)
            | Report::Rejudge { .. }
            | Report::Echo { .. }
            | Report::Tabulate { .. } => None,
        });
        for (key, attempt) in running.flatten() {
            let mut state = self.life.locked();
            // Once more, if it was reported to have ended here before.
            if !state.ended.contains(attempt) {
                state.reported.remove(key);
            }
            state.told.insert(key.clone());
        }
        let ended = reports.iter().filter_map(|report| match report {
            Report::Session(outcome) => Some((&outcome.key, &outcome.attempt)),
            // What another process has spent is reported by who goes on from there.
            Report::HandedOver { key, attempt, taken_over: false, .. } => Some((key, attempt)),
            Report::HandedOver { taken_over: true, .. }
            | Report::Judge(_)
            | Report::Progress(_)
            | Report::Rejudge { .. }
            | Report::Echo { .. }
            | Report::Tabulate { .. } => None,
        });
        for (key, attempt) in ended {
            let mut state = self.life.locked();
            state.reported.insert(key.clone());
            state.ended.insert(attempt.id.clone());
        }
    }

    fn connected(&self, connection: Arc<dyn Connection>) {
        self.life.locked().connections.push(connection);
    }
}

impl Clock for Life {
    fn now(&self) -> Timestamp {
        let passed = SignedDuration::try_from(self.begun.elapsed()).unwrap_or(SignedDuration::MAX);
        BEGINNING + passed + self.skew + self.locked().jumped
    }
}

/// The fleet's permits, as one process reaches them.
pub(crate) struct ReachedPermits {
    pub(crate) reach: Reach,
    pub(crate) permits: Permits,
}

impl ReachedPermits {
    async fn reach<T>(
        &self,
        call: impl Future<Output = Result<T, regatta_backends::PermitsError>> + Send,
    ) -> Result<T, StoreError> {
        let away = |trouble: Trouble| StoreError(trouble.to_string());
        self.reach.before().await.map_err(away)?;
        let reply = call.await.map_err(|error| StoreError(error.to_string()));
        self.reach.after().await.map_err(away)?;
        reply
    }
}

impl PermitStore for ReachedPermits {
    fn lease<'a>(&'a self, request: &'a PoolRequest) -> BoxFuture<'a, Result<PoolReply, StoreError>> {
        self.reach(self.permits.lease(request)).boxed()
    }

    fn settle<'a>(&'a self, request: &'a AccountRequest) -> BoxFuture<'a, Result<AccountReply, StoreError>> {
        self.reach(self.permits.settle(request)).boxed()
    }

    fn failing<'a>(&'a self, failing: &'a Failing) -> BoxFuture<'a, Result<u32, StoreError>> {
        self.reach(self.permits.failing(failing)).boxed()
    }

    fn failures<'a>(&'a self, fingerprint: &'a Digest) -> BoxFuture<'a, Result<u32, StoreError>> {
        self.reach(self.permits.failures(fingerprint)).boxed()
    }
}

/// No answer is kept: the cache is off.
pub(crate) struct NoResponses;

impl ResponseStore for NoResponses {
    fn get<'a>(&'a self, _: &'a Digest) -> BoxFuture<'a, Result<Option<Bytes>, StoreError>> {
        async { Ok(None) }.boxed()
    }

    fn put<'a>(&'a self, _: &'a Digest, _: Bytes) -> BoxFuture<'a, Result<(), StoreError>> {
        async { Ok(()) }.boxed()
    }
}
