//! The aggregates of a cell, or of all trials of one, in the shape of the golden files: one for each language, and their means.

use std::collections::BTreeMap;

use regatta_proto::{Evaluator, ItemIndex};
use serde_json::{Map, Value, json};

use super::aggregate::{
    GoldCases, KeyMetrics, PaperScenario, PaperStepValues, Run, ScenarioRuns, StepValues, aggregate_official,
    aggregate_paper,
};
use super::data::{Data, Language};
use super::items::{Items, Place};
use crate::Score;

/// Scores of the steps of one trial.
type Trial<'s> = Vec<(ItemIndex, &'s Score)>;

/// What the trials are together. A scenario counts when any of its steps has a score.
pub(crate) fn aggregate(data: &Data, items: &Items, evaluator: Evaluator, trials: &[Trial<'_>]) -> Value {
    let by_scenario = by_scenario(items, trials);
    let mut aggregates = Map::new();
    let mut keys = Vec::new();
    for language in Language::ALL {
        let of_language = by_scenario.iter().filter_map(|(position, trials)| {
            let scenario = data.scenarios.get(*position).filter(|scenario| scenario.language == language)?;
            Some((scenario, trials))
        });
        let (key, aggregate) = match evaluator {
            Evaluator::Official | Evaluator::OfficialFixed => {
                let scenarios: Vec<ScenarioRuns> = of_language
                    .map(|(scenario, trials)| ScenarioRuns {
                        id: scenario.id.to_string(),
                        gold: GoldCases::of(scenario),
                        runs: trials.iter().map(|steps| Run::of(values(steps, StepValues::from_values))).collect(),
                    })
                    .collect();
                if scenarios.is_empty() {
                    continue;
                }
                let all = aggregate_official(&scenarios);
                let aggregate =
                    json!({ "overall_statistics": all.overall_statistics, "unrounded_means": all.unrounded_means });
                (all.key, aggregate)
            }
            Evaluator::Paper | Evaluator::Exec => {
                let scenarios: Vec<PaperScenario> = of_language
                    .map(|(scenario, trials)| PaperScenario {
                        id: scenario.id.to_string(),
                        steps: trials.iter().flat_map(|steps| values(steps, PaperStepValues::from_values)).collect(),
                    })
                    .collect();
                if scenarios.is_empty() {
                    continue;
                }
                let all = aggregate_paper(&scenarios);
                (all.key, all.aggregate)
            }
        };
        aggregates.insert(language.name().to_owned(), aggregate);
        keys.push(key);
    }
    if let [one, other] = keys[..] {
        aggregates.insert("overall".to_owned(), overall(one.mean_with(other)));
    }
    Value::Object(aggregates)
}

/// Steps of each scenario, by position, trial by trial, in the order of the data.
fn by_scenario<'s>(items: &Items, trials: &[Trial<'s>]) -> BTreeMap<usize, Vec<Vec<&'s Score>>> {
    let mut scenarios: BTreeMap<usize, Vec<Vec<&Score>>> = BTreeMap::new();
    for (number, trial) in trials.iter().enumerate() {
        for (item, score) in trial {
            let Some(Place::Step(position, _)) = items.place(*item) else { continue };
            let of_scenario = scenarios.entry(position).or_insert_with(|| vec![Vec::new(); trials.len()]);
            if let Some(steps) = of_scenario.get_mut(number) {
                steps.push(*score);
            }
        }
    }
    scenarios
}

fn values<'s, T>(
    steps: &'s [&Score],
    from_values: fn(&BTreeMap<String, f64>) -> Option<T>,
) -> impl Iterator<Item = T> + 's
where
    T: 's,
{
    steps.iter().filter_map(move |score| from_values(&score.values))
}

fn overall(key: KeyMetrics) -> Value {
    json!({
        "Average": key.average,
        "Call Rejection Classification Accuracy": key.call_rejection,
        "FC": key.function_call,
        "Plan": key.plan,
    })
}
