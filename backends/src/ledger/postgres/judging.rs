//! Questions, verdicts, and the sessions that wait for them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use bytes::Bytes;
use deadpool_postgres::{Object, Transaction};
use regatta_proto::{Answerer, CellIndex, CostSum, Digest, ItemIndex, JudgeOutcome, ModelRef, SweepId, Usage, Verdict};
use tokio_postgres::Row;

use super::attempts::spent;
use super::column;
use super::leading::is_leading;
use super::planning::number;
use super::pool::Fault;
use crate::ledger::columns::{digest, digests, json, key, outcome, parsed, small, stored_json};
use crate::ledger::counters::Spent;
use crate::ledger::judging_rows::add_served;
use crate::ledger::{AwaitingSession, Claimed, JudgeCosts, Judged, StaleQuestions, Term};

pub(super) async fn verdicts(
    client: &Object,
    answerer: Answerer,
    questions: &[Digest],
) -> Result<HashMap<Digest, Verdict>, Fault> {
    let select = client
        .prepare_cached("SELECT question, verdict::text FROM verdicts WHERE answerer = $1 AND question = ANY ($2)")
        .await?;
    let questions = column(questions, |question| question.bytes().as_slice());
    let mut verdicts = HashMap::new();
    for row in client.query(&select, &[&answerer.digest().bytes().as_slice(), &questions]).await? {
        verdicts.insert(digest(row.try_get(0)?)?, json(row.try_get(1)?, "verdicts.verdict")?);
    }
    Ok(verdicts)
}

pub(super) async fn save(tx: &Transaction<'_>, judged: &[Judged]) -> Result<usize, Fault> {
    let mut numbers: BTreeMap<&SweepId, i64> = BTreeMap::new();
    for Judged { outcome, .. } in judged {
        if !numbers.contains_key(&outcome.sweep) {
            numbers.insert(&outcome.sweep, number(tx, &outcome.sweep).await?);
        }
    }
    // All writers use the same order of rows, so that two scorers with the same reports wait for each other at most once.
    let mut attempts: BTreeMap<(i64, &str), &JudgeOutcome> = BTreeMap::new();
    for Judged { outcome, .. } in judged {
        attempts.entry((numbers[&outcome.sweep], outcome.attempt.as_str())).or_insert(outcome);
    }
    let new = save_attempts(tx, &attempts).await?;
    let mut verdicts: BTreeMap<(Answerer, Digest), &Verdict> = BTreeMap::new();
    let mut asked: Vec<(i64, String, Digest)> = Vec::new();
    // In the given order, which decides between two answers.
    for Judged { answerer, outcome } in judged {
        let place = (numbers[&outcome.sweep], outcome.attempt.as_str());
        let is_new = new.contains(&(place.0, place.1.to_owned()));
        if !is_new || !attempts.get(&place).is_some_and(|first| std::ptr::eq(*first, outcome)) {
            continue;
        }
        let judge = outcome.judge.to_string();
        for (question, verdict) in &outcome.verdicts {
            verdicts.entry((*answerer, *question)).or_insert(verdict);
            asked.push((place.0, judge.clone(), *question));
        }
        asked.extend(outcome.unanswered.iter().map(|(unanswered, _)| (place.0, judge.clone(), unanswered.digest)));
    }
    save_verdicts(tx, &verdicts).await?;
    asked.sort();
    forget_asked(tx, &asked).await?;
    Ok(new.len())
}

/// Inserts the attempts that are new, and returns them.
async fn save_attempts(
    tx: &Transaction<'_>,
    attempts: &BTreeMap<(i64, &str), &JudgeOutcome>,
) -> Result<HashSet<(i64, String)>, Fault> {
    let mut spent = Vec::with_capacity(attempts.len());
    let mut served = Vec::with_capacity(attempts.len());
    for outcome in attempts.values() {
        spent.push(Spent::of(outcome.usage, outcome.cost)?);
        served.push(stored_json(&outcome.served, "served")?);
    }
    let insert = tx
        .prepare_cached(
            "INSERT INTO judge_attempts
                 (sweep, id, judge, served, input, cached_input, cache_write, cache_write_1h, output, reasoning, known, unknown_calls,
                  unmetered_calls)
             SELECT sweep, id, judge, served::json,
                    input, cached_input, cache_write, cache_write_1h, output, reasoning, known, unknown_calls, unmetered_calls
             FROM UNNEST($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[],
                         $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[])
                 AS u (sweep, id, judge, served,
                       input, cached_input, cache_write, cache_write_1h, output, reasoning, known, unknown_calls, unmetered_calls)
             ON CONFLICT DO NOTHING RETURNING sweep, id",
        )
        .await?;
    let rows = tx
        .query(
            &insert,
            &[
                &attempts.keys().map(|(sweep, _)| *sweep).collect::<Vec<_>>(),
                &attempts.keys().map(|(_, id)| *id).collect::<Vec<_>>(),
                &attempts.values().map(|outcome| outcome.judge.to_string()).collect::<Vec<_>>(),
                &served,
                &column(&spent, |spent| spent.input),
                &column(&spent, |spent| spent.cached_input),
                &column(&spent, |spent| spent.cache_write),
                &column(&spent, |spent| spent.cache_write_1h),
                &column(&spent, |spent| spent.output),
                &column(&spent, |spent| spent.reasoning),
                &column(&spent, |spent| spent.known),
                &column(&spent, |spent| spent.unknown_calls),
                &column(&spent, |spent| spent.unmetered_calls),
            ],
        )
        .await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

async fn save_verdicts(tx: &Transaction<'_>, verdicts: &BTreeMap<(Answerer, Digest), &Verdict>) -> Result<(), Fault> {
    let mut texts = Vec::with_capacity(verdicts.len());
    for verdict in verdicts.values() {
        texts.push(stored_json(verdict, "verdict")?);
    }
    let insert = tx
        .prepare_cached(
            "INSERT INTO verdicts (answerer, question, verdict)
             SELECT answerer, question, verdict::json
             FROM UNNEST($1::bytea[], $2::bytea[], $3::text[]) AS u (answerer, question, verdict)
             ON CONFLICT DO NOTHING",
        )
        .await?;
    let answerers: Vec<&[u8]> = verdicts.keys().map(|(answerer, _)| answerer.digest().bytes().as_slice()).collect();
    let questions: Vec<&[u8]> = verdicts.keys().map(|(_, question)| question.bytes().as_slice()).collect();
    tx.execute(&insert, &[&answerers, &questions, &texts]).await?;
    Ok(())
}

/// Deletes the claims of questions, so that they may be claimed again.
async fn forget_asked(tx: &Transaction<'_>, asked: &[(i64, String, Digest)]) -> Result<(), Fault> {
    let delete = tx
        .prepare_cached(
            "DELETE FROM asked a USING UNNEST($1::bigint[], $2::text[], $3::bytea[]) AS u (sweep, judge, question)
             WHERE a.sweep = u.sweep AND a.judge = u.judge AND a.question = u.question",
        )
        .await?;
    tx.execute(
        &delete,
        &[
            &column(asked, |(sweep, _, _)| *sweep),
            &column(asked, |(_, judge, _)| judge.as_str()),
            &column(asked, |(_, _, question)| question.bytes().as_slice()),
        ],
    )
    .await?;
    Ok(())
}

pub(super) async fn claim(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    judge: &ModelRef,
    answerer: Answerer,
    questions: &[Digest],
) -> Result<Claimed, Fault> {
    let number = number(tx, sweep).await?;
    let select = tx.prepare_cached("SELECT generation FROM sweeps WHERE number = $1").await?;
    // As it is read here, even if the sweep is resumed before the end: then the claim is one of before, and so is its job.
    let generation: i64 = tx.query_one(&select, &[&number]).await?.try_get(0)?;
    let insert = tx
        .prepare_cached(
            "INSERT INTO asked (sweep, judge, question, generation, is_doubtful)
             SELECT $1, $2, question, $4, true FROM UNNEST($3::bytea[]) AS u (question) ORDER BY question
             ON CONFLICT DO NOTHING
             RETURNING question, (extract(epoch FROM asked_at) * 1000000)::bigint",
        )
        .await?;
    let wanted = column(questions, |question| question.bytes().as_slice());
    let (mut claimed, mut mark) = (HashSet::new(), 0);
    for row in tx.query(&insert, &[&number, &judge.to_string(), &wanted, &generation]).await? {
        claimed.insert(digest(row.try_get(0)?)?);
        // The same of all, the beginning of this transaction. Who claims one of them later begins later.
        mark = row.try_get(1)?;
    }
    // By a statement of its own, which sees the answers of whoever has just deleted the claims that were in the way of these.
    let delete = tx
        .prepare_cached(
            "DELETE FROM asked a USING verdicts v
             WHERE a.sweep = $1 AND a.judge = $2 AND a.question = ANY ($3) AND v.answerer = $4 AND v.question = a.question
             RETURNING a.question",
        )
        .await?;
    let fresh: Vec<&[u8]> = claimed.iter().map(|question| question.bytes().as_slice()).collect();
    let answerer = answerer.digest();
    for row in tx.query(&delete, &[&number, &judge.to_string(), &fresh, &answerer.bytes().as_slice()]).await? {
        claimed.remove(&digest(row.try_get(0)?)?);
    }
    let questions = questions.iter().filter(|question| claimed.remove(*question)).copied().collect();
    Ok(Claimed { generation: small(generation, "generation")?, mark, questions })
}

pub(super) async fn release(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    judge: &ModelRef,
    claimed: &Claimed,
) -> Result<(), Fault> {
    let number = number(tx, sweep).await?;
    let questions = column(&claimed.questions, |question| question.bytes().as_slice());
    tx.execute(
        "DELETE FROM asked
         WHERE sweep = $1 AND judge = $2 AND question = ANY ($3) AND (extract(epoch FROM asked_at) * 1000000)::bigint = $4",
        &[&number, &judge.to_string(), &questions, &claimed.mark],
    )
    .await?;
    Ok(())
}

pub(super) async fn stale(client: &Object, sweep: &SweepId, within: Duration) -> Result<StaleQuestions, Fault> {
    let number = number(client, sweep).await?;
    let select = client
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM asked a WHERE a.sweep = s.number AND a.generation < s.generation),
                    EXISTS (
                        SELECT 1 FROM held h WHERE h.sweep = s.number AND h.kind = 'questions' AND h.generation < s.generation
                          AND h.told_at >= clock_timestamp() - $2 * interval '1 millisecond')
             FROM sweeps s WHERE s.number = $1",
        )
        .await?;
    let within_ms = within.as_secs_f64() * 1000.0;
    let row = client.query_one(&select, &[&number, &within_ms]).await?;
    Ok(match (row.try_get(0)?, row.try_get(1)?) {
        (false, _) => StaleQuestions::None,
        (true, true) => StaleQuestions::UnderWay,
        (true, false) => StaleQuestions::Lost,
    })
}

pub(super) async fn release_stale(tx: &Transaction<'_>, sweep: &SweepId, term: Term) -> Result<bool, Fault> {
    if !is_leading(tx, term).await? {
        return Ok(false);
    }
    let number = number(tx, sweep).await?;
    tx.execute(
        "DELETE FROM asked a USING sweeps s WHERE s.number = $1 AND a.sweep = s.number AND a.generation < s.generation",
        &[&number],
    )
    .await?;
    Ok(true)
}

pub(super) async fn awaiting(
    client: &Object,
    sweep: &SweepId,
    judge: &ModelRef,
    questions: &[Digest],
) -> Result<Vec<AwaitingSession>, Fault> {
    let number = number(client, sweep).await?;
    let select = client
        .prepare_cached(
            "WITH found AS (
                 SELECT DISTINCT cell, item FROM awaiting_questions WHERE sweep = $1 AND question = ANY ($3))
             SELECT s.cell, s.item, s.item_id, s.outcome, s.cause, w.questions, w.transcript
             FROM found
             JOIN awaiting w ON w.sweep = $1 AND w.cell = found.cell AND w.item = found.item
             JOIN sessions s ON s.sweep = $1 AND s.cell = found.cell AND s.item = found.item
             WHERE w.judge = $2 AND s.state = 'awaiting' ORDER BY s.cell, s.item",
        )
        .await?;
    let questions = column(questions, |question| question.bytes().as_slice());
    let rows = client.query(&select, &[&number, &judge.to_string(), &questions]).await?;
    rows.iter().map(|row| session(sweep, row)).collect()
}

pub(super) async fn awaiting_after(
    client: &Object,
    sweep: &SweepId,
    after: Option<(CellIndex, ItemIndex)>,
    at_most: u32,
) -> Result<Vec<AwaitingSession>, Fault> {
    let number = number(client, sweep).await?;
    let select = client
        .prepare_cached(
            "SELECT s.cell, s.item, s.item_id, s.outcome, s.cause, w.questions, w.transcript
             FROM awaiting w JOIN sessions s ON s.sweep = w.sweep AND s.cell = w.cell AND s.item = w.item
             WHERE w.sweep = $1 AND s.state = 'awaiting' AND (w.cell, w.item) > ($2, $3)
             ORDER BY w.cell, w.item LIMIT $4",
        )
        .await?;
    let (cell, item) = after.map_or((-1, -1), |(cell, item)| (i64::from(cell.0), i64::from(item.0)));
    let rows = client.query(&select, &[&number, &cell, &item, &i64::from(at_most)]).await?;
    rows.iter().map(|row| session(sweep, row)).collect()
}

fn session(sweep: &SweepId, row: &Row) -> Result<AwaitingSession, Fault> {
    Ok(AwaitingSession {
        key: key(sweep, row.try_get(0)?, row.try_get(1)?)?,
        item_id: parsed(row.try_get(2)?, "sessions.item_id")?,
        outcome: outcome(row.try_get(3)?, row.try_get(4)?)?,
        questions: digests(row.try_get(5)?)?,
        transcript: Bytes::from(row.try_get::<_, Vec<u8>>(6)?),
    })
}

pub(super) async fn costs(client: &Object, sweep: &SweepId) -> Result<(Usage, CostSum), Fault> {
    let number = number(client, sweep).await?;
    let select = client
        .prepare_cached(
            "SELECT coalesce(sum(input), 0)::bigint, coalesce(sum(cached_input), 0)::bigint,
                    coalesce(sum(cache_write), 0)::bigint, coalesce(sum(cache_write_1h), 0)::bigint,
                    coalesce(sum(output), 0)::bigint, coalesce(sum(reasoning), 0)::bigint,
                    coalesce(sum(known), 0)::bigint, coalesce(sum(unknown_calls), 0)::bigint,
                    coalesce(sum(unmetered_calls), 0)::bigint
             FROM judge_attempts WHERE sweep = $1",
        )
        .await?;
    let row = client.query_one(&select, &[&number]).await?;
    let spent = spent(&row, 0)?;
    Ok((spent.usage()?, spent.cost()?))
}

pub(super) async fn costs_by_judge(client: &Object, sweep: &SweepId) -> Result<Vec<JudgeCosts>, Fault> {
    let number = number(client, sweep).await?;
    let select = client
        .prepare_cached(
            "SELECT judge, sum(input)::bigint, sum(cached_input)::bigint, sum(cache_write)::bigint,
                    sum(cache_write_1h)::bigint, sum(output)::bigint, sum(reasoning)::bigint, sum(known)::bigint,
                    sum(unknown_calls)::bigint, sum(unmetered_calls)::bigint
             FROM judge_attempts WHERE sweep = $1 GROUP BY judge ORDER BY judge COLLATE \"C\"",
        )
        .await?;
    let mut costs = Vec::new();
    for row in client.query(&select, &[&number]).await? {
        let spent = spent(&row, 1)?;
        costs.push(JudgeCosts {
            judge: parsed(row.try_get(0)?, "judge_attempts.judge")?,
            served: Vec::new(),
            usage: spent.usage()?,
            cost: spent.cost()?,
        });
    }
    let select =
        client.prepare_cached("SELECT DISTINCT judge, served::text FROM judge_attempts WHERE sweep = $1").await?;
    for row in client.query(&select, &[&number]).await? {
        let judge = parsed(row.try_get(0)?, "judge_attempts.judge")?;
        add_served(&mut costs, &judge, json(row.try_get(1)?, "judge_attempts.served")?);
    }
    Ok(costs)
}
