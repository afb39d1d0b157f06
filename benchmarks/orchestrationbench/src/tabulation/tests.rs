//! Aggregates of runs in which not every step was asked.

use regatta_benchmarks::RecordedVerdicts;

use super::*;
use crate::data::shared::miniature;
use crate::decision::{Answer, Arguments, Call, Name};
use crate::scoring::{GoldPlans, Step};

/// A step that was not selected does not count as failed.
#[test]
fn calls_that_were_not_selected_are_not_failed() {
    let data = miniature();
    let items = Items::of(data).unwrap();
    let gold_plans = GoldPlans::of(data);
    let scenarios = data.scenarios.iter().enumerate();
    let (position, scenario) = scenarios.into_iter().find(|(_, one)| GoldCases::of(one).calls > 1).unwrap();
    let is_call = |step: u32| scenario.gold(step).is_some_and(|gold| !gold.calls.is_empty());
    let asked = scenario.decisions.iter().filter(|decision| decision.is_asked).map(|decision| decision.step);
    let step = asked.into_iter().find(|step| is_call(*step)).unwrap();
    let calls = &scenario.gold(step).unwrap().calls;
    let call = |call: &crate::data::GoldCall| Call {
        name: Name::Text(call.name.to_string()),
        arguments: Arguments::Text(call.arguments.to_string()),
    };
    let answer = Answer { text: None, calls: calls.iter().map(call).collect() };
    let of = Step { data, gold_plans: &gold_plans, position, scenario, step, item: "x" };
    let scores = of.score(Some(&answer), &[Evaluator::Official], &RecordedVerdicts::default()).unwrap();
    let index = items.position(Place::Step(position, step)).unwrap();

    let aggregates = aggregate(data, &items, Evaluator::Official, &[vec![(index, &scores[&Evaluator::Official])]]);

    let of_calls = &aggregates[scenario.language.name()]["overall_statistics"]["score_details"]["function_call_scores"];
    assert_eq!(of_calls["overall_function_call_failed_rate"], 0.0, "{of_calls}");
    assert_eq!(of_calls["total_function_call_cases"], 1.0, "{of_calls}");
}
