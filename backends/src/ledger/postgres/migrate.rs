//! Migrates a schema to this build's version, or checks that it has it.

use deadpool_postgres::{GenericClient, Object};
use tokio_postgres::error::SqlState;

use crate::ledger::schema::Admits::{Both, NoOther, Previous};
use crate::ledger::schema::{Step, check_newer, check_older, newest, step};
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
    /// Migrations in the order of their versions.
    pub(crate) steps: &'static [Step],
    /// Number of the advisory lock that lets one process at a time migrate; nothing else in the database may use it.
    pub(crate) lock: i64,
}

pub(super) const LEDGER: Migrations = Migrations {
    table: "ledger_version",
    steps: &[
        step(1, NoOther, include_str!("../../../migrations/postgres/0001_ledger.sql")),
        step(2, NoOther, include_str!("../../../migrations/postgres/0002_calls.sql")),
        step(3, NoOther, include_str!("../../../migrations/postgres/0003_evaluators.sql")),
        step(4, NoOther, include_str!("../../../migrations/postgres/0004_any_evaluator.sql")),
        step(5, NoOther, include_str!("../../../migrations/postgres/0005_answerers.sql")),
        step(6, Previous, include_str!("../../../migrations/postgres/0006_flags.sql")),
        step(7, NoOther, include_str!("../../../migrations/postgres/0007_dispatch.sql")),
        step(8, Previous, include_str!("../../../migrations/postgres/0008_schedules.sql")),
        step(9, Both, include_str!("../../../migrations/postgres/0009_views.sql")),
        step(10, Previous, include_str!("../../../migrations/postgres/0010_quiet.sql")),
        step(11, NoOther, include_str!("../../../migrations/postgres/0011_transitions.sql")),
        step(12, NoOther, include_str!("../../../migrations/postgres/0012_identity.sql")),
        step(13, Previous, include_str!("../../../migrations/postgres/0013_granted.sql")),
        step(14, Previous, include_str!("../../../migrations/postgres/0014_alive_again.sql")),
        step(15, NoOther, include_str!("../../../migrations/postgres/0015_unmetered.sql")),
        step(16, Previous, include_str!("../../../migrations/postgres/0016_cached.sql")),
        // No program has ever written what it refuses.
        step(17, Both, include_str!("../../../migrations/postgres/0017_beginnings.sql")),
        step(18, Previous, include_str!("../../../migrations/postgres/0018_held.sql")),
        step(19, Previous, include_str!("../../../migrations/postgres/0019_removals.sql")),
        step(20, Previous, include_str!("../../../migrations/postgres/0020_generations.sql")),
        // The previous program charges nobody. What it refers to is found by its locks, and nothing goes within a day.
        step(21, Previous, include_str!("../../../migrations/postgres/0021_storage.sql")),
        // Workers of the previous program name no question, and its scorers do not pass on that others do: nothing is lost while one is there.
        step(22, Previous, include_str!("../../../migrations/postgres/0022_questions.sql")),
        step(23, Previous, include_str!("../../../migrations/postgres/0023_partitions.sql")),
        // The previous program's sweeps are all in the shared partitions.
        step(24, Previous, include_str!("../../../migrations/postgres/0024_own_partitions.sql")),
        // The previous program dispatches paused sweeps, and keeps to the spec's limits.
        step(25, Previous, include_str!("../../../migrations/postgres/0025_steering.sql")),
    ],
    lock: 0x7265_6761_7474_6101,
};

/// A schema as it was found.
struct Found {
    /// Version of the schema; 0 for an empty database.
    version: i64,
    /// It is newer than this build, and whoever made it says that this build's version may use it.
    admits_previous: bool,
}

impl Migrations {
    /// Makes the database have the schema of this build, or one that it may use, or fails.
    pub(crate) async fn bring(&self, client: &mut Object, location: &str, schema: Schema) -> Result<(), LedgerError> {
        let done = match schema {
            Schema::Migrated => self.apply(client).await,
            Schema::AsItIs => self.find(client).await,
        };
        let found = done.map_err(|error| match schema {
            // Between a migration of an empty database and the grants that follow it.
            Schema::AsItIs if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
                LedgerError::MissingRights { rights: format!("SELECT on {}", self.table) }
            }
            Schema::AsItIs | Schema::Migrated => {
                LedgerError::Open { location: location.to_owned(), source: StoreError::Postgres { source: error } }
            }
        })?;
        check_newer(self.steps, found.version, found.admits_previous)?;
        match schema {
            Schema::Migrated => Ok(()),
            Schema::AsItIs => check_older(self.steps, found.version),
        }
    }

    /// Migrates in one transaction, under the advisory lock. Returns the schema found; if it is newer than this build's, nothing was
    /// changed.
    async fn apply(&self, client: &mut Object) -> Result<Found, tokio_postgres::Error> {
        let table = self.table;
        let transaction = client.transaction().await?;
        transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&self.lock]).await?;
        transaction.batch_execute(&format!("CREATE TABLE IF NOT EXISTS {table} (version BIGINT PRIMARY KEY)")).await?;
        let found = self.found(&transaction).await?;
        if found.version < newest(self.steps) {
            let noted = format!("ALTER TABLE {table} ADD COLUMN IF NOT EXISTS admits_previous BOOLEAN");
            transaction.batch_execute(&noted).await?;
        }
        for step in self.steps.iter().filter(|step| step.version > found.version) {
            transaction.batch_execute(step.sql).await?;
            let applied = format!("INSERT INTO {table} (version, admits_previous) VALUES ($1, $2)");
            transaction.execute(&applied, &[&step.version, &step.admits.previous_program()]).await?;
        }
        transaction.commit().await?;
        Ok(found)
    }

    async fn find(&self, client: &Object) -> Result<Found, tokio_postgres::Error> {
        let row = client.query_one("SELECT to_regclass($1) IS NOT NULL", &[&self.table]).await?;
        match row.try_get::<_, bool>(0)? {
            true => self.found(client).await,
            false => Ok(Found { version: 0, admits_previous: false }),
        }
    }

    async fn found(&self, client: &impl GenericClient) -> Result<Found, tokio_postgres::Error> {
        let table = self.table;
        let row = client.query_one(&format!("SELECT coalesce(max(version), 0) FROM {table}"), &[]).await?;
        let version: i64 = row.try_get(0)?;
        let mut admits_previous = false;
        if version > newest(self.steps) {
            // By way of JSON, because a database of another origin may lack the column.
            let noted =
                format!("SELECT to_jsonb({table}) ->> 'admits_previous' = 'true' FROM {table} WHERE version = $1");
            admits_previous = client.query_one(&noted, &[&version]).await?.try_get::<_, Option<bool>>(0)? == Some(true);
        }
        Ok(Found { version, admits_previous })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::postgres::PostgresConfig;
    use crate::ledger::postgres::pool::Connections;

    /// This build with one more migration, which only adds an index.
    const NEXT: [Step; LEDGER.steps.len() + 1] = {
        let index = "CREATE INDEX made_up ON sweeps (name)";
        let mut steps = [step(LEDGER.steps.len() as i64 + 1, Both, index); LEDGER.steps.len() + 1];
        let mut at = 0;
        while at < LEDGER.steps.len() {
            steps[at] = LEDGER.steps[at];
            at += 1;
        }
        steps
    };

    /// A connection to an empty database, after the server and the pool, which must outlive it.
    async fn empty_database() -> (regatta_tests::Postgres, Connections, Object) {
        let server = regatta_tests::Postgres::start().await.unwrap();
        let url = regatta_tests::create_database(&server.url()).await.unwrap();
        let (connections, _) = Connections::prepare(&PostgresConfig { url, pool_size: 1 }).unwrap();
        let client = connections.one("connect").await.unwrap();
        (server, connections, client)
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn programs_one_version_apart_run_on_one_schema_before_and_after_it_is_migrated() {
        let (this, next) = (&LEDGER, &Migrations { steps: &NEXT, ..LEDGER });
        let (_server, _connections, mut client) = empty_database().await;
        this.bring(&mut client, "here", Schema::Migrated).await.unwrap();
        next.bring(&mut client, "here", Schema::AsItIs).await.unwrap();
        next.bring(&mut client, "here", Schema::Migrated).await.unwrap();
        for schema in [Schema::AsItIs, Schema::Migrated] {
            this.bring(&mut client, "here", schema).await.unwrap();
        }
        let last = client.query_one("SELECT max(version) FROM ledger_version", &[]).await.unwrap();
        assert_eq!(last.get::<_, i64>(0), newest(&NEXT), "the older program changes nothing");
    }

    /// The program of which `version` was the newest.
    fn program(version: i64) -> Migrations {
        let count = LEDGER.steps.partition_point(|step| step.version <= version);
        Migrations { steps: &LEDGER.steps[..count], ..LEDGER }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn each_migration_admits_the_program_before_and_the_schema_before_as_it_says() {
        let (_server, _connections, mut client) = empty_database().await;
        program(1).bring(&mut client, "here", Schema::Migrated).await.unwrap();
        for step in &LEDGER.steps[1..] {
            let (before, after) = (step.version - 1, step.version);
            let early = program(after).bring(&mut client, "here", Schema::AsItIs).await;
            match (step.admits, early) {
                (Both, early) => early.unwrap(),
                (NoOther | Previous, Err(LedgerError::OlderSchema { found, needed })) => {
                    assert_eq!((found, needed), (before, after));
                }
                (NoOther | Previous, early) => panic!("the program of version {after} on the schema before: {early:?}"),
            }
            program(after).bring(&mut client, "here", Schema::Migrated).await.unwrap();
            let late = program(before).bring(&mut client, "here", Schema::AsItIs).await;
            match (step.admits, late) {
                (Previous | Both, late) => late.unwrap(),
                (NoOther, Err(LedgerError::NewerSchema { found, known })) => {
                    assert_eq!((found, known), (after, before));
                }
                (NoOther, late) => panic!("the program before version {after} on its schema: {late:?}"),
            }
        }
    }

    #[test]
    fn migrations_are_numbered_from_one_without_gaps() {
        let versions: Vec<i64> = LEDGER.steps.iter().map(|step| step.version).collect();
        assert_eq!(versions, (1..=LEDGER.steps.len() as i64).collect::<Vec<_>>());
    }
}
