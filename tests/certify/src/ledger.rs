//! The ledger, read from PostgreSQL directly and not through the proxies.

use std::time::Duration;

use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, NoTls, Row};

use crate::CertifyError;
use crate::evidence::Leftovers;

/// Progress of a sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) state: String,
    pub(crate) recorded: u64,
    pub(crate) settled: u64,
    pub(crate) items: u64,
}

/// A session, by the id of its sweep and its place there.
pub(crate) type SessionPlace = (String, i64, i64);

/// A full disk, as PostgreSQL tells whoever writes, on each table of a schema. A file system that is full for real would take the server
/// with it as soon as it writes its log.
const DISK_IS_FULL: &str = r#"
CREATE FUNCTION disk_is_full() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'could not extend file "base/16384/2619": No space left on device'
    USING ERRCODE = 'disk_full', HINT = 'Check free disk space.';
END $$"#;

/// Asks with a new connection each time: the server is killed now and then.
#[derive(Debug)]
pub(crate) struct LedgerView<'u> {
    url: &'u str,
}

impl<'u> LedgerView<'u> {
    pub(crate) const fn of(url: &'u str) -> Self {
        Self { url }
    }

    pub(crate) async fn client(&self) -> Result<Client, CertifyError> {
        let (client, connection) = tokio_postgres::connect(self.url, NoTls).await?;
        tokio::spawn(async move {
            // What goes wrong on it is told to whoever asks.
            let _ = connection.await;
        });
        Ok(client)
    }

    async fn row(&self, query: &str) -> Result<Row, CertifyError> {
        Ok(self.client().await?.query_one(query, &[]).await?)
    }

    /// Progress of all sweeps together; `None` before there is one, or while the database is away. The state is theirs as long as they have the
    /// same; else it is that of one that runs, or else of one that is not complete.
    pub(crate) async fn standing(&self) -> Option<Standing> {
        let query = "SELECT (SELECT state FROM sweeps ORDER BY ended_at_ns IS NULL DESC, state = 'complete', number LIMIT 1), \
                     sum(recorded)::BIGINT, sum(settled)::BIGINT, sum(items)::BIGINT FROM cells HAVING count(*) > 0";
        // A lock that somebody holds for long must not hold the audit up.
        let row = tokio::time::timeout(Duration::from_secs(2), self.row(query)).await.ok()?.ok()?;
        let count = |column| row.get::<_, i64>(column).cast_unsigned();
        Some(Standing { state: row.get(0), recorded: count(1), settled: count(2), items: count(3) })
    }

    /// Names of the queues of these sweeps' cells, and those of the judges beside them.
    pub(crate) async fn queues(&self, sweeps: &[String]) -> Result<Vec<String>, CertifyError> {
        let query = "SELECT DISTINCT queue FROM cells JOIN sweeps ON sweeps.number = cells.sweep WHERE sweeps.id = ANY($1) ORDER BY queue";
        let rows = self.client().await?.query(query, &[&sweeps]).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// Cost of judges, in nano-dollars.
    pub(crate) async fn judged_cost(&self) -> Result<u64, CertifyError> {
        let row = self.row("SELECT coalesce(sum(known), 0)::BIGINT FROM judge_attempts").await?;
        Ok(row.get::<_, i64>(0).cast_unsigned())
    }

    /// Counts what is left in tables that a sweep's end empties, and slots that somebody may fill who was heard of within their validity.
    pub(crate) async fn leftovers(&self) -> Result<Leftovers, CertifyError> {
        // A holder has a list of parties; the second and the third number of each are the slots that it may fill and those that it fills.
        let query = "WITH pools AS (SELECT nullif(state, '')::JSON AS pool FROM permit_pool_states) \
                     SELECT (SELECT count(*) FROM attempts WHERE state = 'open'), (SELECT count(*) FROM awaiting), \
                     (SELECT count(*) FROM awaiting_questions), \
                     (SELECT coalesce(sum(greatest((party ->> 1)::BIGINT, (party ->> 2)::BIGINT)), 0)::BIGINT \
                      FROM pools, json_each(pool -> 'holders') AS holders (name, holder), \
                      json_array_elements(holder -> 'parties') AS parties (party) \
                      WHERE (holder ->> 'seen_ms')::BIGINT + 10000 > \
                            extract(epoch FROM clock_timestamp()) * 1000 + (pool #>> '{clock,ahead_ms}')::BIGINT)";
        let row = self.row(query).await?;
        let count = |column| row.get::<_, i64>(column).cast_unsigned();
        let (open_attempts, awaiting, slots) = (count(0), count(1) + count(2), count(3));
        Ok(Leftovers { open_attempts, awaiting, slots, ..Leftovers::default() })
    }

    /// `true` if each of these sessions is recorded.
    pub(crate) async fn are_recorded(&self, places: &[SessionPlace]) -> Result<bool, CertifyError> {
        let query = "SELECT count(*) FROM unnest($1::TEXT[], $2::BIGINT[], $3::BIGINT[]) AS place (sweep, cell, item) \
                     WHERE NOT EXISTS (SELECT FROM sessions JOIN sweeps ON sweeps.number = sessions.sweep WHERE sweeps.id = place.sweep \
                                       AND sessions.cell = place.cell AND sessions.item = place.item)";
        let sweeps: Vec<&str> = places.iter().map(|(sweep, ..)| sweep.as_str()).collect();
        let cells: Vec<i64> = places.iter().map(|(_, cell, _)| *cell).collect();
        let items: Vec<i64> = places.iter().map(|(.., item)| *item).collect();
        let missing: i64 = self.client().await?.query_one(query, &[&sweeps, &cells, &items]).await?.get(0);
        Ok(missing == 0)
    }

    /// Sessions of `sessions`, named `benchmark/setting/trial/item`, that are not recorded.
    pub(crate) async fn unrecorded(&self, sessions: &[String]) -> Result<Vec<String>, CertifyError> {
        let query = "SELECT unnest($1::TEXT[]) EXCEPT \
                     SELECT concat_ws('/', benchmark, setting, trial, item_id) FROM sessions JOIN cells USING (sweep, cell)";
        Ok(self.client().await?.query(query, &[&sessions]).await?.iter().map(|row| row.get(0)).collect())
    }

    /// Nothing more can be written to any table, until there is room again.
    pub(crate) async fn fill(&self) -> Result<(), CertifyError> {
        self.client().await?.batch_execute(DISK_IS_FULL).await?;
        let trigger = "CREATE TRIGGER disk_is_full BEFORE INSERT OR UPDATE ON TABLE_ FOR EACH STATEMENT EXECUTE FUNCTION disk_is_full()";
        self.on_each_table(trigger).await
    }

    /// There is room again.
    pub(crate) async fn make_room(&self) -> Result<(), CertifyError> {
        self.on_each_table("DROP TRIGGER disk_is_full ON TABLE_").await?;
        self.client().await?.batch_execute("DROP FUNCTION disk_is_full").await?;
        Ok(())
    }

    /// Executes `statement` with the name of each table in the place of `TABLE_`, one after the other: whoever locks all tables at once meets
    /// writers that wait for each other.
    async fn on_each_table(&self, statement: &str) -> Result<(), CertifyError> {
        let client = self.client().await?;
        let tables = "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname = current_schema()";
        for row in client.query(tables, &[]).await? {
            client.batch_execute(&statement.replace("TABLE_", row.get(0))).await?;
        }
        Ok(())
    }

    /// From the next connection on, whatever is committed survives a crash of the server.
    pub(crate) async fn commit_durably(&self) -> Result<(), CertifyError> {
        let client = self.client().await?;
        let name: String = client.query_one("SELECT current_database()::TEXT", &[]).await?.get(0);
        client.batch_execute(&format!("ALTER DATABASE {name} SET synchronous_commit = on")).await?;
        Ok(())
    }

    /// Refuses to write, or does again. Open connections are closed, because the setting is for new ones.
    pub(crate) async fn set_read_only(&self, is_read_only: bool) -> Result<(), CertifyError> {
        let client = self.client().await?;
        let name: String = client.query_one("SELECT current_database()::TEXT", &[]).await?.get(0);
        let setting = if is_read_only { "on" } else { "off" };
        // The connection itself may be read-only, and several statements at once are one transaction.
        client.batch_execute("SET default_transaction_read_only = off").await?;
        client.batch_execute(&format!("ALTER DATABASE {name} SET default_transaction_read_only = {setting}")).await?;
        let others =
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()";
        client.execute(others, &[&name]).await?;
        Ok(())
    }

    /// Locks the tables of sessions and attempts for `time`.
    pub(crate) async fn hold_lock(&self, time: Duration) -> Result<(), CertifyError> {
        let client = self.client().await?;
        // A writer that has locked one of them may wait for the other; of two that wait for each other the server ends one.
        while let Err(error) =
            client.batch_execute("BEGIN; LOCK TABLE sessions, attempts IN ACCESS EXCLUSIVE MODE").await
        {
            if error.code() != Some(&SqlState::T_R_DEADLOCK_DETECTED) {
                return Err(error.into());
            }
            client.batch_execute("ROLLBACK").await?;
        }
        tokio::time::sleep(time).await;
        client.batch_execute("ROLLBACK").await?;
        Ok(())
    }
}
