//! Sums over calls.

use regatta_proto::{CellIndex, SweepId};
use rusqlite::{OptionalExtension, Transaction, params};

use super::planning::number;
use super::thread::Fault;
use crate::ledger::CallSums;
use crate::ledger::call_sums::NewCalls;
use crate::ledger::columns::{json, small, stored_json};

/// Adds the calls of records to the sums of their cells.
pub(super) fn add(tx: &Transaction<'_>, mut new: NewCalls<'_>) -> Result<(), Fault> {
    let mut counted =
        tx.prepare_cached("INSERT OR IGNORE INTO counted_calls (sweep, cell, item, attempt) VALUES (?1, ?2, ?3, ?4)")?;
    for (place, attempt) in new.handed_on() {
        if counted.execute(params![place.sweep, place.cell, place.item, attempt])? == 1 {
            new.count(place, attempt);
        }
    }
    let mut select = tx.prepare_cached("SELECT sums FROM cell_calls WHERE sweep = ?1 AND cell = ?2")?;
    let mut put = tx.prepare_cached("INSERT OR REPLACE INTO cell_calls (sweep, cell, sums) VALUES (?1, ?2, ?3)")?;
    for ((sweep, cell), mut sums) in new.into_cells() {
        let stored: Option<String> = select.query_row([sweep, cell], |row| row.get(0)).optional()?;
        if let Some(stored) = stored {
            sums.merge(&json(&stored, "cell_calls.sums")?);
        }
        put.execute(params![sweep, cell, stored_json(&sums, "sums")?])?;
    }
    Ok(())
}

pub(super) fn all(tx: &Transaction<'_>, sweep: &SweepId) -> Result<Vec<(CellIndex, CallSums)>, Fault> {
    let number = number(tx, sweep)?;
    let mut select = tx.prepare_cached("SELECT cell, sums FROM cell_calls WHERE sweep = ?1 ORDER BY cell")?;
    let mut rows = select.query([number])?;
    let mut cells = Vec::new();
    while let Some(row) = rows.next()? {
        let sums = json(&row.get::<_, String>(1)?, "cell_calls.sums")?;
        cells.push((CellIndex(small(row.get(0)?, "cell")?), sums));
    }
    Ok(cells)
}
