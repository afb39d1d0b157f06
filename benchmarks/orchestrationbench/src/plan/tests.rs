//! Plans that a model may write, and their scores.

use std::collections::BTreeSet;

use regatta_pycompat::parse;
use regatta_pycompat::yaml::{Dict, Value};
use serde_json::json;

use super::pair::{Found, Pair, Shape};
use super::work::Work;
use super::*;
use crate::aggregate::{PlanValues, Run, StepValues};

fn plan(json: &serde_json::Value) -> Dict {
    match Value::from(parse(&json.to_string()).unwrap()) {
        Value::Dict(dict) => dict,
        other => panic!("{other:?}"),
    }
}

fn gold() -> Dict {
    plan(
        &json!({ "workflow_1": { "steps": [{ "name": "a", "status": "pending" }, { "name": "b", "status": "pending" }] } }),
    )
}

fn official(predicted: &serde_json::Value) -> PlanStep {
    score_step_official(Some(&gold()), Extracted::Workflow(&plan(predicted)), &Costs::OFFICIAL)
}

fn paper(predicted: &serde_json::Value) -> PlanStep {
    score_step_paper(Some(&gold()), Extracted::Workflow(&plan(predicted)), &Costs::OFFICIAL)
}

fn with_steps(steps: serde_json::Value) -> serde_json::Value {
    json!({ "workflow_1": { "steps": steps } })
}

#[test]
fn ill_typed_plans_raise_what_python_raises() {
    let good = json!([{ "agent_id": "a", "status": "pending" }]);
    let depends = |on: serde_json::Value| json!({ "workflow_1": { "steps": good, "depends_on": on } });
    let depend = |on: serde_json::Value| json!({ "workflow_1": { "steps": good, "depend_on": on } });
    for (predicted, class) in [
        (json!({ "workflow_1": "pending" }), "AttributeError"),
        (json!({ "workflow_1": null }), "AttributeError"),
        (json!({ "workflow_1": [1] }), "AttributeError"),
        (with_steps(json!("search")), "AttributeError"),
        (with_steps(json!({ "agent_id": "a" })), "AttributeError"),
        (with_steps(json!(["a"])), "AttributeError"),
        (with_steps(json!([null])), "AttributeError"),
        (with_steps(json!(3)), "TypeError"),
        (with_steps(json!(true)), "TypeError"),
        (with_steps(json!([{ "agent_id": ["a"] }])), "TypeError"),
        (with_steps(json!([{ "agent_id": "a", "status": {} }])), "TypeError"),
        (depends(json!(1)), "TypeError"),
        (depends(json!(true)), "TypeError"),
        (depends(json!([["workflow_1"]])), "TypeError"),
        (depends(json!([null])), "ValueError"),
        (depend(json!(1)), "TypeError"),
        (depend(json!([{}])), "TypeError"),
    ] {
        let step = official(&predicted);
        assert_eq!(step.exception, Some(class), "{predicted}");
        assert_eq!(step.compared, None);
        assert_eq!(paper(&predicted).score(), Some(0.0), "{predicted}");
    }
}

#[test]
fn oddly_typed_plans_that_python_takes_are_compared() {
    let good = json!([{ "agent_id": "a", "status": "pending" }]);
    for predicted in [
        with_steps(json!(null)),
        with_steps(json!("")),
        with_steps(json!({})),
        with_steps(json!(0)),
        with_steps(json!([{ "agent_id": 7, "status": null }, { "agent_id": "", "name": true }, {}])),
        json!({ "workflow_1": {}, "notes": [1], "status": 7 }),
        json!({ "workflow_1": { "steps": good, "depends_on": "workflow_1" } }),
        json!({ "workflow_1": { "steps": good, "depends_on": { "workflow_1": [] } } }),
        json!({ "workflow_1": { "steps": good, "depends_on": [1, 1.0, true, "1"] } }),
        json!({ "workflow_1": { "steps": good, "depend_on": [null, 1] } }),
        json!({ "workflow_1": { "depend_on": 1 } }),
    ] {
        let step = official(&predicted);
        assert!(step.exception.is_none() && step.compared.is_some(), "{predicted}");
    }
}

#[test]
fn dependencies_that_are_no_text_are_no_plan_for_the_paper() {
    for on in [json!([1]), json!([null]), json!({ "workflow_1": 1 }), json!(7)] {
        let step = paper(&json!({ "workflow_1": { "steps": [], "depends_on": on } }));
        assert!(step.exception.is_some() && step.score() == Some(0.0), "{on}");
        assert_eq!(step.entry()["failed"], json!(true));
    }
}

#[test]
fn a_key_that_is_no_text_raises_even_behind_the_workflows() {
    let mut keys = gold();
    keys.insert(Value::Int(1.into()), Value::None);
    let step = score_step_official(Some(&gold()), Extracted::Workflow(&keys), &Costs::OFFICIAL);
    assert_eq!(step.exception, Some("TypeError"));
    assert_eq!(step.keys, ["workflow_1", "1"]);
}

#[test]
fn the_official_structure_knows_depends_on_and_the_gold_does_not() {
    let dependent = |key: &str| {
        json!({
            "workflow_1": { "steps": [{ "name": "a", "status": "pending" }] },
            "workflow_2": { "steps": [{ "name": "b", "status": "pending" }], key: ["workflow_1"] },
        })
    };
    let (gold, predicted) = (plan(&dependent("depend_on")), plan(&dependent("depends_on")));
    let official =
        score_step_official(Some(&gold), Extracted::Workflow(&predicted), &Costs::OFFICIAL).compared.unwrap();
    assert_eq!((official.structure.edit_cost, official.structure.max_cost), (1.0, 5.0));
    assert_eq!((official.structure.similarity, official.component.similarity), (0.8, 1.0));
    assert_eq!(official.overall, 0.9);
    let paper = score_step_paper(Some(&gold), Extracted::Workflow(&predicted), &Costs::OFFICIAL);
    assert_eq!(paper.score(), Some(1.0));
}

#[test]
fn weights_are_what_differs() {
    let cost = |agent: &str, status: &str| {
        let gold = plan(&with_steps(json!([{ "name": "a", "status": "pending" }])));
        let predicted = plan(&with_steps(json!([{ "agent_id": agent, "status": status }])));
        let step = score_step_official(Some(&gold), Extracted::Workflow(&predicted), &Costs::OFFICIAL);
        step.compared.unwrap().component.edit_cost
    };
    assert_eq!(
        [cost("a", "pending"), cost("a", "done"), cost("b", "pending"), cost("b", "done")],
        [0.0, 0.2, 0.8, 1.0]
    );
}

#[test]
fn only_loops_make_the_official_cost_wrong() {
    let looped = with_steps(json!([{ "agent_id": "a", "status": "pending" }]));
    let mut predicted = looped.clone();
    predicted["workflow_1"]["depends_on"] = json!(["workflow_1"]);
    let (gold, predicted) = (plan(&looped), plan(&predicted));
    let official =
        score_step_official(Some(&gold), Extracted::Workflow(&predicted), &Costs::OFFICIAL).compared.unwrap();
    let paper = score_step_paper(Some(&gold), Extracted::Workflow(&predicted), &Costs::OFFICIAL).compared.unwrap();
    assert_eq!((official.structure.edit_cost, official.component.edit_cost), (0.0, 0.0), "one node: loops are free");
    assert_eq!((paper.structure.edit_cost, paper.component.edit_cost), (1.0, 1.0));
}

/// The steps of a run, in the form that the pipeline stores.
fn run(steps: &[PlanStep]) -> RunScore {
    Run::of(crate::aggregate::GoldCases::default(), steps.iter().map(|step| StepValues::Plan(PlanValues::of(step))))
        .plan()
}

#[test]
fn a_plan_that_is_missing_counts_once_and_one_that_cannot_be_read_three_times() {
    let gold = gold();
    let step = |extracted| score_step_official(Some(&gold), extracted, &Costs::OFFICIAL);
    let perfect = step(Extracted::Workflow(&gold));
    let of = |other: PlanStep| ScenarioScore::of(&[run(&[perfect.clone(), other])]);
    let missing = of(step(Extracted::Missing));
    assert_eq!((missing.with_failure, missing.without_failure, missing.failed), (1.0 / 3.0, 0.5, 1));
    let none = of(step(Extracted::None));
    assert_eq!((none.with_failure, none.without_failure, none.failed, none.compared), (0.25, 0.5, 2, 2));
    let without_gold = |extracted| score_step_official(None, extracted, &Costs::OFFICIAL).failed;
    assert_eq!([without_gold(Extracted::Missing), without_gold(Extracted::None)], [0, 1]);
}

#[test]
fn an_exception_drops_its_run_and_nothing_else() {
    let gold = gold();
    let step = |extracted| score_step_official(Some(&gold), extracted, &Costs::OFFICIAL);
    let ill_typed = plan(&json!({ "workflow_1": 1 }));
    let perfect = run(&[step(Extracted::Workflow(&gold))]);
    let steps =
        [step(Extracted::Workflow(&ill_typed)), step(Extracted::None), step(Extracted::Exception("ValueError"))];
    let dropped = run(&steps);
    assert_eq!(dropped.dropped, Some("ValueError"), "answers are read first");
    assert_eq!(run(&steps[..2]).dropped, Some("AttributeError"));
    let score = ScenarioScore::of(&[dropped, perfect]);
    assert_eq!((score.with_failure, score.compared, score.failed), (1.0, 1, 0));
    assert_eq!(ScenarioScore::of(&[]), ScenarioScore::default());
}

#[test]
fn for_the_paper_every_step_with_gold_counts_once() {
    let gold = gold();
    let step = |extracted| score_step_paper(Some(&gold), extracted, &Costs::OFFICIAL);
    let without_gold = score_step_paper(None, Extracted::Workflow(&gold), &Costs::OFFICIAL);
    let steps = [
        step(Extracted::Workflow(&gold)),
        step(Extracted::None),
        step(Extracted::Missing),
        step(Extracted::Exception("ValueError")),
        without_gold,
    ];
    let scores: Vec<Option<f64>> = steps.iter().map(PlanStep::score).collect();
    assert_eq!(scores, [Some(1.0), Some(0.0), Some(0.0), Some(0.0), None]);
}

#[test]
fn entries_have_the_shape_of_the_golden_ones() {
    let gold = gold();
    let both = [Some(&gold), None];
    let ill_typed = plan(&json!({ "workflow_1": 1 }));
    let mut lines = Vec::new();
    for extracted in [
        Extracted::Missing,
        Extracted::None,
        Extracted::Exception("ValueError"),
        Extracted::Workflow(&ill_typed),
        Extracted::Workflow(&gold),
    ] {
        for gold in both {
            lines.push(score_step_official(gold, extracted, &Costs::OFFICIAL).entry().to_string());
            lines.push(score_step_paper(gold, extracted, &Costs::OFFICIAL).entry().to_string());
        }
    }
    insta::assert_snapshot!(lines.join("\n"));
}

/// A plan of `workflows` workflows that all depend on the one before, the first on the last; each with a step of its own.
fn ring(workflows: usize) -> serde_json::Value {
    let workflow = |at: usize| {
        let before = format!("workflow_{}", (at + workflows - 1) % workflows);
        (
            format!("workflow_{at}"),
            json!({ "depends_on": [before], "steps": [{ "agent_id": format!("agent_{at}"), "status": "pending" }] }),
        )
    };
    (0..workflows).map(workflow).collect::<serde_json::Map<_, _>>().into()
}

#[test]
fn ten_thousand_nodes_in_a_circle_are_as_far_away_as_can_be() {
    let predicted = ring(10_000);
    for step in [official(&predicted), paper(&predicted)] {
        let compared = step.compared.unwrap();
        assert!(compared.structure.bounded && compared.component.bounded);
        assert_eq!(compared.structure.edit_cost, 20_001.0);
        assert_eq!((compared.overall, step.entry()["bounded"].clone()), (0.0, json!(true)));
    }
}

#[test]
fn a_search_that_takes_too_long_gives_the_best_it_has_found() {
    let circle = |nodes: usize| Shape { nodes, edges: (0..nodes).map(|node| (node, (node + 1) % nodes)).collect() };
    let (left, right) = (circle(24), circle(23));
    let pair = Pair { left: &left, right: &right, substitution: vec![0.5; 24 * 23] };
    for search in [inexact::edit_cost, exact::edit_cost] {
        let found = search(&pair, Work::new(1_000_000));
        assert!(!found.complete);
        assert!(found.cost.is_some_and(|cost| (13.5..=94.0).contains(&cost)), "{found:?}");
        assert_eq!(search(&pair, Work::new(1_000)), Found { cost: None, complete: false }, "not even one");
        assert_eq!(search(&pair, Work::new(1_000_000)), found, "the bound is counted, not timed");
    }
}

#[test]
fn a_megabyte_of_plan_is_scored() {
    let steps: Vec<_> =
        (0..20_000).map(|at| json!({ "agent_id": format!("agent_{}", at % 700), "status": at % 3 })).collect();
    let names: BTreeSet<String> = (0..30_000).map(|at| format!("workflow_{at}")).collect();
    let predicted = json!({ "workflow_1": { "steps": steps, "depends_on": names } });
    assert!(predicted.to_string().len() > 1_000_000);
    for step in [official(&predicted), paper(&predicted)] {
        assert!(step.is_bounded() && step.score().is_some());
    }
    let text = json!({ "workflow_1": { "steps": "", "depends_on": "workflow_".repeat(120_000) } });
    assert_eq!(official(&text).compared.unwrap().structure.edit_cost, 14.0, "seven characters, each with an edge");
}
