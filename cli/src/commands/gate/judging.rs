//! From two runs and a policy to checks.

use regatta_proto::{BenchmarkName, ModelSpec, counted};
use regatta_scorer::{MetricDefinition, SummaryMetric, rendered, rendered_missing};

use super::policy::{MetricPolicy, Policy};
use super::verdict::{Check, Verdict};
use crate::commands::compare::{p_value, percent};
use crate::ended_run::EndedRun;
use crate::exit::BadConfiguration;
use crate::paired_runs::{Change, Distribution, MatchedCell, Observations, Paired, Quantity, other_tests};

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
    let mut checks = Vec::new();
    for Asked { cell, name, of } in asked {
        let (at, paired) = (&cells[cell], &paired[cell]);
        // Was found when it was asked for.
        let Some(definition) = definition(paired, name, of) else { continue };
        checks.push(metric(policy, at, paired, definition, of, alpha_each)?);
    }
    for (cell, paired) in cells.iter().zip(&paired) {
        checks.extend(limits(policy, run, cell, paired));
    }
    checks.extend(lost(policy, baseline, run, cells, models));
    checks.extend(incomparable(baseline, run, cells)?);
    Ok(checks)
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

fn definition<'r>(paired: &Paired<'r>, name: &str, of: &MetricPolicy) -> Option<&'r MetricDefinition> {
    let is_of = |metric: &&&MetricDefinition| {
        metric.metric == name && of.evaluator.is_none_or(|evaluator| metric.evaluator == evaluator)
    };
    paired.definitions.iter().find(is_of).copied()
}

fn asked<'p>(policy: &'p Policy, cells: &[MatchedCell], paired: &[Paired<'_>]) -> anyhow::Result<Vec<Asked<'p>>> {
    let mut all = Vec::new();
    for (name, of) in &policy.metrics {
        let before = all.len();
        for (at, (cell, paired)) in cells.iter().zip(paired).enumerate() {
            let is_asked = of.benchmark.as_ref().is_none_or(|benchmark| cell.benchmark == *benchmark);
            if is_asked && definition(paired, name, of).is_some() {
                all.push(Asked { cell: at, name, of });
            }
        }
        if all.len() == before {
            let known: Vec<&str> = paired.iter().flat_map(|of| &of.definitions).map(|of| of.metric.as_str()).collect();
            return Err(BadConfiguration(format!(
                "the policy names the metric {name}, which no cell has in both runs; they have {}",
                known.join(", ")
            ))
            .into());
        }
    }
    Ok(all)
}

fn metric(
    policy: &Policy,
    cell: &MatchedCell,
    paired: &Paired<'_>,
    definition: &MetricDefinition,
    of: &MetricPolicy,
    alpha_worse: f64,
) -> anyhow::Result<Check> {
    let margin = of.margin.of(definition.unit).map_err(|error| {
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

/// Coverage, money and time: plain limits on what was seen. Nothing is inferred of them: a run is a single draw of its endpoint's load.
fn limits(policy: &Policy, run: &EndedRun, cell: &MatchedCell, paired: &Paired<'_>) -> Vec<Check> {
    let check = |what: &str, verdict: Verdict, detail: String| Check {
        cell: cell.to_string(),
        what: what.to_owned(),
        verdict,
        detail,
    };
    let mut checks = Vec::new();
    let least = policy.coverage_min;
    let (scored, of) = covered(policy, run, cell, paired);
    let (both, missing) = (paired.cells.items.len(), paired.cells.only_theirs.len());
    let shared = both as f64 / (both + missing).max(1) as f64;
    // What was not measured says nothing about the model: it is a reason to measure again, not to refuse.
    let verdict = if scored.min(shared) >= least { Verdict::Go } else { Verdict::Inconclusive };
    let detail = format!(
        "{} of the sessions have {of}, and {} of the baseline's items are in the run; at least {}",
        percent(scored),
        percent(shared),
        percent(least)
    );
    checks.push(check("coverage", verdict, detail));
    let money = [policy.cost_max_increase.map(|limit| limit.0), policy.cost_max_usd];
    let time = [policy.latency_p95_max_increase.map(|limit| limit.0), policy.latency_p95_max_s];
    let mean: fn(&Distribution) -> f64 = |of| of.mean;
    let p95: fn(&Distribution) -> f64 = |of| of.p95;
    let asked = [
        // What a single session costs is too little to be read.
        Limit {
            name: "cost of 1,000 sessions",
            unit: "$",
            scale: 1000.0,
            limits: money,
            of: mean,
            alone: paired.spent(Quantity::Dollars)[1],
            in_both: paired.spent_in_both(Quantity::Dollars),
        },
        Limit {
            name: "latency p95",
            unit: "s",
            scale: 1.0,
            limits: time,
            of: p95,
            alone: paired.times().b,
            in_both: paired.times_in_both(),
        },
    ];
    for Limit { name, unit, scale, limits: [increase, most], of, alone, in_both: [baseline, run] } in asked {
        if increase.is_none() && most.is_none() {
            continue;
        }
        let held = |now: f64, limit: f64| if now <= limit { Verdict::Go } else { Verdict::NoGo };
        let sessions = |of: &Distribution| counted(of.sessions as u64, "session", "sessions");
        if let Some(increase) = increase {
            let what = format!("{name}, increase");
            let seen = observed(&alone, "run", policy)
                .and_then(|_| observed(&baseline, "baseline", policy))
                .and_then(|before| Ok((before, observed(&run, "run", policy)?)));
            match seen {
                Err(why) => checks.push(check(&what, Verdict::Inconclusive, why)),
                Ok((before, now)) => {
                    let limit = of(&before) * (1.0 + increase);
                    let verdict = held(of(&now), limit);
                    let all = sessions(&now);
                    let [now, was, most] = [of(&now), of(&before), limit].map(|value| value * scale);
                    let detail = format!(
                        "observed {now:.4} {unit}, was {was:.4}, over the {all} of both; at most {most:.4} (+{:.0} %)",
                        increase * 100.0
                    );
                    checks.push(check(&what, verdict, detail));
                }
            }
        }
        if let Some(limit) = most {
            checks.push(match observed(&alone, "run", policy) {
                Err(why) => check(name, Verdict::Inconclusive, why),
                Ok(seen) => {
                    let (now, sessions) = (of(&seen), sessions(&seen));
                    let [shown, most] = [now, limit].map(|value| value * scale);
                    let detail = format!("observed {shown:.4} {unit} over {sessions}; at most {most:.4}");
                    check(name, held(now, limit), detail)
                }
            });
        }
    }
    checks
}

/// Least part of the run's sessions that is in a metric of the policy, 0..=1, with the words for what these have. Metrics that the policy does
/// not name may miss what they will.
fn covered(policy: &Policy, run: &EndedRun, cell: &MatchedCell, paired: &Paired<'_>) -> (f64, String) {
    let Some(row) = run.row(&cell.benchmark, &cell.setting, &cell.model_b) else {
        return (0.0, "a score".to_owned());
    };
    let coverages = policy.metrics.iter().filter_map(|(name, of)| {
        let is_asked = of.benchmark.as_ref().is_none_or(|benchmark| cell.benchmark == *benchmark);
        let definition = definition(paired, name, of).filter(|_| is_asked)?;
        let is_its =
            |metric: &&SummaryMetric| metric.evaluator == definition.evaluator && metric.metric == definition.metric;
        Some((row.metrics.iter().find(is_its)?.estimate.coverage, name))
    });
    let least = coverages.min_by(|one, other| one.0.total_cmp(&other.0));
    let scored = row.sessions.coverage();
    match least.filter(|(coverage, _)| *coverage < scored) {
        Some((coverage, name)) => (coverage, format!("a value of {name}")),
        None => (scored, "a score".to_owned()),
    }
}

/// Limits of a quantity, and what both runs took of it.
struct Limit {
    name: &'static str,
    unit: &'static str,
    /// Sessions that a person reads it of.
    scale: f64,
    /// Largest increase, and largest value.
    limits: [Option<f64>; 2],
    of: fn(&Distribution) -> f64,
    /// In the run.
    alone: Observations,
    /// In the sessions that are in both, of the baseline and of the run: what an increase is held against.
    in_both: [Observations; 2],
}

/// The distribution, or the reason why it is unknown in the run that is called `name`. Answers of the response cache are of another run: too
/// many of them leave nothing to hold a limit against.
fn observed(seen: &Observations, name: &str, policy: &Policy) -> Result<Distribution, String> {
    let cached = seen.cached_note().filter(|_| seen.asked() < policy.coverage_min);
    if let Some(cached) = cached {
        return Err(format!(
            "unknown in the {name}: {cached}, which took nothing of their own; at least {} must have been asked",
            percent(policy.coverage_min)
        ));
    }
    let unknown = || {
        let notes: Vec<String> = [seen.unanswered_note(), seen.refused_note()].into_iter().flatten().collect();
        let is_why = seen.unanswered + seen.refused == seen.scored && !notes.is_empty();
        let why = if is_why { format!(": {}", notes.join(", ")) } else { String::new() };
        format!("unknown in the {name}{why}")
    };
    seen.of.ok_or_else(unknown)
}
