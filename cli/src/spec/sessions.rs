//! `--sessions N`: limits of the benchmarks with which a sweep has at most N sessions over all its cells.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, bail};
use regatta_benchmarks::{SampledBenchmark, SharingError, Suite, default_setting, limits_within};
use regatta_proto::{BenchmarkName, FileSet, Setting, SweepSpec, counted};

use crate::data::benchmark;

/// Gives each benchmark of `spec` the limit with which all have at most `sessions` sessions together. The limits are what the lock has, so that
/// whoever continues or repeats the run needs no other number.
pub(super) fn share_out(
    spec: &mut SweepSpec,
    data: &BTreeMap<BenchmarkName, FileSet>,
    sessions: u64,
) -> anyhow::Result<()> {
    if let Some((name, _)) = spec.benchmarks.iter().find(|(_, wanted)| !wanted.items.is_empty()) {
        bail!("--sessions draws items, and benchmarks.{name}.items lists them; leave out one of them");
    }
    let mut loaded: Vec<(BenchmarkName, Arc<dyn Suite>, Vec<Setting>)> = Vec::new();
    for (name, wanted) in &spec.benchmarks {
        let files = data.get(name).with_context(|| format!("benchmarks.{name}.data is missing"))?;
        let known = benchmark(name)?;
        let suite = known.load(files).with_context(|| format!("benchmarks.{name}.data"))?;
        let settings = match wanted.settings.is_empty() {
            true => default_setting(known, &*suite).into_iter().collect(),
            false => wanted.settings.clone(),
        };
        loaded.push((name.clone(), suite, settings));
    }
    let trials = spec.decide.as_ref().map_or(spec.trials, |decide| decide.trials_max(spec.trials));
    // Every item is run by every model in every trial.
    let each = (spec.models.len() as u64 * u64::from(trials)).max(1);
    let sampled: Vec<SampledBenchmark<'_>> = loaded
        .iter()
        .map(|(name, suite, settings)| {
            let wanted = spec.benchmarks.get(name);
            let tasks: &[String] = wanted.map_or(&[], |wanted| wanted.tasks.as_slice());
            SampledBenchmark {
                name,
                suite: &**suite,
                settings,
                tasks,
                limit: wanted.and_then(|wanted| wanted.limit),
                canaries: wanted.and_then(|wanted| wanted.canaries),
            }
        })
        .collect();
    let limits = match limits_within(&sampled, sessions / each, spec.seed) {
        Ok(limits) => limits,
        // Planning says it with the field of the spec, and what was meant.
        Err(SharingError::Select(_)) => return Ok(()),
        Err(SharingError::TooFew { least }) => bail!(
            "--sessions {sessions} is too few: one item in every setting{}, for {} and {}, makes {} sessions",
            if sampled.iter().any(|of| of.canaries.is_some()) { " with the canaries" } else { "" },
            counted(spec.models.len() as u64, "model", "models"),
            counted(trials.into(), "trial", "trials"),
            least * each
        ),
    };
    for ((name, ..), limit) in loaded.iter().zip(limits) {
        if let Some(wanted) = spec.benchmarks.get_mut(name) {
            wanted.limit = limit;
        }
    }
    Ok(())
}
