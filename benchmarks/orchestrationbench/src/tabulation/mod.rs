//! The aggregates of a cell, or of all trials of one, in the shape of the golden files: one for each language, and their means.

mod sums;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use regatta_benchmarks::Score;
use regatta_proto::{Evaluator, ItemIndex};
use serde_json::{Map, Value, json};

use super::aggregate::{
    GoldCases, KeyMetrics, PaperScenario, PaperStepValues, Run, ScenarioRuns, StepValues, aggregate_official,
    aggregate_paper,
};
use super::data::{Data, Language};
use super::items::{Items, Place};

/// Scores of one trial.
type Trial<'s> = Vec<(ItemIndex, &'s Score)>;
/// Scores of a scenario by trial: of its steps, or of the whole scenario.
type Trials<'s> = Vec<Vec<(Place, &'s Score)>>;
/// Scenarios by position.
type Scenarios<'s> = BTreeMap<usize, Trials<'s>>;

/// Aggregates trials. A scenario counts when any of its steps, or the whole of it, has a score.
pub(crate) fn aggregate(data: &Data, items: &Items, evaluator: Evaluator, trials: &[Trial<'_>]) -> Value {
    let is_whole = |place| matches!(place, Place::Scenario(_));
    let steps = by_scenario(items, trials, |place| !is_whole(place));
    let wholes = by_scenario(items, trials, is_whole);
    let mut aggregates = Map::new();
    let mut keys = Vec::new();
    for language in Language::ALL {
        let (steps, wholes) = (of_language(data, language, &steps), of_language(data, language, &wholes));
        let (key, aggregate) = match evaluator {
            _ if !wholes.is_empty() => {
                let key = sums::key_metrics(evaluator, wholes.iter().map(|(_, trials)| trials));
                (key, of_wholes(evaluator, key))
            }
            _ if steps.is_empty() => continue,
            Evaluator::Official | Evaluator::OfficialFixed => official(data, &steps),
            _ => paper(data, &steps),
        };
        aggregates.insert(language.name().to_owned(), aggregate);
        keys.push(key);
    }
    if let [one, other] = keys[..] {
        aggregates.insert("overall".to_owned(), named(evaluator, one.mean_with(other)));
    }
    Value::Object(aggregates)
}

/// Sorts scores by scenario and trial, in the order of the data.
fn by_scenario<'s>(items: &Items, trials: &[Trial<'s>], is_wanted: impl Fn(Place) -> bool) -> Scenarios<'s> {
    let mut scenarios = Scenarios::new();
    for (number, trial) in trials.iter().enumerate() {
        for (item, score) in trial {
            let Some(place) = items.place(*item).filter(|place| is_wanted(*place)) else { continue };
            let of_scenario = scenarios.entry(place.scenario()).or_insert_with(|| vec![Vec::new(); trials.len()]);
            if let Some(scores) = of_scenario.get_mut(number) {
                scores.push((place, *score));
            }
        }
    }
    scenarios
}

fn of_language<'s>(data: &Data, language: Language, scenarios: &Scenarios<'s>) -> Vec<(usize, Trials<'s>)> {
    let is_of = |position: usize| data.scenarios.get(position).is_some_and(|one| one.language == language);
    scenarios.iter().filter(|(position, _)| is_of(**position)).map(|(at, trials)| (*at, trials.clone())).collect()
}

fn official(data: &Data, scenarios: &[(usize, Trials<'_>)]) -> (KeyMetrics, Value) {
    let runs = scenarios.iter().filter_map(|(position, trials)| {
        let scenario = data.scenarios.get(*position)?;
        Some(ScenarioRuns {
            id: scenario.id.to_string(),
            runs: trials
                .iter()
                .filter(|steps| !steps.is_empty())
                .map(|steps| {
                    let is_scored = |step| steps.iter().any(|(place, _)| place.step() == Some(step));
                    Run::of(GoldCases::of_run(scenario, is_scored), values(steps, StepValues::from_values))
                })
                .collect(),
        })
    });
    let all = aggregate_official(&runs.collect::<Vec<ScenarioRuns>>());
    (all.key, json!({ "overall_statistics": all.overall_statistics, "unrounded_means": all.unrounded_means }))
}

fn paper(data: &Data, scenarios: &[(usize, Trials<'_>)]) -> (KeyMetrics, Value) {
    let steps = scenarios.iter().filter_map(|(position, trials)| {
        let scenario = data.scenarios.get(*position)?;
        let steps = trials.iter().flat_map(|steps| values(steps, PaperStepValues::from_values)).collect();
        Some(PaperScenario { id: scenario.id.to_string(), steps })
    });
    let all = aggregate_paper(&steps.collect::<Vec<PaperScenario>>());
    (all.key, all.aggregate)
}

fn values<'s, T>(
    steps: &'s [(Place, &Score)],
    from_values: fn(&BTreeMap<String, f64>) -> Option<T>,
) -> impl Iterator<Item = T> + 's
where
    T: 's,
{
    steps.iter().filter_map(move |(_, score)| from_values(&score.values))
}

/// Serialises the results of whole scenarios under the keys that single steps use too.
fn of_wholes(evaluator: Evaluator, key: KeyMetrics) -> Value {
    match evaluator {
        Evaluator::Official | Evaluator::OfficialFixed => {
            json!({ "overall_statistics": { "key_metrics": named(evaluator, key) } })
        }
        _ => named(evaluator, key),
    }
}

/// Serialises the four metrics under the names that the evaluator gives them.
fn named(evaluator: Evaluator, key: KeyMetrics) -> Value {
    let KeyMetrics { plan, call_rejection, function_call, average } = key;
    match evaluator {
        Evaluator::Official | Evaluator::OfficialFixed => json!({
            "Average": average,
            "Call Rejection Classification Accuracy": call_rejection,
            "FC": function_call,
            "Plan": plan,
        }),
        _ => {
            json!({ "Score": average, "C/R": call_rejection, "FC": function_call, "Plan": plan })
        }
    }
}
