//! The audit log: who asked for what, and what came of it. Rows are only ever added; both schemas refuse everything else.

use std::fmt;
use std::str::FromStr;

use futures::future::BoxFuture;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

#[cfg(feature = "faults")]
use super::away;
use super::{Ledger, LedgerError, each};

/// Most entries that are read at once.
pub const AUDIT_READ_MAX: u32 = 10_000;

/// Outcome of what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditOutcome {
    /// It was done.
    Done,
    /// It was not allowed, or made no sense.
    Refused,
    /// It was tried, and something broke.
    Failed,
}

impl AuditOutcome {
    const ALL: [Self; 3] = [Self::Done, Self::Refused, Self::Failed];

    /// The word used in SQL and documents.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }
}

impl fmt::Display for AuditOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for AuditOutcome {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|outcome| outcome.as_str() == text);
        found.ok_or_else(|| format!("unknown outcome {text:?}"))
    }
}

/// Something that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAuditEntry {
    /// When.
    pub at: Timestamp,
    /// The owner that asks, or `nobody`.
    pub actor: String,
    /// Credential that was shown: a token by its id, an issuer.
    pub credential: String,
    /// The action, as `cancel`.
    pub action: String,
    /// Sweep, schedule, token or address that it is about.
    pub subject: String,
}

/// Result; absent while the request is under way, or where its coordinator ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditResult {
    /// When.
    pub at: Timestamp,
    /// Outcome.
    pub outcome: AuditOutcome,
    /// Subject as it turned out to be, as the id of a sweep that was submitted; else as asked.
    pub subject: String,
    /// Reason, where it was refused or failed; else empty.
    pub detail: String,
}

/// An entry of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRow {
    /// Number of the entry; later ones are higher.
    pub number: u64,
    /// When it was asked for.
    pub at: Timestamp,
    /// The owner that asked, or `nobody`.
    pub actor: String,
    /// Credential that was shown.
    pub credential: String,
    /// The action.
    pub action: String,
    /// Subject, as asked.
    pub subject: String,
    /// `None` while it is being done, or when the process ended meanwhile.
    pub result: Option<AuditResult>,
}

/// The audit log: calls of the API.
impl Ledger {
    /// Adds an entry, with its result where there is one already; returns its number.
    ///
    /// # Errors
    /// When the store fails.
    pub fn begin_audit(
        &self,
        entry: NewAuditEntry,
        result: Option<AuditResult>,
    ) -> BoxFuture<'_, Result<u64, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.begin_audit(entry, result)) })
    }

    /// Adds the result of an entry.
    ///
    /// # Errors
    /// When the entry has one, or the store fails.
    pub fn end_audit(&self, number: u64, result: AuditResult) -> BoxFuture<'_, Result<(), LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.end_audit(number, result)) })
    }

    /// At most `limit` entries with numbers below `before` (all when `None`), newest first.
    ///
    /// # Errors
    /// When the store fails.
    pub fn audit(&self, before: Option<u64>, limit: u32) -> BoxFuture<'_, Result<Vec<AuditRow>, LedgerError>> {
        Box::pin(async move { each!(self, ledger => ledger.audit(before, limit.min(AUDIT_READ_MAX))) })
    }
}
