//! From a spec to a lock: data sets, settings, evaluators, roles, judges and prices resolved, everything that cannot be refused early.

mod cast;
mod listed;
mod meant;
mod priced;

use futures::future::BoxFuture;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use regatta_benchmarks::{
    Benchmark, SelectError, Suite, Tables, canary_items, default_setting, listed_items, select_items, with_canaries,
};
use regatta_catalog::{Catalog, CatalogError, decidable};
use regatta_deciding::Rules;
use regatta_proto::{
    BenchmarkLock, BenchmarkName, BenchmarkSpec, DecideLock, Digest, EndpointKind, EndpointName, EndpointSpec,
    Evaluator, Limit, Setting, SpecError, SweepLock, SweepSpec, check_spec,
};

use self::meant::meant;
use self::priced::Prices;
use crate::admission::check_grid;
use crate::pricing::Pricing;

/// Reason why a spec cannot be planned; every text names the field and what to do.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// A field that does not fit the benchmark or its data.
    #[error("{field}: {problem}")]
    Field {
        /// Path of the field.
        field: String,
        /// The problem, with what to do about it.
        problem: String,
    },
    /// The spec makes no sense, whatever the data.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The data set is missing or malformed.
    #[error("benchmarks.{benchmark}: {source}")]
    Data {
        /// The benchmark.
        benchmark: BenchmarkName,
        /// Cause, from the catalog.
        source: CatalogError,
    },
}

fn field<T>(field: impl Into<String>, problem: impl Into<String>) -> Result<T, PlanError> {
    Err(PlanError::Field { field: field.into(), problem: problem.into() })
}

/// Resolves `spec`. `datasets` are the digests of the stored data sets, `recorded` those of the stored verdict files.
///
/// # Errors
/// When anything in the spec does not fit the benchmarks, their data or the prices.
pub fn plan<'a>(
    spec: SweepSpec,
    datasets: &'a BTreeMap<BenchmarkName, Digest>,
    recorded: &'a BTreeMap<EndpointName, Digest>,
    catalog: &'a Catalog,
    pricing: Pricing<'a>,
) -> BoxFuture<'a, Result<SweepLock, PlanError>> {
    Box::pin(async move {
        // Nights have specs of long ago.
        check_spec(&spec)?;
        let openai = EndpointSpec::of_kind(EndpointKind::Openai);
        let prices = Prices { spec: &spec, pricing, unlisted: &openai };
        let mut benchmarks = BTreeMap::new();
        for (name, wanted) in &spec.benchmarks {
            let mut locked = plan_benchmark(name, wanted, &spec, datasets, catalog).await?;
            prices.write(&format!("benchmarks.{name}"), wanted, &mut locked)?;
            let suite = load(catalog, name, &locked.dataset).await?;
            cast::check_lanes(name, &locked, &*suite, &spec)?;
            check_question(name, &locked, &*suite, &spec)?;
            benchmarks.insert(name.clone(), locked);
        }
        let trials_max = spec.decide.as_ref().map_or(spec.trials, |decide| decide.trials_max(spec.trials));
        check_grid(benchmarks.values(), spec.models.len(), trials_max)?;
        let (models, price_sources) = prices.of_models()?;
        let mut endpoints = spec.endpoints;
        for (name, endpoint) in &mut endpoints {
            if endpoint.kind == EndpointKind::Recorded {
                endpoint.content = recorded.get(name).copied();
            }
        }
        Ok(SweepLock {
            v: SweepLock::VERSION,
            regatta: env!("CARGO_PKG_VERSION").to_owned(),
            name: spec.name,
            removed_before: 0,
            seed: spec.seed,
            trials: trials_max,
            coverage_min: spec.coverage_min,
            level: spec.level,
            budget_usd: spec.budget_usd,
            share: spec.share,
            cache: spec.cache,
            filtered: spec.filtered,
            decide: spec.decide.map(|asked| DecideLock {
                asked,
                first_trials: spec.trials,
                rules: Rules::NOW.number(),
            }),
            benchmarks,
            endpoints,
            agents: spec.agents,
            models,
            price_sources,
        })
    })
}

async fn load(catalog: &Catalog, name: &BenchmarkName, dataset: &Digest) -> Result<Arc<dyn Suite>, PlanError> {
    catalog.suite(name, dataset).await.map_err(|source| PlanError::Data { benchmark: name.clone(), source })
}

async fn plan_benchmark(
    name: &BenchmarkName,
    wanted: &BenchmarkSpec,
    spec: &SweepSpec,
    datasets: &BTreeMap<BenchmarkName, Digest>,
    catalog: &Catalog,
) -> Result<BenchmarkLock, PlanError> {
    let place = format!("benchmarks.{name}");
    let Some(benchmark) = catalog.benchmarks().find(name) else {
        return field(place, format!("unknown benchmark; {}", catalog.benchmarks().known(name.as_str())));
    };
    let Some(dataset) = datasets.get(name) else {
        return field(format!("{place}.data"), format!("is missing; write it, or give --data {name}=DIR"));
    };
    let suite = load(catalog, name, dataset).await?;
    let settings = if wanted.settings.is_empty() {
        default_setting(benchmark, &*suite).into_iter().collect()
    } else {
        wanted.settings.clone()
    };
    let evaluators = evaluators(&place, benchmark, &wanted.evaluators)?;
    listed::check_known(&place, &*suite, &wanted.items)?;
    let mut items = BTreeMap::new();
    let mut run = BTreeSet::new();
    for (position, setting) in settings.iter().enumerate() {
        let canaries = canary_items(&*suite, name, setting, &wanted.tasks, wanted.canaries, spec.seed);
        let selected = select_items(&*suite, name, setting, &wanted.tasks, wanted.limit, spec.seed);
        let selected = selected.and_then(|items| Ok((items, canaries?)));
        let (selected, canaries) = selected.map_err(|error| PlanError::Field {
            field: format!("{place}.{}", part(&error, position, &wanted.tasks)),
            problem: format!("{error}{}", meant(benchmark, &*suite, &error)),
        })?;
        let selected = listed_items(suite.items(), selected, &wanted.items);
        run.extend(selected.iter().copied());
        let selected = with_canaries(selected, &canaries);
        if selected.is_empty() {
            return field(place, format!("{setting} selects no items"));
        }
        if items.insert(setting.clone(), selected.len() as u32).is_some() {
            return field(format!("{place}.settings[{position}]"), format!("{setting} is listed twice"));
        }
    }
    listed::check_run(&place, &*suite, &wanted.items, &run)?;
    check_evaluators(&place, &*suite, &settings, &evaluators)?;
    cast::check_roles(&place, &*suite, &settings, &wanted.roles)?;
    cast::check_members(&place, &*suite, &settings, &wanted.casts)?;
    cast::check_judge(name, &*suite, wanted, spec, &settings, &evaluators)?;
    let (limit, sample) = match wanted.limit {
        None => (None, None),
        Some(Limit::First(count)) => (Some(count), None),
        Some(Limit::Sample(count)) => (None, Some(count)),
    };
    let mut listed = wanted.items.clone();
    listed.sort();
    Ok(BenchmarkLock {
        dataset: *dataset,
        settings,
        tasks: wanted.tasks.clone(),
        listed,
        limit,
        sample,
        canaries: wanted.canaries,
        evaluators,
        roles: wanted.roles.clone(),
        casts: wanted.casts.clone(),
        judge: wanted.judge.clone(),
        judge_price: None,
        audit: wanted.audit.clone(),
        items,
    })
}

/// The question of the sweep, if it has one, is about a metric that every setting has.
fn check_question(
    name: &BenchmarkName,
    locked: &BenchmarkLock,
    suite: &dyn Tables,
    spec: &SweepSpec,
) -> Result<(), PlanError> {
    let Some(decide) = &spec.decide else { return Ok(()) };
    for setting in &locked.settings {
        let found = decidable(suite, locked, setting, decide.metric.as_deref());
        found.map_err(|error| PlanError::Field {
            field: "decide.metric".to_owned(),
            problem: format!("of {name}: {error}"),
        })?;
    }
    Ok(())
}

/// The part of a benchmark's spec that `error` is about, where the setting at `position` was selected.
fn part(error: &SelectError, position: usize, tasks: &[String]) -> String {
    match error {
        SelectError::UnknownTask { task, .. } => match tasks.iter().position(|wanted| wanted == task) {
            Some(position) => format!("tasks[{position}]"),
            None => "tasks".to_owned(),
        },
        SelectError::UnknownSetting { .. } | SelectError::NotInSetting { .. } => format!("settings[{position}]"),
    }
}

/// Every setting is measured by some evaluator; otherwise its sessions would be paid for nothing.
fn check_evaluators(
    place: &str,
    suite: &dyn Tables,
    settings: &[Setting],
    evaluators: &[Evaluator],
) -> Result<(), PlanError> {
    let measures = |setting: &Setting| evaluators.iter().any(|one| !suite.metrics(setting, *one).is_empty());
    match settings.iter().position(|setting| !measures(setting)) {
        None => Ok(()),
        Some(position) => field(
            format!("{place}.settings[{position}]"),
            format!("{} is measured by none of the evaluators that are listed; list another one", settings[position]),
        ),
    }
}

fn evaluators(place: &str, benchmark: &dyn Benchmark, wanted: &[Evaluator]) -> Result<Vec<Evaluator>, PlanError> {
    let known = benchmark.evaluators();
    if wanted.is_empty() {
        return Ok(benchmark.usual_evaluators());
    }
    for (position, evaluator) in wanted.iter().enumerate() {
        if !known.contains(evaluator) || wanted[..position].contains(evaluator) {
            let known: Vec<_> = known.iter().map(|evaluator| evaluator.as_str()).collect();
            return field(
                format!("{place}.evaluators[{position}]"),
                format!(
                    "{evaluator} is {}; known: {}",
                    if wanted[..position].contains(evaluator) { "listed twice" } else { "unknown here" },
                    known.join(", ")
                ),
            );
        }
    }
    Ok(wanted.to_vec())
}
