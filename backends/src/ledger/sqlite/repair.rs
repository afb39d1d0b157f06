//! Repair of a damaged ledger file: salvaging readable rows, recomputing counters, and handling sessions whose transcripts are gone.

use std::path::Path;

use jiff::Timestamp;
use regatta_proto::SweepId;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Transaction, params, params_from_iter};

use super::planning::number;
use super::resume::plan_again;
use super::thread::Fault;
use crate::ledger::columns::{large, stored_time};

/// Number of rows that were copied from a damaged ledger.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Salvaged {
    /// Verdicts of judges.
    pub verdicts: u64,
    /// Cost reports of judges.
    pub judge_attempts: u64,
    /// Attempts with a cost and without a transcript.
    pub attempts: u64,
}

/// Sessions whose transcripts are gone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PutBack {
    /// Sessions that were to continue from a transcript, and start again.
    pub continuations: u64,
    /// Sessions with a result that are planned again.
    pub results: u64,
    /// Sessions that keep their result without a transcript.
    pub kept: u64,
}

/// The first problem found in the file at `path`.
pub(super) fn damage(path: &Path) -> Option<String> {
    let look = || -> rusqlite::Result<String> {
        Connection::open(path)?.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
    };
    match look() {
        Ok(found) if found == "ok" => None,
        Ok(found) => Some(found),
        Err(error) => Some(error.to_string()),
    }
}

/// A table to copy, with its columns and a condition on its rows.
struct Taken {
    table: &'static str,
    columns: &'static str,
    rows: &'static str,
    /// `true` if the first column is the sweep's number, which is not among `columns`.
    is_of_sweep: bool,
}

const VERDICTS: Taken =
    Taken { table: "verdicts", columns: "answerer, question, verdict", rows: "true", is_of_sweep: false };

const JUDGE_ATTEMPTS: Taken = Taken {
    table: "judge_attempts",
    columns: "id, judge, served, input, cached_input, output, reasoning, known, unknown_calls, unmetered_calls, cache_write, \
              cache_write_1h",
    rows: "true",
    is_of_sweep: true,
};

/// Attempts without a result; those with one are in transcripts.
const ATTEMPTS: Taken = Taken {
    table: "attempts",
    columns: "cell, item, id, number, worker, state, started_at_ns, ended_at_ns, input, cached_input, cache_write, cache_write_1h, \
              output, reasoning, known, unknown_calls, unmetered_calls, maybe_spent, at_most, calls, retries, latency_us, \
              cached_calls",
    rows: "outcome IS NULL",
    is_of_sweep: true,
};

pub(super) fn salvage(tx: &Transaction<'_>, sweep: &SweepId, damaged: &Path) -> Result<Salvaged, Fault> {
    let number = number(tx, sweep)?;
    let Ok(old) = Connection::open(damaged) else { return Ok(Salvaged::default()) };
    let mut salvaged = Salvaged { verdicts: take(tx, &old, &VERDICTS, None)?, judge_attempts: 0, attempts: 0 };
    let was = if is_whole(&old, "sweeps") { sweep_in(&old, sweep).ok().flatten() } else { None };
    if let Some(Was { number: old_number, budget, created_at_ns }) = was {
        salvaged.judge_attempts = take(tx, &old, &JUDGE_ATTEMPTS, Some((number, old_number)))?;
        salvaged.attempts = take(tx, &old, &ATTEMPTS, Some((number, old_number)))?;
        tx.execute(
            "UPDATE sweeps SET budget = CASE WHEN budget IS NULL THEN NULL ELSE max(budget, ifnull(?2, budget)) END, created_at_ns = ?3
             WHERE number = ?1",
            params![number, budget, created_at_ns],
        )?;
    }
    Ok(salvaged)
}

/// A sweep's row in a damaged ledger.
struct Was {
    number: i64,
    budget: Option<i64>,
    created_at_ns: i64,
}

fn sweep_in(old: &Connection, sweep: &SweepId) -> rusqlite::Result<Option<Was>> {
    let read =
        |row: &rusqlite::Row<'_>| Ok(Was { number: row.get(0)?, budget: row.get(1)?, created_at_ns: row.get(2)? });
    let query = "SELECT number, budget, created_at_ns FROM sweeps WHERE id = ?1";
    old.query_row(query, [sweep.as_str()], read).optional()
}

/// `true` if all pages of `table` and of its indexes are intact.
fn is_whole(old: &Connection, table: &str) -> bool {
    let check = format!("PRAGMA integrity_check('{table}')");
    old.query_row(&check, [], |row| row.get::<_, String>(0)).is_ok_and(|found| found == "ok")
}

/// Copies missing rows, but none of a damaged table, because no row of it can be trusted. `numbers` are those of the sweep in this ledger
/// and in the other one.
fn take(tx: &Transaction<'_>, old: &Connection, taken: &Taken, numbers: Option<(i64, i64)>) -> Result<u64, Fault> {
    let Taken { table, columns, rows, is_of_sweep } = taken;
    if !is_whole(old, table) {
        return Ok(0);
    }
    let Ok(there) = columns_there(old, table, columns) else { return Ok(0) };
    let (count, columns) = (there.len(), there.join(", "));
    let (sweep, filter) = if *is_of_sweep { ("sweep, ", " AND sweep = ?1") } else { ("", "") };
    let Ok(mut select) = old.prepare(&format!("SELECT {columns} FROM {table} WHERE {rows}{filter}")) else {
        return Ok(0);
    };
    let there = numbers.map(|(_, there)| there);
    let found = select.query_map(params_from_iter(there), |row| (0..count).map(|at| row.get(at)).collect());
    let found: rusqlite::Result<Vec<Vec<Value>>> = found.and_then(Iterator::collect);
    let Ok(found) = found else { return Ok(0) };
    let places: Vec<String> = (1..=count + usize::from(*is_of_sweep)).map(|at| format!("?{at}")).collect();
    let mut insert =
        tx.prepare(&format!("INSERT OR IGNORE INTO {table} ({sweep}{columns}) VALUES ({})", places.join(", ")))?;
    let mut copied = 0;
    for row in found {
        let here = numbers.map(|(here, _)| Value::Integer(here));
        copied += insert.execute(params_from_iter(here.into_iter().chain(row)))? as u64;
    }
    Ok(copied)
}

/// Columns that `table` has in the old ledger, of `columns`, a list with commas. An older schema lacks some; in this one they have defaults.
fn columns_there<'c>(old: &Connection, table: &str, columns: &'c str) -> rusqlite::Result<Vec<&'c str>> {
    let mut select = old.prepare("SELECT name FROM pragma_table_info(?1)")?;
    let there = select.query_map([table], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()?;
    Ok(columns.split(',').map(str::trim).filter(|column| there.iter().any(|name| name == column)).collect())
}

pub(super) fn recount(tx: &Transaction<'_>, sweep: &SweepId) -> Result<u64, Fault> {
    let changed = tx.execute(
        "UPDATE cells SET
             dispatched = max(dispatched, t.recorded),
             recorded = t.recorded, settled = t.settled, measured = t.measured, model_failures = t.model_failures,
             not_measured = t.not_measured, input = t.input, cached_input = t.cached_input, cache_write = t.cache_write,
             cache_write_1h = t.cache_write_1h, output = t.output, reasoning = t.reasoning, known = t.known,
             unknown_calls = t.unknown_calls, unmetered_calls = t.unmetered_calls, maybe_spent = t.maybe_spent, wasted_known = t.wasted_known,
             wasted_unknown_calls = t.wasted_unknown_calls
         FROM (
             SELECT c.sweep, c.cell,
                 ifnull(s.recorded, 0) AS recorded, ifnull(s.settled, 0) AS settled, ifnull(s.measured, 0) AS measured,
                 ifnull(s.model_failures, 0) AS model_failures, ifnull(s.not_measured, 0) AS not_measured,
                 ifnull(a.input, 0) AS input, ifnull(a.cached_input, 0) AS cached_input,
                 ifnull(a.cache_write, 0) AS cache_write, ifnull(a.cache_write_1h, 0) AS cache_write_1h,
                 ifnull(a.output, 0) AS output, ifnull(a.reasoning, 0) AS reasoning, ifnull(a.known, 0) AS known,
                 ifnull(a.unknown_calls, 0) AS unknown_calls, ifnull(a.unmetered_calls, 0) AS unmetered_calls,
                 ifnull(a.maybe_spent, 0) AS maybe_spent,
                 ifnull(a.wasted_known, 0) AS wasted_known, ifnull(a.wasted_unknown_calls, 0) AS wasted_unknown_calls
             FROM cells c
             LEFT JOIN (
                 SELECT cell, count(*) AS recorded, sum(state = 'settled') AS settled,
                     sum(state = 'settled' AND outcome = 'measured') AS measured,
                     sum(state = 'settled' AND outcome = 'model_failure') AS model_failures,
                     sum(state = 'settled' AND outcome = 'not_measured') AS not_measured
                 FROM sessions WHERE sweep = ?1 GROUP BY cell) s ON s.cell = c.cell
             LEFT JOIN (
                 SELECT cell, sum(input) AS input, sum(cached_input) AS cached_input, sum(cache_write) AS cache_write,
                     sum(cache_write_1h) AS cache_write_1h, sum(output) AS output, sum(reasoning) AS reasoning,
                     sum(known) AS known,
                     sum(unknown_calls + (state = 'lost' AND at_most IS NULL)) AS unknown_calls,
                     sum(unmetered_calls) AS unmetered_calls,
                     sum(maybe_spent + CASE WHEN state = 'lost' THEN ifnull(at_most, 0) ELSE 0 END) AS maybe_spent,
                     sum(CASE WHEN state IN ('waste', 'lost') THEN known ELSE 0 END) AS wasted_known,
                     sum(CASE WHEN state IN ('waste', 'lost') THEN unknown_calls ELSE 0 END) AS wasted_unknown_calls
                 FROM attempts WHERE sweep = ?1 GROUP BY cell) a ON a.cell = c.cell
             WHERE c.sweep = ?1) t
         WHERE cells.sweep = ?1 AND cells.cell = t.cell
           AND (cells.dispatched < t.recorded
             OR (cells.recorded, cells.settled, cells.measured, cells.model_failures, cells.not_measured)
                 IS NOT (t.recorded, t.settled, t.measured, t.model_failures, t.not_measured)
             OR (cells.input, cells.cached_input, cells.cache_write, cells.cache_write_1h, cells.output, cells.reasoning,
                 cells.unmetered_calls)
                 IS NOT (t.input, t.cached_input, t.cache_write, t.cache_write_1h, t.output, t.reasoning, t.unmetered_calls)
             OR (cells.known, cells.unknown_calls, cells.maybe_spent, cells.wasted_known, cells.wasted_unknown_calls)
                 IS NOT (t.known, t.unknown_calls, t.maybe_spent, t.wasted_known, t.wasted_unknown_calls))",
        [number(tx, sweep)?],
    )?;
    Ok(changed as u64)
}

pub(super) fn put_back(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    segments: &[String],
    with_results: bool,
) -> Result<PutBack, Fault> {
    let number = number(tx, sweep)?;
    let mut put_back = PutBack::default();
    for segment in segments {
        let of_segment = params![number, segment];
        put_back.continuations += tx.execute(
            "UPDATE attempts SET state = 'waste', segment = NULL, line = NULL
             WHERE sweep = ?1 AND segment = ?2 AND state = 'handed_over' AND NOT EXISTS (
                 SELECT 1 FROM sessions s WHERE s.sweep = ?1 AND s.cell = attempts.cell AND s.item = attempts.item)",
            of_segment,
        )? as u64;
        if !with_results {
            let kept = "SELECT count(*) FROM attempts WHERE sweep = ?1 AND segment = ?2 AND state = 'recorded'";
            put_back.kept += large(tx.query_row(kept, of_segment, |row| row.get(0))?, "kept")?;
            continue;
        }
        for table in ["awaiting_questions", "awaiting"] {
            let forget = format!(
                "DELETE FROM {table} WHERE sweep = ?1 AND EXISTS (
                     SELECT 1 FROM attempts a WHERE a.sweep = ?1 AND a.cell = {table}.cell AND a.item = {table}.item
                       AND a.segment = ?2 AND a.state = 'recorded')"
            );
            tx.execute(&forget, of_segment)?;
        }
        put_back.results += tx.execute(
            "DELETE FROM sessions WHERE sweep = ?1 AND EXISTS (
                 SELECT 1 FROM attempts a WHERE a.sweep = ?1 AND a.cell = sessions.cell AND a.item = sessions.item
                   AND a.id = sessions.attempt AND a.segment = ?2)",
            of_segment,
        )? as u64;
        tx.execute(
            "UPDATE attempts SET state = 'waste', segment = NULL, line = NULL
             WHERE sweep = ?1 AND segment = ?2 AND state = 'recorded'",
            of_segment,
        )?;
    }
    recount(tx, sweep)?;
    if put_back.continuations + put_back.results > 0 {
        plan_again(tx, number)?;
    }
    Ok(put_back)
}

pub(super) fn correct_beginning(tx: &Transaction<'_>, sweep: &SweepId, at: Timestamp) -> Result<(), Fault> {
    let number = number(tx, sweep)?;
    let updated = "UPDATE sweeps SET created_at_ns = ?2 WHERE number = ?1";
    tx.execute(updated, params![number, stored_time(at, "created_at")?])?;
    Ok(())
}
