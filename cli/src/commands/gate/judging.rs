//! From two runs and a policy to checks.

use std::collections::BTreeSet;

use regatta_proto::{BenchmarkName, ModelSpec, counted, did_you_mean};
use regatta_report::{MetricDefinition, rendered, rendered_missing};

use super::limits::limits;
use super::policy::{MetricPolicy, Policy};
use super::verdict::{Check, Verdict};
use crate::commands::compare::{p_value, percent};
use crate::ended_run::EndedRun;
use crate::exit::BadConfiguration;
use crate::paired_runs::{Change, MatchedCell, Paired, other_tests};

/// A metric of a cell that the policy is about.
struct Asked<'p> {
    cell: usize,
    name: &'p str,
    of: &'p MetricPolicy,
}

/// Every check of `policy` on `run`, held against `baseline`. `alpha_worse` is what all metrics together may spend on false alarms.
pub(super) fn judge(
    policy: &Policy,
    baseline: &EndedRun,
    run: &EndedRun,
    cells: &[MatchedCell],
    models: Models,
    alpha_worse: f64,
) -> anyhow::Result<Vec<Check>> {
    let paired: Vec<Paired<'_>> = cells.iter().map(|cell| Paired::new(baseline, run, cell)).collect();
    let asked = asked(policy, cells, &paired)?;
    // Each metric of each cell may raise the alarm, so each has its part. To go, all have to be shown: nothing to correct.
    let alpha_each = alpha_worse / asked.len() as f64;
    let stopped = stopped_by_scores(baseline, run);
    let mut checks = Vec::new();
    for Asked { cell, name, of } in asked {
        let (at, paired) = (&cells[cell], &paired[cell]);
        // Was found when it was asked for.
        let Some(definition) = paired.definition(name, of.evaluator) else { continue };
        let mut check = metric(policy, at, paired, definition, of, alpha_each)?;
        if !stopped.is_empty() {
            check.verdict = Verdict::Inconclusive;
            check.detail += "; no verdict, because the size of a sample was not fixed beforehand";
        }
        checks.push(check);
    }
    for (cell, paired) in cells.iter().zip(&paired) {
        checks.extend(limits(policy, run, cell, paired));
    }
    checks.extend(lost(policy, baseline, run, cells, models));
    checks.extend(incomparable(baseline, run, cells)?);
    checks.extend(stopped);
    Ok(checks)
}

/// Checks for runs whose sessions were bought by their scores, until a question was answered or nothing was left to buy: tests and intervals of
/// the policy hold for samples whose size was fixed beforehand.
fn stopped_by_scores(baseline: &EndedRun, run: &EndedRun) -> Vec<Check> {
    let stopped = [(baseline, "baseline"), (run, "run")].into_iter().filter(|(of, _)| of.lock.decide.is_some());
    let check = |(of, which): (&EndedRun, &str)| Check {
        cell: of.name.clone(),
        what: "a sample of fixed size".to_owned(),
        verdict: Verdict::Inconclusive,
        detail: format!(
            "the {which} has a question (decide), so that which sessions it has hangs on its scores; its own answers are under `decided` of its \
             summary.json"
        ),
    };
    stopped.map(check).collect()
}

/// Checks for the benchmarks that are another test than in the baseline.
fn incomparable(baseline: &EndedRun, run: &EndedRun, cells: &[MatchedCell]) -> anyhow::Result<Vec<Check>> {
    let check = |(benchmark, change): (BenchmarkName, Change)| Check {
        cell: benchmark.to_string(),
        what: "the same test".to_owned(),
        verdict: Verdict::Inconclusive,
        detail: format!("{} changed: {} in the baseline, {} in the run", change.what, change.a, change.b),
    };
    Ok(other_tests(baseline, run, cells)?.into_iter().map(check).collect())
}

/// Models of the baseline that the run must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Models {
    /// All models of the baseline.
    All,
    /// Only the models that options of the command name.
    Named,
}

/// Checks for the cells of the policy's benchmarks that the baseline has and the run lacks; nothing is shown about them.
fn lost(policy: &Policy, baseline: &EndedRun, run: &EndedRun, cells: &[MatchedCell], models: Models) -> Vec<Check> {
    let is_asked = |benchmark: &BenchmarkName| {
        policy.metrics.values().any(|metric| metric.benchmark.as_ref().is_none_or(|only| only == benchmark))
    };
    let mut lost = Vec::new();
    for (benchmark, lock) in baseline.lock.benchmarks.iter().filter(|(benchmark, _)| is_asked(benchmark)) {
        for setting in &lock.settings {
            let here = || cells.iter().filter(|cell| cell.benchmark == *benchmark && cell.setting == *setting);
            if here().next().is_none() {
                lost.push(format!("{benchmark} · {setting}"));
            } else if models == Models::All {
                let is_lost = |model: &&ModelSpec| here().all(|cell| cell.model_a != model.id);
                let models = baseline.lock.models.iter().filter(is_lost);
                lost.extend(models.map(|model| format!("{benchmark} · {setting} · {}", model.id)));
            }
        }
    }
    let check = |cell| Check {
        cell,
        what: "part of the run".to_owned(),
        verdict: Verdict::Inconclusive,
        detail: format!("{} has it, {} has not", baseline.name, run.name),
    };
    lost.into_iter().map(check).collect()
}

fn asked<'p>(policy: &'p Policy, cells: &[MatchedCell], paired: &[Paired<'_>]) -> anyhow::Result<Vec<Asked<'p>>> {
    let mut all = Vec::new();
    for (name, of) in &policy.metrics {
        let before = all.len();
        if let Some(benchmark) = &of.benchmark {
            check_benchmark(name, benchmark, cells)?;
        }
        for (at, (cell, paired)) in cells.iter().zip(paired).enumerate() {
            let is_asked = of.benchmark.as_ref().is_none_or(|benchmark| cell.benchmark == *benchmark);
            if is_asked && paired.definition(name, of.evaluator).is_some() {
                all.push(Asked { cell: at, name, of });
            }
        }
        if all.len() == before {
            let all = paired.iter().flat_map(|of| &of.definitions).map(|of| of.metric.as_str());
            let known: BTreeSet<&str> = all.collect();
            let meant = did_you_mean(name, known.iter().copied());
            return Err(BadConfiguration(format!(
                "the policy names the metric {name}, which no cell has in both runs; they have {}{meant}",
                known.into_iter().collect::<Vec<_>>().join(", ")
            ))
            .into());
        }
    }
    Ok(all)
}

/// Refuses the `benchmark` of a policy's `metric` that no cell of both runs is of.
fn check_benchmark(metric: &str, benchmark: &BenchmarkName, cells: &[MatchedCell]) -> anyhow::Result<()> {
    if cells.iter().any(|cell| cell.benchmark == *benchmark) {
        return Ok(());
    }
    let known: BTreeSet<&str> = cells.iter().map(|cell| cell.benchmark.as_str()).collect();
    let meant = did_you_mean(benchmark.as_str(), known.iter().copied());
    let known = known.into_iter().collect::<Vec<_>>().join(", ");
    let problem = format!(
        "the policy's metrics.{metric}.benchmark is {benchmark}, which the runs do not share; they share {known}{meant}"
    );
    Err(BadConfiguration(problem).into())
}

fn metric(
    policy: &Policy,
    cell: &MatchedCell,
    paired: &Paired<'_>,
    definition: &MetricDefinition,
    of: &MetricPolicy,
    alpha_worse: f64,
) -> anyhow::Result<Check> {
    let margin = of.margin.of(definition.unit, (definition.low, definition.high)).map_err(|error| {
        BadConfiguration(format!("the policy's margin of {} does not fit: {error}", definition.metric))
    })?;
    let seed = paired.seed(&definition.metric);
    let seen = paired.difference(definition).zip(paired.cells.against_margin(definition, margin, seed));
    let check = |verdict: Verdict, detail: String| Check {
        cell: cell.to_string(),
        what: format!("{} ({})", definition.metric, definition.evaluator),
        verdict,
        detail,
    };
    let Some((difference, test)) = seen else {
        return Ok(check(Verdict::Inconclusive, "no session has a score in both runs".to_owned()));
    };
    if difference.clusters < 2 {
        let detail = "one group of items alone, which says nothing of how groups differ".to_owned();
        return Ok(check(Verdict::Inconclusive, detail));
    }
    let missing = rendered_missing(&difference, definition.unit);
    let verdict = verdict_of(test.p_worse, alpha_worse, test.p_not_worse, policy.alpha);
    // The tests hold whatever is missing: a loss that is shown although much is missing is one.
    let too_few = difference.missing.filter(|gaps| gaps.coverage < policy.coverage_min);
    if let Some(gaps) = too_few.filter(|_| verdict != Verdict::NoGo) {
        let detail = format!(
            "{} of the sessions have a score in both; at least {}",
            percent(gaps.coverage),
            percent(policy.coverage_min)
        );
        return Ok(check(Verdict::Inconclusive, detail));
    }
    let reads = match verdict {
        Verdict::Go => format!("not worse by the margin, p {} (alpha {})", compared(test.p_not_worse), policy.alpha),
        Verdict::NoGo => {
            format!("worse by more than the margin, p {} (alpha {})", compared(test.p_worse), level(alpha_worse))
        }
        Verdict::Inconclusive => format!(
            "neither shown: not worse p {} (alpha {}), worse p {} (alpha {})",
            compared(test.p_not_worse),
            policy.alpha,
            compared(test.p_worse),
            level(alpha_worse)
        ),
    };
    let margin = margin * definition.unit.factor();
    let shown = rendered(&difference, definition.unit);
    let missing = missing.map_or_else(String::new, |missing| format!("; {missing}"));
    Ok(check(
        verdict,
        format!("{shown}, margin {margin}, {}: {reads}{missing}", counted(difference.n.into(), "item", "items")),
    ))
}

/// A level as people read it.
pub(super) fn level(alpha: f64) -> String {
    if alpha < 0.001 { format!("{alpha:.1e}") } else { format!("{:.3}", alpha).trim_end_matches('0').to_owned() }
}

/// Verdict of the p-values of both tests against the margin.
pub(super) fn verdict_of(p_worse: f64, alpha_worse: f64, p_not_worse: f64, alpha: f64) -> Verdict {
    if p_worse <= alpha_worse {
        Verdict::NoGo
    } else if p_not_worse <= alpha {
        Verdict::Go
    } else {
        Verdict::Inconclusive
    }
}

fn compared(p: f64) -> String {
    let text = p_value(p);
    if text.starts_with('<') { text } else { format!("= {text}") }
}
