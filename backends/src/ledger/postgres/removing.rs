//! Sweeps that are removed.

use std::collections::BTreeSet;
use std::time::Duration;

use deadpool_postgres::{GenericClient, Object, Transaction};
use regatta_proto::SweepId;

use super::partitions;
use super::planning::number::number;
use super::pool::Fault;
use crate::ledger::LedgerError;
use crate::ledger::columns::{TABLES_OF_SWEEPS, parsed};

/// `generation`: the sweep is left alone unless it is of this one.
pub(super) async fn begin(tx: &Transaction<'_>, sweep: &SweepId, generation: Option<u32>) -> Result<bool, Fault> {
    // Locked, so that a concurrent resume either is over or finds the removal.
    let select = "SELECT generation FROM sweeps WHERE id = $1 AND ended_at_ns IS NOT NULL FOR UPDATE";
    let Some(row) = tx.query_opt(select, &[&sweep.as_str()]).await? else { return Ok(false) };
    let found: i64 = row.try_get(0)?;
    if generation.is_some_and(|generation| i64::from(generation) != found) {
        return Ok(false);
    }
    tx.execute("INSERT INTO removals (id) VALUES ($1) ON CONFLICT DO NOTHING", &[&sweep.as_str()]).await?;
    Ok(true)
}

pub(super) async fn drop_sweep(tx: &Transaction<'_>, sweep: &SweepId) -> Result<bool, Fault> {
    if !begin(tx, sweep, None).await? {
        return Ok(false);
    }
    let number = number(tx, sweep).await?;
    let own = partitions::own_tables(number);
    for table in TABLES_OF_SWEEPS {
        if own.contains(&table) {
            continue;
        }
        tx.execute(&format!("DELETE FROM {table} WHERE sweep = $1"), &[&number]).await?;
    }
    partitions::drop_own(tx, number).await?;
    tx.execute("DELETE FROM sweeps WHERE number = $1", &[&number]).await?;
    Ok(true)
}

pub(super) async fn removed(client: &Object, sweeps: &BTreeSet<SweepId>) -> Result<BTreeSet<SweepId>, Fault> {
    let select = client.prepare_cached("SELECT id FROM removals WHERE id = ANY ($1)").await?;
    let ids: Vec<&str> = sweeps.iter().map(SweepId::as_str).collect();
    let rows = client.query(&select, &[&ids]).await?;
    rows.iter().map(|row| Ok(parsed(row.try_get(0)?, "removals.id")?)).collect()
}

/// Locks the sweep until the transaction ends, and fails if its removal has begun.
pub(super) async fn refuse_removed(tx: &Transaction<'_>, number: i64, sweep: &SweepId) -> Result<(), Fault> {
    let lock = tx.prepare_cached("SELECT 1 FROM sweeps WHERE number = $1 FOR NO KEY UPDATE").await?;
    if tx.query_opt(&lock, &[&number]).await?.is_none() {
        return Err(LedgerError::Removed { sweep: sweep.clone() }.into());
    }
    refuse_removed_id(tx, sweep).await
}

/// Fails if the removal of the sweep has begun.
pub(super) async fn refuse_removed_id(client: &impl GenericClient, sweep: &SweepId) -> Result<(), Fault> {
    let select = client.prepare_cached("SELECT 1 FROM removals WHERE id = $1").await?;
    match client.query_opt(&select, &[&sweep.as_str()]).await? {
        Some(_) => Err(LedgerError::Removed { sweep: sweep.clone() }.into()),
        None => Ok(()),
    }
}

pub(super) async fn is_alive(client: &Object, sweep: &SweepId, within: Duration) -> Result<bool, Fault> {
    let number = number(client, sweep).await?;
    let select = client
        .prepare_cached(
            "SELECT EXISTS (
                 SELECT 1 FROM held
                 WHERE sweep = $1 AND told_at >= clock_timestamp() - $2 * interval '1 millisecond')
             OR EXISTS (
                 SELECT 1 FROM attempts a
                 WHERE a.sweep = $1 AND a.state IN ('open', 'lost', 'handed_over')
                   AND a.seen_at >= clock_timestamp() - $2 * interval '1 millisecond'
                   AND NOT EXISTS (
                       SELECT 1 FROM sessions s WHERE s.sweep = a.sweep AND s.cell = a.cell AND s.item = a.item))",
        )
        .await?;
    let within_ms = within.as_secs_f64() * 1000.0;
    Ok(client.query_one(&select, &[&number, &within_ms]).await?.try_get(0)?)
}
