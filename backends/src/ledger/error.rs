//! What can go wrong with a ledger.

#[cfg(feature = "cluster")]
use std::error::Error;

use regatta_proto::{CellIndex, Money, OwnerName, ShardIndex, SweepId};
use rusqlite::ErrorCode;

/// Why the ledger did not do what it was asked; nothing of the call has been kept.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The database could not be opened or migrated.
    #[error("failed to open the ledger {location}: {source}")]
    Open {
        /// File, or host and database; never a password.
        location: String,
        /// The driver's reason.
        source: StoreError,
    },
    /// The database was migrated by a newer Regatta.
    #[error(
        "failed to open the ledger: its schema is version {found}, this build knows up to {known}; use the newer build"
    )]
    NewerSchema {
        /// Version found.
        found: i64,
        /// Newest version of this build.
        known: i64,
    },
    /// The database was not migrated to this build, and this process may not do so.
    #[error(
        "failed to open the ledger: its schema is version {found}, this build needs {needed}; run `regatta migrate`"
    )]
    OlderSchema {
        /// Version found; 0 where there is none.
        found: i64,
        /// Version of this build.
        needed: i64,
    },
    /// The database refused, or could not be reached.
    #[error("failed to {action}: {source}")]
    Store {
        /// What was being done.
        action: &'static str,
        /// The driver's reason.
        source: StoreError,
    },
    /// Nobody created that sweep in this ledger.
    #[error("failed to find the sweep {sweep} in the ledger; was it submitted to another one?")]
    UnknownSweep {
        /// The id as asked.
        sweep: SweepId,
    },
    /// The sweep, or the cell in it, does not exist.
    #[error("failed to find cell {cell} of the sweep {sweep} in the ledger; was it submitted to another one?")]
    UnknownCell {
        /// The sweep as asked.
        sweep: SweepId,
        /// The cell as asked.
        cell: CellIndex,
    },
    /// The sweep, or the shard in it, does not exist.
    #[error("failed to find shard {shard} of the sweep {sweep} in the ledger")]
    UnknownShard {
        /// The sweep as asked.
        sweep: SweepId,
        /// The shard as asked.
        shard: ShardIndex,
    },
    /// A budget is only ever raised: sessions may have been run, and reserved, on its word.
    #[error("failed to set the budget of the sweep {sweep} to {wanted}: {}", present_budget(*present))]
    BudgetNotRaised {
        /// The sweep as asked.
        sweep: SweepId,
        /// Its budget; `None` is without limit.
        present: Option<Money>,
        /// The budget as asked.
        wanted: Money,
    },
    /// An owner would be granted more than its quota.
    #[error(
        "the quota of {owner} does not allow this sweep: {problem}; or have an admin raise it (`regatta token quota`, or \
         `owners` of the coordinator's policy)"
    )]
    QuotaExceeded {
        /// The owner.
        owner: OwnerName,
        /// The quota, what is granted, and what was wanted.
        problem: String,
    },
    /// So many tokens that somebody must have lost count.
    #[error("failed to keep a token: there are {limit} already; use one of them")]
    TooManyTokens {
        /// Most tokens of a ledger.
        limit: i64,
    },
    /// A number that a signed 64-bit column cannot hold, or a counter that would fall below zero.
    #[error("failed to store {field}: {value} is out of range")]
    OutOfRange {
        /// Which field.
        field: &'static str,
        /// The number.
        value: i128,
    },
    /// A column holds what this build does not understand.
    #[error("failed to read {field}: found {found:?}; the ledger is damaged or was written by another version")]
    Unreadable {
        /// Which column.
        field: &'static str,
        /// What it holds.
        found: String,
    },
    /// A statement changed more or fewer rows than the rules allow.
    #[error("failed to {action}: {found} rows would have changed, expected {expected}")]
    RowsAffected {
        /// What was being done.
        action: &'static str,
        /// Rows that had to change.
        expected: u64,
        /// Rows that did.
        found: u64,
    },
    /// The thread that owns the database has ended.
    #[error("failed to {action}: the ledger's thread has ended")]
    Closed {
        /// What was being done.
        action: &'static str,
    },
}

impl LedgerError {
    /// `true` if the database was not there, or not yet as it will be: it starts, changes its leader, has no connection free, or somebody
    /// else is to migrate it. A wrong password or a missing database stays what it is.
    #[cfg(feature = "cluster")]
    #[must_use]
    pub fn is_outage(&self) -> bool {
        match self {
            Self::OlderSchema { .. } => true,
            Self::Open { source, .. } | Self::Store { source, .. } => source.is_outage(),
            Self::NewerSchema { .. }
            | Self::UnknownSweep { .. }
            | Self::UnknownCell { .. }
            | Self::UnknownShard { .. }
            | Self::BudgetNotRaised { .. }
            | Self::QuotaExceeded { .. }
            | Self::TooManyTokens { .. }
            | Self::OutOfRange { .. }
            | Self::Unreadable { .. }
            | Self::RowsAffected { .. }
            | Self::Closed { .. } => false,
        }
    }

    /// Whether the database was there and found what it was told to be wrong: against a constraint, or no value of its column. The same
    /// will be refused as often as it is tried; what could not be reached may well succeed later.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Store { source: StoreError::Sqlite(rusqlite::Error::SqliteFailure(error, _)), .. } => {
                matches!(error.code, ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch | ErrorCode::TooBig)
            }
            #[cfg(feature = "cluster")]
            Self::Store { source: StoreError::Postgres { source }, .. } => {
                source.code().is_some_and(|state| is_of_the_data(state.code()))
            }
            _ => false,
        }
    }
}

#[cfg(feature = "cluster")]
/// Whether an SQLSTATE is about the data itself: class 22 (data exception) or 23 (integrity constraint violation).
fn is_of_the_data(state: &str) -> bool {
    state.starts_with("22") || state.starts_with("23")
}

/// The reason a driver gave.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// From SQLite.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[cfg(feature = "cluster")]
    /// From PostgreSQL.
    #[error("{}", regatta_proto::causes(source))]
    Postgres {
        /// The driver's error; its own text is little more than "db error".
        source: tokio_postgres::Error,
    },
    #[cfg(feature = "cluster")]
    /// No connection was to be had.
    #[error("no connection: {}", regatta_proto::causes(&**source))]
    Pool {
        /// The pool's error.
        source: Box<dyn Error + Send + Sync>,
    },
    #[cfg(feature = "cluster")]
    /// No TLS session was to be had.
    #[error("no TLS: {}", regatta_proto::causes(&**source))]
    Tls {
        /// The TLS library's error.
        source: Box<dyn Error + Send + Sync>,
    },
    /// From the file system.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

#[cfg(feature = "cluster")]
impl StoreError {
    fn is_outage(&self) -> bool {
        match self {
            Self::Postgres { source } => is_away(source),
            Self::Pool { source } => match source.downcast_ref::<deadpool_postgres::PoolError>() {
                Some(deadpool_postgres::PoolError::Backend(error)) => is_away(error),
                Some(deadpool_postgres::PoolError::Timeout(_)) => true,
                Some(_) | None => false,
            },
            Self::Sqlite(_) | Self::Tls { .. } | Self::Io(_) => false,
        }
    }
}

#[cfg(feature = "cluster")]
/// `true` if a server gave no answer, or said that it cannot answer now.
fn is_away(error: &tokio_postgres::Error) -> bool {
    match error.code() {
        Some(state) => is_of_the_moment(state.code()),
        // Without a state the connection failed, or the settings are none, which `prepare` has found out before.
        None => error.is_closed() || error.source().is_some_and(|source| source.is::<std::io::Error>()),
    }
}

#[cfg(feature = "cluster")]
/// `true` for an SQLSTATE that passes by itself: class 08 (connection), 53 (resources), 57 (shutdown, start, recovery).
fn is_of_the_moment(state: &str) -> bool {
    ["08", "53", "57"].iter().any(|class| state.starts_with(class))
}

fn present_budget(present: Option<Money>) -> String {
    present.map_or_else(
        || "it has none, and a budget can only be raised".to_owned(),
        |budget| format!("it is {budget}, and can only be raised"),
    )
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    fn failed(sql: &str) -> LedgerError {
        let database = Connection::open_in_memory().unwrap();
        database.execute_batch("CREATE TABLE t (n INTEGER PRIMARY KEY CHECK (n > 0)) STRICT").unwrap();
        let source = database.execute_batch(sql).unwrap_err().into();
        LedgerError::Store { action: "try", source }
    }

    #[test]
    fn a_row_against_a_constraint_is_refused_and_a_missing_table_is_not() {
        assert!(failed("INSERT INTO t VALUES (0)").is_refusal());
        assert!(failed("INSERT INTO t VALUES (1), (1)").is_refusal());
        assert!(failed("INSERT INTO t VALUES ('x')").is_refusal());
        assert!(!failed("INSERT INTO u VALUES (1)").is_refusal());
        let away = LedgerError::Store { action: "try", source: std::io::Error::other("away").into() };
        assert!(!away.is_refusal());
    }

    #[cfg(feature = "cluster")]
    #[test]
    fn a_server_that_starts_is_waited_for_and_a_wrong_password_or_a_missing_database_is_not() {
        assert!(["57P03", "57P01", "53300", "08006"].into_iter().all(is_of_the_moment));
        assert!(!["28P01", "3D000", "42501"].into_iter().any(is_of_the_moment));
        assert!(LedgerError::OlderSchema { found: 6, needed: 7 }.is_outage());
        assert!(!LedgerError::NewerSchema { found: 8, known: 7 }.is_outage());
    }

    #[test]
    fn states_of_classes_22_and_23_are_about_the_data() {
        // Not null, unique, a text with a zero byte; then: too many connections, shutdown, deadlock.
        assert!(["23502", "23505", "22021"].into_iter().all(is_of_the_data));
        assert!(!["53300", "57P01", "40P01"].into_iter().any(is_of_the_data));
    }
}
