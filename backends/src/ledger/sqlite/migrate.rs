//! Opens the file and brings its schema to this build's version.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OptionalExtension, TransactionBehavior, params};

use crate::ledger::schema::Admits::{Both, NoOther, Previous};
use crate::ledger::schema::{Step, check_newer, newest, step};
use crate::ledger::{LedgerError, StoreError};

/// Migrations in the order of their versions.
const MIGRATIONS: &[Step] = &[
    step(1, NoOther, include_str!("../../../migrations/sqlite/0001_ledger.sql")),
    step(2, NoOther, include_str!("../../../migrations/sqlite/0002_calls.sql")),
    step(3, NoOther, include_str!("../../../migrations/sqlite/0003_evaluators.sql")),
    step(4, NoOther, include_str!("../../../migrations/sqlite/0004_any_evaluator.sql")),
    step(5, NoOther, include_str!("../../../migrations/sqlite/0005_answerers.sql")),
    step(6, Previous, include_str!("../../../migrations/sqlite/0006_flags.sql")),
    step(7, NoOther, include_str!("../../../migrations/sqlite/0007_dispatch.sql")),
    step(8, Previous, include_str!("../../../migrations/sqlite/0008_schedules.sql")),
    step(9, Both, include_str!("../../../migrations/sqlite/0009_views.sql")),
    step(10, NoOther, include_str!("../../../migrations/sqlite/0010_transitions.sql")),
    step(11, NoOther, include_str!("../../../migrations/sqlite/0011_identity.sql")),
    step(12, Previous, include_str!("../../../migrations/sqlite/0012_granted.sql")),
    step(13, Previous, include_str!("../../../migrations/sqlite/0013_alive_again.sql")),
    step(14, NoOther, include_str!("../../../migrations/sqlite/0014_unmetered.sql")),
    step(15, Previous, include_str!("../../../migrations/sqlite/0015_cached.sql")),
    // No program has ever written what it refuses.
    step(16, Both, include_str!("../../../migrations/sqlite/0016_beginnings.sql")),
    step(17, Previous, include_str!("../../../migrations/sqlite/0017_removals.sql")),
    step(18, Previous, include_str!("../../../migrations/sqlite/0018_generations.sql")),
    step(19, Previous, include_str!("../../../migrations/sqlite/0019_storage.sql")),
    step(20, Previous, include_str!("../../../migrations/sqlite/0020_partitions.sql")),
    // The previous program dispatches paused sweeps, and keeps to the spec's limits.
    step(21, Previous, include_str!("../../../migrations/sqlite/0021_steering.sql")),
];

/// Longest wait for another process that writes to the same file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// More than the number of different statements, so that each is prepared once.
const CACHED_STATEMENTS: usize = 128;

/// Size of the page cache in KiB (negative by SQLite's convention).
const CACHE_KIB: i64 = -32 * 1024;

/// Pages in the write-ahead log after which they are copied to the database (16 MiB), so that pages which are written repeatedly, like
/// those of the counters, are copied once.
const CHECKPOINT_PAGES: i64 = 4096;

/// Opens or creates the ledger in the file `path`.
pub(super) fn open(path: &Path) -> Result<Connection, LedgerError> {
    let failed = |source: StoreError| LedgerError::Open { location: path.display().to_string(), source };
    // SQLite refuses the switch to WAL, without waiting, while another process switches. The folder is locked rather than the file, because
    // closing a second handle to the file would release SQLite's own locks on it.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let _alone = lock(folder).map_err(|error| failed(error.into()))?;
    let mut connection = connect(path).map_err(|error| failed(opening(error)))?;
    check(&connection).map_err(failed)?;
    let (found, admits_previous) = migrate(&mut connection).map_err(|error| failed(opening(error)))?;
    check_newer(MIGRATIONS, found, admits_previous)?;
    Ok(connection)
}

/// Refuses a damaged file, because reads from it would be incomplete.
fn check(connection: &Connection) -> Result<(), StoreError> {
    let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(opening)?;
    if found == "ok" { Ok(()) } else { Err(damaged(&found)) }
}

/// The reason why a file cannot be opened.
fn opening(error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => damaged(&error.to_string()),
        _ => error.into(),
    }
}

fn damaged(found: &str) -> StoreError {
    let problem = format!("the file is damaged ({found}); restore it, with its -wal file, from a backup");
    std::io::Error::other(problem).into()
}

/// A new ledger in memory.
#[cfg(feature = "faults")]
pub(super) fn open_in_memory() -> Result<Connection, LedgerError> {
    let path = Path::new(":memory:");
    let failed =
        |error: rusqlite::Error| LedgerError::Open { location: path.display().to_string(), source: error.into() };
    let mut connection = connect(path).map_err(failed)?;
    migrate(&mut connection).map_err(failed)?;
    Ok(connection)
}

fn lock(folder: &Path) -> std::io::Result<File> {
    let handle = File::open(folder)?;
    handle.lock()?;
    Ok(handle)
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // A crash of the process loses nothing; a crash of the machine may lose the last transactions, but not consistency.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "cache_size", CACHE_KIB)?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    Ok(connection)
}

/// Migrates, and returns the version found, with `true` if it is newer than this build's and says that this version's program may use it;
/// of a newer one nothing is changed.
fn migrate(connection: &mut Connection) -> rusqlite::Result<(i64, bool)> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch("CREATE TABLE IF NOT EXISTS ledger_version (version INTEGER PRIMARY KEY) STRICT")?;
    let found: Option<i64> =
        transaction.query_row("SELECT max(version) FROM ledger_version", [], |row| row.get(0)).optional()?.flatten();
    let found = found.unwrap_or(0);
    let is_noted = "SELECT count(*) = 1 FROM pragma_table_info('ledger_version') WHERE name = 'admits_previous'";
    let is_noted: bool = transaction.query_row(is_noted, [], |row| row.get(0))?;
    if found > newest(MIGRATIONS) {
        let noted = "SELECT admits_previous FROM ledger_version WHERE version = ?1";
        let admits: Option<bool> =
            if is_noted { transaction.query_row(noted, [found], |row| row.get(0))? } else { None };
        return Ok((found, admits == Some(true)));
    }
    if !is_noted && found < newest(MIGRATIONS) {
        transaction.execute_batch("ALTER TABLE ledger_version ADD COLUMN admits_previous INTEGER")?;
    }
    for step in MIGRATIONS.iter().filter(|step| step.version > found) {
        transaction.execute_batch(step.sql)?;
        let applied = "INSERT INTO ledger_version (version, admits_previous) VALUES (?1, ?2)";
        transaction.execute(applied, params![step.version, step.admits.previous_program()])?;
    }
    transaction.commit()?;
    Ok((found, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_schema_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.sqlite");
        let connection = open(&path).unwrap();
        connection.execute("INSERT INTO ledger_version (version) VALUES (99)", []).unwrap();
        let error = open(&path).unwrap_err();
        let known_here = newest(MIGRATIONS);
        assert!(matches!(error, LedgerError::NewerSchema { found: 99, known } if known == known_here), "{error}");
    }

    #[test]
    fn a_ledger_of_the_version_before_is_brought_to_this_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.sqlite");
        let older = Connection::open(&path).unwrap();
        older.execute_batch("CREATE TABLE ledger_version (version INTEGER PRIMARY KEY) STRICT").unwrap();
        let (last, before) = MIGRATIONS.split_last().unwrap();
        for step in before {
            older.execute_batch(step.sql).unwrap();
            older.execute("INSERT INTO ledger_version (version) VALUES (?1)", [step.version]).unwrap();
        }
        drop(older);
        let ledger = open(&path).unwrap();
        let noted = "SELECT admits_previous FROM ledger_version WHERE version = ?1";
        let noted: bool = ledger.query_row(noted, [last.version], |row| row.get(0)).unwrap();
        assert_eq!(noted, last.admits.previous_program());
    }

    #[test]
    fn metrics_of_an_older_ledger_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.sqlite");
        let older = Connection::open(&path).unwrap();
        older.execute_batch("CREATE TABLE ledger_version (version INTEGER PRIMARY KEY) STRICT").unwrap();
        for Step { version, sql, .. } in &MIGRATIONS[..2] {
            older.execute_batch(sql).unwrap();
            older.execute("INSERT INTO ledger_version (version) VALUES (?1)", [version]).unwrap();
        }
        older
            .execute_batch(
                "INSERT INTO sweeps (number, id, name, lock, state, created_at_ns)
                 VALUES (1, 's', 's', zeroblob(32), 'running', 0);
                 INSERT INTO cells (sweep, cell, benchmark, setting, model, trial, queue, items)
                 VALUES (1, 0, 'b', 's', 'm', 0, 'q', 1);",
            )
            .unwrap();
        let row = "INSERT INTO metrics (sweep, cell, evaluator, metric, position, value, n)
                   VALUES (1, 0, ?1, 'f1', 0, 0.5, 7)";
        older.execute(row, ["paper"]).unwrap();
        assert!(older.execute(row, ["official_fixed"]).is_err());
        drop(older);
        let ledger = open(&path).unwrap();
        for evaluator in ["official_fixed", "exec"] {
            ledger.execute(row, [evaluator]).unwrap();
        }
        let kept: f64 = ledger.query_row("SELECT sum(value * n) FROM metrics", [], |row| row.get(0)).unwrap();
        assert_eq!(kept, 10.5);
    }

    #[test]
    fn no_row_of_the_audit_log_is_changed_or_removed() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = open(&folder.path().join("ledger.sqlite")).unwrap();
        ledger
            .execute_batch(
                "INSERT INTO audit (at_ns, actor, credential, action, subject) VALUES (1, 'a', 'c', 'submit', 's');
                 INSERT INTO audit_results (number, at_ns, result, subject, detail) VALUES (1, 1, 'done', 's', '');",
            )
            .unwrap();
        for table in ["audit", "audit_results"] {
            for statement in [format!("UPDATE {table} SET at_ns = 0"), format!("DELETE FROM {table}")] {
                let error = ledger.execute_batch(&statement).unwrap_err().to_string();
                assert!(error.contains("append-only"), "{statement}: {error}");
            }
        }
        for statement in [
            "INSERT OR REPLACE INTO audit (number, at_ns, actor, credential, action, subject) VALUES (1, 2, 'b', 'c', 'x', 's')",
            "INSERT OR REPLACE INTO audit_results (number, at_ns, result, subject, detail) VALUES (1, 2, 'refused', 's', '')",
        ] {
            let error = ledger.execute_batch(statement).unwrap_err().to_string();
            assert!(error.contains("append-only"), "{statement}: {error}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_named() {
        let error = open(Path::new("/nonexistent/ledger.sqlite")).unwrap_err();
        assert!(error.to_string().starts_with("failed to open the ledger /nonexistent/ledger.sqlite: "), "{error}");
    }

    #[test]
    fn migrations_are_numbered_from_one_without_gaps() {
        let versions: Vec<i64> = MIGRATIONS.iter().map(|step| step.version).collect();
        assert_eq!(versions, (1..=MIGRATIONS.len() as i64).collect::<Vec<_>>());
    }
}
