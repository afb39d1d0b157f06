//! The rounding cascade, and the rules of which steps and runs count.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::rounding::round4;
use super::*;
use crate::decision::{Class, Confusion, Crash, Exception};

fn plan(overall: f64, failures: u32) -> PlanValues {
    PlanValues { has_gold: true, failures, overall, structure: overall, component: overall, ..PlanValues::default() }
}

fn decision(actual: Class, decided: Class) -> DecisionValues {
    DecisionValues { is_answered: true, crash: None, confusion: Confusion::of(actual, decided), call: None }
}

fn call(name_f1: f64, key_f1: f64, value_f1: f64, is_judged: bool) -> DecisionValues {
    let call = CallValues { name_f1, key_f1, value_f1, is_judged };
    DecisionValues { call: Some(call), ..decision(Class::Call, Class::Call) }
}

fn run(plans: Vec<PlanValues>, decisions: Vec<DecisionValues>) -> Run {
    Run { gold: GoldCases { rejections: 1, calls: 2 }, plans, decisions }
}

fn scenario(runs: Vec<Run>) -> ScenarioRuns {
    ScenarioRuns { id: "1".to_owned(), runs }
}

#[test]
fn rounding_is_that_of_python() {
    let cases = [
        (0.03125, 0.0312),
        (0.09375, 0.0938),
        (0.00005, 0.0001),
        (0.00015, 0.0001),
        (0.12345, 0.1235),
        (2.675_05, 2.6751),
        (0.99995, 1.0),
        (-0.03125, -0.0312),
        (1e22, 1e22),
    ];
    for (number, rounded) in cases {
        assert_eq!(round4(number), rounded, "{number}");
    }
}

#[test]
fn an_answer_without_a_plan_weighs_three_times() {
    let scores = scenario(vec![run(vec![plan(1.0, 0), plan(0.0, 2)], Vec::new())]).plan();
    assert_eq!((scores.with_failure, scores.without_failure), (0.25, 0.5));
}

#[test]
fn an_exception_drops_its_run_and_nothing_else() {
    let raised = |exception, is_unreadable| PlanValues { exception: Some(exception), is_unreadable, ..plan(0.0, 0) };
    let dropped = run(vec![raised(Exception::Type, false), raised(Exception::Value, true), plan(0.0, 2)], Vec::new());
    assert_eq!(dropped.plan().dropped, Some("ValueError"), "answers are read before they are compared");
    let scores = scenario(vec![dropped, run(vec![plan(0.5, 0)], Vec::new())]).plan();
    assert_eq!((scores.with_failure, scores.compared, scores.failed), (0.5, 1, 0));
}

#[test]
fn zeros_count_for_names_and_keys_and_not_for_values() {
    let scores = run(Vec::new(), vec![call(0.0, 0.5, 0.0, false), call(1.0, 0.0, 0.25, false)]).decisions().unwrap();
    assert_eq!((scores.name, scores.key, scores.value), (0.5, 0.25, 0.25));
    let nothing = run(Vec::new(), vec![decision(Class::AwaitingUserInput, Class::Call)]).decisions().unwrap();
    assert_eq!((nothing.name, nothing.key, nothing.value), (0.0, 0.0, 0.0));
}

#[test]
fn names_and_keys_are_rounded_by_run_and_values_by_scenario() {
    let third = || {
        run(Vec::new(), vec![call(1.0, 1.0, 1.0 / 3.0, false), call(0.0, 0.0, 0.0, false), call(0.0, 0.0, 0.0, false)])
    };
    let one = third().decisions().unwrap();
    assert_eq!((one.name, one.value), (0.3333, 1.0 / 3.0));
    let all = scenario(vec![third(), run(Vec::new(), vec![call(0.5, 0.5, 0.5, false)])]).decisions().unwrap();
    assert_eq!(all.name, 0.4166, "half of 0.3333 and 0.5, not of a third");
    assert_eq!(all.value, 0.4167);
}

#[test]
fn a_missing_answer_counts_nowhere_and_a_crash_takes_the_scenario_with_it() {
    let missing = run(Vec::new(), vec![DecisionValues::default(), decision(Class::Call, Class::AwaitingUserInput)]);
    let scores = scenario(vec![missing.clone()]).decisions().unwrap();
    assert_eq!(scores.confusion, Confusion::of(Class::Call, Class::AwaitingUserInput));
    let crashed = DecisionValues {
        is_answered: true,
        crash: Some(Crash::new(Exception::Key, "'name'")),
        ..DecisionValues::default()
    };
    let broken = scenario(vec![missing, run(Vec::new(), vec![call(1.0, 1.0, 1.0, false), crashed])]);
    assert_eq!(broken.decisions().unwrap_err().message, "'name'");
    let record = scenario_record(&broken);
    assert_eq!((&record["arguments_error"], &record["total_rejection_cases"]), (&"'name'".into(), &0.into()));
    let aggregate = aggregate_official(&[broken]);
    assert_eq!(aggregate.key, KeyMetrics::default());
    assert_eq!(aggregate.overall_statistics["total_files"], 1);
}

#[test]
fn perfect_calls_are_counted_beside_the_wrong_values_once_a_judge_was_asked() {
    let perfect = |calls| run(Vec::new(), calls).decisions().unwrap().perfect;
    assert_eq!(perfect(vec![call(1.0, 1.0, 1.0, false), call(1.0, 1.0, 0.5, true)]), 1);
    assert_eq!(perfect(vec![call(1.0, 1.0, 1.0, false), call(1.0, 0.5, 0.5, true)]), 0);
    assert_eq!(perfect(vec![call(0.0, 1.0, 1.0, false), call(1.0, 0.5, 0.5, false)]), 1);
}

#[test]
fn a_language_is_a_mean_over_scenarios_and_one_table_of_decisions() {
    let first = scenario(vec![run(
        vec![plan(0.9, 0)],
        vec![call(1.0, 1.0, 1.0, false), decision(Class::AwaitingUserInput, Class::ToolConstraintViolation)],
    )]);
    let second = scenario(vec![run(
        vec![plan(0.4, 0)],
        vec![decision(Class::Call, Class::AwaitingUserInput), decision(Class::AwaitingUserInput, Class::Call)],
    )]);
    let aggregate = aggregate_official(&[first.clone(), second]);
    insta::assert_json_snapshot!(aggregate.overall_statistics);
    assert_eq!(aggregate.key.plan, 0.65);
    let both = aggregate.key.mean_with(aggregate_official(&[first]).key);
    assert_eq!(both.plan, f64::midpoint(0.65, 0.9));
}

#[test]
fn nothing_at_all_scores_zero() {
    assert_eq!(aggregate_official(&[]).key, KeyMetrics::default());
    assert_eq!(aggregate_paper(&[]).key, KeyMetrics::default());
}

#[test]
fn the_paper_pools_calls_and_averages_plans_by_scenario() {
    let decision = |is_gold_call, is_right, call| {
        PaperStepValues::Decision(PaperDecisionValues {
            is_gold_call,
            is_right,
            call,
            ..PaperDecisionValues::default()
        })
    };
    let scenario = |id: &str, steps| PaperScenario { id: id.to_owned(), steps };
    let aggregate = aggregate_paper(&[
        scenario(
            "1",
            vec![
                PaperStepValues::Plan(Some(1.0)),
                PaperStepValues::Plan(Some(0.5)),
                decision(true, true, Some([1.0, 1.0, 0.0])),
                decision(true, true, Some([0.0, 1.0, 0.0])),
            ],
        ),
        scenario("2", vec![PaperStepValues::Plan(Some(0.25)), decision(true, true, Some([0.0, 1.0, 0.0]))]),
        scenario("3", vec![PaperStepValues::Plan(None), decision(false, false, None)]),
    ]);
    assert_eq!((aggregate.key.plan, aggregate.key.call_rejection), (0.5, 0.75));
    assert_eq!(
        (aggregate.aggregate["tool_f1"].as_f64(), aggregate.aggregate["argument_f1"].as_f64()),
        (Some(1.0 / 3.0), Some(0.0))
    );
}

fn any_plan() -> impl Strategy<Value = PlanValues> {
    (any::<bool>(), 0_u8..10, any::<bool>(), 0_u32..3, [0.0..=1.0, 0.0..=1.0, 0.0..=1.0]).prop_map(
        |(has_gold, code, is_unreadable, failures, [overall, structure, component])| PlanValues {
            has_gold,
            exception: Exception::from_code(f64::from(code)),
            is_unreadable,
            failures,
            overall,
            structure,
            component,
        },
    )
}

fn any_decision() -> impl Strategy<Value = DecisionValues> {
    let call = ([0.0..=1.0, 0.0..=1.0, 0.0..=1.0], any::<bool>())
        .prop_map(|([name_f1, key_f1, value_f1], is_judged)| CallValues { name_f1, key_f1, value_f1, is_judged });
    (any::<bool>(), 0_u8..10, [0_u32..3, 0..3, 0..3, 0..3, 0..3], proptest::option::of(call)).prop_map(
        |(is_answered, code, [tp_reject, tn_reject, fp_reject, fn_reject, type_mismatch], call)| DecisionValues {
            is_answered,
            crash: Exception::from_code(f64::from(code)).map(|exception| Crash::new(exception, exception.name())),
            confusion: Confusion { tp_reject, tn_reject, fp_reject, fn_reject, type_mismatch },
            call,
        },
    )
}

fn any_step() -> impl Strategy<Value = StepValues> {
    prop_oneof![any_plan().prop_map(StepValues::Plan), any_decision().prop_map(StepValues::Decision)]
}

fn any_paper_step() -> impl Strategy<Value = PaperStepValues> {
    let decision =
        (any::<[bool; 4]>(), proptest::option::of([0.0..=1.0, 0.0..=1.0, 0.0..=1.0])).prop_map(|(flags, call)| {
            let [is_gold_call, is_right, has_failed, is_right_type] = flags;
            PaperStepValues::Decision(PaperDecisionValues { is_gold_call, is_right, has_failed, is_right_type, call })
        });
    prop_oneof![proptest::option::of(0.0..=1.0).prop_map(PaperStepValues::Plan), decision]
}

proptest! {
    #[test]
    fn steps_survive_as_numbers(step in any_step(), paper in any_paper_step()) {
        prop_assert_eq!(StepValues::from_values(&step.to_values()), Some(step));
        prop_assert_eq!(PaperStepValues::from_values(&paper.to_values()), Some(paper));
        prop_assert_eq!(StepValues::from_values(&BTreeMap::new()), None);
        prop_assert_eq!(PaperStepValues::from_values(&BTreeMap::new()), None);
    }

    #[test]
    fn scores_are_shares(steps in proptest::collection::vec(any_step(), 0..8)) {
        let aggregate = aggregate_official(&[scenario(vec![Run::of(GoldCases { rejections: 1, calls: 2 }, steps)])]);
        for number in [aggregate.key.plan, aggregate.key.call_rejection, aggregate.key.function_call, aggregate.key.average] {
            prop_assert!((0.0..=1.0).contains(&number), "{}", number);
        }
    }
}
