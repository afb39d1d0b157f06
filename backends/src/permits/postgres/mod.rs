//! Permits on a PostgreSQL server, for a fleet: one row a pool and one an account, locked while the state machine computes.

mod accounts;
mod failures;
mod pools;

use regatta_proto::{AccountId, AccountReply, AccountRequest, Digest, Failing, Money, PoolReply, PoolRequest, SweepId};

use super::account::AccountState;
use super::pool::Change;
use super::{PermitsError, PoolHolder};
use crate::ledger::PostgresConfig;
use crate::ledger::postgres::pool::{Connections, Fault, read, write};
use crate::ledger::postgres::{Migrations, Schema};
use crate::ledger::schema::{Admits, step};

/// Apart from the ledger's, so that each can live in a database of its own.
const PERMITS: Migrations = Migrations {
    table: "permits_version",
    steps: &[
        step(1, Admits::NoOther, include_str!("../../../migrations/postgres/permits_0001.sql")),
        step(2, Admits::Previous, include_str!("../../../migrations/postgres/permits_0002.sql")),
    ],
    lock: 0x7265_6761_7474_6102,
};

/// Permits in a PostgreSQL database. [`Permits`](super::Permits) describes the calls.
#[derive(Debug, Clone)]
pub struct PostgresPermits(Connections);

/// The server's clock, in milliseconds since 1970.
const CLOCK_MS: &str = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

impl PostgresPermits {
    pub(super) async fn connect(config: PostgresConfig, schema: Schema) -> Result<Self, PermitsError> {
        let (connections, location) = Connections::prepare(&config)?;
        let mut client = connections.one("connect to the store of permits").await?;
        PERMITS.bring(&mut client, &location, schema).await?;
        Ok(Self(connections))
    }

    pub(super) async fn lease(&self, request: &PoolRequest) -> Result<PoolReply, PermitsError> {
        Ok(write!(self.0, "lease permits", tx => pools::lease(tx, request))?)
    }

    pub(super) async fn changes(&self, pool: &str) -> Result<Vec<Change>, PermitsError> {
        Ok(read!(self.0, "read a pool's changes", client => pools::changes(client, pool))?)
    }

    pub(super) async fn holders(&self, pool: &str) -> Result<Vec<PoolHolder>, PermitsError> {
        Ok(read!(self.0, "read who holds permits of a pool", client => pools::holders(client, pool))?)
    }

    pub(super) async fn open_account(&self, account: &AccountId, cap: Money, spent: Money) -> Result<(), PermitsError> {
        write!(self.0, "open an account", tx => accounts::open(tx, account, cap, spent))?
    }

    pub(super) async fn close_accounts(&self, sweep: &SweepId) -> Result<(), PermitsError> {
        Ok(write!(self.0, "close the accounts of a sweep", tx => accounts::close(tx, sweep))?)
    }

    pub(super) async fn settle(&self, request: &AccountRequest) -> Result<AccountReply, PermitsError> {
        write!(self.0, "settle an account", tx => accounts::settle(tx, request))?
    }

    pub(super) async fn account(&self, account: &AccountId) -> Result<Option<AccountState>, PermitsError> {
        read!(self.0, "read an account", client => accounts::read(client, account))?
    }

    pub(super) async fn failing(&self, failing: &Failing) -> Result<u32, PermitsError> {
        Ok(write!(self.0, "count a failure", tx => failures::count(tx, failing))?)
    }

    pub(super) async fn failures(&self, fingerprint: &Digest) -> Result<u32, PermitsError> {
        Ok(read!(self.0, "read failures", client => failures::most(client, fingerprint))?)
    }
}

/// A time read with [`CLOCK_MS`].
fn clock(ms: i64) -> u64 {
    u64::try_from(ms).unwrap_or(0)
}
