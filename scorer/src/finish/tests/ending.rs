//! `finish` over a real ledger and store.

use std::collections::BTreeMap;

use regatta_backends::{Blobs, Created, Ledger, NewCell, NewShard, NewSweep, RecordState, Recorded, SessionRecord};
use regatta_catalog::{Catalog, Sweep, store_dataset};
use regatta_proto::{
    Attempt, Cause, CellIndex, ManualClock, Money, Outcome, SessionKey, ShardIndex, SweepLock, SweepState,
};
use tempfile::TempDir;

use super::harness::{Outcomes, all_measured, at, lock, miniature, rows, some_trouble};
use crate::finish::{DOCUMENTS, finish};

/// A sweep all of whose sessions are settled.
struct Settled {
    ledger: Ledger,
    catalog: Catalog,
    sweep: std::sync::Arc<Sweep>,
    folder: TempDir,
}

impl Settled {
    async fn new(lock: SweepLock, outcome: &Outcomes) -> Self {
        let folder = TempDir::new().unwrap();
        let ledger = Ledger::sqlite(folder.path().join("ledger.sqlite")).await.unwrap();
        let catalog = Catalog::new(
            Blobs::directory(folder.path().join("blobs")).unwrap(),
            regatta_benchmarks::Registry::new(&[&regatta_worfbench::WorfBench]),
        );
        store_dataset(catalog.blobs(), &miniature()).await.unwrap();
        let sweep = catalog.store(&lock).await.unwrap();
        let new = NewSweep {
            owner: None,
            quota: regatta_backends::Quota::default(),
            inputs: std::collections::BTreeSet::new(),
            id: sweep.id.clone(),
            name: lock.name.to_string(),
            lock: sweep.digest,
            budget: lock.budget_usd.and_then(Money::from_dollars),
            created_at: at(0),
            cells: sweep
                .cells()
                .iter()
                .map(|cell| NewCell { cell: cell.clone(), items: 4, queue: "q".into() })
                .collect(),
            shards: (0..sweep.cells().len() as u32)
                .map(|n| NewShard { index: ShardIndex(n), cell: CellIndex(n), first: 0, count: 4 })
                .collect(),
        };
        assert_eq!(ledger.create_sweep(new).await.unwrap(), Created::New);
        for cell in sweep.cells() {
            let records: Vec<SessionRecord> = rows(&sweep, cell, outcome)
                .into_iter()
                .map(|row| SessionRecord {
                    key: SessionKey { sweep: sweep.id.clone(), cell: cell.index, item: row.item },
                    item_id: row.item_id,
                    task: row.task,
                    attempt: Attempt {
                        id: format!("w1-{}-{}", cell.index, row.item).parse().unwrap(),
                        number: 1,
                        worker: "w1".parse().unwrap(),
                        started_at: at(1),
                        ended_at: at(2),
                    },
                    outcome: row.outcome,
                    usage: row.usage,
                    cost: row.cost,
                    maybe_spent: Money::ZERO,
                    calls: row.calls,
                    cached_calls: 0,
                    retries: row.retries,
                    latency_us: row.latency_us,
                    served: row.served,
                    flags: row.flags,
                    agent_end: row.agent_end,
                    call_sums: BTreeMap::new(),
                    transcript: row.transcript,
                    state: RecordState::Settled { scores: row.scores },
                })
                .collect();
            assert!(ledger.record(records).await.unwrap().iter().all(|recorded| *recorded == Recorded::First));
        }
        Self { ledger, catalog, sweep, folder }
    }

    async fn go(&self, to: SweepState, second: i64) {
        assert!(self.ledger.transition(&self.sweep.id, &[SweepState::Running], to, at(second)).await.unwrap());
    }

    async fn finish(&self, second: i64) -> SweepState {
        finish(&self.ledger, &self.catalog, &self.sweep, None, &ManualClock::at(at(second))).await.unwrap()
    }

    async fn state(&self) -> SweepState {
        self.ledger.sweep(&self.sweep.id).await.unwrap().unwrap().state
    }

    /// Files below `sweeps/<id>`, by path.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let folder = self.folder.path().join("blobs/sweeps").join(self.sweep.id.as_str());
        let Ok(entries) = std::fs::read_dir(folder) else { return BTreeMap::new() };
        let read =
            |entry: std::fs::DirEntry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap());
        entries.map(|entry| read(entry.unwrap())).collect()
    }
}

const MODELS: [&str; 2] = ["sim/first", "sim/second"];
const TABLE: &str = "table-worfbench-main-two-shot-official.csv";

#[tokio::test]
async fn a_sweep_whose_sessions_all_have_scores_ends_complete_with_all_its_files() {
    let settled = Settled::new(lock(&MODELS), &all_measured).await;
    settled.go(SweepState::Tabulating, 5).await;
    assert_eq!(settled.finish(10).await, SweepState::Complete);
    assert_eq!(settled.state().await, SweepState::Complete);
    assert_eq!(settled.files().keys().map(String::as_str).collect::<Vec<_>>(), [&DOCUMENTS[..], &[TABLE]].concat());
    let metrics = settled.ledger.metrics(&settled.sweep.id).await.unwrap();
    let f1: Vec<_> = metrics.iter().filter(|row| row.metric == "f1_graph").collect();
    assert_eq!(f1.len(), 4);
    assert!(f1.iter().all(|row| row.n == 4 && row.low < row.value && row.value < row.high));
}

#[tokio::test]
async fn finishing_again_writes_the_same_bytes() {
    let settled = Settled::new(lock(&MODELS), &some_trouble).await;
    settled.go(SweepState::Tabulating, 5).await;
    settled.finish(10).await;
    let first = settled.files();
    assert_eq!(settled.finish(99).await, SweepState::Incomplete);
    for (name, content) in settled.files() {
        assert!(first[&name] == content, "{name}");
    }
}

#[tokio::test]
async fn a_failure_of_the_model_is_a_result_and_one_of_the_endpoint_is_not() {
    let ends = [
        (Outcome::ModelFailure { cause: Cause::ContextLength }, SweepState::Complete),
        (Outcome::NotMeasured { cause: Cause::Timeout }, SweepState::Incomplete),
    ];
    for (outcome, end) in ends {
        let settled = Settled::new(lock(&MODELS[..1]), &move |_, _| Some(outcome.clone())).await;
        settled.go(SweepState::Tabulating, 5).await;
        assert_eq!(settled.finish(10).await, end);
    }
}

#[tokio::test]
async fn sessions_that_a_budget_left_out_end_the_sweep_as_stopped() {
    let lock = SweepLock { budget_usd: Some(1.0), ..lock(&MODELS) };
    let settled = Settled::new(lock, &some_trouble).await;
    settled.go(SweepState::Tabulating, 5).await;
    assert_eq!(settled.finish(10).await, SweepState::StoppedByBudget);
}

#[tokio::test]
async fn a_cancelled_sweep_gets_its_files_and_stays_cancelled() {
    let settled = Settled::new(lock(&MODELS), &some_trouble).await;
    settled.go(SweepState::Cancelled, 5).await;
    assert_eq!(settled.finish(10).await, SweepState::Cancelled);
    assert_eq!(settled.state().await, SweepState::Cancelled);
    assert_eq!(settled.files().len(), DOCUMENTS.len() + 1);
}

#[tokio::test]
async fn a_sweep_that_runs_again_is_left_alone() {
    let settled = Settled::new(lock(&MODELS), &all_measured).await;
    assert_eq!(settled.finish(10).await, SweepState::Running);
    assert!(settled.files().is_empty());
}
