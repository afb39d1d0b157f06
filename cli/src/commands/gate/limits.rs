//! Coverage, money and time: limits on what was seen in a cell.

use regatta_proto::counted;
use regatta_report::SummaryMetric;

use super::policy::Policy;
use super::verdict::{Check, Verdict};
use crate::commands::compare::percent;
use crate::ended_run::EndedRun;
use crate::paired_runs::{Answered, Distribution, MatchedCell, Observations, Paired, Quantity};

/// Coverage, money and time: plain limits on what was seen. Nothing is inferred of them: a run is a single draw of its endpoint's load.
pub(super) fn limits(policy: &Policy, run: &EndedRun, cell: &MatchedCell, paired: &Paired<'_>) -> Vec<Check> {
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
    let answered = paired.answered();
    for limit in asked {
        let [increase, most] = limit.limits;
        if let Some(increase) = increase {
            let (verdict, detail) = limit.increased(increase, answered, policy);
            checks.push(check(&format!("{}, increase", limit.name), verdict, detail));
        }
        if let Some(most) = most {
            let (verdict, detail) = limit.exceeded(most, policy);
            checks.push(check(limit.name, verdict, detail));
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
        let definition = paired.definition(name, of.evaluator).filter(|_| is_asked)?;
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

impl Limit {
    /// Holds an `increase` by a part of what the baseline took against the sessions that both runs have answers of their own of.
    fn increased(&self, increase: f64, answered: Answered, policy: &Policy) -> (Verdict, String) {
        let Self { unit, scale, of, alone, in_both: [before, now], .. } = self;
        let unknown = unasked(alone, "run", policy)
            .or_else(|| alone.of.is_none().then(|| unpriced("run")))
            .or_else(|| unasked(before, "baseline", policy))
            .or_else(|| unasked(now, "run", policy));
        if let Some(why) = unknown {
            return (Verdict::Inconclusive, why);
        }
        let too_few = too_few(answered, policy.coverage_min);
        let (before, now) = match (before.of, now.of, too_few.clone()) {
            (Some(before), Some(now), _) => (before, now),
            (_, _, Some(why)) => return (Verdict::Inconclusive, why),
            (None, _, None) => return (Verdict::Inconclusive, unpriced("baseline")),
            (Some(_), None, None) => return (Verdict::Inconclusive, unpriced("run")),
        };
        let limit = of(&before) * (1.0 + increase);
        let [shown, was, most] = [of(&now), of(&before), limit].map(|value| value * scale);
        let detail = format!(
            "observed {shown:.4} {unit}, was {was:.4}, over the {} of both; at most {most:.4} (+{:.0} %)",
            sessions(&now),
            increase * 100.0
        );
        match too_few {
            Some(why) => (Verdict::Inconclusive, format!("{why}; {detail}")),
            None => (held(of(&now), limit), detail),
        }
    }

    /// Holds the limit `most` against the run by itself.
    fn exceeded(&self, most: f64, policy: &Policy) -> (Verdict, String) {
        let Self { unit, scale, of, alone, .. } = self;
        let seen = match (unasked(alone, "run", policy), alone.of) {
            (Some(why), _) => return (Verdict::Inconclusive, why),
            (None, None) => return (Verdict::Inconclusive, unpriced("run")),
            (None, Some(seen)) => seen,
        };
        let [shown, limit] = [of(&seen), most].map(|value| value * scale);
        let detail = format!("observed {shown:.4} {unit} over {}; at most {limit:.4}", sessions(&seen));
        (held(of(&seen), most), detail)
    }
}

fn held(now: f64, limit: f64) -> Verdict {
    if now <= limit { Verdict::Go } else { Verdict::NoGo }
}

fn sessions(of: &Distribution) -> String {
    counted(of.sessions as u64, "session", "sessions")
}

/// Reason why too little was asked in the run that is called `name` to hold a limit against. Answers of the response cache are of another
/// run: too many of them leave nothing.
fn unasked(seen: &Observations, name: &str, policy: &Policy) -> Option<String> {
    let cached = seen.cached_note();
    if let Some(cached) = cached.as_ref().filter(|_| seen.asked() < policy.coverage_min) {
        return Some(format!(
            "unknown in the {name}: {cached}, which took nothing of their own; at least {} must have been asked",
            percent(policy.coverage_min)
        ));
    }
    if seen.scored == 0 {
        return Some(format!("unknown in the {name}: no session has a score"));
    }
    let notes = [cached, seen.unanswered_note(), seen.cut_off_note()].into_iter().flatten();
    seen.has_no_answers().then(|| format!("unknown in the {name}: {}", notes.collect::<Vec<_>>().join(", ")))
}

/// Reason why the cost of sessions with answered calls is unknown: a price is missing.
fn unpriced(name: &str) -> String {
    format!("unknown in the {name}: a call has no known price")
}

/// Reason why the sessions that both runs have answers of their own of show no increase: there may be any among all others.
fn too_few(answered: Answered, least: f64) -> Option<String> {
    let Answered { both, either } = answered;
    (both == 0 || answered.share() < least).then(|| {
        format!(
            "{} of the sessions with answers in either run ({both} of {either}) have answers of their own in both; at least {}",
            percent(answered.share()),
            percent(least)
        )
    })
}
