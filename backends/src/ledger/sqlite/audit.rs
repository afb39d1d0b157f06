//! The audit log.

use rusqlite::{Transaction, params};

use super::SqliteLedger;
use super::thread::Fault;
use crate::ledger::columns::{large, stored, stored_time, time, unreadable};
use crate::ledger::{AuditResult, AuditRow, LedgerError, NewAuditEntry};

impl SqliteLedger {
    pub(in crate::ledger) async fn begin_audit(
        &self,
        entry: NewAuditEntry,
        result: Option<AuditResult>,
    ) -> Result<u64, LedgerError> {
        self.0
            .write("write to the audit log", move |tx| {
                tx.prepare_cached(
                    "INSERT INTO audit (at_ns, actor, credential, action, subject) VALUES (?1, ?2, ?3, ?4, ?5)",
                )?
                .execute(params![
                    stored_time(entry.at, "at")?,
                    entry.actor,
                    entry.credential,
                    entry.action,
                    entry.subject
                ])?;
                let number = tx.last_insert_rowid();
                if let Some(result) = &result {
                    add_result(tx, number, result)?;
                }
                Ok(large(number, "audit.number")?)
            })
            .await
    }

    pub(in crate::ledger) async fn end_audit(&self, number: u64, result: AuditResult) -> Result<(), LedgerError> {
        self.0.write("write to the audit log", move |tx| add_result(tx, stored(number, "audit.number")?, &result)).await
    }

    pub(in crate::ledger) async fn audit(&self, before: Option<u64>, limit: u32) -> Result<Vec<AuditRow>, LedgerError> {
        self.0.read("read the audit log", move |tx| audit(tx, before, limit)).await
    }
}

fn add_result(tx: &Transaction<'_>, number: i64, result: &AuditResult) -> Result<(), Fault> {
    tx.prepare_cached(
        "INSERT INTO audit_results (number, at_ns, result, subject, detail) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute(params![
        number,
        stored_time(result.at, "at")?,
        result.outcome.as_str(),
        result.subject,
        result.detail
    ])?;
    Ok(())
}

fn audit(tx: &Transaction<'_>, before: Option<u64>, limit: u32) -> Result<Vec<AuditRow>, Fault> {
    let mut select = tx.prepare_cached(
        "SELECT a.number, a.at_ns, a.actor, a.credential, a.action, a.subject, r.at_ns, r.result, r.subject, r.detail
         FROM audit a LEFT JOIN audit_results r ON r.number = a.number
         WHERE ?1 IS NULL OR a.number < ?1 ORDER BY a.number DESC LIMIT ?2",
    )?;
    let before = before.map(|number| stored(number, "audit.number")).transpose()?;
    let mut rows = select.query(params![before, limit])?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next()? {
        let result = match row.get::<_, Option<i64>>(6)? {
            Some(at) => {
                let outcome: String = row.get(7)?;
                Some(AuditResult {
                    at: time(at, "at")?,
                    outcome: outcome.parse().map_err(|_| unreadable("audit_results.result", &outcome))?,
                    subject: row.get(8)?,
                    detail: row.get(9)?,
                })
            }
            None => None,
        };
        entries.push(AuditRow {
            number: large(row.get(0)?, "audit.number")?,
            at: time(row.get(1)?, "at")?,
            actor: row.get(2)?,
            credential: row.get(3)?,
            action: row.get(4)?,
            subject: row.get(5)?,
            result,
        });
    }
    Ok(entries)
}
