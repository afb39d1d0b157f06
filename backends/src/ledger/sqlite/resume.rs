//! Changes by a resume.

use std::time::Duration;

use regatta_proto::{Cause, Money, OwnerName, SweepId, SweepState};
use rusqlite::{OptionalExtension, Transaction, params};

use super::attempts::Deltas;
use super::identity::{charge, check_charge};
use super::judging::release_all_silent;
use super::planning::{number, set_budget};
use super::presence::Presence;
use super::removing::refuse_removed;
use super::schedules::reopen_tick;
use super::thread::Fault;
use crate::ledger::columns::{large, parsed};
use crate::ledger::{LedgerError, Quota, Reopened};

pub(super) fn resume(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    from: SweepState,
    budget: Option<Money>,
    quota: Quota,
) -> Result<Option<Reopened>, Fault> {
    let number = number(tx, sweep)?;
    let update = "UPDATE sweeps SET state = ?3, ended_at_ns = NULL, is_paused = FALSE WHERE number = ?1 AND state = ?2";
    if tx.execute(update, params![number, from.as_str(), SweepState::Running.as_str()])? == 0 {
        return Ok(None);
    }
    if let Some(budget) = budget {
        set_budget(tx, sweep, budget)?;
    }
    reopen_tick(tx, sweep)?;
    reopen(tx, sweep, quota).map(Some)
}

pub(super) fn reopen(tx: &Transaction<'_>, sweep: &SweepId, quota: Quota) -> Result<Reopened, Fault> {
    let number = number(tx, sweep)?;
    refuse_removed(tx, sweep)?;
    if let Some((owner, sessions)) = owed(tx, sweep)? {
        charge(tx, &owner, (Some(Money::ZERO), sessions), quota)?;
    }
    let mut deltas = Deltas::for_sweep(sweep, number);
    await_again(tx, number, &mut deltas)?;
    hand_over_budgeted(tx, number)?;
    remove_unmeasured(tx, number, &mut deltas)?;
    deltas.write(tx)?;
    tx.execute("UPDATE sweeps SET generation = generation + 1 WHERE number = ?1", [number])?;
    let to_judge: i64 = tx.query_row(
        "SELECT count(*) FROM awaiting a JOIN sessions s ON s.sweep = a.sweep AND s.cell = a.cell AND s.item = a.item
         WHERE a.sweep = ?1 AND s.state = 'awaiting'",
        [number],
        |row| row.get(0),
    )?;
    Ok(Reopened { to_run: plan_again(tx, number)?, to_judge: large(to_judge, "to_judge")? })
}

pub(super) fn check(tx: &Transaction<'_>, sweep: &SweepId, quota: Quota) -> Result<(), Fault> {
    refuse_removed(tx, sweep)?;
    match owed(tx, sweep)? {
        Some((owner, sessions)) => check_charge(tx, &owner, (Some(Money::ZERO), sessions), quota),
        None => Ok(()),
    }
}

/// The sweep's owner, and the number of sessions that a resume begins anew.
fn owed(tx: &Transaction<'_>, sweep: &SweepId) -> Result<Option<(OwnerName, u64)>, Fault> {
    let found: Option<(Option<String>, i64)> = tx
        .query_row(
        "SELECT w.owner, (
             SELECT count(*) FROM sessions s WHERE s.sweep = w.number AND s.state = 'settled' AND s.outcome = 'not_measured'
               AND s.cause <> ?2
               AND NOT (s.cause = ?3 AND EXISTS (
                   SELECT 1 FROM awaiting a WHERE a.sweep = s.sweep AND a.cell = s.cell AND a.item = s.item)))
         FROM sweeps w WHERE w.id = ?1",
        params![sweep.as_str(), Cause::Budget.as_str(), Cause::JudgeUnavailable.as_str()],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    let (owner, sessions) = found.ok_or_else(|| LedgerError::UnknownSweep { sweep: sweep.clone() })?;
    let Some(owner) = owner else { return Ok(None) };
    Ok(Some((parsed(&owner, "sweeps.owner")?, large(sessions, "sessions")?)))
}

pub(super) fn reset(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    presence: &Presence,
    silent_for: Duration,
) -> Result<u64, Fault> {
    let number = number(tx, sweep)?;
    if silent_for.is_zero() {
        // Those too that are claimed, or told of, at this very moment.
        tx.execute("DELETE FROM asked WHERE sweep = ?1", [number])?;
    } else {
        release_all_silent(tx, sweep, presence, silent_for)?;
    }
    plan_again(tx, number)
}

/// Makes sessions wait again whose judge was unavailable and whose transcript is stored.
fn await_again(tx: &Transaction<'_>, sweep: i64, deltas: &mut Deltas) -> Result<(), Fault> {
    let mut update = tx.prepare_cached(
        "UPDATE sessions SET state = 'awaiting', outcome = a.outcome, cause = a.cause
         FROM awaiting w, attempts a
         WHERE w.sweep = ?1
           AND sessions.sweep = ?1 AND sessions.cell = w.cell AND sessions.item = w.item
           AND sessions.state = 'settled' AND sessions.outcome = 'not_measured' AND sessions.cause = ?2
           AND a.sweep = ?1 AND a.cell = w.cell AND a.item = w.item AND a.id = sessions.attempt
         RETURNING sessions.cell",
    )?;
    let mut rows = update.query(params![sweep, Cause::JudgeUnavailable.as_str()])?;
    while let Some(row) = rows.next()? {
        let delta = deltas.of(sweep, row.get(0)?);
        delta.settled -= 1;
        delta.not_measured -= 1;
    }
    Ok(())
}

/// Hands over the attempts that the budget ended, if they have an answer to keep: their own, or one that was handed over to them. Their
/// calls are counted, and are contained in the transcripts of the attempts that continue.
fn hand_over_budgeted(tx: &Transaction<'_>, sweep: i64) -> Result<(), Fault> {
    let mut update = tx.prepare_cached(
        "UPDATE attempts SET state = 'handed_over' FROM sessions s
         WHERE s.sweep = ?1 AND s.state = 'settled' AND s.outcome = 'not_measured' AND s.cause = ?2
           AND attempts.sweep = ?1 AND attempts.cell = s.cell AND attempts.item = s.item AND attempts.id = s.attempt
           AND (attempts.calls > 0 OR EXISTS (
               SELECT 1 FROM attempts e
               WHERE e.sweep = ?1 AND e.cell = s.cell AND e.item = s.item AND e.state = 'handed_over'))
         RETURNING cell, item, number",
    )?;
    let mut counted =
        tx.prepare_cached("INSERT OR IGNORE INTO counted_calls (sweep, cell, item, attempt) VALUES (?1, ?2, ?3, ?4)")?;
    let mut rows = update.query(params![sweep, Cause::Budget.as_str()])?;
    while let Some(row) = rows.next()? {
        let (cell, item, number): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        counted.execute([sweep, cell, item, number])?;
    }
    Ok(())
}

/// Deletes the rows of unmeasured sessions. Their cost is wasted, unless the attempt that counted is handed over.
fn remove_unmeasured(tx: &Transaction<'_>, sweep: i64, deltas: &mut Deltas) -> Result<(), Fault> {
    let mut update = tx.prepare_cached(
        "UPDATE attempts SET state = 'waste' FROM sessions s, attempts c
         WHERE s.sweep = ?1 AND s.state = 'settled' AND s.outcome = 'not_measured'
           AND c.sweep = ?1 AND c.cell = s.cell AND c.item = s.item AND c.id = s.attempt AND c.state = 'recorded'
           AND attempts.sweep = ?1 AND attempts.cell = s.cell AND attempts.item = s.item
           AND attempts.state IN ('recorded', 'handed_over')
         RETURNING cell, known, unknown_calls",
    )?;
    let mut rows = update.query([sweep])?;
    while let Some(row) = rows.next()? {
        let delta = deltas.of(sweep, row.get(0)?);
        delta.waste(row.get::<_, i64>(1)?.into(), row.get::<_, i64>(2)?.into())?;
    }
    let mut delete = tx.prepare_cached(
        "DELETE FROM sessions WHERE sweep = ?1 AND state = 'settled' AND outcome = 'not_measured' RETURNING cell",
    )?;
    let mut rows = delete.query([sweep])?;
    while let Some(row) = rows.next()? {
        let delta = deltas.of(sweep, row.get(0)?);
        delta.recorded -= 1;
        delta.settled -= 1;
        delta.not_measured -= 1;
    }
    Ok(())
}

/// Plans all shards again of every cell with missing sessions, and counts these. The ledger does not know which shards lack them, because
/// that depends on the selection; dispatching a complete shard again costs only a check of the recorded items.
pub(super) fn plan_again(tx: &Transaction<'_>, sweep: i64) -> Result<u64, Fault> {
    tx.execute(
        "UPDATE shards SET state = 'planned' WHERE sweep = ?1
         AND cell IN (SELECT cell FROM cells WHERE sweep = ?1 AND recorded < items)",
        [sweep],
    )?;
    tx.execute("UPDATE cells SET dispatched = recorded WHERE sweep = ?1", [sweep])?;
    let missing: i64 = tx.query_row(
        "SELECT ifnull(sum(items - recorded), 0) FROM cells WHERE sweep = ?1 AND recorded < items",
        [sweep],
        |row| row.get(0),
    )?;
    Ok(large(missing, "to_run")?)
}
