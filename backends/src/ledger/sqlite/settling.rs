//! Settlement of sessions that waited for verdicts.

use regatta_proto::{Cause, Digest, Outcome};
use rusqlite::{Transaction, params};
use serde_json::Value;

use super::attempts::Deltas;
use super::thread::Fault;
use crate::ledger::columns::{DIGEST_LENGTH, Place, outcome, stored_digests, stored_json};
use crate::ledger::counters::keeps_transcript;
use crate::ledger::{Settlement, SettlementResult};

pub(super) fn settle(tx: &Transaction<'_>, settlements: &[Settlement]) -> Result<u64, Fault> {
    let mut deltas = Deltas::default();
    let mut settled = 0;
    for settlement in settlements {
        let place = deltas.place(tx, &settlement.key)?;
        let delta = deltas.of(place.sweep, place.cell);
        let Some(waiting) = waiting(tx, place)? else { continue };
        let (outcome, scores) = match &settlement.result {
            SettlementResult::Waits(questions) => {
                wait_for(tx, place, questions)?;
                continue;
            }
            SettlementResult::Scored(Value::Null) => (waiting.outcome, None),
            SettlementResult::Scored(scores) => (waiting.outcome, Some(stored_json(scores, "scores")?)),
            SettlementResult::NotMeasured(cause) => (Outcome::NotMeasured { cause: *cause }, None),
        };
        tx.prepare_cached(
            "UPDATE sessions SET state = 'settled', outcome = ?4, cause = ?5, scores = ?6
             WHERE sweep = ?1 AND cell = ?2 AND item = ?3",
        )?
        .execute(params![
            place.sweep,
            place.cell,
            place.item,
            outcome.as_str(),
            outcome.cause().map(Cause::as_str),
            scores,
        ])?;
        if !outcome.cause().is_some_and(keeps_transcript) {
            forget(tx, place, &waiting.questions)?;
        }
        delta.settled(&outcome);
        settled += 1;
    }
    deltas.write(tx)?;
    Ok(settled)
}

/// A session that waits.
struct Waiting {
    outcome: Outcome,
    questions: Vec<u8>,
}

/// Read before it is changed, because `RETURNING` would open a temporary table for each row.
fn waiting(tx: &Transaction<'_>, place: Place) -> Result<Option<Waiting>, Fault> {
    let mut select = tx.prepare_cached(
        "SELECT s.outcome, s.cause, w.questions FROM sessions s
         LEFT JOIN awaiting w ON w.sweep = ?1 AND w.cell = ?2 AND w.item = ?3
         WHERE s.sweep = ?1 AND s.cell = ?2 AND s.item = ?3 AND s.state = 'awaiting'",
    )?;
    let mut rows = select.query(params![place.sweep, place.cell, place.item])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let kind = row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
    let cause = row.get_ref(1)?.as_str_or_null().map_err(rusqlite::Error::from)?;
    Ok(Some(Waiting { outcome: outcome(kind, cause)?, questions: row.get::<_, Option<_>>(2)?.unwrap_or_default() }))
}

/// Replaces the questions that a session waits for.
fn wait_for(tx: &Transaction<'_>, place: Place, questions: &[Digest]) -> Result<(), Fault> {
    tx.prepare_cached("UPDATE awaiting SET questions = ?4 WHERE sweep = ?1 AND cell = ?2 AND item = ?3")?
        .execute(params![place.sweep, place.cell, place.item, stored_digests(questions)])?;
    index(tx, place, questions)
}

/// Adds a waiting session to the index by question.
pub(super) fn index(tx: &Transaction<'_>, place: Place, questions: &[Digest]) -> Result<(), Fault> {
    let mut add = tx.prepare_cached(
        "INSERT OR IGNORE INTO awaiting_questions (sweep, question, cell, item) VALUES (?1, ?2, ?3, ?4)",
    )?;
    for question in questions {
        add.execute(params![place.sweep, question.bytes(), place.cell, place.item])?;
    }
    Ok(())
}

/// Deletes the questions that a settled session waited for.
fn forget(tx: &Transaction<'_>, place: Place, questions: &[u8]) -> Result<(), Fault> {
    tx.prepare_cached("DELETE FROM awaiting WHERE sweep = ?1 AND cell = ?2 AND item = ?3")?.execute(params![
        place.sweep,
        place.cell,
        place.item
    ])?;
    let mut delete = tx.prepare_cached(
        "DELETE FROM awaiting_questions WHERE sweep = ?1 AND question = ?2 AND cell = ?3 AND item = ?4",
    )?;
    for question in questions.chunks(DIGEST_LENGTH) {
        delete.execute(params![place.sweep, question, place.cell, place.item])?;
    }
    Ok(())
}
