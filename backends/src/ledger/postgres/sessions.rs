//! Recording and reading of sessions.

use std::collections::HashSet;

use deadpool_postgres::{Object, Transaction};
use regatta_proto::{Cause, CellIndex, Digest, ItemIndex, SweepId};
use serde_json::Value;
use tokio_postgres::Row;

use super::attempts::{befores, cached_calls, put, spent};
use super::call_sums;
use super::cells::{self, Deltas};
use super::planning::number;
use super::pool::{Fault, both};
use super::{all_changed, column};
use crate::ledger::call_sums::NewCalls;
use crate::ledger::columns::{Place, json, large, outcome, parsed, small, stored_digests, stored_json};
use crate::ledger::counters::{AttemptWrite, classify};
use crate::ledger::{
    AttemptState, CostMoments, RecordState, Recorded, SessionRecord, SessionRow, SessionState, TranscriptRef,
};

/// Sessions with the attempts that count, with the columns that [`session`] reads.
const SESSIONS: &str = "
    SELECT s.item, s.item_id, s.task, s.outcome, s.cause, s.scores::text, s.served::text,
           a.number, a.input, a.cached_input, a.cache_write, a.cache_write_1h,
           a.output, a.reasoning, a.known, a.unknown_calls, a.unmetered_calls,
           a.calls, a.retries, a.latency_us, a.segment, a.line, s.flags, s.agent_end, a.cached_calls
    FROM sessions s
    JOIN attempts a ON a.sweep = s.sweep AND a.cell = s.cell AND a.item = s.item AND a.id = s.attempt";

pub(super) async fn record(tx: &Transaction<'_>, records: &[SessionRecord]) -> Result<Vec<Recorded>, Fault> {
    let locked = cells::lock(tx, records.iter().map(|record| &record.key)).await?;
    let mut ids = Vec::with_capacity(records.len());
    for record in records {
        ids.push((locked.place(&record.key)?, &record.attempt.id));
    }
    let (befores, there) = tokio::join!(befores(tx, &ids), there(tx, &ids));
    let (mut befores, mut there) = both(befores, there)?;
    let mut results = Vec::with_capacity(records.len());
    let mut deltas = Deltas::new();
    let mut calls = NewCalls::default();
    let mut attempts = Vec::new();
    let mut firsts = Vec::new();
    for (record, attempt) in records.iter().zip(ids) {
        let (place, _) = attempt;
        let before = befores.get(&attempt).copied();
        let result = classify(before, there.contains(&place));
        results.push(result);
        let state = match result {
            Recorded::Repeat => continue,
            Recorded::Waste => AttemptState::Waste,
            Recorded::First => AttemptState::Recorded,
        };
        let row = AttemptWrite::reported(place, state, record)?;
        let delta = deltas.entry((place.sweep, place.cell)).or_default();
        delta.attempt(before, row.as_before())?;
        if result == Recorded::First {
            delta.recorded += 1;
            if matches!(record.state, RecordState::Settled { .. }) {
                delta.settled(&record.outcome);
            }
            there.insert(place);
            firsts.push((place, record));
        }
        befores.insert(attempt, row.as_before());
        attempts.push(row);
        calls.add(place, record.attempt.number, &record.call_sums);
    }
    let (attempts, sessions, waiting, counters, calls) = tokio::join!(
        put(tx, &attempts),
        insert(tx, &firsts),
        wait(tx, &firsts),
        cells::add(tx, &deltas),
        call_sums::add(tx, calls),
    );
    both(both(both(attempts, sessions), both(waiting, counters)), calls)?;
    Ok(results)
}

/// The places that have a session.
async fn there<T>(tx: &Transaction<'_>, places: &[(Place, T)]) -> Result<HashSet<Place>, Fault> {
    let select = tx
        .prepare_cached(
            "SELECT s.sweep, s.cell, s.item FROM UNNEST($1::bigint[], $2::bigint[], $3::bigint[]) AS u (sweep, cell, item)
             JOIN sessions s ON s.sweep = u.sweep AND s.cell = u.cell AND s.item = u.item",
        )
        .await?;
    let mut there = HashSet::new();
    for row in tx
        .query(
            &select,
            &[
                &column(places, |(place, _)| place.sweep),
                &column(places, |(place, _)| place.cell),
                &column(places, |(place, _)| place.item),
            ],
        )
        .await?
    {
        there.insert(Place { sweep: row.try_get(0)?, cell: row.try_get(1)?, item: row.try_get(2)? });
    }
    Ok(there)
}

async fn insert(tx: &Transaction<'_>, firsts: &[(Place, &SessionRecord)]) -> Result<(), Fault> {
    if firsts.is_empty() {
        return Ok(());
    }
    let mut states = Vec::with_capacity(firsts.len());
    let mut scores = Vec::with_capacity(firsts.len());
    let mut served = Vec::with_capacity(firsts.len());
    let mut agent_ends = Vec::with_capacity(firsts.len());
    for (_, record) in firsts {
        let (state, score) = match &record.state {
            RecordState::Settled { scores: Value::Null } => (SessionState::Settled.as_str(), None),
            RecordState::Settled { scores } => (SessionState::Settled.as_str(), Some(stored_json(scores, "scores")?)),
            RecordState::Awaiting { .. } => (SessionState::Awaiting.as_str(), None),
        };
        states.push(state);
        scores.push(score);
        served.push(stored_json(&record.served, "served")?);
        agent_ends.push(record.agent_end.as_ref().map(|end| stored_json(end, "agent_end")).transpose()?);
    }
    let insert = tx
        .prepare_cached(
            "INSERT INTO sessions (sweep, cell, item, item_id, task, attempt, state, outcome, cause, scores, served,
                                   flags, agent_end)
             SELECT sweep, cell, item, item_id, task, attempt, state, outcome, cause, scores::json, served::json, flags, agent_end
             FROM UNNEST($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[],
                         $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[])
                 AS u (sweep, cell, item, item_id, task, attempt, state, outcome, cause, scores, served, flags,
                       agent_end)",
        )
        .await?;
    let found = tx
        .execute(
            &insert,
            &[
                &column(firsts, |(place, _)| place.sweep),
                &column(firsts, |(place, _)| place.cell),
                &column(firsts, |(place, _)| place.item),
                &column(firsts, |(_, record)| record.item_id.as_str()),
                &column(firsts, |(_, record)| record.task.as_str()),
                &column(firsts, |(_, record)| record.attempt.id.as_str()),
                &states,
                &column(firsts, |(_, record)| record.outcome.as_str()),
                &column(firsts, |(_, record)| record.outcome.cause().map(Cause::as_str)),
                &scores,
                &served,
                &column(firsts, |(_, record)| record.flags.to_string()),
                &agent_ends,
            ],
        )
        .await?;
    all_changed("insert sessions", firsts.len(), found)
}

/// Stores the questions that sessions wait for.
async fn wait(tx: &Transaction<'_>, firsts: &[(Place, &SessionRecord)]) -> Result<(), Fault> {
    let mut places = Vec::new();
    let mut judges = Vec::new();
    let mut questions = Vec::new();
    let mut transcripts = Vec::new();
    let mut asked: Vec<(Place, &Digest)> = Vec::new();
    for (place, record) in firsts {
        if let RecordState::Awaiting { judge, questions: of_session, transcript } = &record.state {
            places.push(*place);
            judges.push(judge.to_string());
            questions.push(stored_digests(of_session));
            transcripts.push(&transcript[..]);
            asked.extend(of_session.iter().map(|question| (*place, question)));
        }
    }
    if places.is_empty() {
        return Ok(());
    }
    let insert = tx
        .prepare_cached(
            "INSERT INTO awaiting (sweep, cell, item, judge, questions, transcript)
             SELECT * FROM UNNEST($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::bytea[], $6::bytea[])",
        )
        .await?;
    let found = tx
        .execute(
            &insert,
            &[
                &column(&places, |place| place.sweep),
                &column(&places, |place| place.cell),
                &column(&places, |place| place.item),
                &judges,
                &questions,
                &transcripts,
            ],
        )
        .await?;
    all_changed("keep what sessions wait for", places.len(), found)?;
    index(tx, &asked).await
}

/// Adds waiting sessions to the index by question.
pub(super) async fn index(tx: &Transaction<'_>, asked: &[(Place, &Digest)]) -> Result<(), Fault> {
    let index = tx
        .prepare_cached(
            "INSERT INTO awaiting_questions (sweep, question, cell, item)
             SELECT * FROM UNNEST($1::bigint[], $2::bytea[], $3::bigint[], $4::bigint[]) ON CONFLICT DO NOTHING",
        )
        .await?;
    tx.execute(
        &index,
        &[
            &column(asked, |(place, _)| place.sweep),
            &column(asked, |(_, question)| question.bytes().as_slice()),
            &column(asked, |(place, _)| place.cell),
            &column(asked, |(place, _)| place.item),
        ],
    )
    .await?;
    Ok(())
}

pub(super) async fn recorded_items(
    client: &Object,
    sweep: &SweepId,
    cell: CellIndex,
    from: ItemIndex,
    to: ItemIndex,
) -> Result<Vec<ItemIndex>, Fault> {
    let number = number(client, sweep).await?;
    let select = client
        .prepare_cached(
            "SELECT item FROM sessions WHERE sweep = $1 AND cell = $2 AND item BETWEEN $3 AND $4 ORDER BY item",
        )
        .await?;
    let rows = client.query(&select, &[&number, &i64::from(cell.0), &i64::from(from.0), &i64::from(to.0)]).await?;
    rows.iter().map(|row| Ok(ItemIndex(small(row.try_get(0)?, "item")?))).collect()
}

pub(super) async fn recorded_among(
    client: &Object,
    sweep: &SweepId,
    cell: CellIndex,
    items: &[ItemIndex],
) -> Result<Vec<ItemIndex>, Fault> {
    let number = number(client, sweep).await?;
    let select =
        client.prepare_cached("SELECT item FROM sessions WHERE sweep = $1 AND cell = $2 AND item = ANY ($3)").await?;
    let items = column(items, |item| i64::from(item.0));
    let rows = client.query(&select, &[&number, &i64::from(cell.0), &items]).await?;
    rows.iter().map(|row| Ok(ItemIndex(small(row.try_get(0)?, "item")?))).collect()
}

pub(super) async fn of_cell(client: &Object, sweep: &SweepId, cell: CellIndex) -> Result<Vec<SessionRow>, Fault> {
    let number = number(client, sweep).await?;
    let select = client
        .prepare_cached(&format!(
            "{SESSIONS} WHERE s.sweep = $1 AND s.cell = $2 AND s.state = 'settled' ORDER BY s.item"
        ))
        .await?;
    let rows = client.query(&select, &[&number, &i64::from(cell.0)]).await?;
    rows.iter().map(session).collect()
}

/// The session of `item`, settled or not, in the sweep with this number.
pub(super) async fn one(
    client: &Object,
    number: i64,
    cell: CellIndex,
    item: ItemIndex,
) -> Result<Option<SessionRow>, Fault> {
    let select =
        client.prepare_cached(&format!("{SESSIONS} WHERE s.sweep = $1 AND s.cell = $2 AND s.item = $3")).await?;
    let row = client.query_opt(&select, &[&number, &i64::from(cell.0), &i64::from(item.0)]).await?;
    row.as_ref().map(session).transpose()
}

pub(super) async fn cost_moments(
    client: &Object,
    sweep: &SweepId,
) -> Result<Vec<(CellIndex, String, CostMoments)>, Fault> {
    let number = number(client, sweep).await?;
    let select = client
        .prepare_cached(
            "SELECT cell, task, count(*), sum(cost), sum(cost * cost)
             FROM (SELECT s.cell AS cell, s.task AS task, sum(a.known)::float8 AS cost
                   FROM sessions s JOIN attempts a ON a.sweep = s.sweep AND a.cell = s.cell AND a.item = s.item
                   WHERE s.sweep = $1 AND s.outcome <> 'not_measured' AND a.state IN ('recorded', 'handed_over')
                   GROUP BY s.cell, s.task, s.item HAVING sum(a.unknown_calls) = 0 AND sum(coalesce(a.cached_calls, 0)) = 0) AS costs
             GROUP BY cell, task ORDER BY cell, task",
        )
        .await?;
    let mut cells = Vec::new();
    for row in client.query(&select, &[&number]).await? {
        let sessions = large(row.try_get(2)?, "sessions")?;
        let moments = CostMoments { sessions, sum: row.try_get(3)?, squares: row.try_get(4)? };
        cells.push((CellIndex(small(row.try_get(0)?, "cell")?), row.try_get(1)?, moments));
    }
    Ok(cells)
}

fn session(row: &Row) -> Result<SessionRow, Fault> {
    let scores: Option<&str> = row.try_get(5)?;
    let agent_end: Option<&str> = row.try_get(23)?;
    let spent = spent(row, 8)?;
    Ok(SessionRow {
        item: ItemIndex(small(row.try_get(0)?, "item")?),
        item_id: parsed(row.try_get(1)?, "sessions.item_id")?,
        task: row.try_get(2)?,
        outcome: outcome(row.try_get(3)?, row.try_get(4)?)?,
        scores: scores.map(|scores| json(scores, "sessions.scores")).transpose()?.unwrap_or(Value::Null),
        usage: spent.usage()?,
        cost: spent.cost()?,
        attempt: small(row.try_get(7)?, "attempts.number")?,
        transcript: TranscriptRef { segment: row.try_get(20)?, line: small(row.try_get(21)?, "attempts.line")? },
        calls: small(row.try_get(17)?, "calls")?,
        cached_calls: cached_calls(row, 24)?,
        retries: small(row.try_get(18)?, "retries")?,
        latency_us: large(row.try_get(19)?, "latency_us")?,
        served: json(row.try_get(6)?, "sessions.served")?,
        flags: parsed(row.try_get(22)?, "sessions.flags")?,
        agent_end: agent_end.map(|end| json(end, "sessions.agent_end")).transpose()?,
    })
}
