//! `finish` over a real ledger and store.

use std::collections::BTreeMap;

use jiff::Timestamp;
use regatta_backends::{Created, Ledger, NewShard, NewSweep, RecordState, Recorded, SessionRecord, TranscriptRef};
use regatta_catalog::{Catalog, Sweep, store_dataset};
use regatta_proto::{
    Attempt, Cause, Cell, CellIndex, CostSum, EndpointKind, EndpointSpec, ItemIndex, ManualClock, ModelRef, ModelSpec,
    Money, Outcome, SessionKey, ShardIndex, SweepLock, SweepState, Usage,
};
use regatta_report::DOCUMENTS;
use regatta_stage::{Folder, miniature, new_sweep};
use serde_json::{Value, json};

use super::finish;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

/// Two items each of two tasks, two trials, evaluated with `official`.
fn lock(models: &[&str]) -> SweepLock {
    let models: Vec<ModelSpec> = models.iter().map(|id| ModelSpec::from(id.parse::<ModelRef>().unwrap())).collect();
    serde_json::from_value(json!({
        "v": SweepLock::VERSION,
        "regatta": "0.1.0",
        "name": "small",
        "seed": 7,
        "trials": 2,
        "benchmarks": { "worfbench": {
            "dataset": miniature().snapshot().digest(),
            "settings": ["two-shot"],
            "tasks": ["wikihow", "os"],
            "limit": 2,
            "evaluators": ["official"],
            "judge": "sim/lexical",
            "items": { "two-shot": 4 },
        } },
        "endpoints": { "sim": EndpointSpec::of_kind(EndpointKind::Simulated) },
        "price_sources": vec!["unknown"; models.len()],
        "models": models,
    }))
    .unwrap()
}

/// Scores that differ between items, trials and models: hundredths.
fn scores(sweep: &Sweep, cell: &Cell, item: ItemIndex, outcome: &Outcome) -> Value {
    let mut scores = sweep.suite(cell).unwrap().score_failure(item, &sweep.benchmark(cell).unwrap().evaluators);
    match outcome {
        Outcome::Measured => {}
        Outcome::ModelFailure { .. } => return serde_json::to_value(scores).unwrap(),
        Outcome::NotMeasured { .. } => return Value::Null,
    }
    let seed = item.0 * 37 + cell.index.0 * 29;
    for score in scores.values_mut() {
        for (value, number) in score.values.values_mut().zip(0..) {
            *value = f64::from((seed + number * 13) % 101) / 100.0;
        }
    }
    serde_json::to_value(scores).unwrap()
}

fn record(sweep: &Sweep, cell: &Cell, item: ItemIndex, outcome: Outcome) -> SessionRecord {
    let key = SessionKey { sweep: sweep.id.clone(), cell: cell.index, item };
    let attempt = Attempt {
        worker: "w1".parse().unwrap(),
        started_at: at(1),
        ended_at: at(2),
        ..regatta_stage::attempt(&format!("w1-{}-{item}", cell.index), 1)
    };
    let state = RecordState::Settled { scores: scores(sweep, cell, item, &outcome) };
    SessionRecord {
        outcome,
        usage: Usage { input: 1000, output: 200, ..Usage::default() },
        cost: CostSum { known: Money(900_000), unknown_calls: 0 },
        latency_us: 20_000,
        served: vec![format!("{} (simulated)", cell.model.model)],
        transcript: TranscriptRef { segment: "transcripts/0123456789abcdef.jsonl.zst".to_owned(), line: item.0 },
        ..regatta_stage::record(sweep, key, attempt, state)
    }
}

/// Outcome of the session of a cell at the position of an item; `None` where there is none.
type Outcomes = dyn Fn(&Cell, usize) -> Option<Outcome>;

fn all_measured(_: &Cell, _: usize) -> Option<Outcome> {
    Some(Outcome::Measured)
}

/// Outcomes with one of each kind of trouble: a failure of the model, one of the endpoint, and a session that was not run.
fn some_trouble(cell: &Cell, at: usize) -> Option<Outcome> {
    match (cell.model.model.as_str(), cell.trial.0, at) {
        ("second", 0, 0) => Some(Outcome::ModelFailure { cause: Cause::ContextLength }),
        ("second", 0, 1) => Some(Outcome::NotMeasured { cause: Cause::Timeout }),
        ("second", 1, 3) => None,
        _ => Some(Outcome::Measured),
    }
}

/// A sweep all of whose sessions are settled.
struct Settled {
    ledger: Ledger,
    catalog: Catalog,
    sweep: std::sync::Arc<Sweep>,
    folder: Folder,
}

impl Settled {
    async fn new(lock: SweepLock, outcome: &Outcomes) -> Self {
        let folder = Folder::make();
        let (ledger, catalog) = (folder.ledger().await, folder.catalog());
        store_dataset(catalog.blobs(), &miniature()).await.unwrap();
        let sweep = catalog.store(&lock).await.unwrap();
        let new = NewSweep {
            budget: lock.budget_usd.and_then(Money::from_dollars),
            created_at: at(0),
            shards: (0..sweep.cells().len() as u32)
                .map(|n| NewShard { index: ShardIndex(n), cell: CellIndex(n), first: 0, count: 4 })
                .collect(),
            ..new_sweep(&sweep, "q")
        };
        assert_eq!(ledger.create_sweep(new).await.unwrap(), Created::New);
        for cell in sweep.cells() {
            let items = sweep.selected(cell).iter().enumerate();
            let records =
                items.filter_map(|(at, item)| Some(record(&sweep, cell, *item, outcome(cell, at)?))).collect();
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
