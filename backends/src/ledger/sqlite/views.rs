//! Reads for viewers of sweeps.

use regatta_proto::{CellIndex, Evaluator, Flag, ItemIndex, SweepId};
use rusqlite::{OptionalExtension, Row, Transaction, named_params, params};

use super::attempts;
use super::planning::number;
use super::sessions;
use super::thread::Fault;
use crate::ledger::columns::{cost, large, outcome, parsed, small, unreadable};
use crate::ledger::views::ITEMS_FOUND_MAX;
use crate::ledger::{
    AttemptRow, AttemptTimes, CellMean, DaySpending, EndingCount, FlagCount, ItemMean, ItemOrder, ItemPage, ItemQuery,
    ListedSession, ScoreValue, SessionView, Standing,
};

/// The JSON path of a value in stored scores. No benchmark has a name with a quote in it.
fn path(value: Option<&ScoreValue>) -> Option<String> {
    let ScoreValue { evaluator, name } = value?;
    let of = |evaluator: &Evaluator| evaluator.as_str();
    (!name.contains(['"', '\\'])).then(|| format!("$.\"{}\".\"values\".\"{name}\"", of(evaluator)))
}

fn list(cells: &[CellIndex]) -> String {
    let numbers: Vec<String> = cells.iter().map(|cell| cell.0.to_string()).collect();
    format!("[{}]", numbers.join(","))
}

pub(super) fn endings(tx: &Transaction<'_>, sweep: &SweepId) -> Result<Vec<EndingCount>, Fault> {
    let number = number(tx, sweep)?;
    let mut select = tx.prepare_cached(
        "SELECT cell, outcome, cause, count(*) FROM sessions WHERE sweep = ?1 AND outcome <> 'measured'
         GROUP BY cell, outcome, cause ORDER BY cell, outcome, cause",
    )?;
    let mut rows = select.query([number])?;
    let mut endings = Vec::new();
    while let Some(row) = rows.next()? {
        let cause: Option<String> = row.get(2)?;
        endings.push(EndingCount {
            cell: CellIndex(small(row.get(0)?, "cell")?),
            outcome: outcome(&row.get::<_, String>(1)?, cause.as_deref())?,
            sessions: large(row.get(3)?, "sessions")?,
        });
    }
    Ok(endings)
}

pub(super) fn flag_counts(tx: &Transaction<'_>, sweep: &SweepId) -> Result<Vec<FlagCount>, Fault> {
    let number = number(tx, sweep)?;
    let mut select = tx.prepare_cached(
        "SELECT cell, flags, count(*) FROM sessions WHERE sweep = ?1 AND flags <> ''
         GROUP BY cell, flags ORDER BY cell, flags",
    )?;
    let mut rows = select.query([number])?;
    let mut counts = Vec::new();
    while let Some(row) = rows.next()? {
        counts.push(FlagCount {
            cell: CellIndex(small(row.get(0)?, "cell")?),
            flags: parsed(&row.get::<_, String>(1)?, "sessions.flags")?,
            sessions: large(row.get(2)?, "sessions")?,
        });
    }
    Ok(counts)
}

pub(super) fn find_items(tx: &Transaction<'_>, sweep: &SweepId, query: &ItemQuery) -> Result<ItemPage, Fault> {
    let number = number(tx, sweep)?;
    let order = match query.order {
        ItemOrder::Position => return in_their_order(tx, number, query),
        ItemOrder::Disagreement => "max(score) - min(score) DESC NULLS LAST, item",
        ItemOrder::Lowest => "avg(score) ASC NULLS LAST, item",
        ItemOrder::Highest => "avg(score) DESC NULLS LAST, item",
    };
    // Materialised, so that each session's scores are read once.
    let mut select = tx.prepare_cached(&format!(
        "WITH looked_at AS MATERIALIZED (
             SELECT item, CASE WHEN :path IS NULL THEN NULL ELSE json_extract(scores, :path) END AS score,
                    (:standing IS NULL OR CASE WHEN state = 'awaiting' THEN 'awaiting' ELSE outcome END = :standing)
                    AND (:cause IS NULL OR cause = :cause)
                    AND (:flag IS NULL OR instr(',' || flags || ',', :flag) > 0)
                    AND (:text = '' OR instr(lower(item_id), :text) > 0 OR instr(lower(task), :text) > 0) AS fits
             FROM sessions WHERE sweep = :sweep AND cell IN (SELECT value FROM json_each(:cells))
         )
         SELECT item, count(*) OVER () FROM looked_at GROUP BY item
         HAVING max(fits AND (:low IS NULL OR ifnull(score >= :low, 0)) AND (:high IS NULL OR ifnull(score <= :high, 0)))
         ORDER BY {order} LIMIT :limit OFFSET :offset"
    ))?;
    page(select.query(named_params! {
        ":path": path(query.value.as_ref()),
        ":standing": query.standing.map(|standing| standing.as_str()),
        ":cause": query.cause,
        ":flag": query.flag.map(flag),
        ":text": query.text.to_lowercase(),
        ":sweep": number,
        ":cells": list(&query.cells),
        ":low": query.score.0,
        ":high": query.score.1,
        ":limit": query.limit.min(ITEMS_FOUND_MAX),
        ":offset": i64::try_from(query.offset).unwrap_or(i64::MAX),
    })?)
}

/// Items in the order of the data set. The query has no condition over several sessions of an item, so each session is read only until a
/// condition fails.
fn in_their_order(tx: &Transaction<'_>, number: i64, query: &ItemQuery) -> Result<ItemPage, Fault> {
    let mut conditions = String::new();
    // Conditions are added only if asked for, so that nothing else is computed and indexes of rare values are used.
    let mut also = |is_asked: bool, condition: &str| {
        if is_asked {
            conditions += &format!(" AND {condition}");
        }
    };
    also(
        query.standing.is_some(),
        match query.standing {
            Some(Standing::Awaiting) => "state = 'awaiting' AND :standing IS NOT NULL",
            Some(Standing::Measured) => "state = 'settled' AND outcome = 'measured' AND :standing IS NOT NULL",
            Some(Standing::ModelFailure | Standing::NotMeasured) | None => {
                "state = 'settled' AND outcome = :standing AND outcome <> 'measured'"
            }
        },
    );
    also(query.cause.is_some(), "cause = :cause AND outcome <> 'measured'");
    also(query.flag.is_some(), "instr(',' || flags || ',', :flag) > 0 AND flags <> ''");
    also(!query.text.is_empty(), "(instr(lower(item_id), :text) > 0 OR instr(lower(task), :text) > 0)");
    also(query.score.0.is_some(), "json_extract(scores, :path) >= :low");
    also(query.score.1.is_some(), "json_extract(scores, :path) <= :high");
    let mut select = tx.prepare_cached(&format!(
        "SELECT item, count(*) OVER ()
         FROM (SELECT DISTINCT item FROM sessions
               WHERE sweep = :sweep AND cell IN (SELECT value FROM json_each(:cells)){conditions})
         ORDER BY item LIMIT :limit OFFSET :offset"
    ))?;
    let standing = query.standing.map(|standing| standing.as_str());
    let (flag, path) = (query.flag.map(flag), path(query.value.as_ref()));
    let (text, cells) = (query.text.to_lowercase(), list(&query.cells));
    let (limit, offset) = (query.limit.min(ITEMS_FOUND_MAX), i64::try_from(query.offset).unwrap_or(i64::MAX));
    let all: [(&str, &dyn rusqlite::ToSql); 11] = [
        (":standing", &standing),
        (":cause", &query.cause),
        (":flag", &flag),
        (":text", &text),
        (":path", &path),
        (":low", &query.score.0),
        (":high", &query.score.1),
        (":sweep", &number),
        (":cells", &cells),
        (":limit", &limit),
        (":offset", &offset),
    ];
    let mut named = Vec::new();
    for (name, value) in all {
        if select.parameter_index(name)?.is_some() {
            named.push((name, value));
        }
    }
    page(select.query(named.as_slice())?)
}

fn flag(flag: Flag) -> String {
    format!(",{},", flag.as_str())
}

fn page(mut rows: rusqlite::Rows<'_>) -> Result<ItemPage, Fault> {
    let mut page = ItemPage::default();
    while let Some(row) = rows.next()? {
        page.items.push(ItemIndex(small(row.get(0)?, "item")?));
        page.total = large(row.get(1)?, "items")?;
    }
    Ok(page)
}

pub(super) fn listed_sessions(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    cells: &[CellIndex],
    items: &[ItemIndex],
    value: Option<&ScoreValue>,
) -> Result<Vec<ListedSession>, Fault> {
    let number = number(tx, sweep)?;
    let mut select = tx.prepare_cached(
        "SELECT cell, item, item_id, task, state, outcome, cause,
                CASE WHEN ?3 IS NULL THEN NULL ELSE json_extract(scores, ?3) END, flags
         FROM sessions WHERE sweep = ?1 AND cell = ?2 AND item = ?4",
    )?;
    let path = path(value);
    let mut sessions = Vec::new();
    for cell in cells {
        // One look-up for each item: the primary key of a session includes the item.
        for item in items {
            let mut rows = select.query(params![number, cell.0, path, item.0])?;
            while let Some(row) = rows.next()? {
                sessions.push(listed(row)?);
            }
        }
    }
    sessions.sort_by_key(|session| (session.item, session.cell));
    Ok(sessions)
}

fn listed(row: &Row<'_>) -> Result<ListedSession, Fault> {
    let cause: Option<String> = row.get(6)?;
    Ok(ListedSession {
        cell: CellIndex(small(row.get(0)?, "cell")?),
        item: ItemIndex(small(row.get(1)?, "item")?),
        item_id: parsed(&row.get::<_, String>(2)?, "sessions.item_id")?,
        task: row.get(3)?,
        is_awaiting: is_awaiting(&row.get::<_, String>(4)?)?,
        outcome: outcome(&row.get::<_, String>(5)?, cause.as_deref())?,
        score: row.get(7)?,
        flags: parsed(&row.get::<_, String>(8)?, "sessions.flags")?,
    })
}

fn is_awaiting(state: &str) -> Result<bool, Fault> {
    match state {
        "awaiting" => Ok(true),
        "settled" => Ok(false),
        other => Err(unreadable("sessions.state", other).into()),
    }
}

pub(super) fn session(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    cell: CellIndex,
    item: ItemIndex,
) -> Result<Option<SessionView>, Fault> {
    let number = number(tx, sweep)?;
    let mut state = tx.prepare_cached("SELECT state FROM sessions WHERE sweep = ?1 AND cell = ?2 AND item = ?3")?;
    let state: Option<String> = state.query_row(params![number, cell.0, item.0], |row| row.get(0)).optional()?;
    let Some(state) = state else { return Ok(None) };
    let row = sessions::one(tx, number, cell, item)?;
    let is_awaiting = is_awaiting(&state)?;
    Ok(row.map(|row| SessionView { row, is_awaiting }))
}

pub(super) fn session_attempts(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    cell: CellIndex,
    item: ItemIndex,
) -> Result<Vec<AttemptRow>, Fault> {
    attempts::of_session(tx, sweep, cell, item)
}

pub(super) fn spending_by_day(tx: &Transaction<'_>, sweep: &SweepId) -> Result<Vec<DaySpending>, Fault> {
    let number = number(tx, sweep)?;
    let mut select = tx.prepare_cached(
        "SELECT cell, ended_at_ns / 86400000000000 AS day, count(*), sum(known), sum(unknown_calls)
         FROM attempts WHERE sweep = ?1 AND ended_at_ns IS NOT NULL GROUP BY cell, day ORDER BY day, cell",
    )?;
    let mut rows = select.query([number])?;
    let mut days = Vec::new();
    while let Some(row) = rows.next()? {
        days.push(DaySpending {
            cell: CellIndex(small(row.get(0)?, "cell")?),
            day: row.get(1)?,
            attempts: large(row.get(2)?, "attempts")?,
            cost: cost([row.get(3)?, row.get(4)?])?,
        });
    }
    Ok(days)
}

pub(super) fn attempt_times(tx: &Transaction<'_>, sweep: &SweepId) -> Result<Vec<AttemptTimes>, Fault> {
    let number = number(tx, sweep)?;
    // Clocks are set back at times.
    let mut select = tx.prepare_cached(
        "SELECT cell, count(*), sum(max(ended_at_ns - started_at_ns, 0) / 1000), sum(latency_us)
         FROM attempts WHERE sweep = ?1 AND state NOT IN ('open', 'lost') GROUP BY cell ORDER BY cell",
    )?;
    let mut rows = select.query([number])?;
    let mut times = Vec::new();
    while let Some(row) = rows.next()? {
        times.push(AttemptTimes {
            cell: CellIndex(small(row.get(0)?, "cell")?),
            attempts: large(row.get(1)?, "attempts")?,
            lasted_us: large(row.get(2)?, "attempts.ended_at_ns")?,
            answering_us: large(row.get(3)?, "attempts.latency_us")?,
        });
    }
    Ok(times)
}

pub(super) fn cell_means(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    cells: &[CellIndex],
    value: &ScoreValue,
) -> Result<Vec<CellMean>, Fault> {
    let number = number(tx, sweep)?;
    let mut select = tx.prepare_cached(
        "SELECT cell, count(score), avg(score), avg(score * score)
         FROM (SELECT cell, json_extract(scores, ?2) AS score FROM sessions
               WHERE sweep = ?1 AND cell IN (SELECT value FROM json_each(?3)) AND scores IS NOT NULL)
         GROUP BY cell HAVING count(score) > 0 ORDER BY cell",
    )?;
    let Some(path) = path(Some(value)) else { return Ok(Vec::new()) };
    let mut rows = select.query(params![number, path, list(cells)])?;
    let mut means = Vec::new();
    while let Some(row) = rows.next()? {
        let (mean, of_squares): (f64, f64) = (row.get(2)?, row.get(3)?);
        means.push(CellMean {
            cell: CellIndex(small(row.get(0)?, "cell")?),
            sessions: large(row.get(1)?, "sessions")?,
            mean,
            // Equal values can differ from their mean by a rounding.
            variance: (of_squares - mean * mean).max(0.0),
        });
    }
    Ok(means)
}

pub(super) fn item_means(
    tx: &Transaction<'_>,
    sweep: &SweepId,
    cells: &[CellIndex],
    value: &ScoreValue,
) -> Result<Vec<ItemMean>, Fault> {
    let number = number(tx, sweep)?;
    let mut select = tx.prepare_cached(
        "SELECT item, min(item_id), avg(json_extract(scores, ?2)) FROM sessions
         WHERE sweep = ?1 AND cell IN (SELECT value FROM json_each(?3)) GROUP BY item ORDER BY item",
    )?;
    let Some(path) = path(Some(value)) else { return Ok(Vec::new()) };
    let mut rows = select.query(params![number, path, list(cells)])?;
    let mut means = Vec::new();
    while let Some(row) = rows.next()? {
        means.push(ItemMean {
            item: ItemIndex(small(row.get(0)?, "item")?),
            item_id: parsed(&row.get::<_, String>(1)?, "sessions.item_id")?,
            mean: row.get(2)?,
        });
    }
    Ok(means)
}
