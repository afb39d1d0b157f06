//! A small sweep with rows made by hand.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use regatta_backends::{AttemptRow, AttemptState, CallSums, JudgeCosts, SessionRow, SweepCost, TranscriptRef};
use regatta_benchmarks::{Benchmark, Score, Scores};
use regatta_catalog::Sweep;
use regatta_proto::{
    BenchmarkLock, Cause, Cell, CellIndex, CostSum, EndpointKind, EndpointSpec, Evaluator, FileSet, Flags, ItemIndex,
    ModelSpec, Money, Outcome, Price, PriceSource, SessionKey, SweepLock, SweepState, Usage,
};
use regatta_worfbench::WorfBench;

use super::dialogues::Dialogues;
use crate::summary::Summary;
use crate::tabulation::{Circumstances, Documents, Tabulation};

pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

pub(crate) fn miniature() -> FileSet {
    regatta_benchmark_testing::miniature(&WorfBench)
}

/// Two items each of two tasks, two trials, evaluated with `official`.
pub(crate) fn lock(models: &[&str]) -> SweepLock {
    let price = Price::per_mtok(0.5, 2.0);
    let models: Vec<ModelSpec> = models
        .iter()
        .map(|id| ModelSpec {
            price: Some(price.clone()),
            ..ModelSpec::from(id.parse::<regatta_proto::ModelRef>().unwrap())
        })
        .collect();
    let worfbench = BenchmarkLock {
        casts: BTreeMap::new(),
        dataset: miniature().snapshot().digest(),
        settings: vec!["two-shot".parse().unwrap()],
        tasks: vec!["wikihow".to_owned(), "os".to_owned()],
        listed: Vec::new(),
        limit: Some(2),
        sample: None,
        canaries: None,
        evaluators: vec![Evaluator::Official],
        roles: regatta_proto::RoleModels::default(),
        judge: Some(regatta_proto::Judge::Plain("sim/lexical".parse().unwrap())),
        judge_price: None,
        audit: None,
        items: [("two-shot".parse().unwrap(), 4)].into(),
    };
    SweepLock {
        agents: BTreeMap::new(),
        v: SweepLock::VERSION,
        regatta: "0.1.0".to_owned(),
        name: "small".parse().unwrap(),
        removed_before: 0,
        seed: 7,
        trials: 2,
        coverage_min: regatta_proto::COVERAGE_MIN,
        level: regatta_proto::Level::default(),
        decide: None,
        budget_usd: None,
        share: regatta_proto::Share::default(),
        cache: regatta_proto::CacheMode::Off,
        filtered: regatta_proto::Filtered::Wrong,
        benchmarks: [("worfbench".parse().unwrap(), worfbench)].into(),
        endpoints: [("sim".parse().unwrap(), EndpointSpec::of_kind(EndpointKind::Simulated))].into(),
        price_sources: vec![PriceSource::Spec; models.len()],
        models,
    }
}

pub(crate) fn sweep(lock: SweepLock) -> Sweep {
    let name: regatta_proto::BenchmarkName = "worfbench".parse().unwrap();
    let suite = WorfBench.load(&miniature()).unwrap();
    Sweep::new(lock, BTreeMap::from([(name, suite)])).unwrap()
}

/// `lock` with the made-up benchmark as well.
pub(crate) fn with_dialogues(mut lock: SweepLock) -> SweepLock {
    let setting: regatta_proto::Setting = "turn/text".parse().unwrap();
    let dialogues = BenchmarkLock {
        settings: vec![setting.clone()],
        tasks: Vec::new(),
        listed: Vec::new(),
        limit: None,
        sample: None,
        canaries: None,
        evaluators: vec![Evaluator::OfficialFixed],
        items: [(setting, Dialogues::ITEMS as u32)].into(),
        ..lock.benchmarks.values().next().unwrap().clone()
    };
    lock.benchmarks.insert("dialogues".parse().unwrap(), dialogues);
    lock
}

/// A sweep of both benchmarks.
pub(crate) fn sweep_of_both(lock: SweepLock) -> Sweep {
    sweep_of_locked(with_dialogues(lock))
}

/// The sweep of a lock with both benchmarks.
pub(crate) fn sweep_of_locked(lock: SweepLock) -> Sweep {
    let name: regatta_proto::BenchmarkName = "worfbench".parse().unwrap();
    let suite = WorfBench.load(&miniature()).unwrap();
    let dialogues: Arc<dyn regatta_benchmarks::Suite> = Arc::new(Dialogues::new());
    let suites = BTreeMap::from([(name, suite), ("dialogues".parse().unwrap(), dialogues)]);
    Sweep::new(lock, suites).unwrap()
}

/// Scores that differ between items, trials and models: hundredths.
pub(crate) fn scores(sweep: &Sweep, cell: &Cell, item: ItemIndex) -> Scores {
    let failed = sweep.suite(cell).unwrap().score_failure(item, &sweep.benchmark(cell).unwrap().evaluators);
    let seed = item.0 * 37 + cell.index.0 * 29;
    let values = |score: Score| Score {
        values: score.values.keys().zip(0..).map(|(name, at)| (name.clone(), value(name, seed, at))).collect(),
        ..score
    };
    failed.into_iter().map(|(evaluator, score)| (evaluator, values(score))).collect()
}

/// Counts of two gold calls, or a share in hundredths.
fn value(name: &str, seed: u32, at: u32) -> f64 {
    match name {
        "gold" => 2.0,
        "predicted" => f64::from(seed % 3 + seed % 2),
        "right" => f64::from(seed % 3),
        "turns" => f64::from(5 + seed % 7),
        _ => f64::from((seed + at * 13) % 101) / 100.0,
    }
}

pub(crate) fn session(sweep: &Sweep, cell: &Cell, item: ItemIndex, outcome: Outcome) -> SessionRow {
    let about = sweep.item(cell, item).unwrap();
    let scores = match outcome {
        Outcome::Measured => serde_json::to_value(scores(sweep, cell, item)).unwrap(),
        Outcome::ModelFailure { .. } => serde_json::to_value(
            sweep.suite(cell).unwrap().score_failure(item, &sweep.benchmark(cell).unwrap().evaluators),
        )
        .unwrap(),
        Outcome::NotMeasured { .. } => serde_json::Value::Null,
    };
    SessionRow {
        item,
        item_id: about.id.clone(),
        task: about.task.to_string(),
        outcome,
        scores,
        usage: Usage { input: 1000, output: 200, ..Usage::default() },
        cost: CostSum { known: Money(900_000), unknown_calls: 0 },
        attempt: 1,
        transcript: TranscriptRef { segment: "transcripts/0123456789abcdef.jsonl.zst".to_owned(), line: item.0 },
        calls: 1,
        cached_calls: Some(0),
        retries: 0,
        latency_us: 20_000,
        served: vec![format!("{} (simulated)", cell.model.model)],
        flags: Flags::NONE,
        agent_end: None,
    }
}

/// Every session measured, but for what `outcome` says of a cell and the position of an item (`None`: no row).
pub(crate) type Outcomes = dyn Fn(&Cell, usize) -> Option<Outcome>;

pub(crate) fn rows(sweep: &Sweep, cell: &Cell, outcome: &dyn Fn(&Cell, usize) -> Option<Outcome>) -> Vec<SessionRow> {
    let items = sweep.selected(cell).iter().enumerate();
    items.filter_map(|(at, item)| Some(session(sweep, cell, *item, outcome(cell, at)?))).collect()
}

pub(crate) fn all_measured(_: &Cell, _: usize) -> Option<Outcome> {
    Some(Outcome::Measured)
}

/// Outcomes with one of each kind of trouble: a failure of the model, one of the endpoint, and a session that was not run.
pub(crate) fn some_trouble(cell: &Cell, at: usize) -> Option<Outcome> {
    match (cell.model.model.as_str(), cell.trial.0, at) {
        ("second", 0, 0) => Some(Outcome::ModelFailure { cause: Cause::ContextLength }),
        ("second", 0, 1) => Some(Outcome::NotMeasured { cause: Cause::Timeout }),
        ("second", 1, 3) => None,
        _ => Some(Outcome::Measured),
    }
}

/// The attempt behind `row`.
pub(crate) fn attempt(sweep: &Sweep, cell: &Cell, row: &SessionRow, state: AttemptState) -> AttemptRow {
    let number = if state == AttemptState::Recorded { row.attempt } else { row.attempt + 1 };
    AttemptRow {
        key: SessionKey { sweep: sweep.id.clone(), cell: cell.index, item: row.item },
        id: format!("w1-{}-{}-{number}", cell.index, row.item).parse().unwrap(),
        number,
        worker: "w1".parse().unwrap(),
        state,
        started_at: at(1),
        ended_at: Some(at(2)),
        outcome: (state == AttemptState::Recorded).then(|| row.outcome.clone()),
        usage: row.usage,
        cost: row.cost,
        maybe_spent: Money::ZERO,
        at_most: (state == AttemptState::Lost).then_some(Money(5_000_000)),
        calls: row.calls,
        cached_calls: row.cached_calls,
        retries: row.retries,
        latency_us: row.latency_us,
        transcript: (state == AttemptState::Recorded).then(|| row.transcript.clone()),
    }
}

/// The documents of `sweep`; the first session of the first cell was lost once.
pub(crate) fn documents(sweep: &Sweep, outcome: &Outcomes) -> Documents {
    let mut tabulation = Tabulation::new(sweep, &[]).unwrap();
    let mut attempts = Vec::new();
    for cell in sweep.cells() {
        let rows = rows(sweep, cell, outcome);
        attempts.extend(rows.iter().map(|row| attempt(sweep, cell, row, AttemptState::Recorded)));
        if cell.index.0 == 0 {
            attempts.extend(rows.first().map(|row| attempt(sweep, cell, row, AttemptState::Lost)));
        }
        tabulation.add(cell, &rows).unwrap();
    }
    let state = tabulation.end_state();
    tabulation.finish(&circumstances(state, attempts)).unwrap()
}

/// The documents of `sweep` whose attempts are as `change` makes them, and whose calls were as `calls` says.
pub(crate) fn documents_of(
    sweep: &Sweep,
    outcome: &Outcomes,
    change: &dyn Fn(&Cell, &mut AttemptRow),
    calls: Vec<(CellIndex, CallSums)>,
) -> Documents {
    let mut tabulation = Tabulation::new(sweep, &[]).unwrap();
    let mut attempts = Vec::new();
    for cell in sweep.cells() {
        let rows = rows(sweep, cell, outcome);
        for row in &rows {
            let mut attempt = attempt(sweep, cell, row, AttemptState::Recorded);
            change(cell, &mut attempt);
            attempts.push(attempt);
        }
        tabulation.add(cell, &rows).unwrap();
    }
    tabulation.finish(&Circumstances { calls, ..circumstances(SweepState::Complete, attempts) }).unwrap()
}

pub(crate) fn circumstances(state: SweepState, attempts: Vec<AttemptRow>) -> Circumstances {
    Circumstances {
        state,
        created_at: at(0),
        ended_at: at(0) + SignedDuration::from_millis(83_250),
        attempts,
        judges: vec![JudgeCosts {
            judge: "sim/lexical".parse().unwrap(),
            served: vec!["lexical (simulated)".to_owned()],
            usage: Usage { input: 4000, ..Usage::default() },
            cost: CostSum { known: Money(0), unknown_calls: 16 },
        }],
        calls: Vec::new(),
        cost: SweepCost::default(),
        said: BTreeMap::new(),
        canaries: Vec::new(),
    }
}

pub(crate) fn text(documents: &Documents, name: &str) -> String {
    let (_, content) = documents.files.iter().find(|(file, _)| *file == name).unwrap();
    String::from_utf8(content.clone()).unwrap()
}

pub(crate) fn summary(documents: &Documents) -> Summary {
    serde_json::from_str(&text(documents, "summary.json")).unwrap()
}
