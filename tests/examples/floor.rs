//! The bare loop beside which Regatta's cost of a session is told: HTTP, JSON both ways, compressed transcripts in files that are synced, and
//! two rows a session in batches of one transaction. Nothing is planned, scored, limited or tried again.
//!
//! `floor URL REQUESTS SESSIONS CONCURRENCY FOLDER`, where each line of the file REQUESTS is `{"headers": {…}, "body": {…}}`. It goes through the
//! lines again and again. `tests/performance` calls it, and measures it from outside, as it measures Regatta.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a measurement that cannot go on has failed")]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use reqwest::Client;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::{Receiver, channel};

/// Sessions of a file and of a transaction; those of Regatta's scorer.
const BATCH: usize = 512;
/// Compression level of Regatta's transcripts.
const LEVEL: i32 = 1;

#[derive(Deserialize)]
struct Line {
    headers: BTreeMap<String, String>,
    body: Body,
}

#[derive(Deserialize, Serialize)]
struct Body {
    model: String,
    messages: Vec<Message>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
}

#[derive(Deserialize, Serialize)]
struct Message {
    role: String,
    content: Option<String>,
}

#[derive(Deserialize, Serialize)]
struct Answer {
    choices: Vec<Choice>,
    usage: Usage,
}

#[derive(Deserialize, Serialize)]
struct Choice {
    message: Message,
    finish_reason: Option<String>,
}

#[derive(Deserialize, Serialize)]
struct Usage {
    prompt_tokens: u64,
    completion_tokens: u64,
}

/// One line of a transcript.
#[derive(Serialize)]
struct Transcript<'a> {
    session: u64,
    request: &'a Body,
    answer: &'a Answer,
}

/// A session that was answered.
struct Session {
    number: u64,
    line: Vec<u8>,
    prompt_tokens: u64,
    completion_tokens: u64,
    score: f64,
}

/// A request that can be sent again and again.
struct Prepared {
    headers: HeaderMap,
    body: Body,
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, requests, sessions, concurrency, folder] = &arguments[..] else {
        panic!("floor URL REQUESTS SESSIONS CONCURRENCY FOLDER");
    };
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::builder().tcp_nodelay(true).pool_max_idle_per_host(usize::MAX).no_proxy().build().unwrap();
    let prepared = Arc::new(read(Path::new(requests)));
    let url: Arc<str> = format!("{url}/chat/completions").into();
    let (sessions, concurrency): (u64, u32) = (sessions.parse().unwrap(), concurrency.parse().unwrap());
    let next = Arc::new(AtomicU64::new(0));
    let (done, answered) = channel(2 * BATCH);
    let folder = PathBuf::from(folder);
    let writing = std::thread::spawn(move || write(answered, &folder));
    let asking = (0..concurrency).map(|_| {
        let (client, prepared, url) = (client.clone(), Arc::clone(&prepared), Arc::clone(&url));
        let (next, done) = (Arc::clone(&next), done.clone());
        tokio::spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= sessions {
                    break;
                }
                let session = ask(&client, &url, number, &prepared[number as usize % prepared.len()]).await;
                done.send(session).await.unwrap();
            }
        })
    });
    futures::future::try_join_all(asking.collect::<Vec<_>>()).await.unwrap();
    drop(done);
    assert_eq!(writing.join().unwrap(), sessions, "sessions are missing");
}

fn read(path: &Path) -> Vec<Prepared> {
    let text = std::fs::read_to_string(path).unwrap();
    let prepared = text.lines().map(|line| {
        let Line { headers, body } = serde_json::from_str(line).unwrap();
        let headers = headers.into_iter().map(|(name, value)| {
            (HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(&value).unwrap())
        });
        Prepared { headers: headers.collect(), body }
    });
    prepared.collect()
}

async fn ask(client: &Client, url: &str, number: u64, prepared: &Prepared) -> Session {
    let body = serde_json::to_vec(&prepared.body).unwrap();
    let request = client.post(url).headers(prepared.headers.clone()).header(CONTENT_TYPE, "application/json");
    let response = request.body(body).send().await.unwrap().error_for_status().unwrap();
    let answer: Answer = serde_json::from_slice(&response.bytes().await.unwrap()).unwrap();
    let line = serde_json::to_vec(&Transcript { session: number, request: &prepared.body, answer: &answer }).unwrap();
    let text = answer.choices[0].message.content.as_deref().unwrap_or("");
    Session {
        number,
        line,
        prompt_tokens: answer.usage.prompt_tokens,
        completion_tokens: answer.usage.completion_tokens,
        score: text.len() as f64 / 1e4,
    }
}

/// Writes everything that is `answered`, in batches; the number of sessions.
fn write(mut answered: Receiver<Session>, folder: &Path) -> u64 {
    let mut ledger = Connection::open(folder.join("ledger.sqlite")).unwrap();
    ledger.pragma_update(None, "journal_mode", "WAL").unwrap();
    ledger.pragma_update(None, "synchronous", "NORMAL").unwrap();
    ledger
        .execute_batch(
            "CREATE TABLE sessions (number INTEGER PRIMARY KEY, scores TEXT NOT NULL) STRICT;
             CREATE TABLE attempts (number INTEGER PRIMARY KEY, input INTEGER NOT NULL, output INTEGER NOT NULL,
                                    segment TEXT NOT NULL, line INTEGER NOT NULL) STRICT;",
        )
        .unwrap();
    let (mut total, mut batch) = (0, Vec::new());
    while let Some(first) = answered.blocking_recv() {
        batch.push(first);
        while batch.len() < BATCH {
            let Some(session) = answered.blocking_recv() else { break };
            batch.push(session);
        }
        record(&mut ledger, folder, &batch);
        total += batch.len() as u64;
        batch.clear();
    }
    total
}

/// Makes `batch` durable: its lines first, which the rows name.
fn record(ledger: &mut Connection, folder: &Path, batch: &[Session]) {
    let segment = format!("{}.jsonl.zst", batch[0].number);
    let mut encoder = zstd::Encoder::new(File::create(folder.join(&segment)).unwrap(), LEVEL).unwrap();
    for session in batch {
        encoder.write_all(&session.line).unwrap();
        encoder.write_all(b"\n").unwrap();
    }
    encoder.finish().unwrap().sync_all().unwrap();
    let transaction = ledger.transaction().unwrap();
    for (line, session) in (0_u32..).zip(batch) {
        let scores = format!(r#"{{"score":{}}}"#, session.score);
        let mut insert = transaction.prepare_cached("INSERT INTO sessions VALUES (?1, ?2)").unwrap();
        insert.execute(params![session.number.cast_signed(), scores]).unwrap();
        let mut insert = transaction.prepare_cached("INSERT INTO attempts VALUES (?1, ?2, ?3, ?4, ?5)").unwrap();
        insert
            .execute(params![
                session.number.cast_signed(),
                session.prompt_tokens.cast_signed(),
                session.completion_tokens.cast_signed(),
                segment,
                line
            ])
            .unwrap();
    }
    transaction.commit().unwrap();
}
