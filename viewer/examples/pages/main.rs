//! Times of the viewer's pages over a ledger that it fills first, as a table. Ends with 1 if the median of a page is 200 ms or longer.
//!
//! ```text
//! cargo run --release -p regatta-viewer --example pages -- 100000                   # SQLite, in a temporary folder
//! cargo run --release -p regatta-viewer --example pages -- 1000000 "$DATABASE_URL"  # PostgreSQL on this machine, an empty database
//! scripts/services bash -c 'cargo run --release -p regatta-viewer --example pages -- 1000000 "$REGATTA_TEST_POSTGRES_URL"'
//! ```
//!
//! A database that has sweeps is refused: none of them would be what was measured. The tables are those of docs/viewer.md.
#![expect(clippy::print_stdout, reason = "its output is what it is for")]

mod asking;
mod copying;
mod filling;
mod people;

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use regatta_backends::{Blobs, Ledger, Permits, PostgresConfig};
use regatta_benchmarks::Registry;
use regatta_catalog::Catalog;
use regatta_declared::{Declared, Permissions};
use regatta_proto::SystemClock;
use regatta_viewer::{Access, Source, Store, router};
use tokio_util::sync::CancellationToken;

use self::copying::Database;
use self::people::Anybody;

/// Anything that went wrong.
type Failure = Box<dyn Error + Send + Sync>;

/// Longest median of a page.
const QUICK: Duration = Duration::from_millis(200);
/// Connections to PostgreSQL.
const CONNECTIONS: usize = 4;

static DECLARED: Declared = Declared::new(Permissions::none());

#[tokio::main]
async fn main() -> Result<ExitCode, Failure> {
    let mut arguments = std::env::args().skip(1);
    let sessions: u32 =
        arguments.next().ok_or("give the number of sessions, and PostgreSQL's URL if it is not SQLite")?.parse()?;
    let folder = tempfile::tempdir()?;
    let (store, ledger, permits, database) = match arguments.next() {
        Some(url) => {
            let database = Database::connect(&url).await?;
            let config = || PostgresConfig { url: url.clone(), pool_size: CONNECTIONS };
            let (ledger, permits) = (Ledger::postgres(config()).await?, Permits::postgres(config()).await?);
            ("PostgreSQL", ledger, permits, Some(database))
        }
        None => ("SQLite", Ledger::sqlite(folder.path().join("ledger.sqlite")).await?, Permits::memory(), None),
    };
    if !ledger.sweeps().await?.is_empty() {
        return Err("the database has sweeps; give an empty one".into());
    }
    let catalog =
        Catalog::new(Blobs::directory(folder.path().join("blobs"))?, Registry::new(&[]).with_declared(&DECLARED));
    let begun = Instant::now();
    let filled = filling::fill(&ledger, database.as_ref(), &catalog, sessions).await?;
    println!("{} sessions in {store}, {} items, filled in {:.0?}\n", filled.sessions, filled.items, begun.elapsed());
    let source = Source::Deployment(Store { ledger, catalog, permits: Some(permits) });
    let access = Access::loopback().with_steering(Arc::new(Anybody)).with_authors(Arc::new(Anybody));
    let pages = router(source, access, Arc::new(SystemClock), CancellationToken::new());
    println!("| page | median | slowest |\n|---|---|---|");
    let mut slow = Vec::new();
    for (name, address) in asking::pages(&filled) {
        let times = asking::ask(&pages, &address).await?;
        println!("| {name} | {} ms | {} ms |", times.median.as_millis(), times.slowest.as_millis());
        if times.median >= QUICK {
            slow.push(name);
        }
    }
    if slow.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    println!("\n{} ms or longer: {}", QUICK.as_millis(), slow.join(", "));
    Ok(ExitCode::FAILURE)
}
