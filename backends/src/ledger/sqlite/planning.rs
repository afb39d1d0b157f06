//! Sweeps, cells and shards.

pub(super) mod number;

use jiff::Timestamp;
use regatta_proto::{CellIndex, Money, OwnerName, Partition, ShardIndex, SweepId, SweepState};
use rusqlite::{OptionalExtension, Row, Rows, Transaction, params};

pub(super) use self::number::{generation, number};
use super::attempts::spent;
use super::identity::charge;
use super::removing::refuse_removed;
use super::storage::refer;
use super::thread::Fault;
use crate::ledger::columns::{
    answer_bits, concurrency, cost, digest, large, money, parsed, sessions, small, stored, stored_money, stored_time,
    time, unreadable,
};
use crate::ledger::{CellProgress, Created, LedgerError, NewSweep, PageMark, ShardRow, ShardState, SweepRow};

pub(super) fn create(tx: &Transaction<'_>, sweep: &NewSweep) -> Result<Created, Fault> {
    refuse_removed(tx, &sweep.id)?;
    let created = tx.execute(
        "INSERT INTO sweeps (id, name, lock, state, budget, created_at_ns, owner, charged)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (id) DO NOTHING",
        params![
            sweep.id.as_str(),
            sweep.name,
            sweep.lock.bytes(),
            SweepState::Running.as_str(),
            stored_money(sweep.budget, "budget")?,
            stored_time(sweep.created_at, "created_at")?,
            sweep.owner.as_ref().map(OwnerName::as_str),
            stored(sweep.charged().0, "charged")?,
        ],
    )?;
    if created == 0 {
        return Ok(Created::AlreadyThere);
    }
    let number = tx.last_insert_rowid();
    refer(tx, &sweep.inputs, sweep.created_at)?;
    if let Some(owner) = &sweep.owner {
        charge(tx, owner, (sweep.budget, sweep.sessions()), sweep.quota)?;
    }
    let mut add_cell = tx.prepare_cached(
        "INSERT INTO cells (sweep, cell, benchmark, setting, model, trial, queue, items)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    for new in &sweep.cells {
        let cell = &new.cell;
        add_cell.execute(params![
            number,
            cell.index.0,
            cell.benchmark.as_str(),
            cell.setting.as_str(),
            cell.model.to_string(),
            cell.trial.0,
            new.queue,
            new.items,
        ])?;
    }
    let mut add_shard = tx.prepare_cached(
        "INSERT INTO shards (sweep, shard, cell, queue, first, count, state)
         SELECT sweep, ?3, cell, queue, ?4, ?5, ?6 FROM cells WHERE sweep = ?1 AND cell = ?2",
    )?;
    for shard in &sweep.shards {
        let planned = ShardState::Planned.as_str();
        let added =
            add_shard.execute(params![number, shard.cell.0, shard.index.0, shard.first, shard.count, planned])?;
        if added == 0 {
            return Err(LedgerError::UnknownCell { sweep: sweep.id.clone(), cell: shard.cell }.into());
        }
    }
    Ok(Created::New)
}

/// Selects the columns that [`sweep`] reads.
const SELECT_SWEEPS: &str =
    "SELECT id, name, lock, state, budget, created_at_ns, ended_at_ns, generation, echo, owner, granted, tabulated,
        is_paused, concurrency
    FROM sweeps";

pub(super) fn sweeps(tx: &Transaction<'_>, only: Option<&SweepId>) -> Result<Vec<SweepRow>, Fault> {
    let mut select = tx.prepare_cached(&format!(
        "{SELECT_SWEEPS} WHERE ?1 IS NULL OR id = ?1 ORDER BY created_at_ns DESC, number DESC"
    ))?;
    read(select.query([only.map(SweepId::as_str)])?)
}

pub(super) fn sweeps_after(tx: &Transaction<'_>, after: Option<&PageMark>, limit: u32) -> Result<Vec<SweepRow>, Fault> {
    let mut select = tx.prepare_cached(&format!(
        "{SELECT_SWEEPS} WHERE ?1 IS NULL OR (created_at_ns, id) < (?1, ?2) ORDER BY created_at_ns DESC, id DESC LIMIT ?3"
    ))?;
    let created_at = after.map(|mark| stored_time(mark.created_at, "created_at")).transpose()?;
    read(select.query(params![created_at, after.map(|mark| &mark.id), limit])?)
}

fn read(mut rows: Rows<'_>) -> Result<Vec<SweepRow>, Fault> {
    let mut sweeps = Vec::new();
    while let Some(row) = rows.next()? {
        sweeps.push(sweep(row)?);
    }
    Ok(sweeps)
}

fn sweep(row: &Row<'_>) -> Result<SweepRow, Fault> {
    let state: String = row.get(3)?;
    Ok(SweepRow {
        id: parsed(&row.get::<_, String>(0)?, "sweeps.id")?,
        name: row.get(1)?,
        lock: digest(&row.get::<_, Vec<u8>>(2)?)?,
        state: state.parse().map_err(|_| unreadable("sweeps.state", state))?,
        budget: money(row.get(4)?, "budget")?,
        created_at: time(row.get(5)?, "created_at")?,
        ended_at: row.get::<_, Option<i64>>(6)?.map(|nanos| time(nanos, "ended_at")).transpose()?,
        generation: small(row.get(7)?, "generation")?,
        echo: large(row.get(8)?, "echo")?,
        owner: row.get::<_, Option<String>>(9)?.map(|owner| parsed(&owner, "sweeps.owner")).transpose()?,
        granted: money(row.get(10)?, "granted")?,
        tabulated: row.get::<_, Option<i64>>(11)?.map(|of| small(of, "tabulated")).transpose()?,
        is_paused: row.get(12)?,
        concurrency: concurrency(row.get::<_, Option<String>>(13)?.as_deref())?,
    })
}

pub(super) fn transition(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    from: &[SweepState],
    to: SweepState,
    at: Timestamp,
) -> Result<bool, Fault> {
    let number = number(tx, sweep)?;
    let state: String = tx.query_row("SELECT state FROM sweeps WHERE number = ?1", [number], |row| row.get(0))?;
    if to == SweepState::Running {
        refuse_removed(tx, sweep)?;
    }
    if !from.iter().any(|from| from.as_str() == state) {
        return Ok(false);
    }
    let ended_at = if to.is_end() { Some(stored_time(at, "ended_at")?) } else { None };
    tx.execute(
        "UPDATE sweeps SET state = ?2, ended_at_ns = ?3 WHERE number = ?1",
        params![number, to.as_str(), ended_at],
    )?;
    Ok(true)
}

pub(super) fn set_budget(tx: &Transaction<'_>, sweep: &SweepId, wanted: Money) -> Result<(), Fault> {
    let number = number(tx, sweep)?;
    let raised = tx.execute(
        "UPDATE sweeps SET budget = ?2 WHERE number = ?1 AND budget <= ?2",
        params![number, stored(wanted.0, "budget")?],
    )?;
    if raised == 0 {
        let present = tx.query_row("SELECT budget FROM sweeps WHERE number = ?1", [number], |row| row.get(0))?;
        let present = money(present, "budget")?;
        return Err(LedgerError::BudgetNotRaised { sweep: sweep.clone(), present, wanted }.into());
    }
    Ok(())
}

/// Shards of a sweep in order: all, or the next ones of a queue that are still to be dispatched.
pub(super) fn shards(tx: &Transaction<'_>, sweep: &SweepId, next: Option<(&str, u32)>) -> Result<Vec<ShardRow>, Fault> {
    let number = number(tx, sweep)?;
    let read = |row: &Row<'_>| -> rusqlite::Result<(u32, u32, u32, u32, String)> {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
    };
    let rows: Vec<_> = match next {
        None => tx
            .prepare_cached("SELECT shard, cell, first, count, state FROM shards WHERE sweep = ?1 ORDER BY shard")?
            .query_map([number], read)?
            .collect::<Result<_, _>>()?,
        Some((queue, limit)) => tx
            .prepare_cached(
                "SELECT s.shard, s.cell, s.first, s.count, s.state FROM shards s
                 JOIN cells c ON c.sweep = s.sweep AND c.cell = s.cell
                 WHERE s.sweep = ?1 AND s.queue = ?2 AND s.state <> 'dispatched' AND s.first < c.items
                 ORDER BY s.shard LIMIT ?3",
            )?
            .query_map(params![number, queue, limit], read)?
            .collect::<Result<_, _>>()?,
    };
    let shard = |(index, cell, first, count, state): (u32, u32, u32, u32, String)| {
        let state = ShardState::read(&state)?;
        Ok(ShardRow { index: ShardIndex(index), cell: CellIndex(cell), first, count, state })
    };
    rows.into_iter().map(shard).collect()
}

pub(super) fn claim_shard(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    shard: ShardIndex,
    generation: u32,
) -> Result<bool, Fault> {
    let mut find = tx.prepare_cached(
        "SELECT 1 FROM sweeps WHERE id = ?1 AND generation = ?2 AND state = 'running' AND NOT is_paused",
    )?;
    if !find.exists(params![sweep.as_str(), generation])? {
        number(tx, sweep)?;
        return Ok(false);
    }
    let moved = move_shard(tx, sweep, shard, ShardState::Planned, ShardState::Dispatching)?;
    Ok(moved.is_some())
}

pub(super) fn confirm_shard(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    shard: ShardIndex,
    dispatched: u32,
) -> Result<bool, Fault> {
    let Some((number, cell)) = move_shard(tx, sweep, shard, ShardState::Dispatching, ShardState::Dispatched)? else {
        return Ok(false);
    };
    tx.prepare_cached("UPDATE cells SET dispatched = dispatched + ?3 WHERE sweep = ?1 AND cell = ?2")?
        .execute(params![number, cell, dispatched])?;
    Ok(true)
}

pub(super) fn plan_shards_again(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    cell: CellIndex,
    shards: &[ShardIndex],
    dispatched: u64,
) -> Result<bool, Fault> {
    let number = number(tx, sweep)?;
    let mut update = tx.prepare_cached(
        "UPDATE shards SET state = 'planned' WHERE sweep = ?1 AND cell = ?2 AND shard = ?3 AND state = 'dispatching'",
    )?;
    let mut moved = 0;
    for shard in shards {
        moved += update.execute(params![number, cell.0, shard.0])?;
    }
    if moved == 0 {
        return Ok(false);
    }
    tx.prepare_cached("UPDATE cells SET dispatched = ?3 WHERE sweep = ?1 AND cell = ?2")?.execute(params![
        number,
        cell.0,
        stored(dispatched, "dispatched")?
    ])?;
    Ok(true)
}

/// Sweep and cell of the shard, if it stood in `from`.
fn move_shard(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    shard: ShardIndex,
    from: ShardState,
    to: ShardState,
) -> Result<Option<(i64, i64)>, Fault> {
    let number = number(tx, sweep)?;
    let mut update = tx
        .prepare_cached("UPDATE shards SET state = ?4 WHERE sweep = ?1 AND shard = ?2 AND state = ?3 RETURNING cell")?;
    let moved: Option<i64> =
        update.query_row(params![number, shard.0, from.as_str(), to.as_str()], |row| row.get(0)).optional()?;
    if moved.is_none() {
        let mut find = tx.prepare_cached("SELECT 1 FROM shards WHERE sweep = ?1 AND shard = ?2")?;
        if !find.exists(params![number, shard.0])? {
            return Err(LedgerError::UnknownShard { sweep: sweep.clone(), shard }.into());
        }
    }
    Ok(moved.map(|cell| (number, cell)))
}

pub(super) fn echo(tx: &Transaction<'_>, sweep: &SweepId, heard: u64, partition: Partition) -> Result<(), Fault> {
    let (number, heard) = (number(tx, sweep)?, stored(heard, "echo")?);
    let (one, all) = answer_bits(partition)?;
    // What is answered of an older question than the last says nothing.
    tx.execute(
        "UPDATE sweeps SET echo_answered = CASE WHEN echo_asked = ?2 THEN echo_answered | ?3 ELSE ?3 END, echo_asked = ?2
         WHERE number = ?1 AND echo_asked <= ?2",
        params![number, heard, one],
    )?;
    tx.execute(
        "UPDATE sweeps SET echo = ?2 WHERE number = ?1 AND echo < ?2 AND echo_asked = ?2 AND echo_answered & ?3 = ?3",
        params![number, heard, all],
    )?;
    Ok(())
}

pub(super) fn begin_tabulating(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    generation: u32,
    budget: Option<Money>,
    granted: Option<Money>,
) -> Result<bool, Fault> {
    let number = number(tx, sweep)?;
    let (granted, budget) = (stored_money(granted, "granted")?, stored_money(budget, "budget")?);
    // Somebody may have raised the budget since it was found used up.
    let moved = tx.execute(
        "UPDATE sweeps SET state = ?3, granted = ?5, is_paused = FALSE
         WHERE number = ?1 AND generation = ?2 AND state = ?4 AND budget IS ?6",
        params![number, generation, SweepState::Tabulating.as_str(), SweepState::Running.as_str(), granted, budget],
    )?;
    Ok(moved == 1)
}

pub(super) fn set_granted(tx: &Transaction<'_>, sweep: &SweepId, granted: Option<Money>) -> Result<(), Fault> {
    let number = number(tx, sweep)?;
    let granted = stored_money(granted, "granted")?;
    tx.execute("UPDATE sweeps SET granted = ?2 WHERE number = ?1", params![number, granted])?;
    Ok(())
}

pub(super) fn note_tabulated(tx: &Transaction<'_>, sweep: &SweepId, generation: u32) -> Result<(), Fault> {
    let number = number(tx, sweep)?;
    let update = "UPDATE sweeps SET tabulated = max(ifnull(tabulated, ?2), ?2) WHERE number = ?1";
    tx.execute(update, params![number, generation])?;
    Ok(())
}

pub(super) fn release(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    cells: &[(CellIndex, u32)],
    generation: u32,
) -> Result<bool, Fault> {
    let number = number(tx, sweep)?;
    let mut find = tx.prepare_cached("SELECT 1 FROM sweeps WHERE number = ?1 AND generation = ?2 AND state = ?3")?;
    if !find.exists(params![number, generation, SweepState::Running.as_str()])? {
        return Ok(false);
    }
    let mut update = tx.prepare_cached("UPDATE cells SET items = max(items, ?3) WHERE sweep = ?1 AND cell = ?2")?;
    for (cell, items) in cells {
        if update.execute(params![number, cell.0, items])? == 0 {
            return Err(LedgerError::UnknownCell { sweep: sweep.clone(), cell: *cell }.into());
        }
    }
    Ok(true)
}

pub(super) fn progress(tx: &Transaction<'_>, sweep: &SweepId) -> Result<Vec<CellProgress>, Fault> {
    let number = number(tx, sweep)?;
    let mut select = tx.prepare_cached(
        "SELECT cell, queue, items, dispatched, recorded, settled, measured, model_failures, not_measured,
                input, cached_input, cache_write, cache_write_1h, output, reasoning, known, unknown_calls,
                unmetered_calls, maybe_spent, wasted_known, wasted_unknown_calls
         FROM cells WHERE sweep = ?1 ORDER BY cell",
    )?;
    let mut rows = select.query([number])?;
    let mut cells = Vec::new();
    while let Some(row) = rows.next()? {
        let spent = spent(row, 9)?;
        cells.push(CellProgress {
            index: CellIndex(small(row.get(0)?, "cell")?),
            queue: row.get(1)?,
            items: sessions(row.get(2)?, "items")?,
            dispatched: sessions(row.get(3)?, "dispatched")?,
            recorded: sessions(row.get(4)?, "recorded")?,
            settled: sessions(row.get(5)?, "settled")?,
            measured: sessions(row.get(6)?, "measured")?,
            model_failures: sessions(row.get(7)?, "model_failures")?,
            not_measured: sessions(row.get(8)?, "not_measured")?,
            usage: spent.usage()?,
            cost: spent.cost()?,
            wasted: cost([row.get(19)?, row.get(20)?])?,
            maybe_spent: Money(large(row.get(18)?, "maybe_spent")?),
        });
    }
    Ok(cells)
}
