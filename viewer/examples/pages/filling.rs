//! A sweep that is under way: a benchmark that is made up, four models, two trials, and a session of each item recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use jiff::Timestamp;
use regatta_backends::{
    Blobs, Ledger, NewCell, NewSchedule, NewShard, NewSweep, Quota, RecordState, SessionRecord, TranscriptRef,
};
use regatta_catalog::{Catalog, Sweep, store_dataset, write_segment};
use regatta_proto::{
    Attempt, AttemptId, Cause, Cell, CostSum, Event, FileSet, Finish, Flag, Flags, ItemId, ItemIndex, Money, Outcome,
    Reply, SessionKey, SessionOutcome, ShardIndex, SweepId, SweepLock, Transcript, Usage, WorkerId,
};
use regatta_viewer::annotations::FOLDER;
use serde_json::{Value, json};

use crate::Failure;
use crate::copying::{Copies, Database};
use crate::people::NAME;

/// The models; the later, the more often wrong.
const MODELS: [&str; 4] = ["one", "two", "three", "four"];
const TRIALS: u32 = 2;
/// Sessions that are recorded at once.
const BATCH: usize = 500;
/// Items of each cell whose sessions are recorded, where a database copies them to the others: as many tasks have the same number of them.
const RECORDED: u32 = 1_000;
/// Transcripts in a segment, as a scorer writes them.
const TRANSCRIPTS: usize = 64;
/// Bytes of what a model says.
const SAID_BYTES: usize = 2_000;
/// Annotations, as many as a sweep takes.
const ANNOTATIONS: u32 = 2_000;
const SCHEDULES: u32 = 20;
/// Further sweeps, so that a page of all runs is full.
const FURTHER: u32 = 199;
/// Time between the beginnings of an item's session and the next one's, in seconds.
pub(crate) const BEGINNINGS_APART_S: i64 = 1;
/// Beginning of the sweep, in seconds since 1970.
const BEGINNING_S: i64 = 1_790_000_000;
/// Bytes of a score's detail, so that scores are as long as those of a benchmark: 870 bytes.
const DETAIL_BYTES: usize = 780;

const DEFINITION: &str = "\
v: 1
data: { test: test.jsonl }
items: { id: id, task: kind }
prompt:
  turns: [user: \"{{ question }}\"]
  sampling: { temperature: 0, max_tokens: 100 }
answers:
  final: [number: last]
scorers:
  correct: { number: { gold: \"{{ answer }}\" } }
metrics:
  accuracy: { mean: correct, unit: percent }
";

/// A filled ledger.
pub(crate) struct Filled {
    pub(crate) sweep: SweepId,
    pub(crate) items: u32,
    pub(crate) sessions: u32,
}

/// Records about `sessions` sessions, a part of which the `database` of the ledger copies, if there is one.
pub(crate) async fn fill(
    ledger: &Ledger,
    database: Option<&Database>,
    catalog: &Catalog,
    sessions: u32,
) -> Result<Filled, Failure> {
    let cells = MODELS.len() as u32 * TRIALS;
    let items = (sessions / cells).max(1);
    let recorded = if database.is_some() { items.min(RECORDED) } else { items };
    let items = items.next_multiple_of(recorded);
    for seed in 0..FURTHER {
        let sweep = catalog.store(&lock(catalog.blobs(), 1, seed).await?).await?;
        let created_at = Timestamp::from_second(BEGINNING_S - 1 - i64::from(seed))?;
        ledger.create_sweep(NewSweep { created_at, ..planned(&sweep)? }).await?;
    }
    let sweep = catalog.store(&lock(catalog.blobs(), items, FURTHER).await?).await?;
    ledger.create_sweep(planned(&sweep)?).await?;
    let transcripts = transcripts(catalog.blobs(), &sweep).await?;
    for cell in sweep.cells() {
        let first = sweep.selected(cell).get(..recorded as usize).ok_or("items are not selected")?;
        for batch in first.chunks(BATCH) {
            let records = batch.iter().map(|item| record(&sweep, cell, *item, &transcripts));
            ledger.record(records.collect::<Result<Vec<SessionRecord>, Failure>>()?).await?;
        }
    }
    if let Some(database) = database {
        database.copy(&sweep.id, Copies { items: recorded, times: items / recorded }).await?;
        database.analyze().await?;
    }
    annotate(catalog.blobs(), &sweep.id, items).await?;
    for number in 0..SCHEDULES {
        let schedule = NewSchedule {
            name: format!("nightly-{number}").parse()?,
            document: "{}".to_owned(),
            owner: None,
            at: Timestamp::from_second(BEGINNING_S)?,
            inputs: BTreeSet::new(),
        };
        ledger.put_schedule(&schedule, None).await?;
    }
    Ok(Filled { sweep: sweep.id.clone(), items, sessions: items * cells })
}

/// The lock of a sweep over so many items, whose data set it stores.
async fn lock(blobs: &Blobs, items: u32, seed: u32) -> Result<SweepLock, Failure> {
    let dataset = store_dataset(blobs, &files(items)).await?;
    let models: Vec<Value> = MODELS.iter().map(|model| json!({ "id": format!("lab/{model}") })).collect();
    Ok(serde_json::from_value(json!({
        "v": 2, "regatta": env!("CARGO_PKG_VERSION"), "name": "pages", "seed": seed, "trials": TRIALS,
        "benchmarks": { "sums": {
            "dataset": dataset.to_string(), "settings": ["default"], "evaluators": ["declared"], "items": { "default": items },
        } },
        "endpoints": { "lab": { "kind": "openai", "base_url": "http://localhost:1/v1" } },
        "models": models, "price_sources": [],
    }))?)
}

/// Stores the segment that has the transcripts of all sessions.
async fn transcripts(blobs: &Blobs, sweep: &Sweep) -> Result<Vec<TranscriptRef>, Failure> {
    let cell = sweep.cells().first().ok_or("the sweep has no cell")?;
    let mut outcomes: Vec<(ItemId, SessionOutcome)> = Vec::new();
    for item in sweep.selected(cell).iter().take(TRANSCRIPTS) {
        let said = format!("{} {}", item.0, "word ".repeat(SAID_BYTES / 5));
        let outcome = SessionOutcome {
            key: SessionKey { sweep: sweep.id.clone(), cell: cell.index, item: *item },
            lock: sweep.digest,
            attempt: attempt(cell, *item)?,
            outcome: Outcome::Measured,
            transcript: Transcript { events: vec![Event::Recorded(Reply::of_text(Some(&said), Finish::Stop))] },
        };
        outcomes.push((sweep.item(cell, *item).ok_or("an item is not in the data")?.id.clone(), outcome));
    }
    let outcomes: Vec<(&ItemId, &SessionOutcome)> = outcomes.iter().map(|(id, outcome)| (id, outcome)).collect();
    Ok(write_segment(blobs, &sweep.id, &outcomes).await?)
}

/// Stores what people said of sessions of the first model, as their pages do.
async fn annotate(blobs: &Blobs, sweep: &SweepId, items: u32) -> Result<(), Failure> {
    for number in 0..ANNOTATIONS {
        let at = Timestamp::from_second(BEGINNING_S + i64::from(number))?;
        let line = json!({
            "at": at, "by": if number.is_multiple_of(2) { NAME } else { "bob" }, "benchmark": "sums", "setting": "default",
            "model": format!("lab/{}", MODELS[0]), "item": format!("item-{}", number % items), "mark": "wrong",
        });
        let key = format!("sweeps/{sweep}/{FOLDER}{:020}-{number}.json", at.as_nanosecond());
        blobs.put(&key, serde_json::to_vec(&line)?.into()).await?;
    }
    Ok(())
}

/// The data set: sums, in ten tasks.
fn files(items: u32) -> FileSet {
    let mut lines = String::new();
    for item in 0..items {
        let line = json!({
            "id": format!("item-{item}"), "kind": format!("kind {}", item % 10), "question": format!("What is {item} + 1?"), "answer": item + 1,
        });
        // Writing to a String cannot fail.
        let _ = writeln!(lines, "{line}");
    }
    let mut files = FileSet::from_origin("pages");
    files.insert("benchmark.yaml", DEFINITION);
    files.insert("test.jsonl", lines);
    files
}

fn planned(sweep: &Sweep) -> Result<NewSweep, Failure> {
    let (mut cells, mut shards) = (Vec::new(), Vec::new());
    for cell in sweep.cells() {
        let items = u32::try_from(sweep.selected(cell).len())?;
        let index = ShardIndex(u32::try_from(shards.len())?);
        shards.push(NewShard { index, cell: cell.index, first: 0, count: items });
        cells.push(NewCell { cell: cell.clone(), items, queue: "lab".to_owned() });
    }
    Ok(NewSweep {
        id: sweep.id.clone(),
        name: "pages".to_owned(),
        lock: sweep.digest,
        budget: None,
        created_at: Timestamp::from_second(BEGINNING_S)?,
        cells,
        shards,
        owner: None,
        quota: Quota::default(),
        inputs: BTreeSet::new(),
    })
}

/// The attempt of a session.
fn attempt(cell: &Cell, item: ItemIndex) -> Result<Attempt, Failure> {
    let started_at = Timestamp::from_second(BEGINNING_S + BEGINNINGS_APART_S * i64::from(item.0))?;
    Ok(Attempt {
        id: AttemptId::new(format!("a-{}-{}", cell.index.0, item.0))?,
        number: 1,
        worker: WorkerId::new("worker")?,
        started_at,
        ended_at: started_at,
    })
}

/// One session: mostly measured, some flagged, one in fifty not measured.
fn record(
    sweep: &Sweep,
    cell: &Cell,
    item: ItemIndex,
    transcripts: &[TranscriptRef],
) -> Result<SessionRecord, Failure> {
    let of_data = sweep.item(cell, item).ok_or("an item that was selected is not in the data")?;
    // Spread evenly, and the same each time.
    let draw = (item.0.wrapping_mul(2_654_435_761) ^ cell.index.0.wrapping_mul(40_503)) >> 7;
    let is_measured = !draw.is_multiple_of(50);
    let correct = if draw % 100 < 90 - 10 * (cell.index.0 / TRIALS) { 1.0 } else { 0.0 };
    let (outcome, scores) = if is_measured {
        let detail = "x".repeat(DETAIL_BYTES);
        (Outcome::Measured, json!({ "declared": { "values": { "correct": correct }, "detail": detail } }))
    } else {
        (Outcome::NotMeasured { cause: Cause::Timeout }, Value::Null)
    };
    let transcript = transcripts.get(item.0 as usize % transcripts.len().max(1)).ok_or("there is no transcript")?;
    Ok(SessionRecord {
        key: SessionKey { sweep: sweep.id.clone(), cell: cell.index, item },
        item_id: of_data.id.clone(),
        task: of_data.task.to_string(),
        attempt: attempt(cell, item)?,
        outcome,
        usage: Usage { input: 400, output: 60, ..Usage::default() },
        cost: CostSum { known: Money(300_000), unknown_calls: 0 },
        maybe_spent: Money::ZERO,
        calls: 1,
        cached_calls: 0,
        retries: 0,
        latency_us: 900_000,
        served: Vec::new(),
        flags: if draw % 20 == 1 { [Flag::Truncated].into_iter().collect() } else { Flags::NONE },
        agent_end: None,
        call_sums: BTreeMap::new(),
        transcript: transcript.clone(),
        state: RecordState::Settled { scores },
    })
}
