//! Settlement of sessions that waited for verdicts.

use std::collections::HashSet;

use deadpool_postgres::Transaction;
use regatta_proto::{Cause, Digest, Outcome};
use serde_json::Value;
use tokio_postgres::Row;

use super::cells::{self, Deltas};
use super::pool::{Fault, both};
use super::sessions::index;
use super::{all_changed, column};
use crate::ledger::columns::{DIGEST_LENGTH, Place, outcome, stored_digests, stored_json, unreadable};
use crate::ledger::counters::keeps_transcript;
use crate::ledger::{Settlement, SettlementResult};

/// A session as it is about to be settled.
struct Settled {
    place: Place,
    outcome: Outcome,
    scores: Option<String>,
}

pub(super) async fn settle(tx: &Transaction<'_>, settlements: &[Settlement]) -> Result<u64, Fault> {
    let locked = cells::lock(tx, settlements.iter().map(|settlement| &settlement.key)).await?;
    let mut wanted = Vec::with_capacity(settlements.len());
    for settlement in settlements {
        wanted.push((locked.place(&settlement.key)?, &settlement.result));
    }
    let mut deltas = Deltas::new();
    let mut settled: Vec<Settled> = Vec::new();
    let mut answered: Vec<(Place, Vec<u8>)> = Vec::new();
    let mut waits: Vec<(Place, &[Digest])> = Vec::new();
    let mut seen = HashSet::new();
    for row in waiting(tx, &wanted).await? {
        let at: i64 = row.try_get(0)?;
        let of_row = usize::try_from(at - 1).ok().and_then(|at| wanted.get(at));
        let (place, result) = of_row.ok_or_else(|| unreadable("ordinality", at))?;
        if !seen.insert(*place) {
            continue;
        }
        let (outcome, scores) = match result {
            SettlementResult::Waits(questions) => {
                waits.push((*place, questions.as_slice()));
                continue;
            }
            SettlementResult::Scored(Value::Null) => (outcome(row.try_get(1)?, row.try_get(2)?)?, None),
            SettlementResult::Scored(scores) => {
                (outcome(row.try_get(1)?, row.try_get(2)?)?, Some(stored_json(scores, "scores")?))
            }
            SettlementResult::NotMeasured(cause) => (Outcome::NotMeasured { cause: *cause }, None),
        };
        deltas.entry((place.sweep, place.cell)).or_default().settled(&outcome);
        if !outcome.cause().is_some_and(keeps_transcript) {
            answered.push((*place, row.try_get::<_, Option<Vec<u8>>>(3)?.unwrap_or_default()));
        }
        settled.push(Settled { place: *place, outcome, scores });
    }
    let (sessions, waiting, counters) =
        tokio::join!(update(tx, &settled), forget(tx, &answered), cells::add(tx, &deltas));
    both(both(sessions, waiting), counters)?;
    wait_for(tx, &waits).await?;
    Ok(settled.len() as u64)
}

/// Returns the sessions that wait, each with position (from 1), outcome, cause and questions.
async fn waiting<T>(tx: &Transaction<'_>, wanted: &[(Place, T)]) -> Result<Vec<Row>, Fault> {
    let select = tx
        .prepare_cached(
            "SELECT u.at, s.outcome, s.cause, w.questions
             FROM UNNEST($1::bigint[], $2::bigint[], $3::bigint[]) WITH ORDINALITY AS u (sweep, cell, item, at)
             JOIN sessions s ON s.sweep = u.sweep AND s.cell = u.cell AND s.item = u.item
             LEFT JOIN awaiting w ON w.sweep = u.sweep AND w.cell = u.cell AND w.item = u.item
             WHERE s.state = 'awaiting' ORDER BY u.at",
        )
        .await?;
    Ok(tx
        .query(
            &select,
            &[
                &column(wanted, |(place, _)| place.sweep),
                &column(wanted, |(place, _)| place.cell),
                &column(wanted, |(place, _)| place.item),
            ],
        )
        .await?)
}

async fn update(tx: &Transaction<'_>, settled: &[Settled]) -> Result<(), Fault> {
    if settled.is_empty() {
        return Ok(());
    }
    let update = tx
        .prepare_cached(
            "UPDATE sessions s SET state = 'settled', outcome = u.outcome, cause = u.cause, scores = u.scores::json
             FROM UNNEST($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[])
                 AS u (sweep, cell, item, outcome, cause, scores)
             WHERE s.sweep = u.sweep AND s.cell = u.cell AND s.item = u.item",
        )
        .await?;
    let found = tx
        .execute(
            &update,
            &[
                &column(settled, |one| one.place.sweep),
                &column(settled, |one| one.place.cell),
                &column(settled, |one| one.place.item),
                &column(settled, |one| one.outcome.as_str()),
                &column(settled, |one| one.outcome.cause().map(Cause::as_str)),
                &column(settled, |one| one.scores.as_deref()),
            ],
        )
        .await?;
    all_changed("settle sessions", settled.len(), found)
}

/// Replaces the questions that sessions wait for.
async fn wait_for(tx: &Transaction<'_>, waits: &[(Place, &[Digest])]) -> Result<(), Fault> {
    if waits.is_empty() {
        return Ok(());
    }
    let update = tx
        .prepare_cached(
            "UPDATE awaiting w SET questions = u.questions
             FROM UNNEST($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[]) AS u (sweep, cell, item, questions)
             WHERE w.sweep = u.sweep AND w.cell = u.cell AND w.item = u.item",
        )
        .await?;
    let found = tx
        .execute(
            &update,
            &[
                &column(waits, |(place, _)| place.sweep),
                &column(waits, |(place, _)| place.cell),
                &column(waits, |(place, _)| place.item),
                &column(waits, |(_, questions)| stored_digests(questions)),
            ],
        )
        .await?;
    all_changed("let sessions wait for more", waits.len(), found)?;
    let questions: Vec<(Place, &Digest)> =
        waits.iter().flat_map(|(place, questions)| questions.iter().map(|question| (*place, question))).collect();
    index(tx, &questions).await
}

/// Deletes the questions that settled sessions waited for.
async fn forget(tx: &Transaction<'_>, answered: &[(Place, Vec<u8>)]) -> Result<(), Fault> {
    if answered.is_empty() {
        return Ok(());
    }
    let delete = tx
        .prepare_cached(
            "DELETE FROM awaiting w USING UNNEST($1::bigint[], $2::bigint[], $3::bigint[]) AS u (sweep, cell, item)
             WHERE w.sweep = u.sweep AND w.cell = u.cell AND w.item = u.item",
        )
        .await?;
    let unindex = tx
        .prepare_cached(
            "DELETE FROM awaiting_questions q
             USING UNNEST($1::bigint[], $2::bytea[], $3::bigint[], $4::bigint[]) AS u (sweep, question, cell, item)
             WHERE q.sweep = u.sweep AND q.question = u.question AND q.cell = u.cell AND q.item = u.item",
        )
        .await?;
    let questions: Vec<(Place, &[u8])> = answered
        .iter()
        .flat_map(|(place, questions)| questions.chunks(DIGEST_LENGTH).map(|question| (*place, question)))
        .collect();
    tx.execute(
        &delete,
        &[
            &column(answered, |(place, _)| place.sweep),
            &column(answered, |(place, _)| place.cell),
            &column(answered, |(place, _)| place.item),
        ],
    )
    .await?;
    tx.execute(
        &unindex,
        &[
            &column(&questions, |(place, _)| place.sweep),
            &column(&questions, |(_, question)| *question),
            &column(&questions, |(place, _)| place.cell),
            &column(&questions, |(place, _)| place.item),
        ],
    )
    .await?;
    Ok(())
}
