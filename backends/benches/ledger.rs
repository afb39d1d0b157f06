//! Time that a session costs in the ledger: `cargo bench -p regatta-backends --features cluster --bench ledger`.
//!
//! Sessions in batches of 500, as scorers send them: recorded with their scores, or recorded with a question and settled afterwards.
//! PostgreSQL is the server of `REGATTA_TEST_POSTGRES_URL`, or a private one on this machine.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement may fail loudly, and prints its result")]

mod sessions;

use std::time::{Duration, Instant};

use regatta_backends::Ledger;
use regatta_backends::ledger::{
    CallSums, PostgresConfig, RecordState, SessionRecord, Settlement, SettlementResult, TranscriptRef,
};
use regatta_proto::{CellIndex, Digest, ItemIndex, SessionKey, SweepId, Trial};
use regatta_tests::{Postgres, create_database};
use serde_json::json;

use self::sessions::{cell, new_sweep, record, scores};

const BATCH: u32 = 500;
const BATCHES: u32 = 100;

/// Size of the compressed transcript of a short session, in bytes.
const TRANSCRIPT: usize = 2000;

#[tokio::main]
async fn main() {
    let folder = tempfile::tempdir().unwrap();
    measure("sqlite", &Ledger::sqlite(folder.path().join("ledger.sqlite")).await.unwrap()).await;

    let (_server, url) = match std::env::var("REGATTA_TEST_POSTGRES_URL") {
        Ok(url) => (None, url),
        Err(_) => {
            let server = Postgres::start().await.unwrap();
            let url = server.url();
            (Some(server), url)
        }
    };
    let url = create_database(&url).await.unwrap();
    measure("postgres", &Ledger::postgres(PostgresConfig { url: url.clone(), pool_size: 2 }).await.unwrap()).await;
    weigh(&url).await;
}

/// Prints the bytes of a session in PostgreSQL: its row, that of its attempt, and their indexes.
async fn weigh(url: &str) {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    // Half of the rows were written twice: without what the first time has left.
    client.batch_execute("VACUUM FULL sessions, attempts").await.unwrap();
    let size = "SELECT pg_total_relation_size('sessions') + pg_total_relation_size('attempts')";
    let bytes: i64 = client.query_one(size, &[]).await.unwrap().get(0);
    println!("postgres: {:.0} bytes a session", bytes as f64 / f64::from(2 * BATCHES * BATCH));
}

async fn measure(name: &str, ledger: &Ledger) {
    let sweep = SweepId::new("bench").unwrap();
    let cells = (0..2).map(|index| cell(index, Trial(0), BATCH * BATCHES, "lab")).collect();
    ledger.create_sweep(new_sweep(&sweep, cells, Vec::new())).await.unwrap();
    let (mut scored, mut waiting, mut settled) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    for batch in 0..BATCHES {
        let items = || (batch * BATCH..(batch + 1) * BATCH).map(ItemIndex);
        let records = items()
            .map(|item| session(&sweep, CellIndex(0), item, RecordState::Settled { scores: scores() }))
            .collect();
        let start = Instant::now();
        ledger.record(records).await.unwrap();
        scored += start.elapsed();

        let records = items().map(|item| session(&sweep, CellIndex(1), item, question(item))).collect();
        let start = Instant::now();
        ledger.record(records).await.unwrap();
        waiting += start.elapsed();

        let settlements = items().map(|item| settlement(&sweep, item)).collect();
        let start = Instant::now();
        assert_eq!(ledger.settle(settlements).await.unwrap(), u64::from(BATCH));
        settled += start.elapsed();
    }
    let each = |time: Duration| time.as_secs_f64() * 1e6 / f64::from(BATCHES * BATCH);
    println!("{name}: record with scores {:.1} us a session", each(scored));
    println!("{name}: record with a question {:.1} us, settle {:.1} us a session", each(waiting), each(settled));
}

fn session(sweep: &SweepId, cell: CellIndex, item: ItemIndex, state: RecordState) -> SessionRecord {
    let transcript = TranscriptRef { segment: "transcripts/000123-3f9a2c.zst".to_owned(), line: item.0 };
    record(SessionKey { sweep: sweep.clone(), cell, item }, u64::from(item.0), calls(item), transcript, state)
}

/// One streamed call; latencies spread over some hundred bins.
fn calls(item: ItemIndex) -> CallSums {
    let one = |bin: u32| json!({"bins": {bin.to_string(): 1}, "millionths": 1_500_000});
    serde_json::from_value(json!({
        "calls": 1,
        "latency": one(item.0 % 100),
        "first_token": one(item.0 % 70),
        "tokens_per_second": one(item.0 % 50),
        "served": {"model-2026-08": 1},
    }))
    .unwrap()
}

fn question(item: ItemIndex) -> RecordState {
    RecordState::Awaiting {
        judge: "judges/encoder".parse().unwrap(),
        questions: vec![Digest::of(&item.0.to_le_bytes())],
        transcript: vec![7; TRANSCRIPT].into(),
    }
}

fn settlement(sweep: &SweepId, item: ItemIndex) -> Settlement {
    let key = SessionKey { sweep: sweep.clone(), cell: CellIndex(1), item };
    Settlement { key, result: SettlementResult::Scored(scores()) }
}
