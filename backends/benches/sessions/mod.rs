//! A sweep and its sessions, as the measurements of the ledger, and those of instructions, record them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use regatta_backends::Quota;
use regatta_backends::ledger::{CallSums, NewCell, NewShard, NewSweep, RecordState, SessionRecord, TranscriptRef};
use regatta_proto::{
    Attempt, AttemptId, Cell, CellIndex, CostSum, Digest, Flags, ItemId, Money, Outcome, SessionKey, SweepId, Trial,
    Usage, WorkerId,
};
use serde_json::json;

/// A cell of `items` sessions, whose jobs are in `queue`.
pub(crate) fn cell(index: u32, trial: Trial, items: u32, queue: &str) -> NewCell {
    NewCell {
        cell: Cell {
            index: CellIndex(index),
            benchmark: "worfbench".parse().unwrap(),
            setting: "two-shot".parse().unwrap(),
            model: "lab/model".parse().unwrap(),
            trial,
        },
        items,
        queue: queue.to_owned(),
    }
}

/// A sweep that is named as its id is.
pub(crate) fn new_sweep(id: &SweepId, cells: Vec<NewCell>, shards: Vec<NewShard>) -> NewSweep {
    NewSweep {
        owner: None,
        quota: Quota::default(),
        inputs: BTreeSet::new(),
        id: id.clone(),
        name: id.to_string(),
        lock: Digest::of(id.as_str().as_bytes()),
        budget: None,
        created_at: Timestamp::UNIX_EPOCH,
        cells,
        shards,
    }
}

/// A session that was measured in one call, by attempt `number` of a worker.
pub(crate) fn record(
    key: SessionKey,
    number: u64,
    sums: CallSums,
    transcript: TranscriptRef,
    state: RecordState,
) -> SessionRecord {
    SessionRecord {
        item_id: ItemId::new(format!("item-{}", key.item)).unwrap(),
        key,
        task: "wikihow".to_owned(),
        attempt: Attempt {
            id: AttemptId::new(format!("worker-3f9a2c-{number}")).unwrap(),
            number: 1,
            worker: WorkerId::new("worker-3f9a2c").unwrap(),
            started_at: Timestamp::UNIX_EPOCH,
            ended_at: Timestamp::UNIX_EPOCH,
        },
        outcome: Outcome::Measured,
        usage: Usage { input: 1200, cached_input: 800, output: 300, ..Usage::default() },
        cost: CostSum { known: Money(123_456), unknown_calls: 0 },
        maybe_spent: Money::ZERO,
        calls: 1,
        cached_calls: 0,
        retries: 0,
        latency_us: 1_500_000,
        served: vec!["model-2026-08".to_owned()],
        flags: Flags::NONE,
        agent_end: None,
        call_sums: BTreeMap::from([(1, sums)]),
        transcript,
        state,
    }
}

/// Scores of a session by one evaluator.
pub(crate) fn scores() -> serde_json::Value {
    json!({"official": {"precision": 0.25, "recall": 0.5, "f1": 0.333_333}})
}
