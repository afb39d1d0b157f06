//! Sweeps, cells and shards.

pub(super) mod number;

use std::time::Duration;

use deadpool_postgres::{GenericClient, Object, Transaction};
use jiff::Timestamp;
use regatta_proto::{CellIndex, Money, OwnerName, Partition, ShardIndex, SweepId, SweepState};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

pub(super) use self::number::number;
use super::attempts::spent;
use super::column;
use super::identity::charge;
use super::leading::is_leading;
use super::partitions;
use super::pool::Fault;
use super::removing::{refuse_removed, refuse_removed_id};
use super::storage::refer;
use crate::ledger::columns::{
    answer_bits, concurrency, cost, digest, large, money, parsed, sessions, small, stored, stored_money, stored_time,
    time, unreadable,
};
use crate::ledger::{CellProgress, Created, LedgerError, NewSweep, PageMark, ShardRow, ShardState, SweepRow, Term};

pub(super) async fn create(tx: &Transaction<'_>, sweep: &NewSweep) -> Result<Created, Fault> {
    let name = sweep.id.as_str();
    let lock = sweep.lock.bytes();
    let lock = lock.as_slice();
    let state = SweepState::Running.as_str();
    let budget = stored_money(sweep.budget, "budget")?;
    let created_at = stored_time(sweep.created_at, "created_at")?;
    let owner = sweep.owner.as_ref().map(OwnerName::as_str);
    let charged = stored(sweep.charged().0, "charged")?;
    let mut values: Vec<&(dyn ToSql + Sync)> =
        vec![&name, &sweep.name, &lock, &state, &budget, &created_at, &owner, &charged];
    let own = match sweep.sessions() >= partitions::OWN_FROM {
        true => partitions::open(tx).await?,
        false => None,
    };
    // Of several concurrent transactions, all but one wait here and then find the sweep.
    let insert = match &own {
        None => {
            "INSERT INTO sweeps (id, name, lock, state, budget, created_at_ns, owner, charged)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO NOTHING RETURNING number"
        }
        Some(number) => {
            values.push(number);
            "INSERT INTO sweeps (id, name, lock, state, budget, created_at_ns, owner, charged, number) OVERRIDING SYSTEM VALUE
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (id) DO NOTHING RETURNING number"
        }
    };
    let insert = tx.prepare_cached(insert).await?;
    let created = tx.query_opt(&insert, &values).await?;
    if own.is_some() && created.is_none() {
        partitions::take_back(tx).await?;
    }
    // After the insert, which waits for a removal that is under way.
    refuse_removed_id(tx, &sweep.id).await?;
    let Some(created) = created else { return Ok(Created::AlreadyThere) };
    let number: i64 = created.try_get(0)?;
    // Before the owner, as every call that locks both.
    refer(tx, &sweep.inputs, sweep.created_at).await?;
    if let Some(owner) = &sweep.owner {
        charge(tx, owner, (sweep.budget, sweep.sessions()), sweep.quota).await?;
    }
    add_cells(tx, number, sweep).await?;
    add_shards(tx, number, sweep).await?;
    Ok(Created::New)
}

async fn add_cells(tx: &Transaction<'_>, number: i64, sweep: &NewSweep) -> Result<(), Fault> {
    let insert = tx
        .prepare_cached(
            "INSERT INTO cells (sweep, cell, benchmark, setting, model, trial, queue, items)
             SELECT $1, * FROM UNNEST($2::bigint[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[],
                                      $8::bigint[])",
        )
        .await?;
    let cells = &sweep.cells;
    tx.execute(
        &insert,
        &[
            &number,
            &column(cells, |new| i64::from(new.cell.index.0)),
            &column(cells, |new| new.cell.benchmark.as_str()),
            &column(cells, |new| new.cell.setting.as_str()),
            &column(cells, |new| new.cell.model.to_string()),
            &column(cells, |new| i64::from(new.cell.trial.0)),
            &column(cells, |new| new.queue.as_str()),
            &column(cells, |new| i64::from(new.items)),
        ],
    )
    .await?;
    Ok(())
}

async fn add_shards(tx: &Transaction<'_>, number: i64, sweep: &NewSweep) -> Result<(), Fault> {
    let unknown = sweep.shards.iter().find(|shard| !sweep.cells.iter().any(|new| new.cell.index == shard.cell));
    if let Some(shard) = unknown {
        return Err(LedgerError::UnknownCell { sweep: sweep.id.clone(), cell: shard.cell }.into());
    }
    let insert = tx
        .prepare_cached(
            "INSERT INTO shards (sweep, shard, cell, queue, first, count, state)
             SELECT $1, u.shard, u.cell, c.queue, u.first, u.count, $6
             FROM UNNEST($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) AS u (shard, cell, first, count)
             JOIN cells c ON c.sweep = $1 AND c.cell = u.cell",
        )
        .await?;
    let shards = &sweep.shards;
    tx.execute(
        &insert,
        &[
            &number,
            &column(shards, |shard| i64::from(shard.index.0)),
            &column(shards, |shard| i64::from(shard.cell.0)),
            &column(shards, |shard| i64::from(shard.first)),
            &column(shards, |shard| i64::from(shard.count)),
            &ShardState::Planned.as_str(),
        ],
    )
    .await?;
    Ok(())
}

/// Selects the columns that [`sweep`] reads.
const SELECT_SWEEPS: &str =
    "SELECT id, name, lock, state, budget, created_at_ns, ended_at_ns, generation, echo, owner, granted, tabulated,
        is_paused, concurrency
    FROM sweeps";

pub(super) async fn sweeps(client: &Object, only: Option<&SweepId>) -> Result<Vec<SweepRow>, Fault> {
    let select = client
        .prepare_cached(&format!(
            "{SELECT_SWEEPS} WHERE $1::text IS NULL OR id = $1 ORDER BY created_at_ns DESC, number DESC"
        ))
        .await?;
    client.query(&select, &[&only.map(SweepId::as_str)]).await?.iter().map(sweep).collect()
}

pub(super) async fn sweeps_after(
    client: &Object,
    after: Option<&PageMark>,
    limit: u32,
) -> Result<Vec<SweepRow>, Fault> {
    let select = client
        .prepare_cached(&format!(
            "{SELECT_SWEEPS} WHERE $1::bigint IS NULL OR (created_at_ns, id COLLATE \"C\") < ($1, $2::text)
             ORDER BY created_at_ns DESC, id COLLATE \"C\" DESC LIMIT $3"
        ))
        .await?;
    let created_at = after.map(|mark| stored_time(mark.created_at, "created_at")).transpose()?;
    let id = after.map(|mark| mark.id.as_str());
    client.query(&select, &[&created_at, &id, &i64::from(limit)]).await?.iter().map(sweep).collect()
}

fn sweep(row: &Row) -> Result<SweepRow, Fault> {
    let state: &str = row.try_get(3)?;
    Ok(SweepRow {
        id: parsed(row.try_get(0)?, "sweeps.id")?,
        name: row.try_get(1)?,
        lock: digest(row.try_get(2)?)?,
        state: state.parse().map_err(|_| unreadable("sweeps.state", state))?,
        budget: money(row.try_get(4)?, "budget")?,
        created_at: time(row.try_get(5)?, "created_at")?,
        ended_at: row.try_get::<_, Option<i64>>(6)?.map(|nanos| time(nanos, "ended_at")).transpose()?,
        generation: small(row.try_get(7)?, "generation")?,
        echo: large(row.try_get(8)?, "echo")?,
        owner: row.try_get::<_, Option<&str>>(9)?.map(|owner| parsed(owner, "sweeps.owner")).transpose()?,
        granted: money(row.try_get(10)?, "granted")?,
        tabulated: row.try_get::<_, Option<i64>>(11)?.map(|of| small(of, "tabulated")).transpose()?,
        is_paused: row.try_get(12)?,
        concurrency: concurrency(row.try_get(13)?)?,
    })
}

pub(super) async fn transition(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    from: &[SweepState],
    to: SweepState,
    at: Timestamp,
) -> Result<bool, Fault> {
    let number = number(tx, sweep).await?;
    if to == SweepState::Running {
        refuse_removed(tx, number, sweep).await?;
    }
    let update = tx
        .prepare_cached("UPDATE sweeps SET state = $3, ended_at_ns = $4 WHERE number = $1 AND state = ANY ($2)")
        .await?;
    let from = column(from, |state| state.as_str());
    let ended_at = if to.is_end() { Some(stored_time(at, "ended_at")?) } else { None };
    Ok(tx.execute(&update, &[&number, &from, &to.as_str(), &ended_at]).await? == 1)
}

pub(super) async fn set_budget(tx: &Transaction<'_>, sweep: &SweepId, wanted: Money) -> Result<(), Fault> {
    let number = number(tx, sweep).await?;
    let raised = tx
        .execute(
            "UPDATE sweeps SET budget = $2 WHERE number = $1 AND budget <= $2",
            &[&number, &stored(wanted.0, "budget")?],
        )
        .await?;
    if raised == 0 {
        let present = tx.query_one("SELECT budget FROM sweeps WHERE number = $1", &[&number]).await?;
        let present = money(present.try_get(0)?, "budget")?;
        return Err(LedgerError::BudgetNotRaised { sweep: sweep.clone(), present, wanted }.into());
    }
    Ok(())
}

/// Shards of a sweep in order: all, or the next ones of a queue that are still to be dispatched.
pub(super) async fn shards(
    client: &Object,
    sweep: &SweepId,
    next: Option<(&str, u32)>,
) -> Result<Vec<ShardRow>, Fault> {
    let number = number(client, sweep).await?;
    let rows = match next {
        None => {
            let select = client
                .prepare_cached("SELECT shard, cell, first, count, state FROM shards WHERE sweep = $1 ORDER BY shard")
                .await?;
            client.query(&select, &[&number]).await?
        }
        Some((queue, limit)) => {
            let select = client
                .prepare_cached(
                    "SELECT s.shard, s.cell, s.first, s.count, s.state FROM shards s
                     JOIN cells c ON c.sweep = s.sweep AND c.cell = s.cell
                     WHERE s.sweep = $1 AND s.queue = $2 AND s.state <> 'dispatched' AND s.first < c.items
                     ORDER BY s.shard LIMIT $3",
                )
                .await?;
            client.query(&select, &[&number, &queue, &i64::from(limit)]).await?
        }
    };
    rows.iter().map(shard).collect()
}

fn shard(row: &Row) -> Result<ShardRow, Fault> {
    Ok(ShardRow {
        index: ShardIndex(small(row.try_get(0)?, "shard")?),
        cell: CellIndex(small(row.try_get(1)?, "cell")?),
        first: small(row.try_get(2)?, "first")?,
        count: small(row.try_get(3)?, "count")?,
        state: ShardState::read(row.try_get(4)?)?,
    })
}

pub(super) async fn claim_shard(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    shard: ShardIndex,
    generation: u32,
    term: Term,
) -> Result<bool, Fault> {
    if !is_leading(tx, term).await? {
        return Ok(false);
    }
    let number = number(tx, sweep).await?;
    // Locked, so that a concurrent resume, cancel or pause either is over or begins afterwards.
    let find = tx
        .prepare_cached(
            "SELECT 1 FROM sweeps WHERE number = $1 AND generation = $2 AND state = 'running' AND NOT is_paused FOR SHARE",
        )
        .await?;
    let runs = tx.query_opt(&find, &[&number, &i64::from(generation)]).await?.is_some();
    let update = tx
        .prepare_cached("UPDATE shards SET state = 'dispatching' WHERE sweep = $1 AND shard = $2 AND state = 'planned'")
        .await?;
    if runs && tx.execute(&update, &[&number, &i64::from(shard.0)]).await? == 1 {
        return Ok(true);
    }
    known(tx, sweep, number, shard).await?;
    Ok(false)
}

pub(super) async fn confirm_shard(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    shard: ShardIndex,
    dispatched: u32,
    term: Term,
) -> Result<bool, Fault> {
    if !is_leading(tx, term).await? {
        return Ok(false);
    }
    let number = number(tx, sweep).await?;
    let shard_number = i64::from(shard.0);
    // The cell comes first, because every writer begins with its lock.
    let add = tx
        .prepare_cached(
            "UPDATE cells SET dispatched = dispatched + $3
             WHERE sweep = $1 AND cell = (
                 SELECT cell FROM shards WHERE sweep = $1 AND shard = $2 AND state = 'dispatching')",
        )
        .await?;
    if tx.execute(&add, &[&number, &shard_number, &i64::from(dispatched)]).await? != 1 {
        known(tx, sweep, number, shard).await?;
        return Ok(false);
    }
    let update = tx.prepare_cached("UPDATE shards SET state = 'dispatched' WHERE sweep = $1 AND shard = $2").await?;
    tx.execute(&update, &[&number, &shard_number]).await?;
    Ok(true)
}

pub(super) async fn plan_shards_again(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    cell: CellIndex,
    shards: &[ShardIndex],
    dispatched: u64,
    term: Term,
) -> Result<bool, Fault> {
    if !is_leading(tx, term).await? {
        return Ok(false);
    }
    let number = number(tx, sweep).await?;
    let (cell, shards) = (i64::from(cell.0), column(shards, |shard| i64::from(shard.0)));
    // The cell comes first, as above.
    let count = tx
        .prepare_cached(
            "UPDATE cells SET dispatched = $4
             WHERE sweep = $1 AND cell = $2 AND EXISTS (
                 SELECT 1 FROM shards
                 WHERE sweep = $1 AND cell = $2 AND shard = ANY ($3) AND state = 'dispatching')",
        )
        .await?;
    if tx.execute(&count, &[&number, &cell, &shards, &stored(dispatched, "dispatched")?]).await? != 1 {
        return Ok(false);
    }
    let update = tx
        .prepare_cached(
            "UPDATE shards SET state = 'planned'
             WHERE sweep = $1 AND cell = $2 AND shard = ANY ($3) AND state = 'dispatching'",
        )
        .await?;
    tx.execute(&update, &[&number, &cell, &shards]).await?;
    Ok(true)
}

/// Fails if the sweep has no such shard.
async fn known(tx: &Transaction<'_>, sweep: &SweepId, number: i64, shard: ShardIndex) -> Result<(), Fault> {
    let find = tx.prepare_cached("SELECT 1 FROM shards WHERE sweep = $1 AND shard = $2").await?;
    match tx.query_opt(&find, &[&number, &i64::from(shard.0)]).await? {
        Some(_) => Ok(()),
        None => Err(LedgerError::UnknownShard { sweep: sweep.clone(), shard }.into()),
    }
}

pub(super) async fn echo(tx: &Transaction<'_>, sweep: &SweepId, heard: u64, partition: Partition) -> Result<(), Fault> {
    let (number, heard) = (number(tx, sweep).await?, stored(heard, "echo")?);
    let (one, all) = answer_bits(partition)?;
    // What is answered of an older question than the last says nothing.
    let answered = tx
        .prepare_cached(
            "UPDATE sweeps SET echo_answered = CASE WHEN echo_asked = $2 THEN echo_answered | $3 ELSE $3 END, echo_asked = $2
             WHERE number = $1 AND echo_asked <= $2",
        )
        .await?;
    tx.execute(&answered, &[&number, &heard, &one]).await?;
    let update = tx
        .prepare_cached(
            "UPDATE sweeps SET echo = $2 WHERE number = $1 AND echo < $2 AND echo_asked = $2 AND echo_answered & $3 = $3",
        )
        .await?;
    tx.execute(&update, &[&number, &heard, &all]).await?;
    Ok(())
}

pub(super) async fn quiet(tx: &Transaction<'_>, sweep: &SweepId, life: &str, anew: bool) -> Result<Duration, Fault> {
    let number = number(tx, sweep).await?;
    let update = tx
        .prepare_cached(
            "UPDATE sweeps SET
                 quiet_since = CASE WHEN $3 OR life IS DISTINCT FROM $2 THEN now() ELSE quiet_since END, life = $2
             WHERE number = $1
             RETURNING extract(epoch FROM now() - quiet_since)::float8",
        )
        .await?;
    let seconds: f64 = tx.query_one(&update, &[&number, &life, &anew]).await?.try_get(0)?;
    // The difference is negative if the server's clock was set back.
    Ok(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO))
}

pub(super) async fn begin_tabulating(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    generation: u32,
    budget: Option<Money>,
    granted: Option<Money>,
    term: Term,
) -> Result<bool, Fault> {
    if !is_leading(tx, term).await? {
        return Ok(false);
    }
    let number = number(tx, sweep).await?;
    let update = tx
        .prepare_cached(
            "UPDATE sweeps SET state = 'tabulating', granted = $3, is_paused = FALSE
             WHERE number = $1 AND generation = $2 AND state = 'running' AND budget IS NOT DISTINCT FROM $4",
        )
        .await?;
    let (granted, budget) = (stored_money(granted, "granted")?, stored_money(budget, "budget")?);
    // Somebody may have raised the budget since it was found used up.
    Ok(tx.execute(&update, &[&number, &i64::from(generation), &granted, &budget]).await? == 1)
}

pub(super) async fn set_granted(tx: &Transaction<'_>, sweep: &SweepId, granted: Option<Money>) -> Result<(), Fault> {
    let number = number(tx, sweep).await?;
    let granted = stored_money(granted, "granted")?;
    tx.execute("UPDATE sweeps SET granted = $2 WHERE number = $1", &[&number, &granted]).await?;
    Ok(())
}

pub(super) async fn note_tabulated(tx: &Transaction<'_>, sweep: &SweepId, generation: u32) -> Result<(), Fault> {
    let number = number(tx, sweep).await?;
    let update = "UPDATE sweeps SET tabulated = greatest(tabulated, $2) WHERE number = $1";
    tx.execute(update, &[&number, &i64::from(generation)]).await?;
    Ok(())
}

pub(super) async fn release(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    cells: &[(CellIndex, u32)],
    generation: u32,
    term: Term,
) -> Result<bool, Fault> {
    if !is_leading(tx, term).await? {
        return Ok(false);
    }
    let number = number(tx, sweep).await?;
    // Locked, so that a concurrent end or resume either is over or begins afterwards.
    let find = tx
        .prepare_cached("SELECT 1 FROM sweeps WHERE number = $1 AND generation = $2 AND state = 'running' FOR SHARE")
        .await?;
    if tx.query_opt(&find, &[&number, &i64::from(generation)]).await?.is_none() {
        return Ok(false);
    }
    let update =
        tx.prepare_cached("UPDATE cells SET items = greatest(items, $3) WHERE sweep = $1 AND cell = $2").await?;
    // The order in which all writers lock cells.
    let mut cells = cells.to_vec();
    cells.sort();
    for (cell, items) in cells {
        if tx.execute(&update, &[&number, &i64::from(cell.0), &i64::from(items)]).await? == 0 {
            return Err(LedgerError::UnknownCell { sweep: sweep.clone(), cell }.into());
        }
    }
    Ok(true)
}

pub(super) async fn progress(client: &Object, sweep: &SweepId) -> Result<Vec<CellProgress>, Fault> {
    let number = number(client, sweep).await?;
    let select = client
        .prepare_cached(
            "SELECT cell, queue, items, dispatched, recorded, settled, measured, model_failures, not_measured,
                    input, cached_input, cache_write, cache_write_1h, output, reasoning, known, unknown_calls,
                    unmetered_calls, maybe_spent, wasted_known, wasted_unknown_calls
             FROM cells WHERE sweep = $1 ORDER BY cell",
        )
        .await?;
    client.query(&select, &[&number]).await?.iter().map(cell).collect()
}

fn cell(row: &Row) -> Result<CellProgress, Fault> {
    let spent = spent(row, 9)?;
    Ok(CellProgress {
        index: CellIndex(small(row.try_get(0)?, "cell")?),
        queue: row.try_get(1)?,
        items: sessions(row.try_get(2)?, "items")?,
        dispatched: sessions(row.try_get(3)?, "dispatched")?,
        recorded: sessions(row.try_get(4)?, "recorded")?,
        settled: sessions(row.try_get(5)?, "settled")?,
        measured: sessions(row.try_get(6)?, "measured")?,
        model_failures: sessions(row.try_get(7)?, "model_failures")?,
        not_measured: sessions(row.try_get(8)?, "not_measured")?,
        usage: spent.usage()?,
        cost: spent.cost()?,
        wasted: cost([row.try_get(19)?, row.try_get(20)?])?,
        maybe_spent: Money(large(row.try_get(18)?, "maybe_spent")?),
    })
}
