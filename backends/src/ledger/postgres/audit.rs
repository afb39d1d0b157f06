//! The audit log.

use deadpool_postgres::{Object, Transaction};
use tokio_postgres::Row;

use super::PostgresLedger;
use super::pool::{Fault, read, write};
use crate::ledger::columns::{large, stored, stored_time, time, unreadable};
use crate::ledger::{AuditResult, AuditRow, LedgerError, NewAuditEntry};

impl PostgresLedger {
    pub(in crate::ledger) async fn begin_audit(
        &self,
        entry: NewAuditEntry,
        result: Option<AuditResult>,
    ) -> Result<u64, LedgerError> {
        write!(self.0, "write to the audit log", tx => begin(tx, &entry, result.as_ref()))
    }

    pub(in crate::ledger) async fn end_audit(&self, number: u64, result: AuditResult) -> Result<(), LedgerError> {
        let number = stored(number, "audit.number")?;
        write!(self.0, "write to the audit log", tx => add_result(tx, number, &result))
    }

    pub(in crate::ledger) async fn audit(&self, before: Option<u64>, limit: u32) -> Result<Vec<AuditRow>, LedgerError> {
        let before = before.map(|number| stored(number, "audit.number")).transpose()?;
        read!(self.0, "read the audit log", client => audit(client, before, limit))
    }
}

async fn begin(tx: &Transaction<'_>, entry: &NewAuditEntry, result: Option<&AuditResult>) -> Result<u64, Fault> {
    let insert = tx
        .prepare_cached(
            "INSERT INTO audit (at_ns, actor, credential, action, subject) VALUES ($1, $2, $3, $4, $5) RETURNING number",
        )
        .await?;
    let at = stored_time(entry.at, "at")?;
    let row = tx.query_one(&insert, &[&at, &entry.actor, &entry.credential, &entry.action, &entry.subject]).await?;
    let number: i64 = row.try_get(0)?;
    if let Some(result) = result {
        add_result(tx, number, result).await?;
    }
    Ok(large(number, "audit.number")?)
}

async fn add_result(tx: &Transaction<'_>, number: i64, result: &AuditResult) -> Result<(), Fault> {
    let insert = tx
        .prepare_cached(
            "INSERT INTO audit_results (number, at_ns, result, subject, detail) VALUES ($1, $2, $3, $4, $5)",
        )
        .await?;
    let at = stored_time(result.at, "at")?;
    tx.execute(&insert, &[&number, &at, &result.outcome.as_str(), &result.subject, &result.detail]).await?;
    Ok(())
}

async fn audit(client: &Object, before: Option<i64>, limit: u32) -> Result<Vec<AuditRow>, Fault> {
    let select = client
        .prepare_cached(
            "SELECT a.number, a.at_ns, a.actor, a.credential, a.action, a.subject, r.at_ns, r.result, r.subject, r.detail
             FROM audit a LEFT JOIN audit_results r ON r.number = a.number
             WHERE $1::bigint IS NULL OR a.number < $1 ORDER BY a.number DESC LIMIT $2",
        )
        .await?;
    client.query(&select, &[&before, &i64::from(limit)]).await?.iter().map(entry).collect()
}

fn entry(row: &Row) -> Result<AuditRow, Fault> {
    let result = match row.try_get::<_, Option<i64>>(6)? {
        Some(at) => {
            let outcome: &str = row.try_get(7)?;
            Some(AuditResult {
                at: time(at, "at")?,
                outcome: outcome.parse().map_err(|_| unreadable("audit_results.result", outcome))?,
                subject: row.try_get(8)?,
                detail: row.try_get(9)?,
            })
        }
        None => None,
    };
    Ok(AuditRow {
        number: large(row.try_get(0)?, "audit.number")?,
        at: time(row.try_get(1)?, "at")?,
        actor: row.try_get(2)?,
        credential: row.try_get(3)?,
        action: row.try_get(4)?,
        subject: row.try_get(5)?,
        result,
    })
}
