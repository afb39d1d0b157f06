//! Fields of log lines about a session.

use regatta_proto::SessionKey;

/// Target of [`session_span`], for filters.
pub const SESSION_TARGET: &str = "regatta_traces::logs";

/// Span that gives every line within it the session that it is about, as fields, and its attempt where that is known. Always on, because what is wrong is logged at any level.
#[must_use]
pub fn session_span(key: &SessionKey, attempt: impl Into<Option<u32>>) -> tracing::Span {
    tracing::error_span!(target: SESSION_TARGET, "session", sweep = %key.sweep, cell = key.cell.0, session = %key, attempt = attempt.into())
}
