//! Leadership, by the server's clock.

use std::time::Duration;

use deadpool_postgres::Transaction;
use regatta_proto::WorkerId;

use super::pool::Fault;
use crate::ledger::Term;
use crate::ledger::columns::{large, stored};

pub(super) async fn lead(tx: &Transaction<'_>, holder: &WorkerId, lease: Duration) -> Result<Option<Term>, Fault> {
    let take = tx
        .prepare_cached(
            "INSERT INTO leadership (term, holder, until)
             VALUES (1, $1, clock_timestamp() + $2 * interval '1 millisecond')
             ON CONFLICT (one) DO UPDATE
             SET term = leadership.term + CASE WHEN leadership.holder = $1 THEN 0 ELSE 1 END,
                 holder = excluded.holder, until = excluded.until
             WHERE leadership.holder = $1 OR leadership.until < clock_timestamp()
             RETURNING term",
        )
        .await?;
    let lease_ms = lease.as_secs_f64() * 1000.0;
    let row = tx.query_opt(&take, &[&holder.as_str(), &lease_ms]).await?;
    row.map(|row| Ok(Term(large(row.try_get(0)?, "leadership.term")?))).transpose()
}

/// Ends the lease of `holder`, if it leads.
pub(super) async fn resign(tx: &Transaction<'_>, holder: &WorkerId) -> Result<(), Fault> {
    let end = tx.prepare_cached("UPDATE leadership SET until = clock_timestamp() WHERE holder = $1").await?;
    tx.execute(&end, &[&holder.as_str()]).await?;
    Ok(())
}

/// `true` if `term` is the present one, which stays so until the end of the transaction.
pub(super) async fn is_leading(tx: &Transaction<'_>, term: Term) -> Result<bool, Fault> {
    let find = tx.prepare_cached("SELECT 1 FROM leadership WHERE term = $1 FOR SHARE").await?;
    Ok(tx.query_opt(&find, &[&stored(term.0, "leadership.term")?]).await?.is_some())
}
