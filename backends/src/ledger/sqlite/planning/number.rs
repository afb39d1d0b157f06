//! Keys of sweeps in other tables.

use regatta_proto::SweepId;
use rusqlite::{OptionalExtension as _, Transaction};

use crate::ledger::LedgerError;
use crate::ledger::columns::small;
use crate::ledger::sqlite::thread::Fault;

pub(in crate::ledger::sqlite) fn number(tx: &Transaction<'_>, sweep: &SweepId) -> Result<i64, Fault> {
    let mut find = tx.prepare_cached("SELECT number FROM sweeps WHERE id = ?1")?;
    let found: Option<i64> = find.query_row([sweep.as_str()], |row| row.get(0)).optional()?;
    found.ok_or_else(|| LedgerError::UnknownSweep { sweep: sweep.clone() }.into())
}

/// Number of resumes of a sweep.
pub(in crate::ledger::sqlite) fn generation(tx: &Transaction<'_>, sweep: &SweepId) -> Result<u32, Fault> {
    let mut find = tx.prepare_cached("SELECT generation FROM sweeps WHERE id = ?1")?;
    let found: Option<i64> = find.query_row([sweep.as_str()], |row| row.get(0)).optional()?;
    let found = found.ok_or_else(|| LedgerError::UnknownSweep { sweep: sweep.clone() })?;
    Ok(small(found, "generation")?)
}
