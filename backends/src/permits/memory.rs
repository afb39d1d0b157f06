//! Permits within one process.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use lru::LruCache;
use regatta_proto::{
    AccountId, AccountReply, AccountRequest, Clock, Digest, ErrorClass, Failing, Money, PoolReply, PoolRequest,
    SweepId, SystemClock,
};
use tokio::time::Instant;

use super::account::{Account, AccountState};
use super::kept::KeptGrants;
use super::pool::{Change, Pool};
use super::{FAILURES_KEPT_MS, FAILURES_MAX, PermitsError, PoolHolder};

/// Delay, in milliseconds, after which a worker of the same process gives back what it has no use for: nothing is far away here, and
/// somebody waits for the end of the run.
const IDLE_MS: u64 = 20;

/// Permits within this process; clones share them.
#[derive(Debug, Clone)]
pub struct MemoryPermits(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// Wall-clock time at `started`, in milliseconds since 1970.
    started_ms: u64,
    /// tokio's time, so that tests can pause it.
    started: Instant,
    state: Mutex<State>,
    /// Grants of accounts outlive the process here.
    kept: Option<KeptGrants>,
}

#[derive(Debug)]
struct State {
    pools: HashMap<String, Pool>,
    accounts: HashMap<AccountId, Account>,
    failures: LruCache<Digest, BTreeMap<ErrorClass, Failures>>,
}

/// Failures of a request of one class: their number and the time of the last one.
#[derive(Debug, Clone, Copy)]
struct Failures {
    count: u32,
    last_ms: u64,
}

impl MemoryPermits {
    pub(super) fn new() -> Self {
        Self::begun_at(SystemClock.now(), None)
    }

    /// Permits whose accounts know what processes before this one were granted.
    pub(super) fn kept(path: &Path) -> Result<Self, PermitsError> {
        let unusable = |source| PermitsError::Grants { path: path.to_owned(), source };
        Ok(Self::begun_at(SystemClock.now(), Some(KeptGrants::open(path).map_err(unusable)?)))
    }

    /// Permits of a store that began at that moment, which is now.
    pub(super) fn begun_at(moment: Timestamp, kept: Option<KeptGrants>) -> Self {
        let state = State { pools: HashMap::new(), accounts: HashMap::new(), failures: LruCache::unbounded() };
        let started_ms = u64::try_from(moment.as_millisecond()).unwrap_or(0);
        Self(Arc::new(Shared { started_ms, started: Instant::now(), state: Mutex::new(state), kept }))
    }

    pub(super) fn lease(&self, request: &PoolRequest) -> PoolReply {
        let (now, mut state) = self.enter();
        if let Some(pool) = state.pools.get_mut(&request.pool) {
            return pool.lease(now, request);
        }
        state.pools.entry(request.pool.clone()).or_default().lease(now, request)
    }

    pub(super) fn changes(&self, pool: &str) -> Vec<Change> {
        let (_, state) = self.enter();
        state.pools.get(pool).map_or_else(Vec::new, |pool| pool.changes().cloned().collect())
    }

    pub(super) fn holders(&self, pool: &str) -> Vec<PoolHolder> {
        let (now, mut state) = self.enter();
        state.pools.get_mut(pool).map_or_else(Vec::new, |pool| pool.holders(now))
    }

    pub(super) fn open_account(&self, account: &AccountId, cap: Money, base_spent: Money) {
        let (_, mut state) = self.enter();
        let granted = self.0.kept.as_ref().map_or(Money::ZERO, |kept| kept.granted(account));
        state.accounts.entry(account.clone()).or_insert_with(|| Account::new(cap, base_spent, granted)).set_cap(cap);
    }

    pub(super) fn settle(&self, request: &AccountRequest) -> Result<AccountReply, PermitsError> {
        let (now, mut state) = self.enter();
        let account = state.accounts.get_mut(&request.account);
        let account = account.ok_or_else(|| PermitsError::UnknownAccount { account: request.account.clone() })?;
        let mut reply = account.settle(now, request);
        if let Some(kept) = &self.0.kept {
            reply.idle_ms = IDLE_MS;
            // Under the lock, so that what is written never falls behind what another was told. It is a few bytes, a few times a second.
            let unusable = |source| PermitsError::Grants { path: kept.path().to_owned(), source };
            kept.keep(&request.account, account.read(now).at_most()).map_err(unusable)?;
        }
        Ok(reply)
    }

    /// Money granted by this process and those before it; `None` for an account that none of them opened.
    pub(super) fn granted(&self, account: &AccountId) -> Option<Money> {
        let before = || self.0.kept.as_ref().and_then(|kept| kept.known(account));
        self.account(account).map(|state| state.at_most()).or_else(before)
    }

    pub(super) fn close_accounts(&self, sweep: &SweepId) {
        let (_, mut state) = self.enter();
        state.accounts.retain(|account, _| account.sweep != *sweep);
    }

    pub(super) fn account(&self, account: &AccountId) -> Option<AccountState> {
        let (now, mut state) = self.enter();
        state.accounts.get_mut(account).map(|account| account.read(now))
    }

    pub(super) fn failing(&self, failing: &Failing) -> u32 {
        let (now, mut state) = self.enter();
        let classes = state.failures.get_or_insert_mut(failing.fingerprint, BTreeMap::new);
        let failures = classes.entry(failing.class).or_insert(Failures { count: 0, last_ms: now });
        if !failures.counts(now) {
            failures.count = 0;
        }
        *failures = Failures { count: failures.count.saturating_add(1), last_ms: now };
        let count = failures.count;
        while state.failures.len() > FAILURES_MAX {
            state.failures.pop_lru();
        }
        count
    }

    pub(super) fn failures(&self, fingerprint: &Digest) -> u32 {
        let (now, state) = self.enter();
        let classes = state.failures.peek(fingerprint);
        let counted = classes.into_iter().flat_map(BTreeMap::values).filter(|failures| failures.counts(now));
        counted.map(|failures| failures.count).max().unwrap_or(0)
    }

    /// The time, in milliseconds since 1970, and the state.
    fn enter(&self) -> (u64, MutexGuard<'_, State>) {
        // A panic while the lock is held leaves a state that is still consistent enough: every call changes one entry.
        let state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        let elapsed = u64::try_from(self.0.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        (self.0.started_ms.saturating_add(elapsed), state)
    }
}

impl Failures {
    const fn counts(&self, now_ms: u64) -> bool {
        now_ms < self.last_ms.saturating_add(FAILURES_KEPT_MS)
    }
}
