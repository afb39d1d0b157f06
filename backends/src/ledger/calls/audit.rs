//! The audit log.

use super::{LedgerFuture, each};
use crate::ledger::{AUDIT_READ_MAX, AuditResult, AuditRow, Ledger, NewAuditEntry};

/// The audit log: calls of the API.
impl Ledger {
    /// Adds an entry, with its result if there is one already. Returns the number of the entry.
    ///
    /// # Errors
    /// When the store fails.
    pub fn begin_audit(&self, entry: NewAuditEntry, result: Option<AuditResult>) -> LedgerFuture<'_, u64> {
        each!(self.begin_audit(entry, result))
    }

    /// Adds the result to an entry.
    ///
    /// # Errors
    /// When the entry has a result already, or the store fails.
    pub fn end_audit(&self, number: u64, result: AuditResult) -> LedgerFuture<'_, ()> {
        each!(self.end_audit(number, result))
    }

    /// At most `limit` entries with numbers below `before` (`None`: no bound), newest first.
    ///
    /// # Errors
    /// When the store fails.
    pub fn audit(&self, before: Option<u64>, limit: u32) -> LedgerFuture<'_, Vec<AuditRow>> {
        each!(self.audit(before, limit.min(AUDIT_READ_MAX)))
    }
}
