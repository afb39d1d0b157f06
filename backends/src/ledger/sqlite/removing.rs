//! Sweeps that are removed.

use std::collections::BTreeSet;

use regatta_proto::{AttemptId, SweepId};
use rusqlite::{OptionalExtension, Transaction, params};

use super::planning::number::number;
use super::thread::Fault;
use crate::ledger::LedgerError;
use crate::ledger::columns::{TABLES_OF_SWEEPS, parsed};

/// `generation`: the sweep is left alone unless it is of this one.
pub(super) fn begin(tx: &Transaction<'_>, sweep: &SweepId, generation: Option<u32>) -> Result<bool, Fault> {
    let marked = tx.execute(
        "INSERT INTO removals (id)
         SELECT id FROM sweeps WHERE id = ?1 AND ended_at_ns IS NOT NULL AND generation = ifnull(?2, generation)
         ON CONFLICT (id) DO UPDATE SET id = excluded.id",
        params![sweep.as_str(), generation],
    )?;
    Ok(marked == 1)
}

pub(super) fn drop_sweep(tx: &Transaction<'_>, sweep: &SweepId) -> Result<bool, Fault> {
    if !begin(tx, sweep, None)? {
        return Ok(false);
    }
    let number = number(tx, sweep)?;
    for table in TABLES_OF_SWEEPS {
        tx.execute(&format!("DELETE FROM {table} WHERE sweep = ?1"), [number])?;
    }
    tx.execute("DELETE FROM sweeps WHERE number = ?1", [number])?;
    Ok(true)
}

pub(super) fn removed(tx: &Transaction<'_>, sweeps: &BTreeSet<SweepId>) -> Result<BTreeSet<SweepId>, Fault> {
    let mut removed = BTreeSet::new();
    for sweep in sweeps {
        if is_removed(tx, sweep)? {
            removed.insert(sweep.clone());
        }
    }
    Ok(removed)
}

fn is_removed(tx: &Transaction<'_>, sweep: &SweepId) -> Result<bool, Fault> {
    let mut find = tx.prepare_cached("SELECT 1 FROM removals WHERE id = ?1")?;
    let found: Option<i64> = find.query_row([sweep.as_str()], |row| row.get(0)).optional()?;
    Ok(found.is_some())
}

/// Fails if the removal of the sweep has begun.
pub(super) fn refuse_removed(tx: &Transaction<'_>, sweep: &SweepId) -> Result<(), Fault> {
    match is_removed(tx, sweep)? {
        true => Err(LedgerError::Removed { sweep: sweep.clone() }.into()),
        false => Ok(()),
    }
}

/// The attempts at sessions without a result that have reported no end of these.
pub(super) fn unended(tx: &Transaction<'_>, sweep: &SweepId) -> Result<Vec<AttemptId>, Fault> {
    let number = number(tx, sweep)?;
    let mut select = tx.prepare_cached(
        "SELECT id FROM attempts a
         WHERE sweep = ?1 AND state IN ('open', 'lost', 'handed_over')
           AND NOT EXISTS (
               SELECT 1 FROM sessions s WHERE s.sweep = a.sweep AND s.cell = a.cell AND s.item = a.item)",
    )?;
    let mut rows = select.query([number])?;
    let mut unended = Vec::new();
    while let Some(row) = rows.next()? {
        unended.push(parsed(&row.get::<_, String>(0)?, "attempts.id")?);
    }
    Ok(unended)
}
