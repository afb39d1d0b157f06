//! Plans of small sweeps. Tests change of them what they are about.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use regatta_backends::{NewCell, NewSweep, Quota};
use regatta_catalog::Sweep;
use regatta_proto::{
    BenchmarkLock, CacheMode, Digest, EndpointName, EndpointSpec, Evaluator, Filtered, Level, ModelSpec, PriceSource,
    RoleModels, Setting, Share, SweepLock,
};

/// A benchmark of which `items` are run in one setting. Sessions have no role but the agent's, and no judge.
#[must_use]
pub fn benchmark_lock(dataset: Digest, setting: &str, items: u32) -> BenchmarkLock {
    let setting: Setting = setting.parse().unwrap();
    BenchmarkLock {
        dataset,
        settings: vec![setting.clone()],
        tasks: Vec::new(),
        listed: Vec::new(),
        limit: None,
        sample: None,
        canaries: None,
        evaluators: vec![Evaluator::Official],
        roles: RoleModels::default(),
        casts: BTreeMap::new(),
        judge: None,
        judge_price: None,
        audit: None,
        items: BTreeMap::from([(setting, items)]),
    }
}

/// The sweep `s` of one trial over the benchmark `name`. Prices are the spec's, or unknown.
#[must_use]
pub fn lock(
    name: &str,
    benchmark: BenchmarkLock,
    models: Vec<ModelSpec>,
    endpoints: BTreeMap<EndpointName, EndpointSpec>,
) -> SweepLock {
    let source = |model: &ModelSpec| if model.price.is_some() { PriceSource::Spec } else { PriceSource::Unknown };
    SweepLock {
        v: SweepLock::VERSION,
        regatta: "test".to_owned(),
        name: "s".parse().unwrap(),
        removed_before: 0,
        seed: 1,
        trials: 1,
        coverage_min: regatta_proto::COVERAGE_MIN,
        level: Level::default(),
        budget_usd: None,
        share: Share::default(),
        cache: CacheMode::Off,
        filtered: Filtered::Wrong,
        decide: None,
        benchmarks: BTreeMap::from([(name.parse().unwrap(), benchmark)]),
        endpoints,
        agents: BTreeMap::new(),
        price_sources: models.iter().map(source).collect(),
        models,
    }
}

/// `sweep` as nobody's, without shards, as if it was entered in 1970; its jobs are in `queue`.
#[must_use]
pub fn new_sweep(sweep: &Sweep, queue: &str) -> NewSweep {
    let cells = sweep.cells().iter().map(|cell| NewCell {
        cell: cell.clone(),
        items: sweep.selected(cell).len() as u32,
        queue: queue.to_owned(),
    });
    NewSweep {
        id: sweep.id.clone(),
        name: sweep.lock.name.to_string(),
        lock: sweep.digest,
        budget: None,
        created_at: Timestamp::UNIX_EPOCH,
        cells: cells.collect(),
        shards: Vec::new(),
        owner: None,
        quota: Quota::default(),
        inputs: BTreeSet::new(),
    }
}
