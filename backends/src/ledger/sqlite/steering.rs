//! Sweeps that people steer while they run.

use regatta_proto::{EndpointName, Money, SweepId};
use rusqlite::{OptionalExtension, Transaction, params};

use super::planning::{number, set_budget};
use super::thread::Fault;
use crate::ledger::columns::{concurrency, stored_concurrency};

pub(super) fn pause(tx: &Transaction<'_>, sweep: &SweepId) -> Result<bool, Fault> {
    let number = number(tx, sweep)?;
    let update = "UPDATE sweeps SET is_paused = TRUE WHERE number = ?1 AND state = 'running'";
    Ok(tx.execute(update, [number])? == 1)
}

pub(super) fn go_on(tx: &Transaction<'_>, sweep: &SweepId, budget: Option<Money>) -> Result<bool, Fault> {
    let number = number(tx, sweep)?;
    let update = "UPDATE sweeps SET is_paused = FALSE WHERE number = ?1 AND state = 'running'";
    if tx.execute(update, [number])? == 0 {
        return Ok(false);
    }
    if let Some(budget) = budget {
        set_budget(tx, sweep, budget)?;
    }
    Ok(true)
}

pub(super) fn limit_concurrency(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    endpoint: &EndpointName,
    calls: Option<u32>,
) -> Result<bool, Fault> {
    let number = number(tx, sweep)?;
    let select = "SELECT concurrency FROM sweeps WHERE number = ?1 AND state = 'running'";
    let before: Option<Option<String>> = tx.query_row(select, [number], |row| row.get(0)).optional()?;
    let Some(before) = before else { return Ok(false) };
    let mut limits = concurrency(before.as_deref())?;
    match calls {
        Some(calls) => limits.insert(endpoint.clone(), calls),
        None => limits.remove(endpoint),
    };
    let update = "UPDATE sweeps SET concurrency = ?2 WHERE number = ?1";
    tx.execute(update, params![number, stored_concurrency(&limits)?])?;
    Ok(true)
}
