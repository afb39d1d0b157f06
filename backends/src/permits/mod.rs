//! The fourth seam: what a whole fleet may ask of its endpoints, and spend.
//!
//! [`Permits`] says what each call means. The rules are two pure state machines, `pool` and `account`; both implementations only keep their
//! state, under a lock in memory and as rows in PostgreSQL, and give them one clock. One conformance suite (`tests/permits`) holds them to
//! the same behaviour.

mod account;
mod error;
mod kept;
mod kept_pools;
mod memory;
mod pool;
#[cfg(feature = "cluster")]
mod postgres;
mod steady;

use std::path::Path;

use futures::future::BoxFuture;
use jiff::Timestamp;
use regatta_proto::{
    AccountId, AccountReply, AccountRequest, Digest, Failing, Money, PoolReply, PoolRequest, SweepId, WorkerId,
};

pub use self::account::AccountState;
pub use self::error::PermitsError;
pub use self::memory::MemoryPermits;
use self::pool::Change;
#[cfg(feature = "cluster")]
pub use self::postgres::PostgresPermits;
#[cfg(feature = "cluster")]
use crate::ledger::{PostgresConfig, postgres::Schema};

/// Failing requests that are remembered; beyond it those that failed longest ago are forgotten.
const FAILURES_MAX: usize = 100_000;
/// A request that has not failed for this long, in milliseconds, begins anew: the reason may be gone.
const FAILURES_KEPT_MS: u64 = 30 * 24 * 3_600_000;

/// The one store of permits of a fleet. Handles are cheap to clone and share one store.
#[derive(Debug, Clone)]
pub enum Permits {
    /// Within this process, for the embedded run.
    Memory(MemoryPermits),
    #[cfg(feature = "cluster")]
    /// On a server, for a fleet.
    Postgres(PostgresPermits),
}

/// A change of the part of its limits that a pool uses, or a hold (then `from` and `to` are equal).
#[derive(Debug, Clone, PartialEq)]
pub struct PoolChange {
    /// When, by the store's clock, to the millisecond.
    pub at: Timestamp,
    /// The factor before, 0..=1.
    pub from: f64,
    /// The factor since.
    pub to: f64,
    /// Reason for the change.
    pub reason: String,
}

/// Permits that a process holds of a pool, by its last report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolHolder {
    /// Process and endpoint that hold it.
    pub holder: WorkerId,
    /// When it last told, by the store's clock, to the millisecond. Silent for ten seconds, it holds nothing.
    pub seen_at: Timestamp,
    /// Slots that nobody else may fill.
    pub slots: u32,
    /// Calls in flight.
    pub in_flight: u32,
    /// Calls that wait for anything.
    pub waiting: u32,
}

/// Opening.
impl Permits {
    /// Permits within this process, for as long as it lives. Time is tokio's.
    #[must_use]
    pub fn memory() -> Self {
        Self::Memory(MemoryPermits::new())
    }

    /// Permits within this process that outlive it in files of `folder`: `accounts.json` has what accounts have granted, so that what a process
    /// that died had reserved counts as lost for those after it, and `pools.json` what was granted of limits by the minute. Where the latter
    /// cannot be read, nothing is granted of them until a minute has passed.
    ///
    /// # Errors
    /// When the file of accounts cannot be read, or is damaged.
    pub fn kept(folder: &Path) -> Result<Self, PermitsError> {
        MemoryPermits::kept(folder).map(Self::Memory)
    }

    /// Permits within this process whose clock shows `moment` now: for simulations, whose time is their own.
    #[cfg(feature = "faults")]
    #[must_use]
    pub fn memory_at(moment: Timestamp) -> Self {
        Self::Memory(MemoryPermits::begun_at(moment, None))
    }

    /// Connects to a database, as a rule the ledger's, and brings the schema of permits up to date; any number of processes may do so at
    /// once. Time is the server's.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses, or the schema is of a newer build.
    #[cfg(feature = "cluster")]
    pub fn postgres(config: PostgresConfig) -> BoxFuture<'static, Result<Self, PermitsError>> {
        Box::pin(async move { PostgresPermits::connect(config, Schema::Migrated).await.map(Self::Postgres) })
    }

    /// Connects to a database whose schema is up to date already; for processes that may not change it.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses, or the schema is not of this build.
    #[cfg(feature = "cluster")]
    pub fn postgres_as_it_is(config: PostgresConfig) -> BoxFuture<'static, Result<Self, PermitsError>> {
        Box::pin(async move { PostgresPermits::connect(config, Schema::AsItIs).await.map(Self::Postgres) })
    }
}

/// Requests, tokens and slots.
impl Permits {
    /// Tells what a worker does with a pool, and leases what it may have. A worker should ask again within 3 × `valid_ms` while it holds
    /// slots, and reckon `valid_ms` from the moment it asked.
    ///
    /// # Errors
    /// When the store fails. Then nothing of the request has counted, or its answer was lost and what was granted goes unused.
    pub fn lease<'a>(&'a self, request: &'a PoolRequest) -> BoxFuture<'a, Result<PoolReply, PermitsError>> {
        Box::pin(async move {
            match self {
                Self::Memory(permits) => permits.lease(request),
                #[cfg(feature = "cluster")]
                Self::Postgres(permits) => permits.lease(request).await,
            }
        })
    }

    /// The last 100 changes of a pool's factor and its holds, oldest first; none for a pool that nobody uses.
    ///
    /// # Errors
    /// When the store fails.
    pub fn changes<'a>(&'a self, pool: &'a str) -> BoxFuture<'a, Result<Vec<PoolChange>, PermitsError>> {
        Box::pin(async move {
            let changes = match self {
                Self::Memory(permits) => permits.changes(pool),
                #[cfg(feature = "cluster")]
                Self::Postgres(permits) => permits.changes(pool).await?,
            };
            Ok(changes.into_iter().map(PoolChange::from).collect())
        })
    }
}

/// Watching.
impl Permits {
    /// The holders of permits of a pool, or of demand for them, by name; empty for a pool that is not in use.
    ///
    /// # Errors
    /// When the store fails.
    pub fn holders<'a>(&'a self, pool: &'a str) -> BoxFuture<'a, Result<Vec<PoolHolder>, PermitsError>> {
        Box::pin(async move {
            match self {
                Self::Memory(permits) => Ok(permits.holders(pool)),
                #[cfg(feature = "cluster")]
                Self::Postgres(permits) => permits.holders(pool).await,
            }
        })
    }
}

/// Money.
impl Permits {
    /// Opens an account of which `base_spent` is spent already, or gives one that is open another cap and leaves everything else.
    ///
    /// # Errors
    /// When the store fails.
    pub fn open_account<'a>(
        &'a self,
        account: &'a AccountId,
        cap: Money,
        base_spent: Money,
    ) -> BoxFuture<'a, Result<(), PermitsError>> {
        Box::pin(async move {
            match self {
                Self::Memory(permits) => permits.open_account(account, cap, base_spent),
                #[cfg(feature = "cluster")]
                Self::Postgres(permits) => permits.open_account(account, cap, base_spent).await?,
            }
            Ok(())
        })
    }

    /// Opens an account that only counts, of a sweep without a budget; or takes the cap of one that is open away.
    ///
    /// # Errors
    /// When the store fails.
    pub fn open_uncapped_account<'a>(
        &'a self,
        account: &'a AccountId,
        base_spent: Money,
    ) -> BoxFuture<'a, Result<(), PermitsError>> {
        self.open_account(account, account::UNLIMITED, base_spent)
    }

    /// Upper bound of the bill of an account, by all grants, including those of an account that an earlier process opened in the same file.
    /// `None` if no process opened it.
    ///
    /// # Errors
    /// When the store fails.
    pub fn granted<'a>(&'a self, account: &'a AccountId) -> BoxFuture<'a, Result<Option<Money>, PermitsError>> {
        Box::pin(async move {
            match self {
                Self::Memory(permits) => Ok(permits.granted(account)),
                #[cfg(feature = "cluster")]
                Self::Postgres(permits) => Ok(permits.account(account).await?.map(|state| state.at_most())),
            }
        })
    }

    /// Notes in the file of [`Self::kept`], before an account is opened, that so much of it was granted: what may have been spent under another
    /// name. Does nothing where accounts are kept elsewhere, or not at all.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn keep_granted(&self, account: &AccountId, granted: Money) -> Result<(), PermitsError> {
        match self {
            Self::Memory(permits) => permits.keep_granted(account, granted),
            #[cfg(feature = "cluster")]
            Self::Postgres(_) => Ok(()),
        }
    }

    /// Forgets all accounts of a sweep, which is forgotten too. None of them is opened again: holders tell what they have spent of an account since
    /// they began, so a second one would begin with what the first has cost.
    ///
    /// # Errors
    /// When the store fails.
    pub fn close_accounts<'a>(&'a self, sweep: &'a SweepId) -> BoxFuture<'a, Result<(), PermitsError>> {
        Box::pin(async move {
            match self {
                Self::Memory(permits) => permits.close_accounts(sweep),
                #[cfg(feature = "cluster")]
                Self::Postgres(permits) => permits.close_accounts(sweep).await?,
            }
            Ok(())
        })
    }

    /// Tells what a worker has spent on an account, and reserves money for it. Repeating a request changes nothing.
    ///
    /// # Errors
    /// When nobody opened the account, or the store fails.
    pub fn settle<'a>(&'a self, request: &'a AccountRequest) -> BoxFuture<'a, Result<AccountReply, PermitsError>> {
        Box::pin(async move {
            match self {
                Self::Memory(permits) => permits.settle(request),
                #[cfg(feature = "cluster")]
                Self::Postgres(permits) => permits.settle(request).await,
            }
        })
    }

    /// State of an account; `None` if no process opened it.
    ///
    /// # Errors
    /// When the store fails.
    pub fn account<'a>(&'a self, account: &'a AccountId) -> BoxFuture<'a, Result<Option<AccountState>, PermitsError>> {
        Box::pin(async move {
            match self {
                Self::Memory(permits) => Ok(permits.account(account)),
                #[cfg(feature = "cluster")]
                Self::Postgres(permits) => permits.account(account).await,
            }
        })
    }
}

/// Requests that fail again and again.
impl Permits {
    /// Counts a failure, and returns how often this request has failed in this way in the whole fleet, including this time. A request
    /// without a failure for 30 days starts again at zero, and so may one among more than 100,000.
    ///
    /// # Errors
    /// When the store fails; then it may have counted or not.
    pub fn failing<'a>(&'a self, failing: &'a Failing) -> BoxFuture<'a, Result<u32, PermitsError>> {
        Box::pin(async move {
            match self {
                Self::Memory(permits) => Ok(permits.failing(failing)),
                #[cfg(feature = "cluster")]
                Self::Postgres(permits) => permits.failing(failing).await,
            }
        })
    }

    /// Number of failures of the request with this fingerprint, of its most frequent kind.
    ///
    /// # Errors
    /// When the store fails.
    pub fn failures<'a>(&'a self, fingerprint: &'a Digest) -> BoxFuture<'a, Result<u32, PermitsError>> {
        Box::pin(async move {
            match self {
                Self::Memory(permits) => Ok(permits.failures(fingerprint)),
                #[cfg(feature = "cluster")]
                Self::Postgres(permits) => permits.failures(fingerprint).await,
            }
        })
    }
}

impl From<Change> for PoolChange {
    fn from(change: Change) -> Self {
        let Change { at_ms, from, to, reason } = change;
        let at =
            i64::try_from(at_ms).ok().and_then(|at| Timestamp::from_millisecond(at).ok()).unwrap_or(Timestamp::MAX);
        Self { at, from, to, reason }
    }
}
