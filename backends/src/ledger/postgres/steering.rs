//! Sweeps that people steer while they run.

use deadpool_postgres::Transaction;
use regatta_proto::{EndpointName, Money, SweepId};

use super::planning::{number, set_budget};
use super::pool::Fault;
use crate::ledger::columns::{concurrency, stored_concurrency};

pub(super) async fn pause(tx: &Transaction<'_>, sweep: &SweepId) -> Result<bool, Fault> {
    let number = number(tx, sweep).await?;
    // It waits for whoever claims a shard, so that none is claimed once it is over.
    let update = "UPDATE sweeps SET is_paused = TRUE WHERE number = $1 AND state = 'running'";
    Ok(tx.execute(update, &[&number]).await? == 1)
}

pub(super) async fn go_on(tx: &Transaction<'_>, sweep: &SweepId, budget: Option<Money>) -> Result<bool, Fault> {
    let number = number(tx, sweep).await?;
    let update = "UPDATE sweeps SET is_paused = FALSE WHERE number = $1 AND state = 'running'";
    if tx.execute(update, &[&number]).await? == 0 {
        return Ok(false);
    }
    if let Some(budget) = budget {
        set_budget(tx, sweep, budget).await?;
    }
    Ok(true)
}

pub(super) async fn limit_concurrency(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    endpoint: &EndpointName,
    calls: Option<u32>,
) -> Result<bool, Fault> {
    let number = number(tx, sweep).await?;
    // Locked, so that of two who limit two endpoints neither undoes what the other did.
    let select = "SELECT concurrency FROM sweeps WHERE number = $1 AND state = 'running' FOR UPDATE";
    let Some(row) = tx.query_opt(select, &[&number]).await? else { return Ok(false) };
    let mut limits = concurrency(row.try_get(0)?)?;
    match calls {
        Some(calls) => limits.insert(endpoint.clone(), calls),
        None => limits.remove(endpoint),
    };
    let limits = stored_concurrency(&limits)?;
    tx.execute("UPDATE sweeps SET concurrency = $2 WHERE number = $1", &[&number, &limits]).await?;
    Ok(true)
}
