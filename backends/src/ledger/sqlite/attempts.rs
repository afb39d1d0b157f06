//! Attempts, and their changes of counters.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use regatta_proto::{
    Attempt, AttemptId, AttemptTotals, Cause, CellIndex, ItemIndex, Money, OpenAttempt, Outcome, SessionKey, SweepId,
    WorkerId,
};
use rusqlite::{CachedStatement, OptionalExtension, Row, Transaction, params};

use super::planning::number::number;
use super::thread::Fault;
use crate::ledger::columns::{Place, key, large, money, outcome, parsed, small, stored_time, time, unreadable};
use crate::ledger::counters::{AttemptWrite, Before, Delta, Phase, Spent};
use crate::ledger::{AttemptRow, AttemptState, LedgerError, ToldBy, TranscriptRef};

/// The rest of an `INSERT`, with columns in the order in which [`write_row`] binds them.
macro_rules! attempt_columns {
    () => {
        " INTO attempts
             (sweep, cell, item, id, number, worker, state, started_at_ns, ended_at_ns, outcome, cause,
              input, cached_input, cache_write, cache_write_1h, output, reasoning, known, unknown_calls,
              unmetered_calls, maybe_spent, at_most, calls, retries, latency_us, segment, line, cached_calls)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21,
                 ?22, ?23, ?24, ?25, ?26, ?27, ?28)"
    };
}

/// Attempts of a sweep, with the columns that [`attempt`] reads.
macro_rules! select_attempts {
    () => {
        "SELECT cell, item, id, number, worker, state, started_at_ns, ended_at_ns, outcome, cause,
                input, cached_input, cache_write, cache_write_1h, output, reasoning, known, unknown_calls,
                unmetered_calls, maybe_spent, at_most, calls, retries, latency_us, segment, line, cached_calls
         FROM attempts WHERE sweep = ?1"
    };
}

/// Counter changes of a call, written at its end, once for each cell.
#[derive(Debug, Default)]
pub(super) struct Deltas {
    cells: BTreeMap<(i64, i64), Delta>,
    /// The sweeps looked up so far; nearly all batches have only one.
    sweeps: Vec<(SweepId, i64)>,
}

impl Deltas {
    pub(super) fn for_sweep(sweep: &SweepId, number: i64) -> Self {
        Self { cells: BTreeMap::new(), sweeps: vec![(sweep.clone(), number)] }
    }

    /// The place of a session in the tables.
    pub(super) fn place(&mut self, tx: &Transaction<'_>, key: &SessionKey) -> Result<Place, Fault> {
        if let Some((_, number)) = self.sweeps.iter().find(|(sweep, _)| *sweep == key.sweep) {
            return Ok(Place::of(*number, key));
        }
        let number = number(tx, &key.sweep)?;
        self.sweeps.push((key.sweep.clone(), number));
        Ok(Place::of(number, key))
    }

    /// The same, if its cell exists.
    fn find(tx: &Transaction<'_>, key: &SessionKey) -> Result<Option<Place>, Fault> {
        let mut find = tx.prepare_cached(
            "SELECT c.sweep FROM sweeps s JOIN cells c ON c.sweep = s.number WHERE s.id = ?1 AND c.cell = ?2",
        )?;
        let number = find.query_row(params![key.sweep.as_str(), key.cell.0], |row| row.get(0)).optional()?;
        Ok(number.map(|number| Place::of(number, key)))
    }

    /// The counters of a cell.
    pub(super) fn of(&mut self, sweep: i64, cell: i64) -> &mut Delta {
        self.cells.entry((sweep, cell)).or_default()
    }

    /// Adds all changes to the cells; fails if a cell does not exist.
    pub(super) fn write(self, tx: &Transaction<'_>) -> Result<(), Fault> {
        let mut update = tx.prepare_cached(
            "UPDATE cells SET
                 recorded = recorded + ?3, settled = settled + ?4, measured = measured + ?5,
                 model_failures = model_failures + ?6, not_measured = not_measured + ?7,
                 input = input + ?8, cached_input = cached_input + ?9, cache_write = cache_write + ?10,
                 cache_write_1h = cache_write_1h + ?11, output = output + ?12, reasoning = reasoning + ?13,
                 known = known + ?14, unknown_calls = unknown_calls + ?15, unmetered_calls = unmetered_calls + ?16,
                 maybe_spent = maybe_spent + ?17,
                 wasted_known = wasted_known + ?18, wasted_unknown_calls = wasted_unknown_calls + ?19
             WHERE sweep = ?1 AND cell = ?2",
        )?;
        for ((sweep, cell), delta) in self.cells {
            let updated = update.execute(params![
                sweep,
                cell,
                delta.recorded,
                delta.settled,
                delta.measured,
                delta.model_failures,
                delta.not_measured,
                delta.spent.input,
                delta.spent.cached_input,
                delta.spent.cache_write,
                delta.spent.cache_write_1h,
                delta.spent.output,
                delta.spent.reasoning,
                delta.spent.known,
                delta.spent.unknown_calls,
                delta.spent.unmetered_calls,
                delta.maybe_spent,
                delta.wasted_known,
                delta.wasted_unknown_calls,
            ])?;
            if updated != 1 {
                return Err(unknown_cell(&self.sweeps, sweep, cell)?.into());
            }
        }
        Ok(())
    }
}

fn unknown_cell(sweeps: &[(SweepId, i64)], sweep: i64, cell: i64) -> Result<LedgerError, LedgerError> {
    let cell = CellIndex(small(cell, "cell")?);
    let known = sweeps.iter().find(|(_, number)| *number == sweep);
    let (sweep, _) = known.ok_or_else(|| unreadable("sweeps.number", sweep))?;
    Ok(LedgerError::UnknownCell { sweep: sweep.clone(), cell })
}

/// The stored state of an attempt.
pub(super) fn before(tx: &Transaction<'_>, place: Place, id: &AttemptId) -> Result<Option<Before>, Fault> {
    let mut select = tx.prepare_cached(
        "SELECT state, outcome IS NOT NULL, input, cached_input, cache_write, cache_write_1h, output, reasoning, known, unknown_calls,
                unmetered_calls, maybe_spent, at_most, calls, retries, latency_us, cached_calls
         FROM attempts WHERE sweep = ?1 AND cell = ?2 AND item = ?3 AND id = ?4",
    )?;
    let mut rows = select.query(params![place.sweep, place.cell, place.item, id.as_str()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let state = AttemptState::read(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?)?;
    Ok(Some(Before {
        state,
        has_result: row.get(1)?,
        spent: spent(row, 2)?,
        maybe_spent: row.get(11)?,
        at_most: row.get(12)?,
        calls: row.get(13)?,
        retries: row.get(14)?,
        latency_us: row.get(15)?,
        cached_calls: row.get(16)?,
    }))
}

/// Reads tokens and money from the columns beginning at `at`.
pub(super) fn spent(row: &Row<'_>, at: usize) -> rusqlite::Result<Spent> {
    Ok(Spent {
        input: row.get(at)?,
        cached_input: row.get(at + 1)?,
        cache_write: row.get(at + 2)?,
        cache_write_1h: row.get(at + 3)?,
        output: row.get(at + 4)?,
        reasoning: row.get(at + 5)?,
        known: row.get(at + 6)?,
        unknown_calls: row.get(at + 7)?,
        unmetered_calls: row.get(at + 8)?,
    })
}

/// Inserts an attempt if it does not exist; returns `true` if it did.
pub(super) fn insert(tx: &Transaction<'_>, row: &AttemptWrite<'_>) -> Result<bool, Fault> {
    let statement = concat!("INSERT OR IGNORE", attempt_columns!());
    Ok(write_row(tx.prepare_cached(statement)?, row)? == 1)
}

/// Inserts or updates an attempt. (`REPLACE` would bypass the checks of transitions.)
pub(super) fn put(tx: &Transaction<'_>, row: &AttemptWrite<'_>) -> Result<(), Fault> {
    let statement = concat!(
        "INSERT",
        attempt_columns!(),
        " ON CONFLICT (sweep, cell, item, id) DO UPDATE SET
             number = excluded.number, worker = excluded.worker, state = excluded.state,
             started_at_ns = excluded.started_at_ns, ended_at_ns = excluded.ended_at_ns,
             outcome = excluded.outcome, cause = excluded.cause,
             input = excluded.input, cached_input = excluded.cached_input, cache_write = excluded.cache_write,
             cache_write_1h = excluded.cache_write_1h, output = excluded.output, reasoning = excluded.reasoning,
             known = excluded.known, unknown_calls = excluded.unknown_calls,
             unmetered_calls = excluded.unmetered_calls, maybe_spent = excluded.maybe_spent,
             at_most = excluded.at_most, calls = excluded.calls, retries = excluded.retries,
             latency_us = excluded.latency_us, segment = excluded.segment, line = excluded.line,
             cached_calls = excluded.cached_calls"
    );
    write_row(tx.prepare_cached(statement)?, row)?;
    Ok(())
}

fn write_row(mut statement: CachedStatement<'_>, row: &AttemptWrite<'_>) -> Result<usize, Fault> {
    Ok(statement.execute(params![
        row.place.sweep,
        row.place.cell,
        row.place.item,
        row.id.as_str(),
        row.number,
        row.worker.as_str(),
        row.state.as_str(),
        row.started_at,
        row.ended_at,
        row.outcome.map(Outcome::as_str),
        row.outcome.and_then(Outcome::cause).map(Cause::as_str),
        row.spent.input,
        row.spent.cached_input,
        row.spent.cache_write,
        row.spent.cache_write_1h,
        row.spent.output,
        row.spent.reasoning,
        row.spent.known,
        row.spent.unknown_calls,
        row.spent.unmetered_calls,
        row.maybe_spent,
        row.at_most,
        row.calls,
        row.retries,
        row.latency_us,
        row.transcript.map(|transcript| transcript.segment.as_str()),
        row.transcript.map(|transcript| transcript.line),
        row.cached_calls,
    ])?)
}

/// Records the attempts of cells that exist, and returns the sweeps of the others.
pub(super) fn record_progress(
    tx: &Transaction<'_>,
    reports: &[(OpenAttempt, WorkerId)],
) -> Result<BTreeSet<SweepId>, Fault> {
    let (mut deltas, mut left_out) = (Deltas::default(), BTreeSet::new());
    // Nearly all attempts that are told of at once are of one cell.
    let mut known: BTreeMap<(&SweepId, CellIndex), Option<(i64, Phase)>> = BTreeMap::new();
    for (open, worker) in reports {
        let found = match known.entry((&open.key.sweep, open.key.cell)) {
            Entry::Occupied(found) => *found.get(),
            Entry::Vacant(unknown) => *unknown.insert(find(tx, &open.key)?),
        };
        let Some((sweep, phase)) = found else {
            left_out.insert(open.key.sweep.clone());
            continue;
        };
        let place = Place::of(sweep, &open.key);
        let before = before(tx, place, &open.id)?;
        if let Some(row) = AttemptWrite::open(place, before, open, worker, phase)? {
            put(tx, &row)?;
            deltas.of(place.sweep, place.cell).attempt(before, row.as_before())?;
        }
    }
    deltas.write(tx)?;
    Ok(left_out)
}

/// Number and phase of the sweep of `key`, if its cell exists.
fn find(tx: &Transaction<'_>, key: &SessionKey) -> Result<Option<(i64, Phase)>, Fault> {
    match Deltas::find(tx, key)? {
        Some(place) => Ok(Some((place.sweep, phase(tx, place.sweep)?))),
        None => Ok(None),
    }
}

fn phase(tx: &Transaction<'_>, sweep: i64) -> Result<Phase, Fault> {
    let mut select = tx.prepare_cached(
        "SELECT state = 'running', ifnull(tabulated = generation, false) FROM sweeps WHERE number = ?1",
    )?;
    Ok(select.query_row([sweep], |row| Ok(Phase::of(row.get(0)?, row.get(1)?)))?)
}

pub(super) fn record_handover(
    tx: &Transaction<'_>,
    key: &SessionKey,
    attempt: &Attempt,
    totals: AttemptTotals,
    told_by: ToldBy,
) -> Result<bool, Fault> {
    let mut deltas = Deltas::default();
    let Some(place) = Deltas::find(tx, key)? else { return Ok(false) };
    let before = before(tx, place, &attempt.id)?;
    if let Some(row) = AttemptWrite::handed_over(place, before, attempt, totals, told_by)? {
        put(tx, &row)?;
        deltas.of(place.sweep, place.cell).attempt(before, row.as_before())?;
    }
    deltas.write(tx)?;
    Ok(true)
}

pub(super) fn close_open(tx: &Transaction<'_>, sweep: &SweepId, at: Timestamp) -> Result<u64, Fault> {
    let number = number(tx, sweep)?;
    // The money is in the cells already, but counts as wasted from now on, and the call in flight as possibly spent, or as
    // unknown where it has no bound.
    tx.execute(
        "UPDATE cells SET wasted_known = wasted_known + lost.known,
                          wasted_unknown_calls = wasted_unknown_calls + lost.unknown_calls,
                          maybe_spent = maybe_spent + lost.at_most,
                          unknown_calls = cells.unknown_calls + lost.unbounded
         FROM (SELECT cell, sum(known) AS known, sum(unknown_calls) AS unknown_calls,
                      sum(ifnull(at_most, 0)) AS at_most, sum(at_most IS NULL) AS unbounded
               FROM attempts WHERE sweep = ?1 AND state = 'open' GROUP BY cell) AS lost
         WHERE cells.sweep = ?1 AND cells.cell = lost.cell",
        [number],
    )?;
    let closed = tx.execute(
        "UPDATE attempts SET state = 'lost', ended_at_ns = ?2 WHERE sweep = ?1 AND state = 'open'",
        params![number, stored_time(at, "ended_at")?],
    )?;
    Ok(closed as u64)
}

/// The attempts at sessions of `items` without a result that have reported no end of these.
pub(super) fn unended(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    cell: CellIndex,
    items: &[ItemIndex],
) -> Result<Vec<(ItemIndex, AttemptId, AttemptState)>, Fault> {
    let number = number(tx, sweep)?;
    let mut select = tx.prepare_cached(
        "SELECT id, state FROM attempts a
         WHERE sweep = ?1 AND cell = ?2 AND item = ?3 AND state IN ('open', 'lost', 'handed_over')
           AND NOT EXISTS (
               SELECT 1 FROM sessions s WHERE s.sweep = a.sweep AND s.cell = a.cell AND s.item = a.item)
         ORDER BY id",
    )?;
    let mut unended = Vec::new();
    for item in items {
        let mut rows = select.query(params![number, cell.0, item.0])?;
        while let Some(row) = rows.next()? {
            let state = AttemptState::read(row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?)?;
            unended.push((*item, parsed(&row.get::<_, String>(0)?, "attempts.id")?, state));
        }
    }
    Ok(unended)
}

/// Attempts of the sweep that may be under way, if a worker tells of them.
pub(super) fn all_unended(tx: &Transaction<'_>, sweep: &SweepId) -> Result<Vec<AttemptId>, Fault> {
    let number = number(tx, sweep)?;
    let mut select =
        tx.prepare_cached("SELECT id FROM attempts WHERE sweep = ?1 AND state IN ('open', 'lost', 'handed_over')")?;
    let mut rows = select.query([number])?;
    let mut ids = Vec::new();
    while let Some(row) = rows.next()? {
        ids.push(parsed(&row.get::<_, String>(0)?, "attempts.id")?);
    }
    Ok(ids)
}

pub(super) fn highest(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    cell: CellIndex,
    items: &[ItemIndex],
) -> Result<BTreeMap<ItemIndex, u32>, Fault> {
    let number = number(tx, sweep)?;
    let mut select =
        tx.prepare_cached("SELECT max(number) FROM attempts WHERE sweep = ?1 AND cell = ?2 AND item = ?3")?;
    let mut highest = BTreeMap::new();
    for item in items {
        let found: Option<Option<u32>> =
            select.query_row(params![number, cell.0, item.0], |row| row.get(0)).optional()?;
        if let Some(found) = found.flatten() {
            highest.insert(*item, found);
        }
    }
    Ok(highest)
}

/// Only attempts that reported a result have a transcript, and only a resume hands these over.
pub(super) fn continuations(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    cell: CellIndex,
    items: &[ItemIndex],
) -> Result<BTreeMap<ItemIndex, TranscriptRef>, Fault> {
    let number = number(tx, sweep)?;
    let mut select = tx.prepare_cached(
        "SELECT segment, line FROM attempts a
         WHERE sweep = ?1 AND cell = ?2 AND item = ?3 AND state = 'handed_over' AND segment IS NOT NULL
           AND NOT EXISTS (
               SELECT 1 FROM sessions s WHERE s.sweep = a.sweep AND s.cell = a.cell AND s.item = a.item)
         ORDER BY number DESC, id DESC LIMIT 1",
    )?;
    let mut found = BTreeMap::new();
    for item in items {
        let mut rows = select.query(params![number, cell.0, item.0])?;
        if let Some(row) = rows.next()? {
            let line = small(row.get(1)?, "attempts.line")?;
            found.insert(*item, TranscriptRef { segment: row.get(0)?, line });
        }
    }
    Ok(found)
}

pub(super) fn all(tx: &Transaction<'_>, sweep: &SweepId) -> Result<Vec<AttemptRow>, Fault> {
    let number = number(tx, sweep)?;
    let mut select = tx.prepare_cached(concat!(select_attempts!(), " ORDER BY cell, item, number, id"))?;
    let mut rows = select.query([number])?;
    let mut attempts = Vec::new();
    while let Some(row) = rows.next()? {
        attempts.push(attempt(sweep, row)?);
    }
    Ok(attempts)
}

pub(super) fn oldest_open(tx: &Transaction<'_>, sweep: &SweepId) -> Result<Option<AttemptRow>, Fault> {
    let number = number(tx, sweep)?;
    let oldest = concat!(select_attempts!(), " AND state = 'open' ORDER BY started_at_ns, id LIMIT 1");
    let mut select = tx.prepare_cached(oldest)?;
    let mut rows = select.query([number])?;
    rows.next()?.map(|row| attempt(sweep, row)).transpose()
}

/// The attempts at one session, by number and id.
pub(super) fn of_session(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    cell: CellIndex,
    item: ItemIndex,
) -> Result<Vec<AttemptRow>, Fault> {
    let number = number(tx, sweep)?;
    let of_session = concat!(select_attempts!(), " AND cell = ?2 AND item = ?3 ORDER BY number, id");
    let mut select = tx.prepare_cached(of_session)?;
    let mut rows = select.query(params![number, cell.0, item.0])?;
    let mut attempts = Vec::new();
    while let Some(row) = rows.next()? {
        attempts.push(attempt(sweep, row)?);
    }
    Ok(attempts)
}

fn attempt(sweep: &SweepId, row: &Row<'_>) -> Result<AttemptRow, Fault> {
    let kind: Option<String> = row.get(8)?;
    let cause: Option<String> = row.get(9)?;
    let spent = spent(row, 10)?;
    let segment: Option<String> = row.get(24)?;
    let line: Option<u32> = row.get(25)?;
    Ok(AttemptRow {
        key: key(sweep, row.get(0)?, row.get(1)?)?,
        id: parsed(&row.get::<_, String>(2)?, "attempts.id")?,
        number: small(row.get(3)?, "attempts.number")?,
        worker: parsed(&row.get::<_, String>(4)?, "attempts.worker")?,
        state: AttemptState::read(&row.get::<_, String>(5)?)?,
        started_at: time(row.get(6)?, "started_at")?,
        ended_at: row.get::<_, Option<i64>>(7)?.map(|nanos| time(nanos, "ended_at")).transpose()?,
        outcome: kind.map(|kind| outcome(&kind, cause.as_deref())).transpose()?,
        usage: spent.usage()?,
        cost: spent.cost()?,
        maybe_spent: Money(large(row.get(19)?, "maybe_spent")?),
        at_most: money(row.get(20)?, "at_most")?,
        calls: small(row.get(21)?, "calls")?,
        retries: small(row.get(22)?, "retries")?,
        latency_us: large(row.get(23)?, "latency_us")?,
        cached_calls: row.get(26)?,
        transcript: segment.zip(line).map(|(segment, line)| TranscriptRef { segment, line }),
    })
}
