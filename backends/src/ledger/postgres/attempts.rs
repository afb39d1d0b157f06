//! Attempts.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use deadpool_postgres::{Object, Transaction};
use jiff::Timestamp;
use regatta_proto::{
    Attempt, AttemptId, AttemptTotals, Cause, CellIndex, ItemIndex, Money, OpenAttempt, Outcome, SessionKey, SweepId,
    WorkerId,
};
use tokio_postgres::Row;

use super::cells::{self, Deltas};
use super::planning::number::number;
use super::pool::{Fault, both};
use super::{all_changed, column};
use crate::ledger::columns::{Place, key, large, money, outcome, parsed, small, stored_time, time, unreadable};
use crate::ledger::counters::{AttemptWrite, Before, Phase, Spent};
use crate::ledger::{AttemptRow, AttemptState, ToldBy, TranscriptRef, UnderWay};

/// Stored state of attempts, by session and id.
pub(super) type Befores<'a> = HashMap<(Place, &'a AttemptId), Before>;

pub(super) async fn befores<'a>(
    tx: &Transaction<'_>,
    attempts: &[(Place, &'a AttemptId)],
) -> Result<Befores<'a>, Fault> {
    let select = tx
        .prepare_cached(
            "SELECT u.at, a.state, a.outcome IS NOT NULL, a.input, a.cached_input, a.cache_write, a.cache_write_1h,
                    a.output, a.reasoning, a.known, a.unknown_calls, a.unmetered_calls,
                    a.maybe_spent, a.at_most,
                    a.calls, a.retries, a.latency_us, a.cached_calls
             FROM UNNEST($1::bigint[], $2::bigint[], $3::bigint[], $4::text[])
                  WITH ORDINALITY AS u (sweep, cell, item, id, at)
             JOIN attempts a ON a.sweep = u.sweep AND a.cell = u.cell AND a.item = u.item AND a.id = u.id",
        )
        .await?;
    let rows = tx
        .query(
            &select,
            &[
                &column(attempts, |(place, _)| place.sweep),
                &column(attempts, |(place, _)| place.cell),
                &column(attempts, |(place, _)| place.item),
                &column(attempts, |(_, id)| id.as_str()),
            ],
        )
        .await?;
    let mut befores = HashMap::with_capacity(rows.len());
    for row in &rows {
        let at: i64 = row.try_get(0)?;
        let attempt = usize::try_from(at - 1).ok().and_then(|at| attempts.get(at));
        let attempt = attempt.ok_or_else(|| unreadable("ordinality", at))?;
        let before = Before {
            state: AttemptState::read(row.try_get(1)?)?,
            has_result: row.try_get(2)?,
            spent: spent(row, 3)?,
            maybe_spent: row.try_get(12)?,
            at_most: row.try_get(13)?,
            calls: small(row.try_get(14)?, "attempts.calls")?,
            retries: small(row.try_get(15)?, "attempts.retries")?,
            latency_us: row.try_get(16)?,
            cached_calls: cached_calls(row, 17)?,
        };
        befores.insert(*attempt, before);
    }
    Ok(befores)
}

/// Reads tokens and money from the columns beginning at `at`.
pub(super) fn spent(row: &Row, at: usize) -> Result<Spent, tokio_postgres::Error> {
    Ok(Spent {
        input: row.try_get(at)?,
        cached_input: row.try_get(at + 1)?,
        cache_write: row.try_get(at + 2)?,
        cache_write_1h: row.try_get(at + 3)?,
        output: row.try_get(at + 4)?,
        reasoning: row.try_get(at + 5)?,
        known: row.try_get(at + 6)?,
        unknown_calls: row.try_get(at + 7)?,
        unmetered_calls: row.try_get(at + 8)?,
    })
}

pub(super) fn cached_calls(row: &Row, at: usize) -> Result<Option<u32>, Fault> {
    row.try_get::<_, Option<i64>>(at)?.map(|calls| Ok(small(calls, "attempts.cached_calls")?)).transpose()
}

/// Inserts or replaces attempts, which must be distinct.
pub(super) async fn put(tx: &Transaction<'_>, rows: &[AttemptWrite<'_>]) -> Result<(), Fault> {
    if rows.is_empty() {
        return Ok(());
    }
    let put = tx
        .prepare_cached(
            "INSERT INTO attempts
                 (sweep, cell, item, id, number, worker, state, started_at_ns, ended_at_ns, outcome, cause,
                  input, cached_input, cache_write, cache_write_1h, output, reasoning, known, unknown_calls,
                  unmetered_calls, maybe_spent, at_most, calls, retries, latency_us, segment, line, cached_calls)
             SELECT * FROM UNNEST(
                 $1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::text[],
                 $8::bigint[], $9::bigint[], $10::text[], $11::text[],
                 $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[], $17::bigint[],
                 $18::bigint[], $19::bigint[], $20::bigint[], $21::bigint[], $22::bigint[], $23::bigint[],
                 $24::bigint[], $25::bigint[], $26::text[], $27::bigint[], $28::bigint[])
             ON CONFLICT (sweep, cell, item, id) DO UPDATE SET
                 number = excluded.number, worker = excluded.worker, state = excluded.state,
                 started_at_ns = excluded.started_at_ns, ended_at_ns = excluded.ended_at_ns,
                 outcome = excluded.outcome, cause = excluded.cause,
                 input = excluded.input, cached_input = excluded.cached_input, cache_write = excluded.cache_write,
                 cache_write_1h = excluded.cache_write_1h, output = excluded.output, reasoning = excluded.reasoning,
                 known = excluded.known, unknown_calls = excluded.unknown_calls,
                 unmetered_calls = excluded.unmetered_calls, maybe_spent = excluded.maybe_spent,
                 at_most = excluded.at_most, calls = excluded.calls, retries = excluded.retries,
                 latency_us = excluded.latency_us, segment = excluded.segment, line = excluded.line,
                 cached_calls = excluded.cached_calls",
        )
        .await?;
    let found = tx
        .execute(
            &put,
            &[
                &column(rows, |row| row.place.sweep),
                &column(rows, |row| row.place.cell),
                &column(rows, |row| row.place.item),
                &column(rows, |row| row.id.as_str()),
                &column(rows, |row| i64::from(row.number)),
                &column(rows, |row| row.worker.as_str()),
                &column(rows, |row| row.state.as_str()),
                &column(rows, |row| row.started_at),
                &column(rows, |row| row.ended_at),
                &column(rows, |row| row.outcome.map(Outcome::as_str)),
                &column(rows, |row| row.outcome.and_then(Outcome::cause).map(Cause::as_str)),
                &column(rows, |row| row.spent.input),
                &column(rows, |row| row.spent.cached_input),
                &column(rows, |row| row.spent.cache_write),
                &column(rows, |row| row.spent.cache_write_1h),
                &column(rows, |row| row.spent.output),
                &column(rows, |row| row.spent.reasoning),
                &column(rows, |row| row.spent.known),
                &column(rows, |row| row.spent.unknown_calls),
                &column(rows, |row| row.spent.unmetered_calls),
                &column(rows, |row| row.maybe_spent),
                &column(rows, |row| row.at_most),
                &column(rows, |row| i64::from(row.calls)),
                &column(rows, |row| i64::from(row.retries)),
                &column(rows, |row| row.latency_us),
                &column(rows, |row| row.transcript.map(|transcript| transcript.segment.as_str())),
                &column(rows, |row| row.transcript.map(|transcript| i64::from(transcript.line))),
                &column(rows, |row| row.cached_calls.map(i64::from)),
            ],
        )
        .await?;
    all_changed("write attempts", rows.len(), found)
}

/// Records the attempts of cells that exist, and returns the sweeps of the others.
pub(super) async fn record_progress(
    tx: &Transaction<'_>,
    reports: &[(OpenAttempt, WorkerId)],
) -> Result<BTreeSet<SweepId>, Fault> {
    let locked = cells::lock_known(tx, reports.iter().map(|(open, _)| &open.key)).await?;
    let mut left_out = BTreeSet::new();
    let (mut found, mut ids) = (Vec::with_capacity(reports.len()), Vec::with_capacity(reports.len()));
    for (open, worker) in reports {
        match locked.find(&open.key) {
            Some(place) => {
                found.push((open, worker));
                ids.push((place, &open.id));
            }
            None => {
                left_out.insert(open.key.sweep.clone());
            }
        }
    }
    let mut befores = befores(tx, &ids).await?;
    let phases = phases(tx, &ids).await?;
    let mut deltas = Deltas::new();
    let mut rows = BTreeMap::new();
    for ((open, worker), attempt) in found.into_iter().zip(ids) {
        let (place, _) = attempt;
        let before = befores.get(&attempt).copied();
        if let Some(row) = AttemptWrite::open(place, before, open, worker, phases[&place.sweep])? {
            deltas.entry((place.sweep, place.cell)).or_default().attempt(before, row.as_before())?;
            befores.insert(attempt, row.as_before());
            rows.insert(attempt, row);
        }
    }
    let rows: Vec<_> = rows.into_values().collect();
    let (rows, counters) = tokio::join!(put(tx, &rows), cells::add(tx, &deltas));
    both(rows, counters)?;
    see(tx, reports).await?;
    Ok(left_out)
}

/// Phases of the sweeps of attempts, whose cells are locked: a sweep that closes them meanwhile comes after these attempts, and finds them.
async fn phases(tx: &Transaction<'_>, attempts: &[(Place, &AttemptId)]) -> Result<BTreeMap<i64, Phase>, Fault> {
    let sweeps: BTreeSet<i64> = attempts.iter().map(|(place, _)| place.sweep).collect();
    let sweeps: Vec<i64> = sweeps.into_iter().collect();
    let select = tx
        .prepare_cached(
            "SELECT number, state = 'running', coalesce(tabulated = generation, false) FROM sweeps WHERE number = ANY ($1)",
        )
        .await?;
    let phase = |row: &Row| Ok((row.try_get(0)?, Phase::of(row.try_get(1)?, row.try_get(2)?)));
    tx.query(&select, &[&sweeps]).await?.iter().map(phase).collect()
}

/// Records that the attempts are running now, also those that were closed when their sweep ended.
async fn see(tx: &Transaction<'_>, reports: &[(OpenAttempt, WorkerId)]) -> Result<(), Fault> {
    let update = tx
        .prepare_cached(
            "UPDATE attempts a SET seen_at = clock_timestamp()
             FROM UNNEST($1::text[], $2::bigint[], $3::bigint[], $4::text[]) AS u (sweep, cell, item, id)
             JOIN sweeps s ON s.id = u.sweep
             WHERE a.sweep = s.number AND a.cell = u.cell AND a.item = u.item AND a.id = u.id AND a.state IN ('open', 'lost')",
        )
        .await?;
    let keys = |value: fn(&OpenAttempt) -> i64| column(reports, |(open, _)| value(open));
    let (sweeps, ids) =
        (column(reports, |(open, _)| open.key.sweep.as_str()), column(reports, |(open, _)| open.id.as_str()));
    let (cells, items) = (keys(|open| i64::from(open.key.cell.0)), keys(|open| i64::from(open.key.item.0)));
    tx.execute(&update, &[&sweeps, &cells, &items, &ids]).await?;
    Ok(())
}

pub(super) async fn under_way(
    client: &Object,
    sweep: &SweepId,
    cell: CellIndex,
    items: &[ItemIndex],
    within: Duration,
) -> Result<BTreeMap<ItemIndex, UnderWay>, Fault> {
    let number = number(client, sweep).await?;
    let select = client
        .prepare_cached(
            "SELECT a.item, a.state,
                    CASE WHEN h.id IS NULL THEN coalesce(a.seen_at >= clock_timestamp() - $4 * interval '1 millisecond', false)
                         ELSE h.generation = w.generation AND h.told_at >= clock_timestamp() - $4 * interval '1 millisecond'
                    END
             FROM attempts a
             JOIN sweeps w ON w.number = a.sweep
             -- Of a line of a batch the batch knows best.
             LEFT JOIN held h ON h.sweep = a.sweep AND h.kind = 'batch' AND h.id = regexp_replace(a.id, '-[^-]*$', '')
             WHERE a.sweep = $1 AND a.cell = $2 AND a.item = ANY ($3) AND a.state IN ('open', 'lost', 'handed_over')
               AND NOT EXISTS (
                   SELECT 1 FROM sessions s WHERE s.sweep = a.sweep AND s.cell = a.cell AND s.item = a.item)",
        )
        .await?;
    let items = column(items, |item| i64::from(item.0));
    let within_ms = within.as_secs_f64() * 1000.0;
    let rows = client.query(&select, &[&number, &i64::from(cell.0), &items, &within_ms]).await?;
    let mut found = BTreeMap::new();
    for row in rows {
        let item = ItemIndex(small(row.try_get(0)?, "attempts.item")?);
        let evidence = UnderWay::of(AttemptState::read(row.try_get(1)?)?, row.try_get(2)?);
        UnderWay::add_to(&mut found, item, evidence);
    }
    Ok(found)
}

pub(super) async fn record_handover(
    tx: &Transaction<'_>,
    key: &SessionKey,
    attempt: &Attempt,
    totals: AttemptTotals,
    told_by: ToldBy,
) -> Result<bool, Fault> {
    let Some(place) = cells::lock_known(tx, std::iter::once(key)).await?.find(key) else { return Ok(false) };
    let before = befores(tx, &[(place, &attempt.id)]).await?.into_values().next();
    let Some(row) = AttemptWrite::handed_over(place, before, attempt, totals, told_by)? else { return Ok(true) };
    let mut deltas = Deltas::new();
    deltas.entry((place.sweep, place.cell)).or_default().attempt(before, row.as_before())?;
    let rows = [row];
    let (rows, counters) = tokio::join!(put(tx, &rows), cells::add(tx, &deltas));
    both(rows, counters)?;
    let see = tx
        .prepare_cached(
            "UPDATE attempts SET seen_at = clock_timestamp() WHERE sweep = $1 AND cell = $2 AND item = $3 AND id = $4",
        )
        .await?;
    tx.execute(&see, &[&place.sweep, &place.cell, &place.item, &attempt.id.as_str()]).await?;
    Ok(true)
}

pub(super) async fn close_open(tx: &Transaction<'_>, sweep: &SweepId, at: Timestamp) -> Result<u64, Fault> {
    let number = number(tx, sweep).await?;
    cells::lock_sweep(tx, number).await?;
    let update = tx
        .prepare_cached(
            "UPDATE attempts SET state = 'lost', ended_at_ns = $2 WHERE sweep = $1 AND state = 'open'
             RETURNING cell, known, unknown_calls, coalesce(at_most, 0), at_most IS NULL",
        )
        .await?;
    let closed = tx.query(&update, &[&number, &stored_time(at, "ended_at")?]).await?;
    let mut deltas = Deltas::new();
    for row in &closed {
        // The money is in the cell already, but counts as wasted from now on, and the call in flight as possibly spent, or as
        // unknown where it has no bound.
        let delta = deltas.entry((number, row.try_get(0)?)).or_default();
        delta.waste(row.try_get::<_, i64>(1)?.into(), row.try_get::<_, i64>(2)?.into())?;
        delta.doubt(row.try_get::<_, i64>(3)?.into(), row.try_get::<_, bool>(4)?.into())?;
    }
    cells::add(tx, &deltas).await?;
    Ok(closed.len() as u64)
}

pub(super) async fn highest(
    client: &Object,
    sweep: &SweepId,
    cell: CellIndex,
    items: &[ItemIndex],
) -> Result<BTreeMap<ItemIndex, u32>, Fault> {
    let number = number(client, sweep).await?;
    let select = client
        .prepare_cached(
            "SELECT item, max(number) FROM attempts WHERE sweep = $1 AND cell = $2 AND item = ANY ($3) GROUP BY item",
        )
        .await?;
    let items = column(items, |item| i64::from(item.0));
    let mut highest = BTreeMap::new();
    for row in client.query(&select, &[&number, &i64::from(cell.0), &items]).await? {
        highest.insert(ItemIndex(small(row.try_get(0)?, "item")?), small(row.try_get(1)?, "attempts.number")?);
    }
    Ok(highest)
}

/// Only attempts that reported a result have a transcript, and only a resume hands these over.
pub(super) async fn continuations(
    client: &Object,
    sweep: &SweepId,
    cell: CellIndex,
    items: &[ItemIndex],
) -> Result<BTreeMap<ItemIndex, TranscriptRef>, Fault> {
    let number = number(client, sweep).await?;
    let select = client
        .prepare_cached(
            "SELECT DISTINCT ON (item) item, segment, line FROM attempts a
             WHERE sweep = $1 AND cell = $2 AND item = ANY ($3) AND state = 'handed_over' AND segment IS NOT NULL
               AND NOT EXISTS (
                   SELECT 1 FROM sessions s WHERE s.sweep = a.sweep AND s.cell = a.cell AND s.item = a.item)
             ORDER BY item, number DESC, id COLLATE \"C\" DESC",
        )
        .await?;
    let items = column(items, |item| i64::from(item.0));
    let mut found = BTreeMap::new();
    for row in client.query(&select, &[&number, &i64::from(cell.0), &items]).await? {
        let line = small(row.try_get(2)?, "attempts.line")?;
        found.insert(ItemIndex(small(row.try_get(0)?, "item")?), TranscriptRef { segment: row.try_get(1)?, line });
    }
    Ok(found)
}

/// Attempts of a sweep, with the columns that [`attempt`] reads.
macro_rules! select_attempts {
    () => {
        "SELECT cell, item, id, number, worker, state, started_at_ns, ended_at_ns, outcome, cause,
                input, cached_input, cache_write, cache_write_1h, output, reasoning, known, unknown_calls,
                unmetered_calls, maybe_spent, at_most, calls, retries, latency_us, segment, line, cached_calls
         FROM attempts WHERE sweep = $1"
    };
}

pub(super) async fn all(client: &Object, sweep: &SweepId) -> Result<Vec<AttemptRow>, Fault> {
    let number = number(client, sweep).await?;
    let all = concat!(select_attempts!(), " ORDER BY cell, item, number, id COLLATE \"C\"");
    let select = client.prepare_cached(all).await?;
    client.query(&select, &[&number]).await?.iter().map(|row| attempt(sweep, row)).collect()
}

pub(super) async fn oldest_open(client: &Object, sweep: &SweepId) -> Result<Option<AttemptRow>, Fault> {
    let number = number(client, sweep).await?;
    let oldest = concat!(select_attempts!(), " AND state = 'open' ORDER BY started_at_ns, id COLLATE \"C\" LIMIT 1");
    let select = client.prepare_cached(oldest).await?;
    client.query_opt(&select, &[&number]).await?.map(|row| attempt(sweep, &row)).transpose()
}

/// The attempts at one session, by number and id.
pub(super) async fn of_session(
    client: &Object,
    sweep: &SweepId,
    cell: CellIndex,
    item: ItemIndex,
) -> Result<Vec<AttemptRow>, Fault> {
    let number = number(client, sweep).await?;
    let of_session = concat!(select_attempts!(), " AND cell = $2 AND item = $3 ORDER BY number, id COLLATE \"C\"");
    let select = client.prepare_cached(of_session).await?;
    let rows = client.query(&select, &[&number, &i64::from(cell.0), &i64::from(item.0)]).await?;
    rows.iter().map(|row| attempt(sweep, row)).collect()
}

fn attempt(sweep: &SweepId, row: &Row) -> Result<AttemptRow, Fault> {
    let kind: Option<&str> = row.try_get(8)?;
    let spent = spent(row, 10)?;
    let segment: Option<String> = row.try_get(24)?;
    let line = row.try_get::<_, Option<i64>>(25)?.map(|line| small(line, "attempts.line")).transpose()?;
    Ok(AttemptRow {
        key: key(sweep, row.try_get(0)?, row.try_get(1)?)?,
        id: parsed(row.try_get(2)?, "attempts.id")?,
        number: small(row.try_get(3)?, "attempts.number")?,
        worker: parsed(row.try_get(4)?, "attempts.worker")?,
        state: AttemptState::read(row.try_get(5)?)?,
        started_at: time(row.try_get(6)?, "started_at")?,
        ended_at: row.try_get::<_, Option<i64>>(7)?.map(|nanos| time(nanos, "ended_at")).transpose()?,
        outcome: match kind {
            Some(kind) => Some(outcome(kind, row.try_get(9)?)?),
            None => None,
        },
        usage: spent.usage()?,
        cost: spent.cost()?,
        maybe_spent: Money(large(row.try_get(19)?, "maybe_spent")?),
        at_most: money(row.try_get(20)?, "at_most")?,
        calls: small(row.try_get(21)?, "calls")?,
        retries: small(row.try_get(22)?, "retries")?,
        latency_us: large(row.try_get(23)?, "latency_us")?,
        cached_calls: cached_calls(row, 26)?,
        transcript: segment.zip(line).map(|(segment, line)| TranscriptRef { segment, line }),
    })
}
