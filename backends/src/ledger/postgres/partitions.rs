//! Sweeps of many sessions have partitions of their own of the tables with a row for each attempt or session, so that removing them drops three
//! tables instead of millions of rows. The others share one partition of each table: a database bears hundreds of partitions well, and many
//! thousands badly.

use deadpool_postgres::Transaction;

use super::pool::Fault;

/// Fewest sessions of a sweep that has partitions of its own: the rows of as many are deleted within seconds.
pub(super) const OWN_FROM: u64 = 100_000;
/// Numbers of sweeps with partitions of their own begin here.
const OWN_NUMBERS: i64 = 1 << 40;
/// Sweeps that have partitions of their own at a time; further ones share. A statement about sessions of any sweeps locks all partitions and their
/// indexes, nine for each such sweep, and a server has 64 locks for each of its connections unless somebody sets more.
const OWN_AT_ONCE: i64 = 16;
/// Tables of which a sweep has partitions of its own.
const OWN_TABLES: [&str; 3] = ["attempts", "sessions", "counted_calls"];

/// Makes the partitions of a new sweep. Returns its number; `None` if it shares, because enough others have their own.
pub(super) async fn open(tx: &Transaction<'_>) -> Result<Option<i64>, Fault> {
    let count = "SELECT count(*) FROM sweeps WHERE number >= $1";
    let there: i64 = tx.query_one(count, &[&OWN_NUMBERS]).await?.try_get(0)?;
    if there >= OWN_AT_ONCE {
        return Ok(None);
    }
    tx.batch_execute("SAVEPOINT own_partitions").await?;
    Ok(Some(tx.query_one("SELECT open_own_partitions()", &[]).await?.try_get(0)?))
}

/// Takes back what [`open`] and the transaction after it have done: the sweep is already there.
pub(super) async fn take_back(tx: &Transaction<'_>) -> Result<(), Fault> {
    Ok(tx.batch_execute("ROLLBACK TO SAVEPOINT own_partitions").await?)
}

/// Tables that have the rows of a sweep in partitions of its own.
pub(super) const fn own_tables(number: i64) -> &'static [&'static str] {
    if number >= OWN_NUMBERS { &OWN_TABLES } else { &[] }
}

/// Drops the partitions of a sweep that is being removed, if it has some of its own. Nobody uses the tables from then on until the transaction ends,
/// so it comes last but for the sweep's own row.
pub(super) async fn drop_own(tx: &Transaction<'_>, number: i64) -> Result<(), Fault> {
    if !own_tables(number).is_empty() {
        tx.execute("SELECT drop_own_partitions($1)", &[&number]).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::ledger::postgres::PostgresConfig;
    use crate::ledger::postgres::migrate::{LEDGER, Migrations, Schema};
    use crate::ledger::postgres::pool::Connections;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_ledger_without_partitions_keeps_its_rows_and_its_rights_when_it_gets_them() {
        let server = regatta_tests::Postgres::start().await.unwrap();
        let url = regatta_tests::create_database(&server.url()).await.unwrap();
        let (connections, _) = Connections::prepare(&PostgresConfig { url, pool_size: 1 }).unwrap();
        let mut client = connections.one("connect").await.unwrap();
        let before = Migrations { steps: &LEDGER.steps[..23], ..LEDGER };
        before.bring(&mut client, "here", Schema::Migrated).await.unwrap();
        let kept = "INSERT INTO counted_calls VALUES (1, 2, 3, 4);
            CREATE ROLE somebody; GRANT SELECT, INSERT ON counted_calls TO somebody; GRANT SELECT ON sessions TO somebody";
        client.batch_execute(kept).await.unwrap();
        LEDGER.bring(&mut client, "here", Schema::Migrated).await.unwrap();
        let may = "SET ROLE somebody; INSERT INTO counted_calls VALUES (1, 2, 3, 5); SELECT FROM sessions";
        client.batch_execute(may).await.unwrap();
        for refused in
            ["INSERT INTO sessions SELECT * FROM sessions", "SELECT FROM attempts", "SELECT open_own_partitions()"]
        {
            let error = client.batch_execute(refused).await.unwrap_err();
            assert_eq!(error.code().unwrap().code(), "42501", "{refused}: {error}");
        }
        let counted = client.query_one("SELECT count(*) FROM counted_calls", &[]).await.unwrap();
        assert_eq!(counted.get::<_, i64>(0), 2);
    }
}
