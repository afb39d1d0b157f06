//! From two nights to what changed between them.
//!
//! Locks and the names that endpoints served under decide first. Numbers decide where these are silent: answers that became longer or
//! shorter speak of another model, and calls that took more or less time for as much of a slow or a fast provider. A test counts only if it
//! stands beside all others of its night, and only if it is of a size that matters. Canaries speak of another model too, where their answers
//! are others more often than the nights before.

use std::collections::{BTreeMap, BTreeSet};

use regatta_proto::{BenchmarkLock, EndpointSpec, Judge, Limits, ModelRef};
use regatta_report::{MetricDefinition, holm};

use super::canaries::{Canaries, Compared, History};
use super::finding::{Cause, Evidence, Finding, Moved, Paced};
use super::known::{Known, Scope};
use super::pacing::{Timed, paced};
use super::parts::{ALPHA, Part, PartOf, ended, graded};
use crate::ended_run::EndedRun;
use crate::paired_runs::{
    Change, Changes, Chosen, MatchedCell, Numbers, Paired, Quantity, matched, parameters, served,
};

/// Relative change of the mean tokens of an answer that speaks of another model.
const TOKENS_SHIFT: f64 = 0.05;

/// A cell's tokens.
struct Measured<'c> {
    cell: &'c MatchedCell,
    numbers: Numbers,
    p_holm: f64,
}

/// A headline metric of a cell.
struct Headline<'c> {
    cell: &'c MatchedCell,
    of: &'c MetricDefinition,
    moved: Moved,
}

/// All that is measured of a night, its tests corrected together.
struct Numbered<'c> {
    tokens: Vec<Measured<'c>>,
    /// Cells of which times are the provider's alone.
    times: Vec<Timed<'c>>,
    parts: Vec<Part<'c>>,
    canaries: Vec<Compared<'c>>,
    /// Headline scores that moved.
    moved: Vec<Headline<'c>>,
}

/// Observations of a night, held against the one before.
#[derive(Default)]
pub(super) struct Observed {
    /// Causes of difference.
    pub(super) findings: Vec<Finding>,
    /// Headline metrics that moved.
    pub(super) scores: Vec<Moved>,
    /// Median times that are others.
    pub(super) times: Vec<Paced>,
    /// Canaries that both nights have answered.
    pub(super) canaries: Vec<Canaries>,
}

/// Observes what is different between two nights, whose canaries are held against their `history`.
pub(super) fn observe(before: &EndedRun, now: &EndedRun, history: &mut History) -> anyhow::Result<Observed> {
    let cells = matched(before, now, &Chosen::default())?;
    let mut causes = declared(before, now, &cells)?;
    causes.extend(served_otherwise(before, now, &cells));
    let paired: Vec<Paired<'_>> = cells.iter().map(|cell| Paired::new(before, now, cell)).collect();
    let Numbered { tokens, times, parts, canaries, moved } = measure([before, now], &cells, &paired, &causes, history);
    let shifts: Vec<Known> = tokens.iter().filter(|of| !is_explained(of, &causes)).filter_map(shift).collect();
    let answers_otherwise = |cell: &MatchedCell| tokens.iter().any(|of| of.cell == cell && has_shifted(of));
    // No `Known`: a slow provider is no reason for other scores.
    let paces = times.iter().filter(|of| !answers_otherwise(of.cell)).filter_map(Timed::finding);
    causes.extend(shifts);
    causes.extend(canaries.iter().filter_map(Compared::finding));
    let changed: Vec<&Part<'_>> = parts.iter().filter(|part| part.has_changed()).collect();
    let unexplained = unexplained(&moved, &causes, &changed);
    let mut findings: Vec<Finding> = causes.into_iter().map(|known| known.finding).collect();
    findings.extend(paces);
    findings.extend(unexplained);
    findings.extend(changed.into_iter().map(Part::finding));
    findings.sort_by_key(|finding| finding.cause);
    let times = cells.iter().zip(&paired).filter_map(|(cell, paired)| paced(cell, paired)).collect();
    let remembered = canaries.into_iter().map(|of| {
        let has_shifted = answers_otherwise(of.cell);
        of.remember(history, has_shifted)
    });
    let canaries = remembered.collect();
    Ok(Observed { findings, scores: moved.into_iter().map(|of| of.moved).collect(), times, canaries })
}

/// Findings of what moved without one of the `causes`, though some parts of the sessions have `changed`. These explain no more than what they
/// are of: a filter ends sessions and makes no other one worse, and what was not measured explains nothing of what was.
fn unexplained(moved: &[Headline<'_>], causes: &[Known], changed: &[&Part<'_>]) -> Vec<Finding> {
    let is_unexplained = |of: &&Headline<'_>| {
        let explains = |part: &&&Part<'_>| match &part.of {
            PartOf::Unscored(..) => false,
            PartOf::Graded(metrics) => metrics.contains(&of.of.metric.as_str()),
            PartOf::CutOff(_) => of.moved.uncut.is_none(),
        };
        // One line a metric: the sessions that both nights let come to an end tell more of it.
        let is_told_by = |other: &Headline<'_>| {
            of.moved.uncut.is_none() && other.moved.uncut.is_some() && other.cell == of.cell && other.of == of.of
        };
        !causes.iter().any(|known| known.scope.covers(of.cell))
            && !changed.iter().filter(|part| part.cell == of.cell).any(|part| explains(&part))
            && !moved.iter().any(is_told_by)
    };
    let finding = |Headline { moved, .. }: &Headline<'_>| Finding {
        cause: Cause::Unexplained,
        evidence: Evidence::Measured,
        what: format!("{}: {}", moved.cell, moved.what()),
        before: "scores of the same sessions".to_owned(),
        now: "moved, and nothing that was served did".to_owned(),
        p_holm: Some(moved.p_holm),
    };
    moved.iter().filter(is_unexplained).map(finding).collect()
}

/// Differences that the locks declare.
fn declared(before: &EndedRun, now: &EndedRun, cells: &[MatchedCell]) -> anyhow::Result<Vec<Known>> {
    let mut known = Vec::new();
    let mut note = |cause: Cause, changes: Changes, scope: &dyn Fn() -> Scope| {
        known.extend(changes.0.into_iter().map(|Change { what, a, b }| Known {
            finding: Finding { cause, evidence: Evidence::Declared, what, before: a, now: b, p_holm: None },
            scope: scope(),
        }));
    };
    let (a, b) = (&before.lock, &now.lock);
    let mut harness = Changes::default();
    harness.add("Regatta", &a.regatta, &b.regatta)?;
    harness.add("seed", &a.seed, &b.seed)?;
    harness.add("trials", &a.trials, &b.trials)?;
    harness.add("filtered", &a.filtered, &b.filtered)?;
    note(Cause::Harness, harness, &|| Scope::All);
    let benchmarks: BTreeSet<_> = cells.iter().map(|cell| &cell.benchmark).collect();
    for name in benchmarks {
        let (Some(of_a), Some(of_b)) = (a.benchmarks.get(name), b.benchmarks.get(name)) else { continue };
        let (mut harness, mut data, mut judge) = (Changes::default(), Changes::default(), Changes::default());
        data.add(&format!("{name}: data"), &of_a.dataset, &of_b.dataset)?;
        data.add(&format!("{name}: tasks"), &of_a.tasks, &of_b.tasks)?;
        data.add(&format!("{name}: listed items"), &of_a.listed, &of_b.listed)?;
        data.add(&format!("{name}: items"), &of_a.items, &of_b.items)?;
        harness.add(&format!("{name}: evaluators"), &of_a.evaluators, &of_b.evaluators)?;
        harness.add(&format!("{name}: other roles"), &of_a.roles, &of_b.roles)?;
        harness.add(&format!("{name}: casts"), &of_a.casts, &of_b.casts)?;
        let metrics = |run: &EndedRun| run.measures.benchmarks.get(name).map(|measures| measures.settings.clone());
        harness.add(&format!("{name}: metrics"), &metrics(before), &metrics(now))?;
        judge.add(&format!("{name}: judge"), &of_a.judge, &of_b.judge)?;
        let of_benchmark = || Scope::Benchmark(name.clone());
        note(Cause::Harness, harness, &of_benchmark);
        note(Cause::Data, data, &of_benchmark);
        note(Cause::Judge, judge, &of_benchmark);
    }
    for (of_a, of_b) in models(cells) {
        let mut model = Changes::default();
        model.add("model", of_a, of_b)?;
        // A price is no part of what answers.
        let spec = |run: &EndedRun, id: &ModelRef| {
            run.lock.model(id).map(|found| regatta_proto::ModelSpec { price: None, ..parameters(found, of_b) })
        };
        model.add(&format!("{of_b}: parameters"), &spec(before, of_a), &spec(now, of_b))?;
        note(Cause::Model, model, &|| Scope::of_model(of_b, now));
    }
    let (mut limits, mut provider) = (Changes::default(), Changes::default());
    limits.add("share of endpoints", &a.share, &b.share)?;
    for (name, of_a) in &a.endpoints {
        let Some(of_b) = b.endpoints.get(name) else { continue };
        limits.add(&format!("endpoint {name}, limits"), &of_a.limits, &of_b.limits)?;
        limits.add(&format!("endpoint {name}, model_limits"), &of_a.model_limits, &of_b.model_limits)?;
        provider.add(&format!("endpoint {name}"), &without_limits(of_a), &without_limits(of_b))?;
    }
    // Regatta keeps to them, whatever the provider would serve.
    note(Cause::Harness, limits, &|| Scope::Times);
    // Judges and other roles may be served by it too.
    note(Cause::Provider, provider, &|| Scope::All);
    Ok(known)
}

fn without_limits(endpoint: &EndpointSpec) -> EndpointSpec {
    EndpointSpec { limits: Limits::default(), model_limits: BTreeMap::new(), ..endpoint.clone() }
}

fn models(cells: &[MatchedCell]) -> BTreeSet<(&ModelRef, &ModelRef)> {
    cells.iter().map(|cell| (&cell.model_a, &cell.model_b)).collect()
}

/// Differences in the names under which endpoints served.
fn served_otherwise(before: &EndedRun, now: &EndedRun, cells: &[MatchedCell]) -> Vec<Known> {
    let mut known = Vec::new();
    let mut compare = |cause: Cause, scope: Scope, what: String, a: BTreeSet<String>, b: BTreeSet<String>| {
        // Who says nothing says nothing about a change.
        if !a.is_empty() && !b.is_empty() && a != b {
            let list = |set: BTreeSet<String>| set.into_iter().collect::<Vec<_>>().join(", ");
            let (before, now) = (list(a), list(b));
            let finding = Finding { cause, evidence: Evidence::Served, what, before, now, p_holm: None };
            known.push(Known { finding, scope });
        }
    };
    for (of_a, of_b) in models(cells) {
        let (a, b) = (Labels::of(served(before, of_a)), Labels::of(served(now, of_b)));
        let scope = || Scope::of_model(of_b, now);
        compare(Cause::Model, scope(), format!("{of_b} served as"), a.models, b.models);
        compare(Cause::Provider, scope(), format!("{of_b} served by"), a.providers, b.providers);
    }
    for name in judges(before).intersection(&judges(now)) {
        let labels = |run: &EndedRun| -> BTreeSet<String> {
            let of = run.summary.judges.iter().filter(|judge| judge.judge == *name);
            of.flat_map(|judge| &judge.served).flat_map(|label| label.split(", ")).map(str::to_owned).collect()
        };
        compare(Cause::Judge, Scope::All, format!("judge {name} served as"), labels(before), labels(now));
    }
    known
}

fn judges(run: &EndedRun) -> BTreeSet<ModelRef> {
    run.lock.benchmarks.values().flat_map(BenchmarkLock::judges).flat_map(Judge::ids).cloned().collect()
}

/// A served label `model fingerprint by provider [tier]`, taken apart.
#[derive(Default)]
struct Labels {
    models: BTreeSet<String>,
    providers: BTreeSet<String>,
}

impl Labels {
    fn of(served: BTreeSet<String>) -> Self {
        let mut labels = Self::default();
        for label in served {
            let (label, tier) = match label.strip_suffix(']').and_then(|rest| rest.rsplit_once(" [")) {
                Some((rest, tier)) => (rest.to_owned(), Some(tier.to_owned())),
                None => (label, None),
            };
            let (model, provider) = match label.rsplit_once(" by ") {
                Some((model, provider)) => (model.to_owned(), Some(provider.to_owned())),
                None => (label, None),
            };
            labels.models.insert(model);
            let by = [provider, tier.map(|tier| format!("tier {tier}"))].into_iter().flatten().collect::<Vec<_>>();
            labels.providers.extend((!by.is_empty()).then(|| by.join(", ")));
        }
        labels
    }
}

/// Numbers of the sessions that both nights have, and headline metrics that moved; all tests corrected together. `causes` are those that are
/// declared or served.
fn measure<'c>(
    [before, now]: [&EndedRun; 2],
    cells: &'c [MatchedCell],
    paired: &[Paired<'c>],
    causes: &[Known],
    history: &History,
) -> Numbered<'c> {
    let (mut tokens, mut times, mut parts, mut moved) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut canaries = Vec::new();
    for (cell, paired) in cells.iter().zip(paired) {
        let numbers = paired.numbers(Quantity::OutputTokens);
        tokens.extend(numbers.map(|numbers| Measured { cell, numbers, p_holm: 1.0 }));
        times.extend(Timed::of([before, now], cell, paired, causes));
        parts.extend(ended(before, now, cell, paired));
        parts.extend(graded(cell, paired));
        parts.retain(Part::can_change);
        canaries.extend(Compared::of([before, now], cell, history, causes));
        moved.extend(headlines(cell, paired, None));
        if let Some(uncut) = paired.uncut() {
            moved.extend(headlines(cell, &paired.of_sessions(&uncut), Some(uncut.len())));
        }
    }
    let p = tokens.iter().map(|of: &Measured<'_>| of.numbers.difference.p);
    let p = p.chain(times.iter().map(|of: &Timed<'_>| of.pace.difference.p));
    let p = p.chain(parts.iter().map(|of: &Part<'_>| of.p));
    let p = p.chain(moved.iter().map(|of: &Headline<'_>| of.moved.difference.p)).map(|p| p.unwrap_or(1.0));
    // Last: those without a test are none of the family.
    let p: Vec<f64> = p.chain(canaries.iter().filter_map(|of: &Compared<'_>| of.p)).collect();
    let corrected = holm(&p, p.len());
    let places = tokens.iter_mut().map(|of| &mut of.p_holm).chain(times.iter_mut().map(|of| &mut of.p_holm));
    let places = places.chain(parts.iter_mut().map(|of| &mut of.p_holm));
    let places = places.chain(moved.iter_mut().map(|of| &mut of.moved.p_holm));
    let tested = canaries.iter_mut().filter(|of| of.p.is_some());
    let places = places.chain(tested.map(|of| of.of.p_holm.insert(1.0)));
    places.zip(corrected).for_each(|(place, p)| *place = p);
    moved.retain(|of| of.moved.p_holm <= ALPHA && !of.moved.difference.withheld);
    Numbered { tokens, times, parts, canaries, moved }
}

/// Headline metrics of a cell, over the sessions of `paired`: so many that no night cut off, or all.
fn headlines<'c>(cell: &'c MatchedCell, paired: &Paired<'c>, uncut: Option<usize>) -> Vec<Headline<'c>> {
    let headline = |of: &'c MetricDefinition| {
        let moved = Moved {
            cell: cell.to_string(),
            metric: format!("{} ({})", of.metric, of.evaluator),
            unit: of.unit,
            uncut,
            difference: paired.difference(of)?,
            p_holm: 1.0,
        };
        Some(Headline { cell, of, moved })
    };
    paired.definitions.iter().copied().filter(|of| of.headline).filter_map(headline).collect()
}

/// `true` where one of the `causes` explains a shift of these tokens.
fn is_explained(of: &Measured<'_>, causes: &[Known]) -> bool {
    // Of whatever else is asked, answered or counted, sessions take other tokens.
    let explains = |cause: Cause| match cause {
        Cause::Harness | Cause::Data | Cause::Model | Cause::Unexplained => true,
        Cause::Judge | Cause::Provider => false,
    };
    causes.iter().any(|known| known.scope.covers(of.cell) && explains(known.finding.cause))
}

/// `true` if the tokens shifted by more than chance, and by a size that matters.
fn has_shifted(of: &Measured<'_>) -> bool {
    let (before, now) = (of.numbers.a.mean, of.numbers.b.mean);
    of.p_holm <= ALPHA && (now - before).abs() > TOKENS_SHIFT * before.min(now).max(f64::MIN_POSITIVE)
}

/// A finding, if the tokens shifted: it speaks of another model.
fn shift(of: &Measured<'_>) -> Option<Known> {
    if !has_shifted(of) {
        return None;
    }
    let (before, now) = (of.numbers.a.mean, of.numbers.b.mean);
    let finding = Finding {
        cause: Cause::Model,
        evidence: Evidence::Measured,
        what: format!("{}: tokens answered a session", of.cell),
        before: format!("{before:.0}"),
        now: format!("{now:.0}"),
        p_holm: Some(of.p_holm),
    };
    Some(Known { finding, scope: Scope::Model(of.cell.model_b.clone()) })
}
