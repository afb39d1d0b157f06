//! Copies of sessions within PostgreSQL: a million are there in a minute or two, where recording each would take many.

use regatta_proto::SweepId;
use tokio_postgres::{Client, NoTls};

use crate::Failure;
use crate::filling::BEGINNINGS_APART_S;

/// Tables that have a row for each session or attempt.
const COPIED: [&str; 2] = ["attempts", "sessions"];
/// Numbers of a cell that do not grow with its sessions.
const CONSTANT: [&str; 5] = ["sweep", "cell", "trial", "items", "dispatched"];

/// A connection to the database of a ledger.
pub(crate) struct Database(Client);

/// Sessions that are there, and those that there are to be.
#[derive(Clone, Copy)]
pub(crate) struct Copies {
    /// Items of each cell whose sessions are recorded, the first ones.
    pub(crate) items: u32,
    /// Number of times that they are to be there, the recorded ones included.
    pub(crate) times: u32,
}

impl Database {
    /// # Errors
    /// When it cannot be reached.
    pub(crate) async fn connect(url: &str) -> Result<Self, Failure> {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
        tokio::spawn(connection);
        // What a crash would lose is made again.
        client.batch_execute("SET synchronous_commit = off").await?;
        Ok(Self(client))
    }

    /// Copies the sessions of `sweep` to its further items, whose ids have the number of the item, and counts them in their cells.
    ///
    /// # Errors
    /// When the database refuses, or has another number of sessions then.
    pub(crate) async fn copy(&self, sweep: &SweepId, copies: Copies) -> Result<(), Failure> {
        let Copies { items, times } = copies;
        let number = "SELECT number FROM sweeps WHERE id = $1::text";
        let number: i64 = self.0.query_one(number, &[&sweep.as_str()]).await?.try_get(0)?;
        let (items, times) = (i64::from(items), i64::from(times));
        let mut inserts = Vec::new();
        for table in COPIED {
            inserts.push(self.0.prepare(&insert(table, &self.columns(table, false).await?)).await?);
        }
        // By items, as sessions are recorded.
        for time in 1..times {
            for insert in &inserts {
                self.0.execute(insert, &[&number, &items, &(time * items)]).await?;
            }
        }
        let counters = self.columns("cells", true).await?;
        let counters = counters.iter().filter(|name| !CONSTANT.contains(&name.as_str()));
        let grown: Vec<String> = counters.map(|name| format!("{name} = {name} * $2::bigint")).collect();
        let update = format!("UPDATE cells SET {} WHERE sweep = $1::bigint", grown.join(", "));
        self.0.execute(update.as_str(), &[&number, &times]).await?;
        let counted = "SELECT (SELECT count(*) FROM sessions WHERE sweep = $1::bigint),
                              (SELECT sum(recorded)::bigint FROM cells WHERE sweep = $1::bigint),
                              (SELECT sum(items)::bigint FROM cells WHERE sweep = $1::bigint)";
        let counted = self.0.query_one(counted, &[&number]).await?;
        let [sessions, recorded, planned]: [i64; 3] = [counted.try_get(0)?, counted.try_get(1)?, counted.try_get(2)?];
        if sessions != planned || recorded != planned {
            return Err(format!("{sessions} sessions and {recorded} in cells are there instead of {planned}").into());
        }
        Ok(())
    }

    /// Has the database look at what it holds, as it does by itself some time after.
    ///
    /// # Errors
    /// When it refuses.
    pub(crate) async fn analyze(&self) -> Result<(), Failure> {
        for table in COPIED.into_iter().chain(["cells", "sweeps"]) {
            self.0.batch_execute(&format!("VACUUM (ANALYZE) {table}")).await?;
        }
        Ok(())
    }

    /// Columns of `table`; with `are_numbers` those that are whole numbers.
    async fn columns(&self, table: &str, are_numbers: bool) -> Result<Vec<String>, Failure> {
        let columns = "SELECT column_name::text FROM information_schema.columns
                       WHERE table_schema = current_schema() AND table_name::text = $1::text AND (data_type = 'bigint' OR NOT $2::boolean)
                       ORDER BY ordinal_position";
        let rows = self.0.query(columns, &[&table, &are_numbers]).await?;
        Ok(rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<String>, _>>()?)
    }
}

/// The statement that copies the rows of a sweep ($1) of its first items ($2) to items that come so many later ($3).
fn insert(table: &str, columns: &[String]) -> String {
    let item = "(t.item + $3::bigint)";
    let value = |column: &String| match column.as_str() {
        "item" => item.to_owned(),
        "item_id" => format!("'item-' || {item}"),
        // The attempt of a session, and its own row.
        "attempt" | "id" => format!("'a-' || t.cell || '-' || {item}"),
        "started_at_ns" | "ended_at_ns" => {
            format!("t.{column} + $3::bigint * {BEGINNINGS_APART_S}::bigint * 1000000000::bigint")
        }
        _ => format!("t.{column}"),
    };
    let values: Vec<String> = columns.iter().map(value).collect();
    format!(
        "INSERT INTO {table} ({}) SELECT {} FROM {table} t WHERE t.sweep = $1::bigint AND t.item < $2::bigint",
        columns.join(", "),
        values.join(", ")
    )
}
