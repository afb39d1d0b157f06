//! Brings the schema to this build's version.

use deadpool_postgres::Object;

use crate::ledger::{LedgerError, StoreError};

/// In order; a released one is never edited, a new one is added.
const MIGRATIONS: &[(i64, &str)] = &[
    (1, include_str!("../../../migrations/postgres/0001_ledger.sql")),
    (2, include_str!("../../../migrations/postgres/0002_calls.sql")),
    (3, include_str!("../../../migrations/postgres/0003_evaluators.sql")),
    (4, include_str!("../../../migrations/postgres/0004_any_evaluator.sql")),
    (5, include_str!("../../../migrations/postgres/0005_answerers.sql")),
    (6, include_str!("../../../migrations/postgres/0006_flags.sql")),
    (7, include_str!("../../../migrations/postgres/0007_dispatch.sql")),
];

/// Name of the advisory lock under which one process at a time migrates; nothing else in the database may use this number.
const MIGRATION_LOCK: i64 = 0x7265_6761_7474_6101;

/// Migrates in one transaction, alone.
pub(super) async fn migrate(client: &mut Object, location: &str) -> Result<(), LedgerError> {
    let found = apply(client).await.map_err(|error| LedgerError::Open {
        location: location.to_owned(),
        source: StoreError::Postgres { source: error },
    })?;
    if found > newest() {
        return Err(LedgerError::NewerSchema { found, known: newest() });
    }
    Ok(())
}

/// The version found; when it is newer than this build's, nothing was changed.
async fn apply(client: &mut Object) -> Result<i64, tokio_postgres::Error> {
    let transaction = client.transaction().await?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&MIGRATION_LOCK]).await?;
    transaction.batch_execute("CREATE TABLE IF NOT EXISTS ledger_version (version BIGINT PRIMARY KEY)").await?;
    let row = transaction.query_one("SELECT coalesce(max(version), 0) FROM ledger_version", &[]).await?;
    let found: i64 = row.try_get(0)?;
    for (version, sql) in MIGRATIONS.iter().filter(|(version, _)| *version > found) {
        transaction.batch_execute(sql).await?;
        transaction.execute("INSERT INTO ledger_version (version) VALUES ($1)", &[version]).await?;
    }
    transaction.commit().await?;
    Ok(found)
}

fn newest() -> i64 {
    MIGRATIONS.last().map_or(0, |(version, _)| *version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migrations_are_numbered_from_one_without_gaps() {
        let versions: Vec<i64> = MIGRATIONS.iter().map(|(version, _)| *version).collect();
        assert_eq!(versions, (1..=MIGRATIONS.len() as i64).collect::<Vec<_>>());
    }
}
