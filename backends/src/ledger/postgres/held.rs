//! Work that workers tell of by name.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use deadpool_postgres::{Object, Transaction};
use regatta_proto::SweepId;

use super::column;
use super::planning::number;
use super::pool::Fault;
use super::silence;
use crate::ledger::{Held, OpenQuestion};

/// Sweep, kind, and id of the batch or worker.
type Key<'a> = (&'a str, &'a str, &'a str);

/// Generation of a row, and whether its questions are named.
type Value = (i64, bool);

/// Key and value of a row; `None` for a question, which has a row where it is claimed.
fn row(held: &Held) -> Option<(Key<'_>, Value)> {
    match held {
        Held::Batch(batch) => {
            Some(((batch.sweep.as_str(), "batch", batch.id.as_str()), (i64::from(batch.generation), false)))
        }
        Held::Questions { sweep, worker, generation, is_named } => {
            Some(((sweep.as_str(), "questions", worker.as_str()), (i64::from(*generation), *is_named)))
        }
        Held::Question(..) => None,
    }
}

/// Records that the work is held now.
pub(super) async fn record(tx: &Transaction<'_>, held: &BTreeSet<Held>) -> Result<(), Fault> {
    // One row each: a statement may not write one twice, should two workers not agree on the generation of a batch, or one tell of questions twice.
    let rows: BTreeMap<Key<'_>, Value> = held.iter().filter_map(row).collect();
    let rows: Vec<(Key<'_>, Value)> = rows.into_iter().collect();
    // In one order, so that two scorers that write the same rows do not wait for each other.
    let upsert = tx
        .prepare_cached(
            "INSERT INTO held (sweep, kind, id, generation, told_at, named_at)
             SELECT s.number, u.kind, u.id, u.generation, clock.now, CASE WHEN u.is_named THEN clock.now END
             FROM UNNEST($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bool[]) AS u (sweep, kind, id, generation, is_named)
             JOIN sweeps s ON s.id = u.sweep
             CROSS JOIN (SELECT clock_timestamp() AS now) AS clock
             ORDER BY s.number, u.kind, u.id
             ON CONFLICT (sweep, kind, id)
             DO UPDATE SET generation = excluded.generation, told_at = excluded.told_at, named_at = excluded.named_at",
        )
        .await?;
    let (sweeps, kinds, ids) =
        (column(&rows, |(key, _)| key.0), column(&rows, |(key, _)| key.1), column(&rows, |(key, _)| key.2));
    let (generations, are_named) = (column(&rows, |(_, value)| value.0), column(&rows, |(_, value)| value.1));
    tx.execute(&upsert, &[&sweeps, &kinds, &ids, &generations, &are_named]).await?;
    let questions: Vec<(&SweepId, &OpenQuestion)> = held
        .iter()
        .filter_map(|held| match held {
            Held::Question(sweep, open) => Some((sweep, open)),
            Held::Batch(_) | Held::Questions { .. } => None,
        })
        .collect();
    if questions.is_empty() { Ok(()) } else { silence::tell(tx, &questions).await }
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
