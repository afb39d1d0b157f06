//! Rules of execution, each on a small plan in the miniature phone.

use proptest::prelude::*;

use super::plan::{Execution, execute};
use super::schedule::Schedule;
use super::score::ExecScore;
use super::*;
use crate::data::{Data, Entry};
use crate::vectors;

fn run(plan: &str) -> Execution {
    let data = vectors::miniature();
    execute(&data, data.find("sm-000").unwrap(), plan)
}

fn inputs(execution: &Execution, at: usize) -> Vec<String> {
    let call = &execution.calls[at].call;
    call.inputs.iter().map(|(key, value)| format!("{key}={value}")).collect()
}

fn errors(plan: &str) -> Vec<(usize, &'static str)> {
    run(plan).errors.iter().map(|(at, why)| (*at, why.as_str())).collect()
}

#[test]
fn a_call_into_an_app_that_does_not_own_the_api_is_a_matter_of_permission() {
    let plan = "Garden: [x = lendbook(#title='A')]\n\
                Nowhere: [x = lendbook(#title='A')]\n\
                Library: [x = burnbook(#title='A')]\n\
                Library: [title]\n\
                LIBRARY: [x = lendbook(#title='A', #branch='North')]";
    assert_eq!(errors(plan), [(0, "permission"), (1, "unknown_app"), (2, "unknown_api"), (3, "unparseable")]);
    assert_eq!(&*run(plan).calls[0].call.app, "Library");
}

#[test]
fn a_name_means_the_latest_call_that_returned_it_and_a_later_one_never() {
    let plan = "Library: [a = findbook(#title=late)]\n\
                Library: [title, late, branch, shelf = findbook(#title='One', #branch='North')]\n\
                Library: [title, late, branch, shelf = findbook(#title='Two', #branch='South')]\n\
                Library: [x = lendbook(#title=title, #branch=branch)]";
    let done = run(plan);
    assert_eq!(inputs(&done, 0), ["title=late"], "used before its producer, a name is just text");
    assert_eq!(inputs(&done, 3), ["branch=South", "title=Two"]);
}

#[test]
fn what_was_refused_returns_nothing() {
    let done = run("Garden: [title = findbook(#title='One')]\nLibrary: [x = lendbook(#title=title, #branch='N')]");
    assert_eq!(inputs(&done, 0), ["branch=N", "title=title"]);
}

#[test]
fn names_that_are_not_described_stand_for_positions_when_all_are_named() {
    let plan = "Library: [t, a, b, s = findbook(#title='One', #branch='North')]\n\
                Library: [x = lendbook(#title=t, #branch=b)]\n\
                Library: [t2, b2 = findbook(#title='One', #branch='North')]\n\
                Library: [x = lendbook(#title=t2, #branch=b2)]";
    let done = run(plan);
    assert_eq!(inputs(&done, 1), ["branch=North", "title=One"]);
    assert!(inputs(&done, 3).iter().all(|input| input.contains("2:")), "{:?}", inputs(&done, 3));
}

#[test]
fn a_made_up_output_depends_on_the_call_and_nothing_else() {
    let plan = "Library: [shelf = findbook(#title='One',#branch='2.50')]\nLibrary: [x = lendbook(#title=shelf)]";
    let other = "Library: [shelf = findbook(#branch='02.5', #title='oNE ')]\nLibrary: [x = lendbook(#title=shelf)]";
    // The first eight digits of sha256("findbook|shelf|branch=2.5|title=one").
    assert_eq!(inputs(&run(plan), 1), ["title=shelf:538e4912"]);
    assert_eq!(inputs(&run(plan), 1), inputs(&run(other), 1));
}

#[test]
fn what_is_against_the_description_is_a_warning() {
    let done = run("Library: [x = lendbook(#zeal='1', #age='2')]");
    let warnings: Vec<_> = done.calls[0].call.warnings.iter().map(|w| (w.kind(), &**w.argument())).collect();
    let (unknown, missing) = ("unknown_argument", "missing_argument");
    assert_eq!(warnings, [(unknown, "age"), (unknown, "zeal"), (missing, "title"), (missing, "branch")]);
}

#[test]
fn only_calls_with_side_effects_are_in_the_ledger() {
    let done = run("Library: [shelf = findbook(#title='One')]\nLibrary: [x = lendbook(#title='One', #branch='N')]");
    assert_eq!(done.world.ledger().iter().map(|call| &*call.api).collect::<Vec<_>>(), ["lendbook"]);
}

#[test]
fn independent_calls_share_a_step_and_others_wait_for_what_they_need() {
    let plan = "Library: [title, author, branch, shelf = findbook(#title='One')]\n\
                Garden: [x = waterbed(#bed='3')]\n\
                Nowhere: [y = z()]\n\
                Library: [due = lendbook(#title=title, #branch=branch)]\n\
                Library: [due = lendbook(#title=title, #branch='North')]\n\
                Library: [x = findbook(#title=due)]";
    let schedule = Schedule::of(&run(plan));
    assert_eq!(schedule.steps, [vec![0, 1], vec![3, 4], vec![5]]);
    assert_eq!(schedule.makespan(), 3);
    assert_eq!(Schedule::of(&run("")).makespan(), 0);
}

#[test]
fn a_plan_that_lets_a_long_value_flow_into_very_many_calls_is_stopped() {
    let long = "x".repeat(100_000);
    let mut plan = format!("Library: [title = findbook(#title='{long}')]\n");
    for _ in 0..1000 {
        plan.push_str("Library: [y = findbook(#title=title)]\n");
    }
    let done = run(&plan);
    assert_eq!(done.errors.first().map(|(_, why)| *why), Some(Refusal::Exhausted));
    assert!((100..200).contains(&done.calls.len()), "{}", done.calls.len());
}

#[test]
fn precision_and_recall_are_those_of_all_calls_together() {
    let data = vectors::miniature();
    let entry = data.find("sm-000").unwrap();
    let gold: String = gold_plan(entry);
    let first = gold.lines().next().unwrap_or_default();
    let scores = [score(&data, entry, &gold), score(&data, entry, first), score(&data, entry, "none")];
    let sum = aggregate(scores.iter().map(ExecScore::outcome));
    let true_calls = entry.gold.used_api.len() as f64;
    assert_eq!(sum["n"], 3);
    assert_eq!(sum["call_precision"], 1.0);
    assert_eq!(sum["call_recall"].as_f64(), Some((true_calls + 1.0) / (3.0 * true_calls)));
    assert_eq!(sum["exec_success"].as_f64(), Some(1.0 / 3.0));
    assert_eq!(aggregate([])["call_f1"], 0.0);
}

fn gold_plan(entry: &Entry) -> String {
    let calls = entry.gold.used_app.iter().zip(&entry.gold.api_results);
    calls.map(|(app, call)| format!("{app}: [{call}]\n")).collect()
}

#[test]
fn every_gold_plan_of_the_miniature_reaches_the_true_calls() {
    let data: Data = vectors::miniature();
    for entry in &data.entries {
        let scored = score(&data, entry, &gold_plan(entry));
        assert!(scored.success, "{}: {}", entry.id, scored.detail());
    }
}

proptest! {
    #[test]
    fn any_text_is_executed_without_panic_and_counts_add_up(
        plan in "((Library|Garden|[a-zé²]{0,4})(:|：| ): ?\\[?([a-z, ]{0,6}= ?)?(lendbook|findbook|waterbed|x)\\(?(#[a-z]{1,5}=('[^']{0,3}'|[a-z]{1,5}|),? ?){0,4}\\)?\\]?\n){0,6}"
    ) {
        let data = vectors::miniature();
        let scored = score(&data, &data.entries[0], &plan);
        prop_assert!(scored.hit <= scored.pred && scored.hit <= scored.gold);
        let schedule = Schedule::of(&scored.execution);
        prop_assert_eq!(schedule.steps.iter().map(Vec::len).sum::<usize>(), scored.pred);
        prop_assert!(!scored.success || !scored.has_error());
    }
}
