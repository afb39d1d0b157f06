//! A spec file with what the command line changes in it, and the data it names.

mod evaluators;
mod sessions;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Context;
use bytes::Bytes;
use regatta_llm::Build;
use regatta_proto::{
    BenchmarkName, BenchmarkSpec, CacheMode, EndpointKind, EndpointName, EndpointSpec, FileSet, Judge, SweepLock,
    SweepSpec, did_you_mean, parse_spec,
};
use regatta_worker::Policy;

use crate::args::SpecArgs;
use crate::benchmarks::BENCHMARKS;
use crate::data::{read_dataset, unknown};
use crate::exit::{BadConfiguration, bad_configuration};
use crate::output;
use crate::price_tables::misspelt;

/// Spec and data that a sweep is planned from.
pub(crate) struct Loaded {
    /// File of the spec, for messages; `None` for one that no file has.
    pub(crate) file: Option<PathBuf>,
    pub(crate) spec: SweepSpec,
    pub(crate) data: BTreeMap<BenchmarkName, FileSet>,
    pub(crate) recorded: BTreeMap<EndpointName, Bytes>,
    /// File of the price table, when it is not the shipped one.
    pub(crate) prices: Option<PathBuf>,
}

/// An `error` of planning the spec in `file`, as one of configuration that names the file.
pub(crate) fn not_planned(file: Option<&Path>, error: impl Into<anyhow::Error>) -> anyhow::Error {
    let error = error.into();
    bad_configuration(match file {
        Some(file) => error.context(file.display().to_string()),
        None => error,
    })
}

/// Reads the spec and the data. Every problem is one of configuration.
pub(crate) fn load(args: &SpecArgs) -> anyhow::Result<Loaded> {
    load_inner(args).map_err(bad_configuration)
}

fn load_inner(args: &SpecArgs) -> anyhow::Result<Loaded> {
    let place = args.spec.display();
    if args.spec.is_dir() {
        anyhow::bail!("{place} is a folder, and neither a spec nor a benchmark: it has no benchmark.yaml");
    }
    let bytes = std::fs::read(&args.spec).with_context(|| format!("failed to read the spec {place}"))?;
    let text =
        String::from_utf8(bytes).ok().with_context(|| format!("{place} is not a spec: it is not text (UTF-8)"))?;
    let mut spec = parse(&text).with_context(|| format!("{place}"))?;
    override_from(args, &mut spec);
    let base = args.spec.parent().unwrap_or(Path::new(".")).to_owned();
    let given: BTreeMap<&BenchmarkName, &PathBuf> =
        args.data.iter().map(|(name, directory)| (name, directory)).collect();
    for name in given.keys() {
        if !spec.benchmarks.contains_key(*name) {
            let runs: Vec<&str> = spec.benchmarks.keys().map(BenchmarkName::as_str).collect();
            let meant = did_you_mean(name.as_str(), runs.iter().copied());
            anyhow::bail!("--data {name}=…: {place} does not run {name}; it runs {}{meant}", runs.join(", "));
        }
    }
    let mut data = BTreeMap::new();
    for (name, benchmark) in &spec.benchmarks {
        crate::data::benchmark(name).with_context(|| format!("{place}: benchmarks.{name}"))?;
        let directory = match (given.get(name), &benchmark.data) {
            (Some(directory), _) => (*directory).clone(),
            (None, Some(directory)) => base.join(directory),
            (None, None) if BENCHMARKS.find_built_in(name).is_none() => anyhow::bail!(
                "{place}: benchmarks.{name}: {}; one of your own has `data`, the folder of its benchmark.yaml",
                unknown(name)
            ),
            (None, None) => {
                anyhow::bail!("{place}: benchmarks.{name}.data is missing; write it, or give --data {name}=DIR")
            }
        };
        let files = read_dataset(name, &directory).with_context(|| format!("{place}: benchmarks.{name}.data"))?;
        data.insert(name.clone(), files);
    }
    // Results must not depend on where the data lies; its digest is what counts.
    spec.benchmarks.values_mut().for_each(|benchmark| benchmark.data = None);
    if let Some(sessions) = args.sessions {
        sessions::share_out(&mut spec, &data, sessions).with_context(|| format!("{place}"))?;
    }
    let mut recorded = BTreeMap::new();
    for (name, endpoint) in &mut spec.endpoints {
        let Some(path) = &endpoint.path else { continue };
        let full = base.join(path);
        match endpoint.kind {
            EndpointKind::Recorded => {
                let bytes = std::fs::read(&full)
                    .with_context(|| format!("{place}: endpoints.{name}.path: failed to read {}", full.display()))?;
                regatta_llm::RecordedVerdicts::parse(&full.display().to_string(), &bytes)
                    .with_context(|| format!("{place}: endpoints.{name}.path"))?;
                recorded.insert(name.clone(), Bytes::from(bytes));
            }
            _ => {
                let full = std::fs::canonicalize(&full)
                    .with_context(|| format!("{place}: endpoints.{name}.path: there is no {}", full.display()))?;
                endpoint.path = Some(full);
            }
        }
    }
    for (name, agent) in &mut spec.agents {
        // That of a container is in its image.
        let Some(directory) = agent.directory.as_ref().filter(|_| agent.container.is_none()) else { continue };
        let full = base.join(directory);
        let full = std::fs::canonicalize(&full)
            .with_context(|| format!("{place}: agents.{name}.directory: there is no {}", full.display()))?;
        agent.directory = Some(full);
    }
    let prices = crate::price_tables::price_table(args.prices.as_deref())?;
    let priced: BTreeSet<_> = spec.models.iter().filter(|model| model.price.is_some()).map(|model| &model.id).collect();
    let models: BTreeSet<_> = spec.all_models().into_iter().map(|(_, model)| model).collect();
    let unpriced = models.difference(&priced);
    unpriced.filter_map(|model| misspelt(&prices, model)).for_each(|note| output::note(&note));
    Ok(Loaded { file: Some(args.spec.clone()), spec, data, recorded, prices: args.prices.clone() })
}

/// Parses a spec whose variables are those of this process.
pub(crate) fn parse(text: &str) -> anyhow::Result<SweepSpec> {
    let variable = |name: &str| std::env::var(name).ok();
    parse_spec(text, &variable).map_err(|error| {
        let evaluator = evaluators::unknown(text, &variable, BENCHMARKS);
        evaluator.map_or_else(|| error.into(), anyhow::Error::msg)
    })
}

fn override_from(args: &SpecArgs, spec: &mut SweepSpec) {
    if let Some(limit) = args.limit {
        spec.benchmarks.values_mut().for_each(|benchmark| benchmark.limit = Some(limit));
    }
    spec.trials = args.trials.unwrap_or(spec.trials);
    spec.seed = args.seed.unwrap_or(spec.seed);
    spec.budget_usd = args.budget.or(spec.budget_usd);
    spec.cache = args.cache.unwrap_or(spec.cache);
}

/// Refuses a spec with endpoints that cannot be used here, before anything is started.
pub(crate) fn check_endpoints(spec: &SweepSpec, policy: &Policy) -> anyhow::Result<()> {
    let used = spec.all_models().into_iter().map(|(_, model)| &model.endpoint);
    check_used(&spec.endpoints, &used.collect(), spec.cache, Build::THIS, policy)
}

/// Endpoints of the judges.
pub(crate) fn judges(spec: &SweepSpec) -> impl Iterator<Item = (&EndpointName, &EndpointSpec)> {
    let judges = spec.benchmarks.values().flat_map(BenchmarkSpec::judges).flat_map(Judge::ids);
    judges.filter_map(|judge| spec.endpoints.get_key_value(&judge.endpoint))
}

/// Refuses judges at endpoints that cannot be used here. Nobody else is asked anything.
pub(crate) fn check_judges(spec: &SweepSpec, policy: &Policy) -> anyhow::Result<()> {
    check_used(&spec.endpoints, &judges(spec).map(|(name, _)| name).collect(), spec.cache, Build::THIS, policy)
}

/// Refuses a spec with endpoints that this build does not have. What only plans sends nothing, so it needs no keys.
pub(crate) fn check_build(spec: &SweepSpec) -> anyhow::Result<()> {
    for (_, model) in spec.all_models() {
        if let Some((name, endpoint)) = spec.endpoints.get_key_value(&model.endpoint) {
            Build::THIS.check(name, endpoint).map_err(bad_configuration)?;
        }
    }
    Ok(())
}

/// Refuses a sweep that is planned with endpoints that cannot be used here.
pub(crate) fn check_locked_endpoints(lock: &SweepLock, policy: &Policy) -> anyhow::Result<()> {
    check_used(&lock.endpoints, &lock.used_endpoints(), lock.cache, Build::THIS, policy)
}

/// Refuses endpoints of those `used` that `build` does not have, or whose keys are not there. Replaying asks nobody and needs no keys.
fn check_used(
    endpoints: &BTreeMap<EndpointName, EndpointSpec>,
    used: &BTreeSet<&EndpointName>,
    cache: CacheMode,
    build: Build,
    policy: &Policy,
) -> anyhow::Result<()> {
    let mut problems = Vec::new();
    for (name, endpoint) in endpoints.iter().filter(|(name, _)| used.contains(name)) {
        build.check(name, endpoint).map_err(bad_configuration)?;
        if endpoint.kind.takes_address() && cache != CacheMode::Replay {
            let env = |variable: &str| std::env::var(variable).ok();
            let checked = regatta_llm::check_access(name, endpoint, &env, policy.outbound());
            problems.extend(checked.err().map(bad_configuration));
        }
    }
    // All at once: whoever lacks one key may lack others.
    match problems.len() {
        0 => Ok(()),
        1 => Err(problems.remove(0)),
        several => {
            let lines: Vec<String> = problems.iter().map(|problem| format!("\n  {problem:#}")).collect();
            Err(BadConfiguration(format!("{several} endpoints cannot be used:{}", lines.concat())).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A default build refuses what it cannot do before anything is paid, also where nobody is asked.
    #[test]
    fn what_a_build_does_not_have_is_refused_whatever_it_is_used_for() {
        let lean = Build { bedrock: false, encoder: false };
        let full = Build { bedrock: true, encoder: true };
        let name: EndpointName = "judge".parse().unwrap();
        for kind in [EndpointKind::Encoder, EndpointKind::Bedrock] {
            let endpoints = BTreeMap::from([(name.clone(), EndpointSpec::of_kind(kind))]);
            let check = |used, cache, build| check_used(&endpoints, &used, cache, build, &Policy::trusting());
            for cache in [CacheMode::Off, CacheMode::ReadWrite, CacheMode::Replay] {
                let error = check(BTreeSet::from([&name]), cache, lean).unwrap_err();
                assert!(format!("{error:#}").contains("--features"), "{error:#}");
                check(BTreeSet::from([&name]), cache, full).unwrap();
                check(BTreeSet::new(), cache, lean).unwrap();
            }
        }
    }
}
