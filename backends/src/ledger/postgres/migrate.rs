//! Migrates a schema to this build's version, or checks that it has it.

use deadpool_postgres::Object;

use crate::ledger::{LedgerError, StoreError};

/// Behaviour of a process that finds a schema older than its build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Schema {
    /// Migrates it; any number of processes may do so concurrently.
    Migrated,
    /// Leaves it unchanged and fails.
    AsItIs,
}

/// The versions of a schema.
pub(crate) struct Migrations {
    /// Name of the table with the versions that were applied.
    pub(crate) table: &'static str,
    /// Versions in order, each with its SQL; a released one is never edited.
    pub(crate) steps: &'static [(i64, &'static str)],
    /// Number of the advisory lock that lets one process at a time migrate; nothing else in the database may use it.
    pub(crate) lock: i64,
}

pub(super) const LEDGER: Migrations = Migrations {
    table: "ledger_version",
    steps: &[
        (1, include_str!("../../../migrations/postgres/0001_ledger.sql")),
        (2, include_str!("../../../migrations/postgres/0002_calls.sql")),
        (3, include_str!("../../../migrations/postgres/0003_evaluators.sql")),
        (4, include_str!("../../../migrations/postgres/0004_any_evaluator.sql")),
        (5, include_str!("../../../migrations/postgres/0005_answerers.sql")),
        (6, include_str!("../../../migrations/postgres/0006_flags.sql")),
        (7, include_str!("../../../migrations/postgres/0007_dispatch.sql")),
        (8, include_str!("../../../migrations/postgres/0008_schedules.sql")),
        (9, include_str!("../../../migrations/postgres/0009_views.sql")),
        (10, include_str!("../../../migrations/postgres/0010_quiet.sql")),
        (11, include_str!("../../../migrations/postgres/0011_transitions.sql")),
        (12, include_str!("../../../migrations/postgres/0012_identity.sql")),
        (13, include_str!("../../../migrations/postgres/0013_granted.sql")),
        (14, include_str!("../../../migrations/postgres/0014_alive_again.sql")),
        (15, include_str!("../../../migrations/postgres/0015_unmetered.sql")),
    ],
    lock: 0x7265_6761_7474_6101,
};

impl Migrations {
    /// Makes the database have the schema of this build, or fails.
    pub(crate) async fn bring(&self, client: &mut Object, location: &str, schema: Schema) -> Result<(), LedgerError> {
        let done = match schema {
            Schema::Migrated => self.apply(client).await,
            Schema::AsItIs => self.find(client).await,
        };
        let found = done.map_err(|error| LedgerError::Open {
            location: location.to_owned(),
            source: StoreError::Postgres { source: error },
        })?;
        let newest = self.newest();
        if found > newest {
            return Err(LedgerError::NewerSchema { found, known: newest });
        }
        if found < newest && schema == Schema::AsItIs {
            return Err(LedgerError::OlderSchema { found, needed: newest });
        }
        Ok(())
    }

    /// Migrates in one transaction, under the advisory lock. Returns the version found; if it is newer than this build's, nothing was
    /// changed.
    async fn apply(&self, client: &mut Object) -> Result<i64, tokio_postgres::Error> {
        let table = self.table;
        let transaction = client.transaction().await?;
        transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&self.lock]).await?;
        transaction.batch_execute(&format!("CREATE TABLE IF NOT EXISTS {table} (version BIGINT PRIMARY KEY)")).await?;
        let row = transaction.query_one(&format!("SELECT coalesce(max(version), 0) FROM {table}"), &[]).await?;
        let found: i64 = row.try_get(0)?;
        for (version, sql) in self.steps.iter().filter(|(version, _)| *version > found) {
            transaction.batch_execute(sql).await?;
            transaction.execute(&format!("INSERT INTO {table} (version) VALUES ($1)"), &[version]).await?;
        }
        transaction.commit().await?;
        Ok(found)
    }

    /// The version found; 0 if there is no schema.
    async fn find(&self, client: &Object) -> Result<i64, tokio_postgres::Error> {
        let row = client.query_one("SELECT to_regclass($1) IS NOT NULL", &[&self.table]).await?;
        if !row.try_get::<_, bool>(0)? {
            return Ok(0);
        }
        let row = client.query_one(&format!("SELECT coalesce(max(version), 0) FROM {}", self.table), &[]).await?;
        row.try_get(0)
    }

    fn newest(&self) -> i64 {
        self.steps.last().map_or(0, |(version, _)| *version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migrations_are_numbered_from_one_without_gaps() {
        let versions: Vec<i64> = LEDGER.steps.iter().map(|(version, _)| *version).collect();
        assert_eq!(versions, (1..=LEDGER.steps.len() as i64).collect::<Vec<_>>());
    }
}
