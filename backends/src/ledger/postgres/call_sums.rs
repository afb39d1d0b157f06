//! Sums over calls.

use deadpool_postgres::{Object, Transaction};
use regatta_proto::{CellIndex, SweepId};

use super::planning::number;
use super::pool::Fault;
use super::{all_changed, column};
use crate::ledger::CallSums;
use crate::ledger::call_sums::NewCalls;
use crate::ledger::columns::{Place, json, small, stored_json};

/// Adds the calls of records to the sums of their cells, which are locked.
pub(super) async fn add(tx: &Transaction<'_>, mut new: NewCalls<'_>) -> Result<(), Fault> {
    for (place, attempt) in not_counted(tx, &new.handed_on()).await? {
        new.count(place, attempt);
    }
    let mut cells = new.into_cells();
    if cells.is_empty() {
        return Ok(());
    }
    let select = tx
        .prepare_cached(
            "SELECT c.sweep, c.cell, c.sums::text FROM UNNEST($1::bigint[], $2::bigint[]) AS u (sweep, cell)
             JOIN cell_calls c ON c.sweep = u.sweep AND c.cell = u.cell",
        )
        .await?;
    let (sweeps, indices): (Vec<i64>, Vec<i64>) = cells.keys().copied().unzip();
    for row in tx.query(&select, &[&sweeps, &indices]).await? {
        if let Some(sums) = cells.get_mut(&(row.try_get(0)?, row.try_get(1)?)) {
            sums.merge(&json(row.try_get(2)?, "cell_calls.sums")?);
        }
    }
    let mut texts = Vec::with_capacity(cells.len());
    for sums in cells.values() {
        texts.push(stored_json(sums, "sums")?);
    }
    let put = tx
        .prepare_cached(
            "INSERT INTO cell_calls (sweep, cell, sums)
             SELECT sweep, cell, sums::json FROM UNNEST($1::bigint[], $2::bigint[], $3::text[]) AS u (sweep, cell, sums)
             ON CONFLICT (sweep, cell) DO UPDATE SET sums = excluded.sums",
        )
        .await?;
    let found = tx.execute(&put, &[&sweeps, &indices, &texts]).await?;
    all_changed("add to what calls were like", cells.len(), found)
}

/// Returns the attempts whose calls have not been counted before, and marks them as counted.
async fn not_counted(tx: &Transaction<'_>, handed_on: &[(Place, u32)]) -> Result<Vec<(Place, u32)>, Fault> {
    if handed_on.is_empty() {
        return Ok(Vec::new());
    }
    let insert = tx
        .prepare_cached(
            "INSERT INTO counted_calls (sweep, cell, item, attempt)
             SELECT * FROM UNNEST($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])
             ON CONFLICT DO NOTHING RETURNING sweep, cell, item, attempt",
        )
        .await?;
    let rows = tx
        .query(
            &insert,
            &[
                &column(handed_on, |(place, _)| place.sweep),
                &column(handed_on, |(place, _)| place.cell),
                &column(handed_on, |(place, _)| place.item),
                &column(handed_on, |(_, attempt)| i64::from(*attempt)),
            ],
        )
        .await?;
    let mut new = Vec::with_capacity(rows.len());
    for row in rows {
        let place = Place { sweep: row.try_get(0)?, cell: row.try_get(1)?, item: row.try_get(2)? };
        new.push((place, small(row.try_get(3)?, "counted_calls.attempt")?));
    }
    Ok(new)
}

pub(super) async fn all(client: &Object, sweep: &SweepId) -> Result<Vec<(CellIndex, CallSums)>, Fault> {
    let number = number(client, sweep).await?;
    let select =
        client.prepare_cached("SELECT cell, sums::text FROM cell_calls WHERE sweep = $1 ORDER BY cell").await?;
    let rows = client.query(&select, &[&number]).await?;
    rows.iter()
        .map(|row| Ok((CellIndex(small(row.try_get(0)?, "cell")?), json(row.try_get(1)?, "cell_calls.sums")?)))
        .collect()
}
