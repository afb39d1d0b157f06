//! The audit log: every request that changes something, with its author and its result. Rows are only added; both schemas refuse other
//! changes.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Most entries that one call returns.
pub const AUDIT_READ_MAX: u32 = 10_000;

/// Outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditOutcome {
    /// The request was carried out.
    Done,
    /// The request was not allowed, or was invalid.
    Refused,
    /// The request failed.
    Failed,
}

impl AuditOutcome {
    const ALL: [Self; 3] = [Self::Done, Self::Refused, Self::Failed];

    /// Name in SQL and documents.
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

/// A request, before it is carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAuditEntry {
    /// Time of the request.
    pub at: Timestamp,
    /// The owner that made it, or `nobody`.
    pub actor: String,
    /// Credential that was presented: the id of a token, or an issuer.
    pub credential: String,
    /// Name of the action, such as `cancel`.
    pub action: String,
    /// The sweep, schedule, token or address that it is about.
    pub subject: String,
}

/// Result of a request; absent while the request is in progress, or if its coordinator ended meanwhile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditResult {
    /// Time of the result.
    pub at: Timestamp,
    /// Outcome.
    pub outcome: AuditOutcome,
    /// The actual subject, such as the id of a submitted sweep; otherwise the one in the request.
    pub subject: String,
    /// Reason for a refusal or failure; otherwise empty.
    pub detail: String,
}

/// An entry of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRow {
    /// Number of the entry; later ones are higher.
    pub number: u64,
    /// Time of the request.
    pub at: Timestamp,
    /// The owner that made it, or `nobody`.
    pub actor: String,
    /// Credential that was presented.
    pub credential: String,
    /// The action.
    pub action: String,
    /// Subject of the request.
    pub subject: String,
    /// `None` while the request is in progress, or if the process ended meanwhile.
    pub result: Option<AuditResult>,
}
