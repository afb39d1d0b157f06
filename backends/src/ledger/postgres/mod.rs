//! The ledger on a PostgreSQL server, for a fleet.

mod attempts;
mod audit;
mod call_sums;
mod calls;
mod cells;
mod database;
mod held;
mod identity;
mod judging;
mod leading;
mod metrics;
mod migrate;
mod partitions;
mod planning;
pub(crate) mod pool;
mod removing;
mod resume;
mod rights;
mod schedules;
mod sessions;
mod settling;
mod silence;
mod steering;
mod storage;
mod views;

pub(crate) use self::migrate::{Migrations, Schema};
pub use self::pool::PostgresConfig;
use self::pool::{Connections, Fault};
use super::LedgerError;

/// The ledger in a PostgreSQL database: a pool of connections, and a few statements for each call, independent of its number of rows.
/// [`Ledger`](super::Ledger) describes the calls.
#[derive(Debug, Clone)]
pub struct PostgresLedger(Connections);

/// One column of rows, for statements that take arrays.
fn column<'r, R, T>(rows: &'r [R], value: impl Fn(&'r R) -> T) -> Vec<T> {
    rows.iter().map(value).collect()
}

/// Fails unless a statement changed exactly the expected number of rows.
fn all_changed(action: &'static str, expected: usize, found: u64) -> Result<(), Fault> {
    if found == expected as u64 {
        return Ok(());
    }
    Err(LedgerError::RowsAffected { action, expected: expected as u64, found }.into())
}

impl PostgresLedger {
    pub(super) async fn connect(config: PostgresConfig, schema: Schema) -> Result<Self, LedgerError> {
        let (connections, location) = Connections::prepare(&config)?;
        let mut client = connections.one("connect to the ledger").await?;
        migrate::LEDGER.bring(&mut client, &location, schema).await?;
        Ok(Self(connections))
    }
}
