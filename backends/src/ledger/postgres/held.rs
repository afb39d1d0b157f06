//! Work that workers tell of by name.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use deadpool_postgres::{Object, Transaction};
use regatta_proto::SweepId;

use super::column;
use super::planning::number;
use super::pool::Fault;
use crate::ledger::Held;

/// Sweep, kind, and id of the batch or worker.
type Key<'a> = (&'a str, &'a str, &'a str);

/// Key and generation of a row.
fn row(held: &Held) -> (Key<'_>, i64) {
    match held {
        Held::Batch(batch) => ((batch.sweep.as_str(), "batch", batch.id.as_str()), i64::from(batch.generation)),
        Held::Questions { sweep, worker, generation } => {
            ((sweep.as_str(), "questions", worker.as_str()), i64::from(*generation))
        }
    }
}

/// Records that the work is held now.
pub(super) async fn record(tx: &Transaction<'_>, held: &BTreeSet<Held>) -> Result<(), Fault> {
    // One row each: a statement may not write one twice, should two workers not agree on the generation of a batch, or one tell of questions twice.
    let rows: BTreeMap<Key<'_>, i64> = held.iter().map(row).collect();
    let rows: Vec<(Key<'_>, i64)> = rows.into_iter().collect();
    // In one order, so that two scorers that write the same rows do not wait for each other.
    let upsert = tx
        .prepare_cached(
            "INSERT INTO held (sweep, kind, id, generation, told_at)
             SELECT s.number, u.kind, u.id, u.generation, clock_timestamp()
             FROM UNNEST($1::text[], $2::text[], $3::text[], $4::bigint[]) AS u (sweep, kind, id, generation)
             JOIN sweeps s ON s.id = u.sweep
             ORDER BY s.number, u.kind, u.id
             ON CONFLICT (sweep, kind, id)
             DO UPDATE SET generation = excluded.generation, told_at = excluded.told_at",
        )
        .await?;
    let (sweeps, kinds, ids) =
        (column(&rows, |(key, _)| key.0), column(&rows, |(key, _)| key.1), column(&rows, |(key, _)| key.2));
    tx.execute(&upsert, &[&sweeps, &kinds, &ids, &column(&rows, |(_, generation)| *generation)]).await?;
    Ok(())
}

pub(super) async fn is_judging(client: &Object, sweep: &SweepId, within: Duration) -> Result<bool, Fault> {
    let number = number(client, sweep).await?;
    let select = client
        .prepare_cached(
            "SELECT EXISTS (
                 SELECT 1 FROM held WHERE sweep = $1 AND kind = 'questions'
                   AND told_at >= clock_timestamp() - $2 * interval '1 millisecond')",
        )
        .await?;
    let within_ms = within.as_secs_f64() * 1000.0;
    Ok(client.query_one(&select, &[&number, &within_ms]).await?.try_get(0)?)
}
