//! A sweep that is under way: a benchmark that is made up, four models, two trials, and a session of each item recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use jiff::Timestamp;
use regatta_backends::{Ledger, NewCell, NewShard, NewSweep, Quota, RecordState, SessionRecord, TranscriptRef};
use regatta_catalog::{Catalog, Sweep, store_dataset};
use regatta_proto::{
    Attempt, AttemptId, Cause, Cell, CostSum, FileSet, Flag, Flags, ItemIndex, Money, Outcome, SessionKey, ShardIndex,
    SweepId, SweepLock, Usage, WorkerId,
};
use serde_json::{Value, json};

use crate::Failure;

/// The models; the later, the more often wrong.
const MODELS: [&str; 4] = ["one", "two", "three", "four"];
const TRIALS: u32 = 2;
/// Sessions that are recorded at once.
const BATCH: usize = 500;
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

/// Records about `sessions` sessions.
pub(crate) async fn fill(ledger: &Ledger, catalog: &Catalog, sessions: u32) -> Result<Filled, Failure> {
    let cells = MODELS.len() as u32 * TRIALS;
    let items = (sessions / cells).max(1);
    let dataset = store_dataset(catalog.blobs(), &files(items)).await?;
    let models: Vec<Value> = MODELS.iter().map(|model| json!({ "id": format!("lab/{model}") })).collect();
    let lock: SweepLock = serde_json::from_value(json!({
        "v": 2, "regatta": env!("CARGO_PKG_VERSION"), "name": "pages", "seed": 1, "trials": TRIALS,
        "benchmarks": { "sums": {
            "dataset": dataset.to_string(), "settings": ["default"], "evaluators": ["declared"], "items": { "default": items },
        } },
        "endpoints": { "lab": { "kind": "openai", "base_url": "http://localhost:1/v1" } },
        "models": models, "price_sources": [],
    }))?;
    let sweep = catalog.store(&lock).await?;
    ledger.create_sweep(planned(&sweep)?).await?;
    for cell in sweep.cells() {
        for batch in sweep.selected(cell).chunks(BATCH) {
            let records = batch.iter().map(|item| record(&sweep, cell, *item));
            ledger.record(records.collect::<Result<Vec<SessionRecord>, Failure>>()?).await?;
        }
    }
    Ok(Filled { sweep: sweep.id.clone(), items, sessions: items * cells })
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

/// One session: mostly measured, some flagged, one in fifty not measured.
fn record(sweep: &Sweep, cell: &Cell, item: ItemIndex) -> Result<SessionRecord, Failure> {
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
    let started_at = Timestamp::from_second(BEGINNING_S + i64::from(item.0))?;
    Ok(SessionRecord {
        key: SessionKey { sweep: sweep.id.clone(), cell: cell.index, item },
        item_id: of_data.id.clone(),
        task: of_data.task.to_string(),
        attempt: Attempt {
            id: AttemptId::new(format!("a-{}-{}", cell.index.0, item.0))?,
            number: 1,
            worker: WorkerId::new("worker")?,
            started_at,
            ended_at: started_at,
        },
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
        transcript: TranscriptRef { segment: "transcripts/none.zst".to_owned(), line: 0 },
        state: RecordState::Settled { scores },
    })
}
