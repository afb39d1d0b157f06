//! The spec of the new sweep: that of the old one's lock, with other evaluators, judges or judge prompts.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail};
use bytes::Bytes;
use regatta_catalog::{Sweep, load_dataset};
use regatta_proto::{
    BenchmarkLock, BenchmarkName, BenchmarkSpec, CacheMode, EndpointKind, EndpointName, FileSet, Judge, Money,
    SweepLock, SweepSpec, add_implied_endpoints, check_spec,
};

use crate::args::RescoreArgs;
use crate::data::read_dataset;
use crate::embedded::Embedded;
use crate::spec::Loaded;

/// Spec and data that the new sweep is planned from.
pub(super) async fn spec(args: &RescoreArgs, run: &Embedded, old: &Sweep) -> anyhow::Result<Loaded> {
    let lock = &old.lock;
    if lock.decide.is_some() {
        bail!(
            "{} is a run with a question (`decide`): what it bought hung on its scores, so other scores would have bought other sessions; run \
             the spec again with the new judge or evaluator",
            lock.name
        );
    }
    let mut spec = of_lock(lock);
    let mut recorded = BTreeMap::new();
    for (name, endpoint) in &mut spec.endpoints {
        if let Some(digest) = endpoint.content.take() {
            recorded.insert(name.clone(), run.catalog().blobs().get_content(&digest).await?);
        }
    }
    match &args.spec {
        Some(path) => take_over(&mut spec, &mut recorded, path, args.benchmark.as_ref())?,
        None => change(&mut spec, args)?,
    }
    add_implied_endpoints(&mut spec);
    check_spec(&spec)?;
    let given: BTreeMap<&BenchmarkName, &Path> =
        args.data.iter().map(|(name, directory)| (name, directory.as_path())).collect();
    let mut data = BTreeMap::new();
    for (name, benchmark) in &lock.benchmarks {
        let files = match given.get(name) {
            Some(directory) => read_dataset(name, directory)?,
            None => load_dataset(run.catalog().blobs(), &benchmark.dataset).await?,
        };
        data.insert(name.clone(), files);
    }
    if let Some(name) = given.keys().find(|name| !lock.benchmarks.contains_key(**name)) {
        bail!("--data {name}=…: the run is not of {name}");
    }
    Ok(Loaded { file: None, spec, data, recorded, prices: args.prices.clone() })
}

/// The spec that `lock` was made of, so far as its sessions depend on it. Nobody under test is asked, so budgets and caches are gone.
fn of_lock(lock: &SweepLock) -> SweepSpec {
    let benchmark = |locked: &BenchmarkLock| BenchmarkSpec {
        data: None,
        settings: locked.settings.clone(),
        tasks: locked.tasks.clone(),
        items: locked.listed.clone(),
        limit: locked.restriction(),
        canaries: locked.canaries,
        evaluators: locked.evaluators.clone(),
        roles: locked.roles.clone(),
        casts: locked.casts.clone(),
        judge: locked.judge.clone(),
        judge_price: locked.judge_price.clone(),
        audit: locked.audit.clone(),
    };
    SweepSpec {
        name: lock.name.clone(),
        seed: lock.seed,
        trials: lock.trials,
        coverage_min: lock.coverage_min,
        level: lock.level,
        budget_usd: None,
        share: lock.share,
        cache: CacheMode::Off,
        filtered: lock.filtered,
        decide: None,
        benchmarks: lock.benchmarks.iter().map(|(name, locked)| (name.clone(), benchmark(locked))).collect(),
        endpoints: lock.endpoints.clone(),
        models: lock
            .models
            .iter()
            .cloned()
            .map(|model| regatta_proto::ModelSpec { budget_usd: None, ..model })
            .collect(),
        agents: lock.agents.clone(),
    }
}

/// Changes what the command line says.
fn change(spec: &mut SweepSpec, args: &RescoreArgs) -> anyhow::Result<()> {
    let name = match (&args.benchmark, spec.benchmarks.len()) {
        (Some(name), _) => name.clone(),
        (None, 1) => spec.benchmarks.keys().next().cloned().context("the run has no benchmark")?,
        (None, _) if args.evaluator.is_empty() && args.judge.is_none() => return Ok(()),
        (None, _) => {
            let names: Vec<&str> = spec.benchmarks.keys().map(BenchmarkName::as_str).collect();
            bail!("the run has several benchmarks: choose one with --benchmark ({})", names.join(", "));
        }
    };
    let benchmark = spec.benchmarks.get_mut(&name).with_context(|| format!("the run is not of {name}"))?;
    if !args.evaluator.is_empty() {
        benchmark.evaluators = args.evaluator.clone();
    }
    if let Some(judge) = &args.judge {
        benchmark.judge = Some(Judge::Plain(judge.clone()));
        benchmark.judge_price = None;
        benchmark.audit = None;
    }
    Ok(())
}

/// Takes judges, evaluators and endpoints over from the spec in the file `path`.
fn take_over(
    spec: &mut SweepSpec,
    recorded: &mut BTreeMap<EndpointName, Bytes>,
    path: &Path,
    only: Option<&BenchmarkName>,
) -> anyhow::Result<()> {
    let place = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("failed to read the spec {place}"))?;
    let wished = crate::spec::parse(&text).with_context(|| format!("{place}"))?;
    let base = path.parent().unwrap_or(Path::new("."));
    for (name, mut endpoint) in wished.endpoints {
        if let Some(file) = endpoint.path.clone() {
            let full = base.join(file);
            match endpoint.kind {
                EndpointKind::Recorded => {
                    let bytes = std::fs::read(&full).with_context(|| {
                        format!("{place}: endpoints.{name}.path: failed to read {}", full.display())
                    })?;
                    recorded.insert(name.clone(), Bytes::from(bytes));
                }
                _ => {
                    endpoint.path =
                        Some(std::fs::canonicalize(&full).with_context(|| {
                            format!("{place}: endpoints.{name}.path: there is no {}", full.display())
                        })?)
                }
            }
        }
        spec.endpoints.insert(name, endpoint);
    }
    for (name, wished) in wished.benchmarks.into_iter().filter(|(name, _)| only.is_none_or(|only| only == name)) {
        let Some(benchmark) = spec.benchmarks.get_mut(&name) else { continue };
        if !wished.evaluators.is_empty() {
            benchmark.evaluators = wished.evaluators;
        }
        if wished.judge.is_some() {
            benchmark.judge = wished.judge;
            benchmark.judge_price = wished.judge_price;
            benchmark.audit = wished.audit;
        }
    }
    Ok(())
}

/// The same with a budget of so many dollars beyond what is `spent` already.
pub(super) fn with_budget(mut loaded: Loaded, spent: Money, dollars: f64) -> anyhow::Result<Loaded> {
    let more = Money::from_dollars(dollars).filter(|more| *more > Money::ZERO);
    let more = more.with_context(|| format!("--budget must be a positive number of dollars, is {dollars}"))?;
    loaded.spec.budget_usd = Some((spent + more).dollars());
    Ok(loaded)
}

/// Files are shared, not copied.
pub(super) fn copy(loaded: &Loaded) -> Loaded {
    let data: BTreeMap<BenchmarkName, FileSet> = loaded.data.clone();
    Loaded {
        file: loaded.file.clone(),
        spec: loaded.spec.clone(),
        data,
        recorded: loaded.recorded.clone(),
        prices: loaded.prices.clone(),
    }
}
