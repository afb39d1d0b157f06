//! From a spec to a lock: data sets, settings, evaluators, roles, judges and prices resolved, everything that cannot be refused early.

mod cast;
mod listed;
mod meant;

use futures::future::BoxFuture;
use std::collections::{BTreeMap, BTreeSet};

use regatta_benchmarks::{
    Benchmark, SelectError, Tables, canary_items, default_setting, listed_items, select_items, with_canaries,
};
use regatta_catalog::{Catalog, CatalogError, decidable};
use regatta_deciding::Rules;
use regatta_proto::{
    BenchmarkLock, BenchmarkName, BenchmarkSpec, DecideLock, Digest, EndpointKind, EndpointName, EndpointSpec,
    Evaluator, Judge, Limit, ModelRef, ModelSpec, Panel, Setting, SpecError, SweepLock, SweepSpec, check_spec,
};

use self::meant::meant;
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

fn unpriced<T>(place: String, key: &str, model: &ModelRef, pricing: Pricing<'_>) -> Result<T, PlanError> {
    let advice = pricing.advice(key);
    field(place, format!("the price of {model} is unknown, so budget_usd cannot be kept; {advice}"))
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
        let endpoint = |model: &ModelRef| spec.endpoints.get(&model.endpoint).unwrap_or(&openai);
        let mut benchmarks = BTreeMap::new();
        for (name, wanted) in &spec.benchmarks {
            let place = format!("benchmarks.{name}");
            let mut locked = plan_benchmark(name, wanted, &spec, datasets, catalog).await?;
            let must_know = spec.budget_usd.is_some();
            let price = |model: &ModelSpec| pricing.of(endpoint(&model.id), model).0;
            for (role, model) in locked.roles.iter_mut() {
                model.price = price(model);
                if must_know && model.price.is_none() {
                    return unpriced(format!("{place}.roles.{role}"), "price", &model.id, pricing);
                }
            }
            for (cast, members) in &mut locked.casts {
                for (member, model) in members {
                    model.price = price(model);
                    if must_know && model.price.is_none() {
                        return unpriced(format!("{place}.casts.{cast}.{member}"), "price", &model.id, pricing);
                    }
                }
            }
            let price_panel = |place: &str, panel: &mut Panel| {
                for (position, member) in panel.panel.iter_mut().enumerate() {
                    member.price = price(member);
                    if must_know && member.price.is_none() {
                        return unpriced(format!("{place}.panel[{position}]"), "price", &member.id, pricing);
                    }
                }
                Ok(())
            };
            match &mut locked.judge {
                Some(Judge::Panel(panel)) => price_panel(&format!("{place}.judge"), panel)?,
                Some(judge) => {
                    let mut model = judge.members().remove(0);
                    let said = wanted.judge_price.clone().or_else(|| model.price.clone());
                    locked.judge_price = price(&ModelSpec { price: said, ..model.clone() });
                    if must_know && locked.judge_price.is_none() {
                        return unpriced(format!("{place}.judge_price"), "judge_price", &model.id, pricing);
                    }
                    // Said once.
                    model.price = None;
                    *judge = Judge::of(model);
                }
                None => {}
            }
            let audit_place = format!("{place}.audit.judge");
            match locked.audit.as_mut().map(|audit| &mut audit.judge) {
                Some(Judge::Panel(panel)) => price_panel(&audit_place, panel)?,
                Some(judge) => {
                    let mut model = judge.members().remove(0);
                    model.price = price(&model);
                    if must_know && model.price.is_none() {
                        return unpriced(audit_place, "price", &model.id, pricing);
                    }
                    *judge = Judge::of(model);
                }
                None => {}
            }
            cast::check_lanes(name, &locked, &*load(catalog, name, &locked.dataset).await?, &spec)?;
            if let Some(decide) = &spec.decide {
                let suite = load(catalog, name, &locked.dataset).await?;
                for setting in &locked.settings {
                    let found = decidable(&*suite, &locked, setting, decide.metric.as_deref());
                    found.map_err(|error| PlanError::Field {
                        field: "decide.metric".to_owned(),
                        problem: format!("of {name}: {error}"),
                    })?;
                }
            }
            benchmarks.insert(name.clone(), locked);
        }
        let trials_max = spec.decide.as_ref().map_or(spec.trials, |decide| decide.trials_max(spec.trials));
        check_grid(benchmarks.values(), spec.models.len(), trials_max)?;
        let mut models = spec.models.clone();
        let mut price_sources = Vec::new();
        for (position, model) in models.iter_mut().enumerate() {
            let (price, source) = pricing.of(endpoint(&model.id), model);
            if price.is_none() && (spec.budget_usd.is_some() || model.budget_usd.is_some()) {
                return unpriced(format!("models[{position}]"), "price", &model.id, pricing);
            }
            model.price = price;
            price_sources.push(source);
        }
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

async fn load(
    catalog: &Catalog,
    name: &BenchmarkName,
    dataset: &Digest,
) -> Result<std::sync::Arc<dyn regatta_benchmarks::Suite>, PlanError> {
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
