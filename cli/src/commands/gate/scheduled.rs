//! The gate of a schedule: its policy is a text, its nights are counted by the schedule, its verdict goes into the ledger.

use anyhow::bail;
use regatta_benchmarks::Better;
use regatta_coordinator::{GateJudgement, NightVerdict};

use super::Question;
use super::judging::Models;
use super::policy::Policy;
use super::verdict::Verdict;
use crate::ended_run::EndedRun;
use crate::paired_runs::{Chosen, matched};

/// Reads the policy of a schedule.
pub(crate) fn check_for_schedule(policy: &str) -> anyhow::Result<()> {
    read(policy).map(drop)
}

fn read(policy: &str) -> anyhow::Result<Policy> {
    let policy = Policy::parse(policy)?;
    if policy.nights.as_ref().is_some_and(|nights| nights.ledger.is_some()) {
        bail!("nights.ledger: a schedule counts its nights itself; write `nights: {{ method: alpha_spending }}`");
    }
    Ok(policy)
}

/// Judges `run` as the `night`-th night; without a baseline it is only given a score.
pub(crate) fn judge_night(
    policy: &str,
    baseline: Option<&EndedRun>,
    run: &EndedRun,
    night: u32,
) -> anyhow::Result<GateJudgement> {
    let policy = read(policy)?;
    let score = score(&policy, run);
    let Some(baseline) = baseline else {
        return Ok(GateJudgement { verdict: None, score, document: serde_json::Value::Null });
    };
    let cells = matched(baseline, run, &Chosen::default())?;
    let question = Question { policy: &policy, baseline, run, cells: &cells, models: Models::All };
    let judgement = question.judge(policy.nights.as_ref().map(|_| night as usize))?;
    let verdict = match judgement.verdict {
        Verdict::Go => NightVerdict::Go,
        Verdict::Inconclusive => NightVerdict::Inconclusive,
        Verdict::NoGo => NightVerdict::NoGo,
    };
    Ok(GateJudgement { verdict: Some(verdict), score, document: serde_json::to_value(&judgement)? })
}

/// Mean of the policy's metrics over the cells that have them, higher is better; `None` where no cell has a value, and where one is withheld:
/// a mean over the others would be of another test.
fn score(policy: &Policy, run: &EndedRun) -> Option<f64> {
    let mut values = Vec::new();
    for row in &run.summary.rows {
        for (name, of) in &policy.metrics {
            let is_of = |metric: &&regatta_report::SummaryMetric| {
                metric.metric == *name && of.evaluator.is_none_or(|evaluator| metric.evaluator == evaluator)
            };
            if of.benchmark.as_ref().is_some_and(|benchmark| row.benchmark != *benchmark) {
                continue;
            }
            let Some(metric) = row.metrics.iter().find(is_of) else { continue };
            if metric.estimate.withheld {
                return None;
            }
            values.extend(metric.estimate.value.map(|value| match metric.better {
                Better::Higher => value,
                Better::Lower => -value,
            }));
        }
    }
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ended_run::testing::{Made, right};

    const POLICY: &str = "metrics: { success: { margin: 5pp } }\nnights: { method: alpha_spending }";

    fn made(correct: usize) -> EndedRun {
        Made { scores: right(correct, 200), ..Made::default() }.run("nightly")
    }

    #[test]
    fn a_night_without_a_baseline_has_a_score_and_no_verdict() {
        let judged = judge_night(POLICY, None, &made(150), 1).unwrap();
        assert_eq!((judged.verdict, judged.score), (None, Some(0.75)));
    }

    #[test]
    fn a_night_whose_value_is_withheld_has_no_score() {
        let mut night = made(150);
        night.summary.rows[0].metrics[0].estimate.withheld = true;
        assert_eq!(judge_night(POLICY, None, &night, 1).unwrap().score, None);
    }

    #[test]
    fn a_night_is_judged_with_the_part_of_alpha_that_is_its_own() {
        let night = |night| judge_night(POLICY, Some(&made(150)), &made(100), night).unwrap();
        assert_eq!(night(1).verdict, Some(NightVerdict::NoGo));
        let alpha = |night_of: u32| night(night_of).document["alpha_worse"].as_f64().unwrap();
        assert!(alpha(2) < alpha(1));
        assert_eq!(night(3).document["night"], 3);
    }

    #[test]
    fn a_policy_with_a_ledger_of_its_own_is_refused() {
        let error =
            check_for_schedule("metrics: { f1: { margin: 1pp } }\nnights: { method: alpha_spending, ledger: n.json }");
        assert!(error.unwrap_err().to_string().starts_with("nights.ledger: a schedule counts"));
        check_for_schedule(POLICY).unwrap();
    }
}
