//! Sessions in the ledger, in batches as a scorer sends them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use regatta_backends::Ledger;
use regatta_backends::ledger::{CallSums, NewCell, NewSweep, RecordState, SessionRecord, TranscriptRef};
use regatta_proto::{
    Attempt, Cell, CellIndex, CostSum, Digest, Flags, ItemIndex, Money, Outcome, SessionKey, SweepId, Trial, Usage,
};
use serde_json::json;

/// Sessions of a batch.
const BATCH: u32 = 64;

/// Batches of sessions that have ended and are scored.
pub(crate) fn records(times: u32) {
    // One thread beside that of the ledger: others would look for work, more or less often.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::sqlite(folder.path().join("ledger.sqlite")).await.unwrap();
        let sweep: SweepId = "instructions".parse().unwrap();
        ledger.create_sweep(new_sweep(&sweep)).await.unwrap();
        for batch in 0..times {
            let items = batch * BATCH..(batch + 1) * BATCH;
            ledger.record(items.map(|item| record(&sweep, ItemIndex(item))).collect()).await.unwrap();
        }
    });
}

fn new_sweep(id: &SweepId) -> NewSweep {
    let cell = Cell {
        index: CellIndex(0),
        benchmark: "worfbench".parse().unwrap(),
        setting: "two-shot".parse().unwrap(),
        model: "lab/model".parse().unwrap(),
        trial: Trial(0),
    };
    NewSweep {
        owner: None,
        quota: regatta_backends::Quota::default(),
        inputs: BTreeSet::new(),
        id: id.clone(),
        name: "instructions".to_owned(),
        lock: Digest::of(b"lock"),
        budget: None,
        created_at: Timestamp::UNIX_EPOCH,
        cells: vec![NewCell { cell, items: 1_000_000, queue: "lab".to_owned() }],
        shards: Vec::new(),
    }
}

fn record(sweep: &SweepId, item: ItemIndex) -> SessionRecord {
    SessionRecord {
        key: SessionKey { sweep: sweep.clone(), cell: CellIndex(0), item },
        item_id: format!("item-{item}").parse().unwrap(),
        task: "wikihow".to_owned(),
        attempt: Attempt {
            id: format!("worker-3f9a2c-{item}").parse().unwrap(),
            number: 1,
            worker: "worker-3f9a2c".parse().unwrap(),
            started_at: Timestamp::UNIX_EPOCH,
            ended_at: Timestamp::UNIX_EPOCH,
        },
        outcome: Outcome::Measured,
        usage: Usage { input: 1200, output: 300, ..Usage::default() },
        cost: CostSum { known: Money(123_456), unknown_calls: 0 },
        maybe_spent: Money::ZERO,
        calls: 1,
        cached_calls: 0,
        retries: 0,
        latency_us: 1_500_000,
        served: vec!["model-2026-08".to_owned()],
        flags: Flags::NONE,
        agent_end: None,
        call_sums: BTreeMap::from([(1, CallSums::default())]),
        transcript: TranscriptRef { segment: "transcripts/000123-3f9a2c.zst".to_owned(), line: item.0 },
        state: RecordState::Settled {
            scores: json!({"official": {"precision": 0.25, "recall": 0.5, "f1": 0.333_333}}),
        },
    }
}
