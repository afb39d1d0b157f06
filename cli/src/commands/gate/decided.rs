//! `regatta gate RUN --decided`: the verdict that a run's own question gives, whose baseline is one of its models.

use regatta_proto::{DecideQuestion, ModelRef};
use regatta_report::{Decided, DecidedContest, DecidedSequence};

use super::Judgement;
use super::verdict::{Check, Verdict, overall};
use crate::commands::compare::number;
use crate::ended_run::EndedRun;
use crate::exit::BadConfiguration;

/// Judges every other model of `run` against the baseline of its question.
///
/// # Errors
/// When the run has no question, or another one.
pub(super) fn judge(run: &EndedRun) -> anyhow::Result<Judgement> {
    let name = &run.name;
    let Some(decided) = &run.summary.decided else {
        let problem = format!(
            "{name} has no question; --decided judges a run of a spec with `decide: {{ question: against ENDPOINT/MODEL, margin: 2pp }}`, and \
             others are held against a --baseline by a --policy"
        );
        return Err(BadConfiguration(problem).into());
    };
    let baseline = match &decided.question {
        DecideQuestion::Against(baseline) => baseline,
        question @ (DecideQuestion::Ranking | DecideQuestion::Best | DecideQuestion::Interval) => {
            let problem = format!(
                "the question of {name} is {question}, which names no baseline; a gate goes by `question: against ENDPOINT/MODEL`"
            );
            return Err(BadConfiguration(problem).into());
        }
    };
    let of_contest = |contest| checks(decided, contest, baseline);
    let checks: Vec<Check> = decided.contests.iter().flat_map(of_contest).collect();
    // In binary fractions 1 − 0.95 is more than 0.05.
    let alpha = ((1.0 - decided.confidence) * 1e12).round() / 1e12;
    Ok(Judgement {
        verdict: overall(&checks),
        run: name.clone(),
        baseline: baseline.to_string(),
        alpha,
        alpha_worse: alpha,
        night: None,
        confidence: Some(decided.confidence),
        checks,
    })
}

/// A check for each other model in a benchmark and setting.
fn checks(decided: &Decided, contest: &DecidedContest, baseline: &ModelRef) -> Vec<Check> {
    let margin = decided.margin.part() * (contest.range.1 - contest.range.0);
    let check = |sequence: &DecidedSequence| {
        let Compared { model, value, low, high } = compared(sequence, baseline)?;
        let (verdict, says) = match (low >= -margin, high < -margin) {
            (true, _) => (Verdict::Go, "no worse than the margin"),
            (false, true) => (Verdict::NoGo, "worse by more than the margin"),
            (false, false) => (Verdict::Inconclusive, "neither shown"),
        };
        let shown = |value: f64| number(value, contest.unit);
        let seen = value.map_or_else(|| "not measured".to_owned(), shown);
        Some(Check {
            cell: format!("{} · {} · {model}", contest.benchmark, contest.setting),
            what: format!("{} ({})", contest.metric, contest.evaluator),
            verdict,
            detail: format!(
                "{seen} [{}, {}], margin {}, in {} of {} sessions: {says}",
                shown(low),
                shown(high),
                shown(margin),
                decided.sessions,
                decided.sessions_max
            ),
        })
    };
    contest.sequences.iter().filter_map(check).collect()
}

/// A model and by how much it is better than the baseline.
struct Compared<'s> {
    model: &'s ModelRef,
    value: Option<f64>,
    low: f64,
    high: f64,
}

/// The model that `sequence` compares with the `baseline`; `None` where it compares others.
fn compared<'s>(sequence: &'s DecidedSequence, baseline: &ModelRef) -> Option<Compared<'s>> {
    let DecidedSequence { one, value, low, high, .. } = sequence;
    let other = sequence.other.as_ref()?;
    if other == baseline {
        return Some(Compared { model: one, value: *value, low: *low, high: *high });
    }
    let turned = Compared { model: other, value: value.map(|value| -value), low: -high, high: -low };
    (one == baseline).then_some(turned)
}
