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
use super::kept_pools::{Inherited, KeptPools};
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
    kept: Option<Kept>,
    /// Somebody has used the pools before this process, and what was granted then is not known.
    has_lost_pools: bool,
}

/// Files in which permits outlive the process.
#[derive(Debug)]
pub(super) struct Kept {
    grants: KeptGrants,
    pools: KeptPools,
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

    /// Permits that know what processes before this one were granted, by the files in `folder`.
    pub(super) fn kept(folder: &Path) -> Result<Self, PermitsError> {
        let path = folder.join("accounts.json");
        let grants = KeptGrants::open(&path).map_err(|source| PermitsError::Grants { path, source })?;
        let pools = KeptPools::at(folder.join("pools.json"));
        Ok(Self::begun_at(SystemClock.now(), Some(Kept { grants, pools })))
    }

    /// Permits of a store that began at that moment, which is now.
    pub(super) fn begun_at(moment: Timestamp, kept: Option<Kept>) -> Self {
        let started_ms = u64::try_from(moment.as_millisecond()).unwrap_or(0);
        let (pools, has_lost_pools) = match kept.as_ref().map(|kept| kept.pools.inherited(started_ms)) {
            Some(Inherited::Pools(pools)) => (pools, false),
            Some(Inherited::Unknown) => (HashMap::new(), true),
            None => (HashMap::new(), false),
        };
        let state = State { pools, accounts: HashMap::new(), failures: LruCache::unbounded() };
        Self(Arc::new(Shared { started_ms, started: Instant::now(), state: Mutex::new(state), kept, has_lost_pools }))
    }

    pub(super) fn lease(&self, request: &PoolRequest) -> Result<PoolReply, PermitsError> {
        let (now, mut state) = self.enter();
        let Some(kept) = &self.0.kept else {
            return Ok(state.pools.entry(request.pool.clone()).or_default().lease(now, request));
        };
        // A copy, because nothing of the request has counted where its state cannot be made durable.
        let mut pool = state.pools.get(&request.pool).cloned().unwrap_or_else(|| self.new_pool());
        let reply = pool.lease(now, request);
        if pool.save_due(now, request) {
            let others = state.pools.iter().filter(|(name, _)| **name != request.pool);
            let others = others.map(|(name, pool)| (name.as_str(), pool));
            // Under the lock, so that what is written never falls behind what another was told. It is some kilobytes, about once a second.
            kept.pools.keep(others.chain([(request.pool.as_str(), &pool)]))?;
        }
        state.pools.insert(request.pool.clone(), pool);
        Ok(reply)
    }

    /// A pool that nobody has used in this process, nor, as far as is known, in the minute before.
    fn new_pool(&self) -> Pool {
        if self.0.has_lost_pools { Pool::without_memory(self.0.started_ms) } else { Pool::default() }
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
        let granted = self.0.kept.as_ref().map_or(Money::ZERO, |kept| kept.grants.granted(account));
        state.accounts.entry(account.clone()).or_insert_with(|| Account::new(cap, base_spent, granted)).set_cap(cap);
    }

    pub(super) fn settle(&self, request: &AccountRequest) -> Result<AccountReply, PermitsError> {
        let (now, mut state) = self.enter();
        let account = state.accounts.get_mut(&request.account);
        let account = account.ok_or_else(|| PermitsError::UnknownAccount { account: request.account.clone() })?;
        let mut reply = account.settle(now, request);
        if let Some(Kept { grants: kept, .. }) = &self.0.kept {
            reply.idle_ms = IDLE_MS;
            // Under the lock, so that what is written never falls behind what another was told. It is a few bytes, a few times a second.
            let unusable = |source| PermitsError::Grants { path: kept.path().to_owned(), source };
            kept.keep(&request.account, account.read(now).at_most()).map_err(unusable)?;
        }
        Ok(reply)
    }

    /// Money granted by this process and those before it; `None` for an account that none of them opened.
    pub(super) fn granted(&self, account: &AccountId) -> Option<Money> {
        let before = || self.0.kept.as_ref().and_then(|kept| kept.grants.known(account));
        self.account(account).map(|state| state.at_most()).or_else(before)
    }

    /// Notes that so much of an account was granted by processes before this one. Without a file it is forgotten.
    pub(super) fn keep_granted(&self, account: &AccountId, granted: Money) -> Result<(), PermitsError> {
        let Some(Kept { grants: kept, .. }) = &self.0.kept else { return Ok(()) };
        kept.keep(account, granted).map_err(|source| PermitsError::Grants { path: kept.path().to_owned(), source })
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
