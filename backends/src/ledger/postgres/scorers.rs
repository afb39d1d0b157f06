//! Scorers, and what they have settled.

use std::time::Duration;

use deadpool_postgres::{Object, Transaction};
use regatta_proto::WorkerId;

use super::pool::Fault;
use crate::ledger::columns::large;

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

pub(super) async fn note(tx: &Transaction<'_>, scorer: &WorkerId, ago: Duration) -> Result<(), Fault> {
    let upsert = tx
        .prepare_cached(
            "INSERT INTO scorers (id, settled_at) VALUES ($1, clock_timestamp() - $2 * interval '1 millisecond')
             ON CONFLICT (id) DO UPDATE SET settled_at = excluded.settled_at
             RETURNING began_at >= settled_at",
        )
        .await?;
    let is_new: bool = tx.query_one(&upsert, &[&scorer.as_str(), &milliseconds(ago)]).await?.try_get(0)?;
    if is_new {
        // Each process has a name of its own, and says nothing when it is killed.
        tx.execute("DELETE FROM scorers WHERE settled_at < clock_timestamp() - interval '1 day'", &[]).await?;
    }
    Ok(())
}

pub(super) async fn settled(client: &Object, within: Duration, of_later: bool) -> Result<u64, Fault> {
    let count = client
        .prepare_cached(
            "SELECT count(*) FROM scorers, (SELECT clock_timestamp() - $1 * interval '1 millisecond' AS since) AS asked
             WHERE settled_at >= since AND (began_at < since OR $2)",
        )
        .await?;
    Ok(large(client.query_one(&count, &[&milliseconds(within), &of_later]).await?.try_get(0)?, "scorers")?)
}
