//! Questions, verdicts, and the sessions that wait for them.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use bytes::Bytes;
use regatta_proto::{Answerer, CellIndex, CostSum, Digest, ItemIndex, ModelRef, SweepId, Usage, Verdict};
use rusqlite::{OptionalExtension, Row, Transaction, params};

use super::attempts::spent;
use super::planning::{generation, number};
use super::presence::Presence;
use super::thread::Fault;
use crate::ledger::columns::{digest, digests, json, key, outcome, parsed, stored_json};
use crate::ledger::counters::Spent;
use crate::ledger::judging_rows::add_served;
use crate::ledger::{AwaitingSession, Claimed, JudgeCosts, Judged, OpenQuestion, Silence};

pub(super) fn verdicts(
    tx: &Transaction<'_>,
    answerer: Answerer,
    questions: &[Digest],
) -> Result<HashMap<Digest, Verdict>, Fault> {
    let mut select = tx.prepare_cached("SELECT verdict FROM verdicts WHERE answerer = ?1 AND question = ?2")?;
    let mut verdicts = HashMap::new();
    for question in questions {
        let found: Option<String> =
            select.query_row(params![answerer.digest().bytes(), question.bytes()], |row| row.get(0)).optional()?;
        if let Some(text) = found {
            verdicts.insert(*question, json(&text, "verdicts.verdict")?);
        }
    }
    Ok(verdicts)
}

pub(super) fn save(tx: &Transaction<'_>, judged: &[Judged], presence: &Presence) -> Result<usize, Fault> {
    let mut saved = 0;
    for Judged { answerer, outcome } in judged {
        let number = number(tx, &outcome.sweep)?;
        let judge = outcome.judge.to_string();
        let spent = Spent::of(outcome.usage, outcome.cost)?;
        let new = tx
            .prepare_cached(
                "INSERT INTO judge_attempts
                     (sweep, id, judge, served, input, cached_input, cache_write, cache_write_1h, output, reasoning, known, unknown_calls,
                      unmetered_calls)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) ON CONFLICT DO NOTHING",
            )?
            .execute(params![
                number,
                outcome.attempt.as_str(),
                judge,
                stored_json(&outcome.served, "served")?,
                spent.input,
                spent.cached_input,
                spent.cache_write,
                spent.cache_write_1h,
                spent.output,
                spent.reasoning,
                spent.known,
                spent.unknown_calls,
                spent.unmetered_calls,
            ])?;
        if new == 0 {
            continue;
        }
        saved += new;
        let mut add = tx.prepare_cached(
            "INSERT INTO verdicts (answerer, question, verdict) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
        )?;
        for (question, verdict) in &outcome.verdicts {
            add.execute(params![answerer.digest().bytes(), question.bytes(), stored_json(verdict, "verdict")?])?;
        }
        let mut forget = tx.prepare_cached("DELETE FROM asked WHERE sweep = ?1 AND judge = ?2 AND question = ?3")?;
        let answered = outcome.verdicts.iter().map(|(question, _)| question);
        for question in answered.chain(outcome.unanswered.iter().map(|(asked, _)| &asked.digest)) {
            forget.execute(params![number, judge, question.bytes()])?;
            presence.forget_claim(&outcome.sweep, &outcome.judge, *question);
        }
    }
    Ok(saved)
}

pub(super) fn claim(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    judge: &ModelRef,
    answerer: Answerer,
    questions: &[Digest],
    presence: &Presence,
) -> Result<Claimed, Fault> {
    let number = number(tx, sweep)?;
    let (model, judge) = (judge, judge.to_string());
    let mut claimed = Claimed { generation: generation(tx, sweep)?, mark: presence.next_mark(), questions: Vec::new() };
    let mut insert = tx.prepare_cached(
        "INSERT INTO asked (sweep, judge, question, generation)
         SELECT ?1, ?2, ?3, ?4 WHERE NOT EXISTS (SELECT 1 FROM verdicts WHERE answerer = ?5 AND question = ?3)
         ON CONFLICT DO NOTHING",
    )?;
    let answerer = answerer.digest();
    for question in questions {
        if insert.execute(params![number, judge, question.bytes(), claimed.generation, answerer.bytes()])? == 1 {
            claimed.questions.push(*question);
        }
    }
    presence.claim(sweep, model, &claimed);
    Ok(claimed)
}

pub(super) fn release(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    judge: &ModelRef,
    claimed: &Claimed,
    presence: &Presence,
) -> Result<(), Fault> {
    let own = claimed.questions.iter().map(|question| OpenQuestion { judge: judge.clone(), question: *question });
    let own: Vec<OpenQuestion> = own.filter(|open| presence.has_claimed(sweep, open, claimed.mark)).collect();
    delete(tx, sweep, &own)?;
    Ok(())
}

/// Deletes claims, and returns how many there were.
fn delete(tx: &Transaction<'_>, sweep: &SweepId, claims: &[OpenQuestion]) -> Result<u64, Fault> {
    let number = number(tx, sweep)?;
    let mut forget = tx.prepare_cached("DELETE FROM asked WHERE sweep = ?1 AND judge = ?2 AND question = ?3")?;
    let mut deleted = 0;
    for OpenQuestion { judge, question } in claims {
        deleted += forget.execute(params![number, judge.to_string(), question.bytes()])?;
    }
    Ok(deleted as u64)
}

/// Claims of the present generation about which there is `silence`, unless somebody might have told of them without a name.
pub(super) fn silent(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    presence: &Presence,
    silence: Silence,
) -> Result<Vec<OpenQuestion>, Fault> {
    silent_since(tx, sweep, presence, silence, generation(tx, sweep)?)
}

/// The same of claims since the resume of number `generation`; 0 for all of them.
fn silent_since(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    presence: &Presence,
    silence: Silence,
    generation: u32,
) -> Result<Vec<OpenQuestion>, Fault> {
    if presence.is_judging_without_names(sweep, silence.within) {
        return Ok(Vec::new());
    }
    let number = number(tx, sweep)?;
    let mut select = tx.prepare_cached(
        "SELECT judge, question FROM asked WHERE sweep = ?1 AND generation >= ?2 ORDER BY judge, question",
    )?;
    let mut rows = select.query(params![number, generation])?;
    let mut silent = Vec::new();
    while let Some(row) = rows.next()? {
        let judge = parsed(&row.get::<_, String>(0)?, "asked.judge")?;
        let open = OpenQuestion { judge, question: digest(&row.get::<_, Vec<u8>>(1)?)? };
        if presence.is_silent(sweep, &open, silence) {
            silent.push(open);
        }
    }
    Ok(silent)
}

pub(super) fn release_silent(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    questions: &[OpenQuestion],
    presence: &Presence,
    silence: Silence,
) -> Result<u64, Fault> {
    let silent: BTreeSet<OpenQuestion> = silent(tx, sweep, presence, silence)?.into_iter().collect();
    let still: Vec<OpenQuestion> = questions.iter().filter(|open| silent.contains(open)).cloned().collect();
    delete(tx, sweep, &still)
}

/// Releases all questions about which there is silence, whenever they were claimed.
pub(super) fn release_all_silent(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    presence: &Presence,
    within: Duration,
) -> Result<(), Fault> {
    let silent = silent_since(tx, sweep, presence, Silence { within, in_doubt: false }, 0)?;
    delete(tx, sweep, &silent)?;
    Ok(())
}

pub(super) fn has_stale(tx: &Transaction<'_>, sweep: &SweepId) -> Result<bool, Fault> {
    let (number, generation) = (number(tx, sweep)?, generation(tx, sweep)?);
    let mut find = tx.prepare_cached("SELECT 1 FROM asked WHERE sweep = ?1 AND generation < ?2")?;
    Ok(find.exists(params![number, generation])?)
}

pub(super) fn release_stale(tx: &Transaction<'_>, sweep: &SweepId) -> Result<(), Fault> {
    let (number, generation) = (number(tx, sweep)?, generation(tx, sweep)?);
    tx.execute("DELETE FROM asked WHERE sweep = ?1 AND generation < ?2", params![number, generation])?;
    Ok(())
}

const AWAITING: &str = "SELECT s.cell, s.item, s.item_id, s.outcome, s.cause, a.questions, a.transcript
     FROM awaiting a JOIN sessions s ON s.sweep = a.sweep AND s.cell = a.cell AND s.item = a.item
     WHERE a.sweep = ?1 AND s.state = 'awaiting'";

pub(super) fn awaiting(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    judge: &ModelRef,
    questions: &[Digest],
) -> Result<Vec<AwaitingSession>, Fault> {
    let number = number(tx, sweep)?;
    let judge = judge.to_string();
    let mut find = tx.prepare_cached("SELECT cell, item FROM awaiting_questions WHERE sweep = ?1 AND question = ?2")?;
    let mut found: BTreeSet<(i64, i64)> = BTreeSet::new();
    for question in questions {
        let mut rows = find.query(params![number, question.bytes()])?;
        while let Some(row) = rows.next()? {
            found.insert((row.get(0)?, row.get(1)?));
        }
    }
    let mut select = tx.prepare_cached(&format!("{AWAITING} AND a.judge = ?2 AND a.cell = ?3 AND a.item = ?4"))?;
    let mut sessions = Vec::new();
    for (cell, item) in found {
        let mut rows = select.query(params![number, judge, cell, item])?;
        if let Some(row) = rows.next()? {
            sessions.push(session(sweep, row)?);
        }
    }
    Ok(sessions)
}

pub(super) fn awaiting_after(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    after: Option<(CellIndex, ItemIndex)>,
    at_most: u32,
) -> Result<Vec<AwaitingSession>, Fault> {
    let number = number(tx, sweep)?;
    let mut select =
        tx.prepare_cached(&format!("{AWAITING} AND (a.cell, a.item) > (?2, ?3) ORDER BY a.cell, a.item LIMIT ?4"))?;
    let (cell, item) = after.map_or((-1, -1), |(cell, item)| (i64::from(cell.0), i64::from(item.0)));
    let mut rows = select.query(params![number, cell, item, at_most])?;
    let mut sessions = Vec::new();
    while let Some(row) = rows.next()? {
        sessions.push(session(sweep, row)?);
    }
    Ok(sessions)
}

fn session(sweep: &SweepId, row: &Row<'_>) -> Result<AwaitingSession, Fault> {
    let cause: Option<String> = row.get(4)?;
    Ok(AwaitingSession {
        key: key(sweep, row.get(0)?, row.get(1)?)?,
        item_id: parsed(&row.get::<_, String>(2)?, "sessions.item_id")?,
        outcome: outcome(&row.get::<_, String>(3)?, cause.as_deref())?,
        questions: digests(&row.get::<_, Vec<u8>>(5)?)?,
        transcript: Bytes::from(row.get::<_, Vec<u8>>(6)?),
    })
}

pub(super) fn costs(tx: &Transaction<'_>, sweep: &SweepId) -> Result<(Usage, CostSum), Fault> {
    let number = number(tx, sweep)?;
    let mut select = tx.prepare_cached(
        "SELECT ifnull(sum(input), 0), ifnull(sum(cached_input), 0), ifnull(sum(cache_write), 0),
                ifnull(sum(cache_write_1h), 0), ifnull(sum(output), 0), ifnull(sum(reasoning), 0),
                ifnull(sum(known), 0), ifnull(sum(unknown_calls), 0), ifnull(sum(unmetered_calls), 0)
         FROM judge_attempts WHERE sweep = ?1",
    )?;
    let mut rows = select.query([number])?;
    let Some(row) = rows.next()? else { return Ok((Usage::default(), CostSum::default())) };
    let spent = spent(row, 0)?;
    Ok((spent.usage()?, spent.cost()?))
}

pub(super) fn costs_by_judge(tx: &Transaction<'_>, sweep: &SweepId) -> Result<Vec<JudgeCosts>, Fault> {
    let number = number(tx, sweep)?;
    let mut select = tx.prepare_cached(
        "SELECT judge, sum(input), sum(cached_input), sum(cache_write), sum(cache_write_1h), sum(output), sum(reasoning),
                sum(known), sum(unknown_calls), sum(unmetered_calls)
         FROM judge_attempts WHERE sweep = ?1 GROUP BY judge ORDER BY judge",
    )?;
    let mut rows = select.query([number])?;
    let mut costs = Vec::new();
    while let Some(row) = rows.next()? {
        let spent = spent(row, 1)?;
        costs.push(JudgeCosts {
            judge: parsed(&row.get::<_, String>(0)?, "judge_attempts.judge")?,
            served: Vec::new(),
            usage: spent.usage()?,
            cost: spent.cost()?,
        });
    }
    let mut select = tx.prepare_cached("SELECT DISTINCT judge, served FROM judge_attempts WHERE sweep = ?1")?;
    let mut rows = select.query([number])?;
    while let Some(row) = rows.next()? {
        let judge = parsed(&row.get::<_, String>(0)?, "judge_attempts.judge")?;
        add_served(&mut costs, &judge, json(&row.get::<_, String>(1)?, "judge_attempts.served")?);
    }
    Ok(costs)
}
