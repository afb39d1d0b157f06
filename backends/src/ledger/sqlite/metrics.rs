//! Metrics of cells.

use std::collections::BTreeSet;

use regatta_proto::{CellIndex, SweepId};
use rusqlite::{Transaction, params};

use super::planning::number;
use super::thread::Fault;
use crate::ledger::MetricRow;
use crate::ledger::columns::{parsed, small};

pub(super) fn save(tx: &Transaction<'_>, sweep: &SweepId, metrics: &[MetricRow]) -> Result<(), Fault> {
    let number = number(tx, sweep)?;
    let mut delete = tx.prepare_cached("DELETE FROM metrics WHERE sweep = ?1 AND cell = ?2")?;
    for cell in metrics.iter().map(|row| row.cell).collect::<BTreeSet<_>>() {
        delete.execute(params![number, cell.0])?;
    }
    let mut insert = tx.prepare_cached(
        "INSERT INTO metrics (sweep, cell, evaluator, metric, position, value, low, high, n)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?;
    for (position, row) in metrics.iter().enumerate() {
        insert.execute(params![
            number,
            row.cell.0,
            row.evaluator.as_str(),
            row.metric,
            position as i64,
            row.value,
            row.low,
            row.high,
            row.n,
        ])?;
    }
    Ok(())
}

pub(super) fn all(tx: &Transaction<'_>, sweep: &SweepId) -> Result<Vec<MetricRow>, Fault> {
    let number = number(tx, sweep)?;
    let mut select = tx.prepare_cached(
        "SELECT cell, evaluator, metric, value, low, high, n FROM metrics WHERE sweep = ?1 ORDER BY cell, position",
    )?;
    let mut rows = select.query([number])?;
    let mut metrics = Vec::new();
    while let Some(row) = rows.next()? {
        metrics.push(MetricRow {
            cell: CellIndex(small(row.get(0)?, "cell")?),
            evaluator: parsed(&row.get::<_, String>(1)?, "metrics.evaluator")?,
            metric: row.get(2)?,
            value: row.get(3)?,
            low: row.get(4)?,
            high: row.get(5)?,
            n: small(row.get(6)?, "metrics.n")?,
        });
    }
    Ok(metrics)
}
