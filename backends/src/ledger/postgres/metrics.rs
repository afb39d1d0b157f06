//! Metrics of cells.

use deadpool_postgres::{Object, Transaction};
use regatta_proto::{CellIndex, SweepId};
use tokio_postgres::Row;

use super::column;
use super::planning::number;
use super::pool::Fault;
use crate::ledger::MetricRow;
use crate::ledger::columns::{parsed, small};

pub(super) async fn save(tx: &Transaction<'_>, sweep: &SweepId, metrics: &[MetricRow]) -> Result<(), Fault> {
    let number = number(tx, sweep).await?;
    let cells = column(metrics, |row| i64::from(row.cell.0));
    tx.execute("DELETE FROM metrics WHERE sweep = $1 AND cell = ANY ($2)", &[&number, &cells]).await?;
    let insert = tx
        .prepare_cached(
            "INSERT INTO metrics (sweep, cell, evaluator, metric, position, value, low, high, n)
             SELECT $1, cell, evaluator, metric, position, value, low, high, n
             FROM UNNEST($2::bigint[], $3::text[], $4::text[], $5::float8[], $6::float8[], $7::float8[], $8::bigint[])
                  WITH ORDINALITY AS u (cell, evaluator, metric, value, low, high, n, position)",
        )
        .await?;
    tx.execute(
        &insert,
        &[
            &number,
            &cells,
            &column(metrics, |row| row.evaluator.as_str()),
            &column(metrics, |row| row.metric.as_str()),
            &column(metrics, |row| row.value),
            &column(metrics, |row| row.low),
            &column(metrics, |row| row.high),
            &column(metrics, |row| i64::from(row.n)),
        ],
    )
    .await?;
    Ok(())
}

pub(super) async fn all(client: &Object, sweep: &SweepId) -> Result<Vec<MetricRow>, Fault> {
    let number = number(client, sweep).await?;
    let select = client
        .prepare_cached(
            "SELECT cell, evaluator, metric, value, low, high, n FROM metrics WHERE sweep = $1 ORDER BY cell, position",
        )
        .await?;
    client.query(&select, &[&number]).await?.iter().map(metric).collect()
}

fn metric(row: &Row) -> Result<MetricRow, Fault> {
    Ok(MetricRow {
        cell: CellIndex(small(row.try_get(0)?, "cell")?),
        evaluator: parsed(row.try_get(1)?, "metrics.evaluator")?,
        metric: row.try_get(2)?,
        value: row.try_get(3)?,
        low: row.try_get(4)?,
        high: row.try_get(5)?,
        n: small(row.try_get(6)?, "metrics.n")?,
    })
}
