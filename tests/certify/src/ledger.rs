//! The ledger, read from PostgreSQL directly and not through the proxies.

use std::time::Duration;

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

    /// Progress of the only sweep; `None` before there is one, or while the database is away.
    pub(crate) async fn standing(&self) -> Option<Standing> {
        let query = "SELECT state, sum(recorded)::BIGINT, sum(settled)::BIGINT, sum(items)::BIGINT \
                     FROM sweeps JOIN cells ON cells.sweep = sweeps.number GROUP BY sweeps.number, state";
        // A lock that somebody holds for long must not hold the audit up.
        let row = tokio::time::timeout(Duration::from_secs(2), self.row(query)).await.ok()?.ok()?;
        let count = |column| row.get::<_, i64>(column).cast_unsigned();
        Some(Standing { state: row.get(0), recorded: count(1), settled: count(2), items: count(3) })
    }

    /// Names of the queues of all cells, and those of the judges beside them.
    pub(crate) async fn queues(&self) -> Result<Vec<String>, CertifyError> {
        let rows = self.client().await?.query("SELECT DISTINCT queue FROM cells ORDER BY queue", &[]).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// Cost of judges, in nano-dollars.
    pub(crate) async fn judged_cost(&self) -> Result<u64, CertifyError> {
        let row = self.row("SELECT coalesce(sum(known), 0)::BIGINT FROM judge_attempts").await?;
        Ok(row.get::<_, i64>(0).cast_unsigned())
    }

    /// Counts what is left in tables that a sweep's end empties.
    pub(crate) async fn leftovers(&self) -> Result<Leftovers, CertifyError> {
        let query = "SELECT (SELECT count(*) FROM attempts WHERE state = 'open'), (SELECT count(*) FROM awaiting), \
                     (SELECT count(*) FROM awaiting_questions)";
        let row = self.row(query).await?;
        let count = |column| row.get::<_, i64>(column).cast_unsigned();
        Ok(Leftovers { open_attempts: count(0), awaiting: count(1) + count(2), queues: Vec::new() })
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
        client.batch_execute("BEGIN; LOCK TABLE sessions, attempts IN ACCESS EXCLUSIVE MODE").await?;
        tokio::time::sleep(time).await;
        client.batch_execute("ROLLBACK").await?;
        Ok(())
    }
}
