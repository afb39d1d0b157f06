//! Errors of the ledger.

#[cfg(feature = "cluster")]
use std::error::Error;

use regatta_proto::{CellIndex, Money, OwnerName, ShardIndex, SweepId};
use rusqlite::ErrorCode;

/// A call that the ledger did not carry out; nothing of it has been stored.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The database could not be opened or migrated.
    #[error("failed to open the ledger {location}: {source}")]
    Open {
        /// File, or host and database; never a password.
        location: String,
        /// The driver's error.
        source: StoreError,
    },
    /// The database was migrated by a newer Regatta.
    #[error(
        "failed to open the ledger: its schema is version {found}, this build knows up to {known}; use the newer build"
    )]
    NewerSchema {
        /// Version of the database.
        found: i64,
        /// Newest version of this build.
        known: i64,
    },
    /// The database is older than this build, and this process may not migrate it.
    #[error(
        "failed to open the ledger: its schema is version {found}, this build needs {needed}; run `regatta migrate`"
    )]
    OlderSchema {
        /// Version of the database; 0 if it has no schema.
        found: i64,
        /// Version of this build.
        needed: i64,
    },
    /// The database refused a statement, or could not be reached.
    #[error("failed to {action}: {source}")]
    Store {
        /// The action, to complete "failed to".
        action: &'static str,
        /// The driver's error.
        source: StoreError,
    },
    /// The ledger has no such sweep.
    #[error("failed to find the sweep {sweep} in the ledger; was it submitted to another one?")]
    UnknownSweep {
        /// Id that was asked for.
        sweep: SweepId,
    },
    /// The sweep, or the cell in it, does not exist.
    #[error("failed to find cell {cell} of the sweep {sweep} in the ledger; was it submitted to another one?")]
    UnknownCell {
        /// Sweep that was asked for.
        sweep: SweepId,
        /// Cell that was asked for.
        cell: CellIndex,
    },
    /// The sweep, or the shard in it, does not exist.
    #[error("failed to find shard {shard} of the sweep {sweep} in the ledger")]
    UnknownShard {
        /// Sweep that was asked for.
        sweep: SweepId,
        /// Shard that was asked for.
        shard: ShardIndex,
    },
    /// The sweep was removed, or is being removed.
    #[error(
        "the sweep {sweep} was removed by `regatta gc`, or is being removed: it is not resumed, and its id is not used again; submit its spec \
         again, which makes a new sweep"
    )]
    Removed {
        /// Sweep that was asked for.
        sweep: SweepId,
    },
    /// A budget can only be raised, because sessions may have been run and reserved in reliance on it.
    #[error("failed to set the budget of the sweep {sweep} to {wanted}: {}", present_budget(*present))]
    BudgetNotRaised {
        /// Sweep that was asked for.
        sweep: SweepId,
        /// Present budget; `None` is without limit.
        present: Option<Money>,
        /// Budget that was asked for.
        wanted: Money,
    },
    /// The sweep would exceed its owner's quota.
    #[error(
        "the quota of {owner} does not allow this sweep: {problem}; or have an admin raise it (`regatta token quota`, or \
         `owners` of the coordinator's policy)"
    )]
    QuotaExceeded {
        /// The owner.
        owner: OwnerName,
        /// The quota, the amount granted so far, and the amount asked for.
        problem: String,
    },
    /// An owner would have more stored than its quota.
    #[error(
        "the storage quota of {owner} does not allow this: of {limit}, {stored} are used, and this needs {more} more; leave out files that the \
         benchmark does not need, delete schedules that are not needed (what nothing refers to goes by itself after a while), or have an admin \
         remove old sweeps (`regatta gc`) or raise it (`regatta token quota {owner} --stored-gib N`, or `owners` of the coordinator's policy)"
    )]
    StorageExceeded {
        /// The owner.
        owner: OwnerName,
        /// The quota, for people.
        limit: String,
        /// Bytes stored before, for people.
        stored: String,
        /// Bytes that this would add, for people.
        more: String,
    },
    /// An object is not there any more, or about to go.
    #[error(
        "{key} was removed, or is being removed at this moment, because nothing referred to it; upload it again, as `regatta submit` does, and \
         once more in a few minutes if that is refused too"
    )]
    ObjectRemoved {
        /// Key of the object.
        key: String,
    },
    /// The ledger has the largest allowed number of tokens.
    #[error("failed to keep a token: there are {limit} already; use one of them")]
    TooManyTokens {
        /// Most tokens of a ledger.
        limit: i64,
    },
    /// The owner has the largest allowed number of tokens that are neither revoked nor expired.
    #[error(
        "failed to keep a token: {owner} has {limit} that are neither revoked nor expired; revoke those that nobody uses (`regatta token \
         list`, `regatta token revoke ID`)"
    )]
    TooManyTokensOf {
        /// The owner.
        owner: OwnerName,
        /// Most such tokens of an owner.
        limit: i64,
    },
    /// A number does not fit into a signed 64-bit column, or a counter would become negative.
    #[error("failed to store {field}: {value} is out of range")]
    OutOfRange {
        /// Name of the field.
        field: &'static str,
        /// The number.
        value: i128,
    },
    /// A column has a value that this build cannot read.
    #[error("failed to read {field}: found {found:?}; the ledger is damaged or was written by another version")]
    Unreadable {
        /// Name of the column.
        field: &'static str,
        /// Value of the column.
        found: String,
    },
    /// A statement changed more or fewer rows than the rules allow.
    #[error("failed to {action}: {found} rows would have changed, expected {expected}")]
    RowsAffected {
        /// The action, to complete "failed to".
        action: &'static str,
        /// Number of rows that had to change.
        expected: u64,
        /// Number of rows that would have changed.
        found: u64,
    },
    /// The login has fewer rights than its role needs.
    #[error(
        "the login to the database lacks rights that its role needs ({rights}); run `deploy/postgres-roles.sql` as the owner of the \
         tables, as after each migration"
    )]
    MissingRights {
        /// The rights, and the tables that they are to.
        rights: String,
    },
    /// The thread that owns the database has ended.
    #[error("failed to {action}: the ledger's thread has ended")]
    Closed {
        /// The action, to complete "failed to".
        action: &'static str,
    },
}

impl LedgerError {
    /// `true` if the database was temporarily not available: it is starting, changes its leader, has no free connection, waits for another
    /// process to migrate it or for the rights that are granted after a migration, or is being migrated. A wrong password and a missing database are no outages.
    #[cfg(feature = "cluster")]
    #[must_use]
    pub fn is_outage(&self) -> bool {
        match self {
            Self::OlderSchema { .. } | Self::MissingRights { .. } => true,
            Self::Open { source, .. } | Self::Store { source, .. } => source.is_outage(),
            Self::NewerSchema { .. }
            | Self::UnknownSweep { .. }
            | Self::UnknownCell { .. }
            | Self::UnknownShard { .. }
            | Self::Removed { .. }
            | Self::BudgetNotRaised { .. }
            | Self::QuotaExceeded { .. }
            | Self::StorageExceeded { .. }
            | Self::ObjectRemoved { .. }
            | Self::TooManyTokens { .. }
            | Self::TooManyTokensOf { .. }
            | Self::OutOfRange { .. }
            | Self::Unreadable { .. }
            | Self::RowsAffected { .. }
            | Self::Closed { .. } => false,
        }
    }

    /// `true` if the database refused the data: it violates a constraint, does not fit its column, or is of a sweep, cell or shard that the
    /// ledger does not have. Repeating such a call cannot succeed, whereas a call that did not reach the database may succeed later.
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
            Self::UnknownSweep { .. }
            | Self::UnknownCell { .. }
            | Self::UnknownShard { .. }
            | Self::Removed { .. }
            | Self::OutOfRange { .. } => true,
            Self::Store { .. }
            | Self::Open { .. }
            | Self::NewerSchema { .. }
            | Self::OlderSchema { .. }
            | Self::BudgetNotRaised { .. }
            | Self::QuotaExceeded { .. }
            | Self::StorageExceeded { .. }
            | Self::ObjectRemoved { .. }
            | Self::TooManyTokens { .. }
            | Self::TooManyTokensOf { .. }
            | Self::Unreadable { .. }
            | Self::RowsAffected { .. }
            | Self::MissingRights { .. }
            | Self::Closed { .. } => false,
        }
    }
}

#[cfg(feature = "cluster")]
/// `true` for an SQLSTATE about the data: class 22 (data exception) or 23 (integrity constraint violation).
fn is_of_the_data(state: &str) -> bool {
    state.starts_with("22") || state.starts_with("23")
}

/// An error of a database driver.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// An error of SQLite.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[cfg(feature = "cluster")]
    /// An error of PostgreSQL.
    #[error("{}", told(source))]
    Postgres {
        /// The driver's error; its own text is little more than "db error".
        source: tokio_postgres::Error,
    },
    #[cfg(feature = "cluster")]
    /// The pool has no connection.
    #[error("no connection: {}", told(&**source))]
    Pool {
        /// The pool's error.
        source: Box<dyn Error + Send + Sync>,
    },
    #[cfg(feature = "cluster")]
    /// The TLS session could not be established.
    #[error("no TLS: {}", told(&**source))]
    Tls {
        /// The TLS library's error.
        source: Box<dyn Error + Send + Sync>,
    },
    /// An error of the file system.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// The error with its causes, and what to do where it is about TLS.
#[cfg(feature = "cluster")]
fn told(error: &(dyn Error + 'static)) -> String {
    const OPTIONS: regatta_proto::TlsOptions = regatta_proto::TlsOptions {
        authorities: "sslrootcert of its URL, or PGSSLROOTCERT",
        identity: Some("sslcert and sslkey of its URL, or PGSSLCERT and PGSSLKEY"),
    };
    let told = regatta_proto::with_handshake_advice(regatta_proto::causes(error), OPTIONS);
    if !told.contains(NO_TLS) {
        return told;
    }
    format!("{told}; turn TLS on there (ssl = on), or write sslmode=disable into the URL if nobody else is on the way")
}

/// Words of the driver about a server without TLS, which it is told to insist on.
#[cfg(feature = "cluster")]
const NO_TLS: &str = "server does not support TLS";

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
/// `true` if a server did not answer, or said that it cannot answer now.
fn is_away(error: &tokio_postgres::Error) -> bool {
    match error.code() {
        Some(state) => is_of_the_moment(state.code()),
        // Without an SQLSTATE, the connection failed; `prepare` has checked the settings before.
        None => error.is_closed() || error.source().is_some_and(|source| source.is::<std::io::Error>()),
    }
}

#[cfg(feature = "cluster")]
/// `true` for a temporary SQLSTATE: class 08 (connection), 53 (resources), 57 (shutdown, start, recovery), and 55P03, a lock that somebody else
/// holds for long, as a migration does.
fn is_of_the_moment(state: &str) -> bool {
    state == "55P03" || ["08", "53", "57"].iter().any(|class| state.starts_with(class))
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
        // A lock that a migration holds; an object that is in use is none.
        assert!(is_of_the_moment("55P03"));
        assert!(!["28P01", "3D000", "42501", "55006"].into_iter().any(is_of_the_moment));
        assert!(LedgerError::OlderSchema { found: 6, needed: 7 }.is_outage());
        assert!(LedgerError::MissingRights { rights: "SELECT on ledger_version".to_owned() }.is_outage());
        assert!(!LedgerError::NewerSchema { found: 8, known: 7 }.is_outage());
    }

    #[test]
    fn states_of_classes_22_and_23_are_about_the_data() {
        // Not null, unique, zero byte in a text; then too many connections, shutdown, deadlock.
        assert!(["23502", "23505", "22021"].into_iter().all(is_of_the_data));
        assert!(!["53300", "57P01", "40P01"].into_iter().any(is_of_the_data));
    }
}
