//! The calls of a [`Ledger`](crate::ledger::Ledger), a file for each group.
//!
//! A call has its documentation here, and its method on [`SqliteLedger`](crate::ledger::SqliteLedger) and `PostgresLedger` in the files of the
//! same name in `sqlite/calls` and `postgres/calls`; of `identity`, `schedules`, `storage` and `audit` the methods stand beside their statements.

mod audit;
mod database;
mod dispatch;
mod identity;
mod judging;
mod recording;
mod results;
mod resuming;
mod schedules;
mod steering;
mod storage;
mod sweeps;
mod views;

use futures::future::BoxFuture;

use super::LedgerError;
#[cfg(feature = "faults")]
use crate::faults::Trouble;

/// A call that is under way, and ends with its transaction.
pub type LedgerFuture<'a, T> = BoxFuture<'a, Result<T, LedgerError>>;

/// The method of this name on the store that a ledger is, as a [`LedgerFuture`]: boxed, so that it is compiled in this crate alone.
macro_rules! each {
    ($ledger:ident.$call:ident($($argument:expr),* $(,)?)) => {
        Box::pin(async move {
            match $ledger {
                $crate::ledger::Ledger::Sqlite(store) => store.$call($($argument),*).await,
                #[cfg(feature = "cluster")]
                $crate::ledger::Ledger::Postgres(store) => store.$call($($argument),*).await,
                #[cfg(feature = "faults")]
                $crate::ledger::Ledger::Troubled(store, troubles) => {
                    troubles.before().await.map_err($crate::ledger::calls::away)?;
                    let reply = store.$call($($argument),*).await;
                    troubles.after().await.map_err($crate::ledger::calls::away)?;
                    reply
                }
            }
        })
    };
}

use each;

#[cfg(feature = "faults")]
fn away(trouble: Trouble) -> LedgerError {
    LedgerError::Store { action: "reach the ledger", source: std::io::Error::other(trouble).into() }
}
