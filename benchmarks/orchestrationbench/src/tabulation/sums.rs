//! The four metrics of the tables from whole scenarios, whose values are sums over their steps. The rules are those
//! of single steps (docs/benchmarks/orchestrationbench.md §5.2 to §5.7, §6), without the official rounding of every
//! run, since the official code has no such mode.

use regatta_benchmarks::Score;
use regatta_proto::Evaluator;

use super::Trials;
use crate::aggregate::KeyMetrics;
use crate::metrics::value;

/// Computes the metrics over scenarios, each with its trials.
pub(super) fn key_metrics<'t, 's: 't>(
    evaluator: Evaluator,
    scenarios: impl Iterator<Item = &'t Trials<'s>>,
) -> KeyMetrics {
    let scenarios: Vec<&Trials<'_>> = scenarios.collect();
    let (plan, call_rejection, function_call) = match evaluator {
        Evaluator::Official | Evaluator::OfficialFixed => official(&scenarios),
        _ => paper(&scenarios),
    };
    KeyMetrics { plan, call_rejection, function_call, average: (plan + call_rejection + function_call) / 3.0 }
}

fn official(scenarios: &[&Trials<'_>]) -> (f64, f64, f64) {
    let plan = mean(scenarios.iter().map(|trials| {
        let kept = || sessions(trials).filter(|score| number(score, "plan_exception") == 0.0);
        share(total(kept(), "plan_overall"), total(kept(), value::PLAN_WEIGHT))
    }));
    let is_sound = |trials: &&&Trials<'_>| sessions(trials).all(|score| number(score, "crashed") == 0.0);
    let of_runs = |numerator: &str, denominator: &str| {
        mean(scenarios.iter().map(|trials| {
            if !is_sound(&trials) {
                return 0.0;
            }
            mean(trials.iter().filter(|run| !run.is_empty()).map(|run| {
                let of_run = || run.iter().map(|(_, score)| *score);
                share(total(of_run(), numerator), total(of_run(), denominator))
            }))
        }))
    };
    let sum = |name: &str| total(scenarios.iter().filter(is_sound).flat_map(|trials| sessions(trials)), name);
    let f1 = |right: &str, predicted: &str, gold: &str| share(2.0 * sum(right), sum(predicted) + sum(gold));
    let reject = f1("reject_tp", value::REJECT_PREDICTED, value::REJECT_GOLD);
    let call = f1("reject_tn", value::CALL_PREDICTED, value::CALL_GOLD);
    let called =
        [of_runs("name_f1", value::CALL), of_runs("key_f1", value::CALL), of_runs("value_f1", value::VALUED_CALL)];
    (plan, f64::midpoint(reject, call), called.iter().sum::<f64>() / 3.0)
}

fn paper(scenarios: &[&Trials<'_>]) -> (f64, f64, f64) {
    let with_plans = scenarios.iter().filter(|trials| total(sessions(trials), "plan_gold") > 0.0);
    let plan =
        mean(with_plans.map(|trials| share(total(sessions(trials), "plan"), total(sessions(trials), "plan_gold"))));
    let sum = |name: &str| total(scenarios.iter().flat_map(|trials| sessions(trials)), name);
    let called = ["name_f1", "key_f1", "value_f1"].map(|name| share(sum(name), sum(value::CALL)));
    (plan, share(sum("right"), sum(value::DECISIONS)), called.iter().sum::<f64>() / 3.0)
}

/// Returns all sessions of a scenario.
fn sessions<'t, 's: 't>(trials: &'t Trials<'s>) -> impl Iterator<Item = &'s Score> + 't {
    trials.iter().flatten().map(|(_, score)| *score)
}

/// Returns the sum of a value over the steps that have it; 0 when none has.
fn number(score: &Score, name: &str) -> f64 {
    score.values.get(name).copied().unwrap_or_default()
}

fn total<'s>(scores: impl Iterator<Item = &'s Score>, name: &str) -> f64 {
    scores.map(|score| number(score, name)).sum()
}

fn share(part: f64, whole: f64) -> f64 {
    if whole == 0.0 { 0.0 } else { part / whole }
}

fn mean(numbers: impl Iterator<Item = f64>) -> f64 {
    let numbers: Vec<f64> = numbers.collect();
    share(numbers.iter().sum(), numbers.len() as f64)
}
