//! Recording and reading of sessions.

use regatta_proto::{Cause, CellIndex, ItemIndex, SweepId};
use rusqlite::{Row, Transaction, params};
use serde_json::Value;

use super::attempts::{self, Deltas, spent};
use super::call_sums;
use super::planning::number;
use super::settling::index;
use super::thread::Fault;
use crate::ledger::call_sums::NewCalls;
use crate::ledger::columns::{Place, json, large, outcome, parsed, small, stored_digests, stored_json};
use crate::ledger::counters::{AttemptWrite, classify};
use crate::ledger::{
    AttemptState, CostMoments, RecordState, Recorded, SessionRecord, SessionRow, SessionState, TranscriptRef,
};

/// Sessions with the attempts that count, with the columns that [`session`] reads.
const SESSIONS: &str = "
    SELECT s.item, s.item_id, s.task, s.outcome, s.cause, s.scores, s.served,
           a.number, a.input, a.cached_input, a.cache_write, a.cache_write_1h,
           a.output, a.reasoning, a.known, a.unknown_calls, a.unmetered_calls,
           a.calls, a.retries, a.latency_us, a.segment, a.line, s.flags, s.agent_end, a.cached_calls
    FROM sessions s
    JOIN attempts a ON a.sweep = s.sweep AND a.cell = s.cell AND a.item = s.item AND a.id = s.attempt";

pub(super) fn record(tx: &Transaction<'_>, records: &[SessionRecord]) -> Result<Vec<Recorded>, Fault> {
    let mut deltas = Deltas::default();
    let mut calls = NewCalls::default();
    let mut results = Vec::with_capacity(records.len());
    for record in records {
        let place = deltas.place(tx, &record.key)?;
        let result = record_one(tx, &mut deltas, place, record)?;
        if result != Recorded::Repeat {
            calls.add(place, record.attempt.number, &record.call_sums);
        }
        results.push(result);
    }
    deltas.write(tx)?;
    call_sums::add(tx, calls)?;
    Ok(results)
}

fn record_one(
    tx: &Transaction<'_>,
    deltas: &mut Deltas,
    place: Place,
    record: &SessionRecord,
) -> Result<Recorded, Fault> {
    let is_there = is_there(tx, place)?;
    let row = |result| {
        let state = if result == Recorded::First { AttemptState::Recorded } else { AttemptState::Waste };
        AttemptWrite::reported(place, state, record)
    };
    // Nearly all attempts are new, and looking each up first would cost as much as inserting it.
    let mut before = None;
    let mut result = classify(before, is_there);
    let mut written = row(result)?;
    if !attempts::insert(tx, &written)? {
        before = attempts::before(tx, place, &record.attempt.id)?;
        result = classify(before, is_there);
        if result == Recorded::Repeat {
            return Ok(result);
        }
        written = row(result)?;
        attempts::put(tx, &written)?;
    }
    let delta = deltas.of(place.sweep, place.cell);
    delta.attempt(before, written.as_before())?;
    if result == Recorded::First {
        delta.recorded += 1;
        if matches!(record.state, RecordState::Settled { .. }) {
            delta.settled(&record.outcome);
        }
        insert(tx, place, record)?;
    }
    Ok(result)
}

fn is_there(tx: &Transaction<'_>, place: Place) -> Result<bool, Fault> {
    let mut select = tx.prepare_cached("SELECT 1 FROM sessions WHERE sweep = ?1 AND cell = ?2 AND item = ?3")?;
    Ok(select.exists(params![place.sweep, place.cell, place.item])?)
}

fn insert(tx: &Transaction<'_>, place: Place, record: &SessionRecord) -> Result<(), Fault> {
    let (state, scores) = match &record.state {
        RecordState::Settled { scores: Value::Null } => (SessionState::Settled.as_str(), None),
        RecordState::Settled { scores } => (SessionState::Settled.as_str(), Some(stored_json(scores, "scores")?)),
        RecordState::Awaiting { .. } => (SessionState::Awaiting.as_str(), None),
    };
    tx.prepare_cached(
        "INSERT INTO sessions (sweep, cell, item, item_id, task, attempt, state, outcome, cause, scores, served, flags,
                               agent_end)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?
    .execute(params![
        place.sweep,
        place.cell,
        place.item,
        record.item_id.as_str(),
        record.task,
        record.attempt.id.as_str(),
        state,
        record.outcome.as_str(),
        record.outcome.cause().map(Cause::as_str),
        scores,
        stored_json(&record.served, "served")?,
        record.flags.to_string(),
        record.agent_end.as_ref().map(|end| stored_json(end, "agent_end")).transpose()?,
    ])?;
    if let RecordState::Awaiting { judge, questions, transcript } = &record.state {
        tx.prepare_cached(
            "INSERT INTO awaiting (sweep, cell, item, judge, questions, transcript) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            place.sweep,
            place.cell,
            place.item,
            judge.to_string(),
            stored_digests(questions),
            &transcript[..],
        ])?;
        index(tx, place, questions)?;
    }
    Ok(())
}

pub(super) fn recorded_items(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    cell: CellIndex,
    from: ItemIndex,
    to: ItemIndex,
) -> Result<Vec<ItemIndex>, Fault> {
    let number = number(tx, sweep)?;
    let mut select = tx.prepare_cached(
        "SELECT item FROM sessions WHERE sweep = ?1 AND cell = ?2 AND item BETWEEN ?3 AND ?4 ORDER BY item",
    )?;
    let items = select.query_map(params![number, cell.0, from.0, to.0], |row| row.get(0).map(ItemIndex))?;
    Ok(items.collect::<Result<_, _>>()?)
}

pub(super) fn recorded_among(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    cell: CellIndex,
    items: &[ItemIndex],
) -> Result<Vec<ItemIndex>, Fault> {
    let number = number(tx, sweep)?;
    let mut find = tx.prepare_cached("SELECT 1 FROM sessions WHERE sweep = ?1 AND cell = ?2 AND item = ?3")?;
    let mut recorded = Vec::new();
    for item in items {
        if find.exists(params![number, cell.0, item.0])? {
            recorded.push(*item);
        }
    }
    Ok(recorded)
}

pub(super) fn of_cell(tx: &Transaction<'_>, sweep: &SweepId, cell: CellIndex) -> Result<Vec<SessionRow>, Fault> {
    let number = number(tx, sweep)?;
    let mut select = tx.prepare_cached(&format!(
        "{SESSIONS} WHERE s.sweep = ?1 AND s.cell = ?2 AND s.state = 'settled' ORDER BY s.item"
    ))?;
    let mut rows = select.query(params![number, cell.0])?;
    let mut sessions = Vec::new();
    while let Some(row) = rows.next()? {
        sessions.push(session(row)?);
    }
    Ok(sessions)
}

/// The session of `item`, settled or not, in the sweep with this number.
pub(super) fn one(
    tx: &Transaction<'_>,
    number: i64,
    cell: CellIndex,
    item: ItemIndex,
) -> Result<Option<SessionRow>, Fault> {
    let mut select = tx.prepare_cached(&format!("{SESSIONS} WHERE s.sweep = ?1 AND s.cell = ?2 AND s.item = ?3"))?;
    let mut rows = select.query(params![number, cell.0, item.0])?;
    rows.next()?.map(session).transpose()
}

pub(super) fn cost_moments(
    tx: &Transaction<'_>,
    sweep: &SweepId,
) -> Result<Vec<(CellIndex, String, CostMoments)>, Fault> {
    let number = number(tx, sweep)?;
    let mut select = tx.prepare_cached(
        "SELECT cell, task, count(*), sum(cost), sum(cost * cost)
         FROM (SELECT s.cell AS cell, s.task AS task, CAST(sum(a.known) AS REAL) AS cost
               FROM sessions s JOIN attempts a ON a.sweep = s.sweep AND a.cell = s.cell AND a.item = s.item
               WHERE s.sweep = ?1 AND s.outcome <> 'not_measured' AND a.state IN ('recorded', 'handed_over')
               GROUP BY s.cell, s.task, s.item HAVING sum(a.unknown_calls) = 0 AND sum(coalesce(a.cached_calls, 0)) = 0)
         GROUP BY cell, task ORDER BY cell, task",
    )?;
    let mut rows = select.query([number])?;
    let mut cells = Vec::new();
    while let Some(row) = rows.next()? {
        let sessions = large(row.get(2)?, "sessions")?;
        let moments = CostMoments { sessions, sum: row.get(3)?, squares: row.get(4)? };
        cells.push((CellIndex(small(row.get(0)?, "cell")?), row.get(1)?, moments));
    }
    Ok(cells)
}

fn session(row: &Row<'_>) -> Result<SessionRow, Fault> {
    let cause: Option<String> = row.get(4)?;
    let scores: Option<String> = row.get(5)?;
    let agent_end: Option<String> = row.get(23)?;
    let spent = spent(row, 8)?;
    Ok(SessionRow {
        item: ItemIndex(small(row.get(0)?, "item")?),
        item_id: parsed(&row.get::<_, String>(1)?, "sessions.item_id")?,
        task: row.get(2)?,
        outcome: outcome(&row.get::<_, String>(3)?, cause.as_deref())?,
        scores: scores.map(|scores| json(&scores, "sessions.scores")).transpose()?.unwrap_or(Value::Null),
        usage: spent.usage()?,
        cost: spent.cost()?,
        attempt: small(row.get(7)?, "attempts.number")?,
        transcript: TranscriptRef { segment: row.get(20)?, line: small(row.get(21)?, "attempts.line")? },
        calls: small(row.get(17)?, "calls")?,
        cached_calls: row.get(24)?,
        retries: small(row.get(18)?, "retries")?,
        latency_us: large(row.get(19)?, "latency_us")?,
        served: json(&row.get::<_, String>(6)?, "sessions.served")?,
        flags: parsed(&row.get::<_, String>(22)?, "sessions.flags")?,
        agent_end: agent_end.map(|end| json(&end, "sessions.agent_end")).transpose()?,
    })
}
