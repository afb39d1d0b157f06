//! Whole sessions with simulated planners.

use std::collections::BTreeMap;

use proptest::prelude::*;
use regatta_benchmark_testing::{drive, drive_with};
use regatta_benchmarks::{NoVerdicts, Persona, Score, Scores, Scoring, Suite};
use regatta_proto::{Evaluator, Finish, ItemIndex, Reply, ToolCall, Transcript};

use crate::harness::{miniature, published, setting};

const ALL: [Evaluator; 3] = [Evaluator::Official, Evaluator::Paper, Evaluator::Exec];

pub(crate) fn score(suite: &dyn Suite, item: ItemIndex, transcript: &Transcript) -> Scores {
    match suite.score(item, &ALL, &transcript.without_requests(), &NoVerdicts) {
        Scoring::Scored(scores) => scores,
        other => panic!("{other:?}"),
    }
}

/// Sums of a flat value by task.
fn sums(suite: &dyn Suite, name: &str, agent: Persona, evaluator: Evaluator, value: &str) -> BTreeMap<String, f64> {
    let setting = setting(name);
    let mut sums = BTreeMap::new();
    for item in suite.select(&setting, &[], None).unwrap() {
        let transcript = drive(suite, item, &setting, agent, 7);
        let scores = score(suite, item, &transcript);
        let task = suite.items()[item.0 as usize].task.to_string();
        *sums.entry(task).or_default() += scores[&evaluator].values[value];
    }
    sums
}

fn by_task(ss: f64, sm: f64, ms: f64, mm: f64) -> BTreeMap<String, f64> {
    [("ss", ss), ("sm", sm), ("ms", ms), ("mm", mm)].map(|(task, sum)| (task.to_owned(), sum)).into()
}

#[test]
fn the_oracle_reaches_what_the_gold_plans_reach_on_all_801_items() {
    let Some(suite) = published() else { return };
    for name in ["hierarchical", "flat"] {
        let succeeded = |evaluator, value| sums(&*suite, name, Persona::Oracle, evaluator, value);
        // One item has calls without apps, which no plan can have.
        assert_eq!(succeeded(Evaluator::Official, "total_match"), by_task(200.0, 200.0, 201.0, 199.0), "{name}");
        assert_eq!(succeeded(Evaluator::Paper, "succ"), by_task(200.0, 200.0, 201.0, 199.0), "{name}");
        // Dependencies that point to other values than the true ones.
        assert_eq!(succeeded(Evaluator::Exec, "exec_success"), by_task(200.0, 131.0, 139.0, 115.0), "{name}");
    }
}

#[test]
fn an_agent_that_makes_the_true_calls_with_tools_succeeds_wherever_the_apps_have_them() {
    let Some(suite) = published() else { return };
    let succeeded = sums(&*suite, "tools", Persona::Oracle, Evaluator::Exec, "exec_success");
    assert_eq!(succeeded, by_task(200.0, 200.0, 201.0, 200.0));
}

#[test]
fn noise_makes_every_evaluator_less_content() {
    let suite = miniature();
    for name in ["hierarchical", "flat", "flat/3-shot"] {
        for (evaluator, value) in
            [(Evaluator::Official, "total_match"), (Evaluator::Paper, "succ"), (Evaluator::Exec, "call_hit")]
        {
            let total = |agent| sums(&*suite, name, agent, evaluator, value).values().sum::<f64>();
            assert!(total(Persona::Noisy(0.9)) < total(Persona::Oracle), "{name} {evaluator}");
        }
    }
}

#[test]
fn only_what_was_executed_counts_with_tools() {
    let suite = miniature();
    let transcript = drive(&*suite, ItemIndex(0), &setting("tools"), Persona::Oracle, 1);
    let scores = score(&*suite, ItemIndex(0), &transcript);
    assert_eq!(scores.keys().copied().collect::<Vec<_>>(), [Evaluator::Exec]);
    assert_eq!(scores[&Evaluator::Exec].values["exec_success"], 1.0);
}

#[test]
fn calls_that_cannot_be_made_are_answered_and_counted_against_the_agent() {
    let suite = miniature();
    let broken = ["{\"a\": 1}", "no json", "[]", ""];
    let mut said = 0;
    let transcript = drive_with(&*suite, ItemIndex(0), &setting("tools"), |_, request| {
        said += 1;
        let Some(arguments) = broken.get(said - 1) else { return Reply::said("I give up.") };
        let tool = if said == 1 { "Nothing-nowhere" } else { &request.tools[0].name };
        let call = ToolCall { id: format!("c{said}").into(), name: tool.into(), arguments: (*arguments).into() };
        Reply::calling(None, vec![call])
    });
    let last = transcript.calls().last().unwrap();
    let told: Vec<&str> =
        last.request.messages.iter().filter(|m| m.tool_call_id.is_some()).map(|m| &*m.content).collect();
    assert_eq!(told.len(), 4);
    assert_eq!(told[0], "{\"error\":\"unknown tool\"}");
    assert_eq!(told[1], "{\"error\":\"the arguments are not a JSON object\"}");
    let Score { values, .. } = &score(&*suite, ItemIndex(0), &transcript)[&Evaluator::Exec];
    assert_eq!((values["exec_success"], values["exec_error"]), (0.0, 1.0));
}

#[test]
fn an_agent_that_never_stops_calling_is_stopped() {
    let suite = miniature();
    let mut said = 0;
    let transcript = drive_with(&*suite, ItemIndex(0), &setting("tools"), |_, request| {
        said += 1;
        let calls = (0..3).map(|at| ToolCall {
            id: format!("c{said}-{at}").into(),
            name: request.tools[0].name.clone(),
            arguments: "{}".into(),
        });
        Reply::calling(Some("on and on"), calls.collect())
    });
    assert_eq!(transcript.calls().count(), 20);
}

#[test]
fn an_item_whose_selection_failed_is_left_out_by_the_official_code_alone() {
    let suite = miniature();
    let transcript = drive_with(&*suite, ItemIndex(0), &setting("hierarchical"), |_, _| Reply::said("?"));
    let scores = score(&*suite, ItemIndex(0), &transcript);
    assert_eq!(scores[&Evaluator::Official].values, BTreeMap::from([("dropped".to_owned(), 1.0)]));
    assert_eq!(scores[&Evaluator::Paper].values["succ"], 0.0);
    assert_eq!(scores[&Evaluator::Exec].values["exec_success"], 0.0);
}

#[test]
fn a_failed_session_has_every_value_that_a_good_one_has_and_is_wrong() {
    let suite = miniature();
    let transcript = drive(&*suite, ItemIndex(0), &setting("flat"), Persona::Oracle, 1);
    let (good, failed) = (score(&*suite, ItemIndex(0), &transcript), suite.score_failure(ItemIndex(0), &ALL));
    for evaluator in ALL {
        // How long nothing took is no number.
        let is_known = |name: &&String| *name != "makespan";
        let names = |scores: &Scores| scores[&evaluator].values.keys().filter(is_known).cloned().collect::<Vec<_>>();
        assert_eq!(names(&good), names(&failed), "{evaluator}");
    }
    assert_eq!(failed[&Evaluator::Official].values["total_match"], 0.0);
}

proptest! {
    #[test]
    fn whatever_a_model_says_the_session_ends_and_is_scored(texts in prop::collection::vec(".{0,80}", 1..6), calls in prop::collection::vec(("[A-Za-z-]{0,20}", ".{0,40}"), 0..3)) {
        let suite = miniature();
        for name in ["flat", "hierarchical", "hierarchical/3-shot", "tools"] {
            let mut said = 0;
            let transcript = drive_with(&*suite, ItemIndex(1), &setting(name), |_, request| {
                said += 1;
                let calls = calls.iter().enumerate().map(|(at, (tool, arguments))| ToolCall {
                    id: format!("{said}-{at}").into(),
                    name: tool.as_str().into(),
                    arguments: arguments.as_str().into(),
                });
                let calls: Vec<ToolCall> = if request.tools.is_empty() || said > 3 { Vec::new() } else { calls.collect() };
                Reply { tool_calls: calls, ..Reply::of_text(texts.get(said - 1).map(String::as_str), Finish::Stop) }
            });
            for score in score(&*suite, ItemIndex(1), &transcript).values() {
                prop_assert!(score.values.values().all(|value| value.is_finite()));
            }
        }
    }
}
