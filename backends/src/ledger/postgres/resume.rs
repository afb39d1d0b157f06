//! Changes by a resume.

use std::time::Duration;

use deadpool_postgres::{GenericClient, Transaction};
use regatta_proto::{Cause, Money, OwnerName, SweepId, SweepState};

use super::cells::{self, Deltas};
use super::identity::{charge, check_charge};
use super::leading::is_leading;
use super::planning::{number, set_budget};
use super::pool::Fault;
use super::removing::{refuse_removed, refuse_removed_id};
use super::schedules::reopen_tick;
use super::silence;
use crate::ledger::columns::{large, parsed};
use crate::ledger::{LedgerError, Quota, Reopened, Term};

pub(super) async fn resume(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    from: SweepState,
    budget: Option<Money>,
    quota: Quota,
) -> Result<Option<Reopened>, Fault> {
    let number = number(tx, sweep).await?;
    let update = "UPDATE sweeps SET state = $3, ended_at_ns = NULL, is_paused = FALSE WHERE number = $1 AND state = $2";
    if tx.execute(update, &[&number, &from.as_str(), &SweepState::Running.as_str()]).await? == 0 {
        return Ok(None);
    }
    if let Some(budget) = budget {
        set_budget(tx, sweep, budget).await?;
    }
    reopen_tick(tx, sweep).await?;
    reopen(tx, sweep, quota).await.map(Some)
}

pub(super) async fn reopen(tx: &Transaction<'_>, sweep: &SweepId, quota: Quota) -> Result<Reopened, Fault> {
    let number = number(tx, sweep).await?;
    cells::lock_sweep(tx, number).await?;
    refuse_removed(tx, number, sweep).await?;
    if let Some((owner, sessions)) = owed(tx, sweep).await? {
        charge(tx, &owner, (Some(Money::ZERO), sessions), quota).await?;
    }
    let mut deltas = Deltas::new();
    await_again(tx, number, &mut deltas).await?;
    hand_over_budgeted(tx, number).await?;
    remove_unmeasured(tx, number, &mut deltas).await?;
    cells::add(tx, &deltas).await?;
    tx.execute("UPDATE sweeps SET generation = generation + 1 WHERE number = $1", &[&number]).await?;
    let to_judge = tx
        .query_one(
            "SELECT count(*) FROM awaiting w
             JOIN sessions s ON s.sweep = w.sweep AND s.cell = w.cell AND s.item = w.item
             WHERE w.sweep = $1 AND s.state = 'awaiting'",
            &[&number],
        )
        .await?;
    Ok(Reopened { to_run: plan_again(tx, number).await?, to_judge: large(to_judge.try_get(0)?, "to_judge")? })
}

pub(super) async fn check(client: &impl GenericClient, sweep: &SweepId, quota: Quota) -> Result<(), Fault> {
    refuse_removed_id(client, sweep).await?;
    match owed(client, sweep).await? {
        Some((owner, sessions)) => check_charge(client, &owner, (Some(Money::ZERO), sessions), quota).await,
        None => Ok(()),
    }
}

/// The sweep's owner, and the number of sessions that a resume begins anew.
async fn owed(client: &impl GenericClient, sweep: &SweepId) -> Result<Option<(OwnerName, u64)>, Fault> {
    let row = client
        .query_opt(
            "SELECT w.owner, (
                 SELECT count(*) FROM sessions s WHERE s.sweep = w.number AND s.state = 'settled' AND s.outcome = 'not_measured'
                   AND s.cause <> $2
                   AND NOT (s.cause = $3 AND EXISTS (
                       SELECT 1 FROM awaiting a WHERE a.sweep = s.sweep AND a.cell = s.cell AND a.item = s.item)))
             FROM sweeps w WHERE w.id = $1",
            &[&sweep.as_str(), &Cause::Budget.as_str(), &Cause::JudgeUnavailable.as_str()],
        )
        .await?;
    let row = row.ok_or_else(|| LedgerError::UnknownSweep { sweep: sweep.clone() })?;
    let Some(owner) = row.try_get::<_, Option<&str>>(0)? else { return Ok(None) };
    Ok(Some((parsed(owner, "sweeps.owner")?, large(row.try_get(1)?, "sessions")?)))
}

pub(super) async fn reset(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    silent_for: Duration,
    term: Term,
) -> Result<Option<u64>, Fault> {
    if !is_leading(tx, term).await? {
        return Ok(None);
    }
    let number = number(tx, sweep).await?;
    cells::lock_sweep(tx, number).await?;
    if silent_for.is_zero() {
        // Those too that were told of before the clock was put back.
        tx.execute("DELETE FROM asked WHERE sweep = $1", &[&number]).await?;
    } else {
        silence::release_all(tx, number, silent_for).await?;
    }
    plan_again(tx, number).await.map(Some)
}

pub(super) async fn forget_workers(tx: &Transaction<'_>, sweep: &SweepId) -> Result<(), Fault> {
    let number = number(tx, sweep).await?;
    let unseen = "UPDATE attempts SET seen_at = NULL WHERE sweep = $1 AND state IN ('open', 'lost', 'handed_over')";
    tx.execute(unseen, &[&number]).await?;
    tx.execute("DELETE FROM held WHERE sweep = $1 AND kind = 'batch'", &[&number]).await?;
    Ok(())
}

/// Makes sessions wait again whose judge was unavailable and whose transcript is stored.
async fn await_again(tx: &Transaction<'_>, sweep: i64, deltas: &mut Deltas) -> Result<(), Fault> {
    let rows = tx
        .query(
            "UPDATE sessions s SET state = 'awaiting', outcome = a.outcome, cause = a.cause
             FROM awaiting w, attempts a
             WHERE w.sweep = $1
               AND s.sweep = $1 AND s.cell = w.cell AND s.item = w.item
               AND s.state = 'settled' AND s.outcome = 'not_measured' AND s.cause = $2
               AND a.sweep = $1 AND a.cell = w.cell AND a.item = w.item AND a.id = s.attempt
             RETURNING s.cell",
            &[&sweep, &Cause::JudgeUnavailable.as_str()],
        )
        .await?;
    for row in rows {
        let delta = deltas.entry((sweep, row.try_get(0)?)).or_default();
        delta.settled -= 1;
        delta.not_measured -= 1;
    }
    Ok(())
}

/// Hands over the attempts that the budget ended, if they have an answer to keep: their own, or one that was handed over to them. Their
/// calls are counted, and are contained in the transcripts of the attempts that continue.
async fn hand_over_budgeted(tx: &Transaction<'_>, sweep: i64) -> Result<(), Fault> {
    tx.execute(
        "WITH kept AS (
             UPDATE attempts a SET state = 'handed_over' FROM sessions s
             WHERE s.sweep = $1 AND s.state = 'settled' AND s.outcome = 'not_measured' AND s.cause = $2
               AND a.sweep = $1 AND a.cell = s.cell AND a.item = s.item AND a.id = s.attempt
               AND (a.calls > 0 OR EXISTS (
                   SELECT 1 FROM attempts e
                   WHERE e.sweep = $1 AND e.cell = s.cell AND e.item = s.item AND e.state = 'handed_over'))
             RETURNING a.sweep, a.cell, a.item, a.number)
         INSERT INTO counted_calls (sweep, cell, item, attempt) SELECT * FROM kept ON CONFLICT DO NOTHING",
        &[&sweep, &Cause::Budget.as_str()],
    )
    .await?;
    Ok(())
}

/// Deletes the rows of unmeasured sessions. Their cost is wasted, unless the attempt that counted is handed over.
async fn remove_unmeasured(tx: &Transaction<'_>, sweep: i64, deltas: &mut Deltas) -> Result<(), Fault> {
    let rows = tx
        .query(
            "UPDATE attempts a SET state = 'waste' FROM sessions s, attempts c
             WHERE s.sweep = $1 AND s.state = 'settled' AND s.outcome = 'not_measured'
               AND c.sweep = $1 AND c.cell = s.cell AND c.item = s.item AND c.id = s.attempt AND c.state = 'recorded'
               AND a.sweep = $1 AND a.cell = s.cell AND a.item = s.item AND a.state IN ('recorded', 'handed_over')
             RETURNING a.cell, a.known, a.unknown_calls",
            &[&sweep],
        )
        .await?;
    for row in rows {
        let delta = deltas.entry((sweep, row.try_get(0)?)).or_default();
        delta.waste(row.try_get::<_, i64>(1)?.into(), row.try_get::<_, i64>(2)?.into())?;
    }
    let rows = tx
        .query(
            "DELETE FROM sessions WHERE sweep = $1 AND state = 'settled' AND outcome = 'not_measured' RETURNING cell",
            &[&sweep],
        )
        .await?;
    for row in rows {
        let delta = deltas.entry((sweep, row.try_get(0)?)).or_default();
        delta.recorded -= 1;
        delta.settled -= 1;
        delta.not_measured -= 1;
    }
    Ok(())
}

/// Plans all shards again of every cell with missing sessions, and counts these. The ledger does not know which shards lack them, because
/// that depends on the selection; dispatching a complete shard again costs only a check of the recorded items.
async fn plan_again(tx: &Transaction<'_>, sweep: i64) -> Result<u64, Fault> {
    tx.execute(
        "UPDATE shards SET state = 'planned' WHERE sweep = $1
         AND cell IN (SELECT cell FROM cells WHERE sweep = $1 AND recorded < items)",
        &[&sweep],
    )
    .await?;
    tx.execute("UPDATE cells SET dispatched = recorded WHERE sweep = $1", &[&sweep]).await?;
    let missing = tx
        .query_one(
            "SELECT coalesce(sum(items - recorded), 0)::bigint FROM cells WHERE sweep = $1 AND recorded < items",
            &[&sweep],
        )
        .await?;
    Ok(large(missing.try_get(0)?, "to_run")?)
}
