//! Reads for viewers of sweeps.

use deadpool_postgres::Object;
use regatta_proto::{CellIndex, Flag, ItemIndex, SweepId};
use tokio_postgres::Row;

use super::attempts;
use super::column;
use super::planning::number;
use super::pool::Fault;
use super::sessions;
use crate::ledger::columns::{cost, large, outcome, parsed, small, unreadable};
use crate::ledger::views::ITEMS_FOUND_MAX;
use crate::ledger::{
    AttemptRow, AttemptTimes, CellMean, DaySpending, EndingCount, FlagCount, ItemMean, ItemOrder, ItemPage, ItemQuery,
    ListedSession, ScoreValue, SessionView,
};

fn numbers(cells: &[CellIndex]) -> Vec<i64> {
    column(cells, |cell| i64::from(cell.0))
}

/// The JSON path of a value in stored scores.
fn path(value: Option<&ScoreValue>) -> Option<Vec<&str>> {
    value.map(|value| vec![value.evaluator.as_str(), "values", value.name.as_str()])
}

pub(super) async fn endings(client: &Object, sweep: &SweepId) -> Result<Vec<EndingCount>, Fault> {
    let number = number(client, sweep).await?;
    let select = client
        .prepare_cached(
            "SELECT cell, outcome, cause, count(*) FROM sessions WHERE sweep = $1 AND outcome <> 'measured'
             GROUP BY cell, outcome, cause ORDER BY cell, outcome, cause COLLATE \"C\"",
        )
        .await?;
    let mut endings = Vec::new();
    for row in client.query(&select, &[&number]).await? {
        endings.push(EndingCount {
            cell: CellIndex(small(row.try_get(0)?, "cell")?),
            outcome: outcome(row.try_get(1)?, row.try_get(2)?)?,
            sessions: large(row.try_get(3)?, "sessions")?,
        });
    }
    Ok(endings)
}

pub(super) async fn flag_counts(client: &Object, sweep: &SweepId) -> Result<Vec<FlagCount>, Fault> {
    let number = number(client, sweep).await?;
    let select = client
        .prepare_cached(
            "SELECT cell, flags, count(*) FROM sessions WHERE sweep = $1 AND flags <> ''
             GROUP BY cell, flags ORDER BY cell, flags COLLATE \"C\"",
        )
        .await?;
    let mut counts = Vec::new();
    for row in client.query(&select, &[&number]).await? {
        counts.push(FlagCount {
            cell: CellIndex(small(row.try_get(0)?, "cell")?),
            flags: parsed(row.try_get(1)?, "sessions.flags")?,
            sessions: large(row.try_get(2)?, "sessions")?,
        });
    }
    Ok(counts)
}

pub(super) async fn find_items(client: &Object, sweep: &SweepId, query: &ItemQuery) -> Result<ItemPage, Fault> {
    let number = number(client, sweep).await?;
    let order = match query.order {
        ItemOrder::Position => "item",
        ItemOrder::Disagreement => "max(score) - min(score) DESC NULLS LAST, item",
        ItemOrder::Lowest => "avg(score) ASC NULLS LAST, item",
        ItemOrder::Highest => "avg(score) DESC NULLS LAST, item",
    };
    // Materialised, so that each session's scores are read once.
    let select = client
        .prepare_cached(&format!(
            "WITH looked_at AS MATERIALIZED (
                 SELECT item, CASE WHEN $1::text[] IS NULL THEN NULL ELSE (scores #>> $1::text[])::float8 END AS score,
                        ($2::text IS NULL OR CASE WHEN state = 'awaiting' THEN 'awaiting' ELSE outcome END = $2::text)
                        AND ($3::text IS NULL OR coalesce(cause = $3::text, false))
                        AND ($4::text IS NULL OR strpos(',' || flags || ',', $4::text) > 0)
                        AND ($5::text = '' OR strpos(lower(item_id), $5::text) > 0 OR strpos(lower(task), $5::text) > 0)
                            AS fits
                 FROM sessions WHERE sweep = $6 AND cell = ANY ($7::bigint[])
             )
             SELECT item, count(*) OVER () FROM looked_at GROUP BY item
             HAVING bool_or(fits AND ($8::float8 IS NULL OR coalesce(score >= $8::float8, false))
                                 AND ($9::float8 IS NULL OR coalesce(score <= $9::float8, false)))
             ORDER BY {order} LIMIT $10 OFFSET $11"
        ))
        .await?;
    let rows = client
        .query(
            &select,
            &[
                &path(query.value.as_ref()),
                &query.standing.map(|standing| standing.as_str()),
                &query.cause,
                &query.flag.map(|flag: Flag| format!(",{},", flag.as_str())),
                &query.text.to_lowercase(),
                &number,
                &numbers(&query.cells),
                &query.score.0,
                &query.score.1,
                &i64::from(query.limit.min(ITEMS_FOUND_MAX)),
                &i64::try_from(query.offset).unwrap_or(i64::MAX),
            ],
        )
        .await?;
    let mut page = ItemPage::default();
    for row in rows {
        page.items.push(ItemIndex(small(row.try_get(0)?, "item")?));
        page.total = large(row.try_get(1)?, "items")?;
    }
    Ok(page)
}

pub(super) async fn listed_sessions(
    client: &Object,
    sweep: &SweepId,
    cells: &[CellIndex],
    items: &[ItemIndex],
    value: Option<&ScoreValue>,
) -> Result<Vec<ListedSession>, Fault> {
    let number = number(client, sweep).await?;
    let select = client
        .prepare_cached(
            "SELECT cell, item, item_id, task, state, outcome, cause,
                    CASE WHEN $3::text[] IS NULL THEN NULL ELSE (scores #>> $3::text[])::float8 END, flags
             FROM sessions
             WHERE sweep = $1 AND cell = ANY ($2::bigint[]) AND item = ANY ($4::bigint[])
             ORDER BY item, cell",
        )
        .await?;
    let items = column(items, |item| i64::from(item.0));
    let rows = client.query(&select, &[&number, &numbers(cells), &path(value), &items]).await?;
    rows.iter().map(listed).collect()
}

fn listed(row: &Row) -> Result<ListedSession, Fault> {
    Ok(ListedSession {
        cell: CellIndex(small(row.try_get(0)?, "cell")?),
        item: ItemIndex(small(row.try_get(1)?, "item")?),
        item_id: parsed(row.try_get(2)?, "sessions.item_id")?,
        task: row.try_get(3)?,
        is_awaiting: is_awaiting(row.try_get(4)?)?,
        outcome: outcome(row.try_get(5)?, row.try_get(6)?)?,
        score: row.try_get(7)?,
        flags: parsed(row.try_get(8)?, "sessions.flags")?,
    })
}

fn is_awaiting(state: &str) -> Result<bool, Fault> {
    match state {
        "awaiting" => Ok(true),
        "settled" => Ok(false),
        other => Err(unreadable("sessions.state", other).into()),
    }
}

pub(super) async fn session(
    client: &Object,
    sweep: &SweepId,
    cell: CellIndex,
    item: ItemIndex,
) -> Result<Option<SessionView>, Fault> {
    let number = number(client, sweep).await?;
    let select =
        client.prepare_cached("SELECT state FROM sessions WHERE sweep = $1 AND cell = $2 AND item = $3").await?;
    let found = client.query_opt(&select, &[&number, &i64::from(cell.0), &i64::from(item.0)]).await?;
    let Some(found) = found else { return Ok(None) };
    let is_awaiting = is_awaiting(found.try_get(0)?)?;
    let row = sessions::one(client, number, cell, item).await?;
    Ok(row.map(|row| SessionView { row, is_awaiting }))
}

pub(super) async fn session_attempts(
    client: &Object,
    sweep: &SweepId,
    cell: CellIndex,
    item: ItemIndex,
) -> Result<Vec<AttemptRow>, Fault> {
    attempts::of_session(client, sweep, cell, item).await
}

pub(super) async fn spending_by_day(client: &Object, sweep: &SweepId) -> Result<Vec<DaySpending>, Fault> {
    let number = number(client, sweep).await?;
    let select = client
        .prepare_cached(
            "SELECT cell, ended_at_ns / 86400000000000 AS day, count(*), sum(known)::bigint, sum(unknown_calls)::bigint
             FROM attempts WHERE sweep = $1 AND ended_at_ns IS NOT NULL GROUP BY cell, day ORDER BY day, cell",
        )
        .await?;
    let mut days = Vec::new();
    for row in client.query(&select, &[&number]).await? {
        days.push(DaySpending {
            cell: CellIndex(small(row.try_get(0)?, "cell")?),
            day: row.try_get(1)?,
            attempts: large(row.try_get(2)?, "attempts")?,
            cost: cost([row.try_get(3)?, row.try_get(4)?])?,
        });
    }
    Ok(days)
}

pub(super) async fn attempt_times(client: &Object, sweep: &SweepId) -> Result<Vec<AttemptTimes>, Fault> {
    let number = number(client, sweep).await?;
    // Clocks are set back at times.
    let select = client
        .prepare_cached(
            "SELECT cell, count(*), sum(greatest(ended_at_ns - started_at_ns, 0) / 1000)::bigint, sum(latency_us)::bigint
             FROM attempts WHERE sweep = $1 AND state NOT IN ('open', 'lost') GROUP BY cell ORDER BY cell",
        )
        .await?;
    let mut times = Vec::new();
    for row in client.query(&select, &[&number]).await? {
        times.push(AttemptTimes {
            cell: CellIndex(small(row.try_get(0)?, "cell")?),
            attempts: large(row.try_get(1)?, "attempts")?,
            lasted_us: large(row.try_get(2)?, "attempts.ended_at_ns")?,
            answering_us: large(row.try_get(3)?, "attempts.latency_us")?,
        });
    }
    Ok(times)
}

pub(super) async fn cell_means(
    client: &Object,
    sweep: &SweepId,
    cells: &[CellIndex],
    value: &ScoreValue,
) -> Result<Vec<CellMean>, Fault> {
    let number = number(client, sweep).await?;
    let select = client
        .prepare_cached(
            "SELECT cell, count(score), avg(score), avg(score * score)
             FROM (SELECT cell, (scores #>> $2::text[])::float8 AS score FROM sessions
                   WHERE sweep = $1 AND cell = ANY ($3::bigint[]) AND scores IS NOT NULL) AS scored
             GROUP BY cell HAVING count(score) > 0 ORDER BY cell",
        )
        .await?;
    let mut means = Vec::new();
    for row in client.query(&select, &[&number, &path(Some(value)), &numbers(cells)]).await? {
        let (mean, of_squares): (f64, f64) = (row.try_get(2)?, row.try_get(3)?);
        means.push(CellMean {
            cell: CellIndex(small(row.try_get(0)?, "cell")?),
            sessions: large(row.try_get(1)?, "sessions")?,
            mean,
            // Equal values can differ from their mean by a rounding.
            variance: (of_squares - mean * mean).max(0.0),
        });
    }
    Ok(means)
}

pub(super) async fn item_means(
    client: &Object,
    sweep: &SweepId,
    cells: &[CellIndex],
    value: &ScoreValue,
) -> Result<Vec<ItemMean>, Fault> {
    let number = number(client, sweep).await?;
    let select = client
        .prepare_cached(
            "SELECT item, min(item_id), avg((scores #>> $2::text[])::float8) FROM sessions
             WHERE sweep = $1 AND cell = ANY ($3::bigint[]) GROUP BY item ORDER BY item",
        )
        .await?;
    let mut means = Vec::new();
    for row in client.query(&select, &[&number, &path(Some(value)), &numbers(cells)]).await? {
        means.push(ItemMean {
            item: ItemIndex(small(row.try_get(0)?, "item")?),
            item_id: parsed(row.try_get(1)?, "sessions.item_id")?,
            mean: row.try_get(2)?,
        });
    }
    Ok(means)
}
