//! From a spec to a lock: data sets, settings, evaluators, judges and prices resolved, everything that cannot be refused early.

use std::collections::BTreeMap;

use regatta_benchmarks::{Benchmark, Persona, Scoring, Suite, Verdicts};
use regatta_catalog::{Catalog, CatalogError};
use regatta_proto::{
    BenchmarkLock, BenchmarkName, BenchmarkSpec, Digest, EndpointKind, EndpointName, EndpointSpec, Evaluator, ModelRef,
    ModelSpec, Price, PriceSource, Question, SessionSeed, SpecError, SweepLock, SweepSpec, Transcript, Verdict,
    check_spec,
};

/// Says what a model at an endpoint costs, and where that is known from.
pub type PriceBook = dyn Fn(&EndpointSpec, &ModelSpec) -> (Option<Price>, PriceSource) + Send + Sync;

/// Why a spec cannot be planned; every text names the field and what to do.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// A field that does not fit the benchmark or its data.
    #[error("{field}: {problem}")]
    Field {
        /// Path of the field.
        field: String,
        /// What is wrong and what to do.
        problem: String,
    },
    /// The spec makes no sense, whatever the data.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The data set is missing or malformed.
    #[error("benchmarks.{benchmark}: {source}")]
    Data {
        /// Which benchmark.
        benchmark: BenchmarkName,
        /// What is wrong with it.
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
pub async fn plan(
    spec: SweepSpec,
    datasets: &BTreeMap<BenchmarkName, Digest>,
    recorded: &BTreeMap<EndpointName, Digest>,
    catalog: &Catalog,
    prices: &PriceBook,
) -> Result<SweepLock, PlanError> {
    check_spec(&spec)?;
    let openai = EndpointSpec::of_kind(EndpointKind::Openai);
    let endpoint = |model: &ModelRef| spec.endpoints.get(&model.endpoint).unwrap_or(&openai);
    let mut benchmarks = BTreeMap::new();
    for (name, wanted) in &spec.benchmarks {
        let mut locked = plan_benchmark(name, wanted, datasets, catalog).await?;
        locked.judge_price = wanted
            .judge_price
            .clone()
            .or_else(|| prices(endpoint(locked.judge.as_ref()?), &ModelSpec::from(locked.judge.clone()?)).0);
        if let (true, Some(judge), None) = (spec.budget_usd.is_some(), &locked.judge, &locked.judge_price) {
            return field(
                format!("benchmarks.{name}.judge_price"),
                format!(
                    "the price of {judge} is unknown, so budget_usd cannot be kept; write `judge_price: {{input_per_mtok: …, \
                     output_per_mtok: …}}`, or leave out budget_usd"
                ),
            );
        }
        benchmarks.insert(name.clone(), locked);
    }
    let mut models = spec.models.clone();
    let mut price_sources = Vec::new();
    for (position, model) in models.iter_mut().enumerate() {
        let (price, source) = prices(endpoint(&model.id), model);
        if price.is_none() && (spec.budget_usd.is_some() || model.budget_usd.is_some()) {
            return field(
                format!("models[{position}]"),
                format!(
                    "the price of {} is unknown, so budget_usd cannot be kept; write `price: {{input_per_mtok: …, \
                     output_per_mtok: …}}` for it, or leave out budget_usd",
                    model.id
                ),
            );
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
        seed: spec.seed,
        trials: spec.trials,
        budget_usd: spec.budget_usd,
        share: spec.share,
        cache: spec.cache,
        benchmarks,
        endpoints,
        models,
        price_sources,
    })
}

async fn plan_benchmark(
    name: &BenchmarkName,
    wanted: &BenchmarkSpec,
    datasets: &BTreeMap<BenchmarkName, Digest>,
    catalog: &Catalog,
) -> Result<BenchmarkLock, PlanError> {
    let place = format!("benchmarks.{name}");
    let Some(benchmark) = regatta_benchmarks::find(name) else {
        let known: Vec<_> = regatta_benchmarks::all().iter().map(|known| known.name().to_string()).collect();
        return field(place, format!("unknown benchmark; known: {}", known.join(", ")));
    };
    let Some(dataset) = datasets.get(name) else {
        return field(format!("{place}.data"), format!("is missing; write it, or give --data {name}=DIR"));
    };
    let suite =
        catalog.suite(name, dataset).await.map_err(|source| PlanError::Data { benchmark: name.clone(), source })?;
    let settings = if wanted.settings.is_empty() {
        benchmark.settings().into_iter().take(1).collect()
    } else {
        wanted.settings.clone()
    };
    let evaluators = evaluators(&place, benchmark, &wanted.evaluators)?;
    let mut items = BTreeMap::new();
    for (position, setting) in settings.iter().enumerate() {
        let selected = suite.select(setting, &wanted.tasks, wanted.limit).map_err(|error| PlanError::Field {
            field: format!("{place}.settings[{position}]"),
            problem: error.to_string(),
        })?;
        if selected.is_empty() {
            return field(place, format!("{setting} selects no items"));
        }
        if items.insert(setting.clone(), selected.len() as u32).is_some() {
            return field(format!("{place}.settings[{position}]"), format!("{setting} is listed twice"));
        }
    }
    if wanted.judge.is_none() && asks_questions(&*suite, benchmark, &evaluators) {
        return field(
            format!("{place}.judge"),
            "is missing: the evaluators ask for verdicts; name who answers as endpoint/model, for instance an endpoint of kind \
             encoder, openai (embeddings) or recorded",
        );
    }
    Ok(BenchmarkLock {
        dataset: *dataset,
        settings,
        tasks: wanted.tasks.clone(),
        limit: wanted.limit,
        evaluators,
        judge: wanted.judge.clone(),
        judge_price: None,
        items,
    })
}

fn evaluators(place: &str, benchmark: &dyn Benchmark, wanted: &[Evaluator]) -> Result<Vec<Evaluator>, PlanError> {
    let known = benchmark.evaluators();
    if wanted.is_empty() {
        return Ok(known);
    }
    for (position, evaluator) in wanted.iter().enumerate() {
        if !known.contains(evaluator) || wanted[..position].contains(evaluator) {
            let known: Vec<_> = known.iter().map(|evaluator| evaluator.as_str()).collect();
            return field(
                format!("{place}.evaluators[{position}]"),
                format!("{evaluator} is unknown here or listed twice; known: {}", known.join(", ")),
            );
        }
    }
    Ok(wanted.to_vec())
}

struct NoVerdicts;

impl Verdicts for NoVerdicts {
    fn answer(&self, _: &Question) -> Option<Verdict> {
        None
    }
}

/// Whether scoring a perfect answer to the first item needs a verdict.
fn asks_questions(suite: &dyn Suite, benchmark: &dyn Benchmark, evaluators: &[Evaluator]) -> bool {
    let first = regatta_proto::ItemIndex(0);
    let Some(setting) = benchmark.settings().into_iter().next() else { return false };
    let regatta_benchmarks::Step::Ask(role, request) = suite.next(first, &setting, &Transcript::default()) else {
        return false;
    };
    let answer = suite.simulate(first, &setting, role, Persona::Oracle, SessionSeed(0), &request);
    let transcript = Transcript::of_recorded(Some(&answer));
    matches!(suite.score(first, evaluators, &transcript, &NoVerdicts), Scoring::Needs(_))
}
