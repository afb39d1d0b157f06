//! The official evaluators' rules one by one (docs/benchmarks/appbench.md §5.1, §5.2, §3.2).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::app_selection::{ATTEMPTS_MAX, Selection, selected};
use super::*;
use crate::data::{Flag, Gold, Split};
use crate::parse::lines;
use crate::vectors::miniature;

fn texts(all: &[&str]) -> Vec<Arc<str>> {
    all.iter().map(|text| Arc::from(*text)).collect()
}

/// An item whose gold plan is these calls with their apps.
fn entry(calls: &[(&str, &str)], returned: &[&str], user: &[(&str, &str)]) -> Entry {
    Entry {
        id: "mm-000".parse().unwrap(),
        split: Split::Mm,
        input: "".into(),
        gold: Gold {
            used_app: calls.iter().map(|(app, _)| Arc::from(*app)).collect(),
            used_api: Vec::new(),
            result_arguments: vec![texts(returned)],
            api_results: calls.iter().map(|(_, call)| Arc::from(*call)).collect(),
            middle_arguments: Vec::new(),
            user_aware_arguments: user.iter().map(|(key, value)| (Arc::from(*key), Arc::from(*value))).collect(),
        },
        flags: BTreeSet::new(),
        duplicate_of: None,
        fixtures: Vec::new(),
    }
}

fn counters(entry: &Entry, plan: &str) -> ItemCounters {
    score(entry, &lines(plan), None)
}

/// One call of one argument against its gold value.
fn hits(gold: &str, predicted: &str) -> u64 {
    let entry = entry(&[("A", &format!("r = f(#k={gold})"))], &["r"], &[]);
    counters(&entry, &format!("A: [r = f(#k={predicted})]")).evaluation.api_argu_hit_count
}

#[test]
fn a_value_is_right_when_it_is_part_of_the_gold_or_the_gold_of_it() {
    for right in ["'New York'", "'new'", "york", "'in New York City'", "'''new york''", "''", "'no, no'"] {
        assert_eq!(hits("'New York'", right), 1, "{right}");
    }
    for wrong in ["'Boston'", "\"New York\"", "' New York'x"] {
        assert_eq!(hits("'New York'", wrong), u64::from(wrong.contains("New York")), "{wrong}");
    }
    assert_eq!(hits("'New York'", "'new  york'"), 0);
}

#[test]
fn aliases_are_whole_values_of_predictions() {
    assert_eq!(hits("'San Francisco'", "'SFO'"), 1);
    assert_eq!(hits("'Los Angeles'", "lax"), 1);
    assert_eq!(hits("'San Francisco'", "'sfo airport'"), 0);
    assert_eq!(hits("'sfo'", "'San Francisco'"), 0);
}

#[test]
fn an_item_hits_apps_once_at_most() {
    let entry = entry(&[("A", "a = f()"), ("A", "b = g()")], &[], &[]);
    let found = counters(&entry, "a: [a = f()]\nA: [b = g()]").evaluation;
    assert_eq!((found.app_em_count, found.app_hit_count, found.total_pred_apps, found.total_ground_apps), (1, 1, 2, 2));
    assert_eq!((found.api_em_count, found.api_hit_count, found.total_match), (1, 1, 1));
}

#[test]
fn the_order_of_calls_is_never_checked() {
    let entry = entry(&[("A", "a = f()"), ("B", "b = g(#a=a)")], &["a"], &[]);
    assert_eq!(counters(&entry, "B: [b = g(#a=a)]\nA: [a = f()]").evaluation.total_match, 1);
}

#[test]
fn of_several_calls_of_an_api_the_last_counts() {
    let entry = entry(&[("A", "a = f(#k='x')")], &[], &[]);
    let found = counters(&entry, "A: [a = f(#k='x')]\nA: [a = f(#k='y')]").evaluation;
    assert_eq!((found.api_argu_hit_count, found.total_pred_api_argu, found.total_pred_apis), (0, 1, 2));
}

#[test]
fn what_is_missing_is_counted_twice() {
    let entry = entry(&[("A", "a = f(#k='x', #l=m, #n=o)")], &[], &[]);
    let found = counters(&entry, "A: [a = f(#k='y', #l='z')]").evaluation;
    assert_eq!((found.total_value_missing, found.total_k_missing), (4, 2));
    assert_eq!((found.total_depend_value_missing, found.total_depend_k_missing), (1, 1));
}

#[test]
fn what_the_user_gave_is_right_and_counts_as_a_predicted_dependency_afterwards() {
    let entry = entry(&[("A", "a = f(#date=date)")], &["date"], &[("date", "2019-03-07")]);
    let found = counters(&entry, "A: [a = f(#date='2019-03-07')]");
    assert_eq!((found.evaluation.depend_argu_hit, found.evaluation.total_pred_depend_args), (1, 1));
    assert_eq!(found.analysis.depend_key_value_mismatch, 1, "evaluator B does not know the user's values");
}

#[test]
fn the_first_right_value_of_a_key_may_be_repeated() {
    let entry = entry(&[("A", "a = f(#k='x')"), ("B", "b = g(#k=r)")], &["r"], &[]);
    let found = counters(&entry, "A: [a = f(#k='x')]\nB: [b = g(#k='x')]");
    assert_eq!((found.evaluation.api_argu_hit_count, found.evaluation.total_pred_depend_args), (2, 1));
    assert_eq!(found.analysis.depend_argument_correct_count, 1);
}

#[test]
fn evaluator_b_counts_different_names() {
    let entry = entry(&[("A", "a = f()"), ("A", "b = f()")], &[], &[]);
    let found = counters(&entry, "A: [a = f()]\nA: [b = f()]").lists;
    assert_eq!((found.app_em, found.app_f1, found.api_f1), (1, 0.5, 0.5));
}

#[test]
fn time_and_place_are_told_by_parts_of_keys() {
    let entry =
        entry(&[("A", "a = f(#journey_start_time='1', #total='2', #pickup_location='3', #area='4')")], &[], &[]);
    let found =
        counters(&entry, "A: [a = f(#journey_start_time='a', #total='b', #pickup_location='c', #area='d')]").analysis;
    assert_eq!(
        (found.key_value_mismatch, found.date_related_value_error, found.location_related_value_error),
        (4, 1, 1),
        "`total` holds `to`"
    );
}

fn aggregate_of(entry: &Entry, plans: &[&str]) -> Value {
    aggregate(&plans.iter().map(|plan| counters(entry, plan)).collect::<Vec<_>>())
}

#[test]
fn the_official_code_raises_where_nothing_was_predicted_and_where_nothing_is_wrong() {
    let entry = entry(&[("A", "a = f(#k='x')")], &[], &[]);
    let raised = json!({ "error": "ZeroDivisionError" });
    let empty = aggregate_of(&entry, &[""]);
    assert_eq!((&empty["evaluation"], &empty["analysis"]), (&raised, &raised));
    let perfect = aggregate_of(&entry, &["A: [a = f(#k='x')]"]);
    assert_eq!((&perfect["evaluation"]["complete_match"], &perfect["analysis"]), (&json!(1.0), &raised));
    assert_eq!(aggregate_of(&entry, &[])["evaluation"], raised);
}

#[test]
fn an_f1_may_exceed_one_or_be_negative() {
    let all_gold_depends = entry(&[("A", "a = f(#k=x, #l=m)")], &[], &[("k", "1"), ("l", "2")]);
    let raised = aggregate_of(&all_gold_depends, &["A: [a = f(#k='1', #l='2')]"]);
    assert_eq!(raised["evaluation"]["error"], "ZeroDivisionError", "no gold argument is left");
    // Three predictions look dependent that are not: one is left for two hits.
    let entry = entry(&[("A", "a = f(#k='x', #l='y')"), ("B", "b = g(#m=n)")], &[], &[]);
    let found = aggregate_of(&entry, &["A: [a = f(#k=x, #l=y)]\nB: [b = g(#m='n')]"]);
    assert_eq!(found["evaluation"]["non_depend_argu_hit_f1"], 2.0 * 2.0 / 3.0);
}

#[test]
fn counters_are_the_same_after_their_flat_values() {
    let mut entry = entry(&[("A", "a = f(#k='x')"), ("B", "b = g(#a=a)")], &["a"], &[]);
    for flags in [BTreeSet::new(), BTreeSet::from([Flag::RepeatedApi])] {
        entry.flags = flags;
        for plan in ["", "A: [a = f(#k='x')]\nB: [b = g(#a='q')]", "A: [f(]"] {
            let counters = counters(&entry, plan);
            assert_eq!(ItemCounters::from_values(&counters.to_values()), Some(counters), "{plan}");
        }
    }
    assert_eq!(ItemCounters::from_values(&dropped_values()), None);
}

#[test]
fn only_calls_that_cannot_be_read_are_unparseable() {
    let entry = entry(&[("A", "a = f()")], &[], &[]);
    assert_eq!(counters(&entry, "A: [a = f()]\nA: [f()]\nA: [a = x\\_f()]").unparseable, 1);
}

#[test]
fn apps_are_selected_by_their_names_in_phone_order() {
    let data = miniature();
    let names: Vec<&str> = data.phone.apps().iter().map(|app| &*app.name).collect();
    let answer = format!("I take {} and [{}].", names[1], names[0]);
    assert_eq!(selected(&data.phone, &answer).collect::<Vec<_>>(), names[..2]);
    assert!(selected(&data.phone, &names[0].to_lowercase()).all(|name| !answer.is_empty() && names.contains(&name)));
}

#[test]
fn an_answer_that_names_no_app_stands_for_its_letters() {
    let data = miniature();
    let first = data.phone.apps()[0].name.chars().next().unwrap();
    let with_it = data.phone.apps().iter().filter(|app| app.name.contains(first)).count();
    assert_eq!(
        selected(&data.phone, &format!("{first}{first}")).count(),
        2 * with_it,
        "each letter adds its apps again"
    );
    assert_eq!(selected(&data.phone, "42 []").count(), 0);
}

#[test]
fn a_session_shows_each_selected_app_once_and_keeps_no_list_that_grows_with_the_answer() {
    let data = miniature();
    let names: Vec<&str> = data.phone.apps().iter().map(|app| &*app.name).collect();
    for answer in [
        names[1].to_owned(),
        format!("{} {}", names[1], names[0]),
        "e".repeat(1000),
        "et, 42 []".repeat(50),
        "42".to_owned(),
    ] {
        let all: Vec<&str> = selected(&data.phone, &answer).collect();
        let once: Vec<&str> = names.iter().copied().filter(|name| all.contains(name)).collect();
        assert_eq!(Selection::of(&data.phone, [&answer]).apps, once, "{answer}");
    }
}

#[test]
fn after_five_empty_selections_an_item_is_left_out() {
    let data = miniature();
    let app = &*data.phone.apps()[0].name;
    let late = Selection::of(&data.phone, ["", "42", app, "[]"]);
    assert_eq!((late.attempts, late.apps.as_slice()), (3, [app].as_slice()));
    let never = Selection::of(&data.phone, ["1", "2", "3", "4", "5", app]);
    assert_eq!((never.attempts, never.is_dropped()), (ATTEMPTS_MAX, true));
}

#[test]
fn numbered_apps_are_those_of_the_selection_as_python_counts_them() {
    let data = miniature();
    let names: Vec<&str> = data.phone.apps().iter().map(|app| &*app.name).take(2).collect();
    let selection = Selection::of(&data.phone, [names.join(" ")]);
    let revised = |app: &'static str| selection.revise(&[app]).first().copied();
    let (first, second) = (Some(names[0]), Some(names[1]));
    for app in ["app1", "App1_x", "APP 1", "appapp1", "app+1", "app１", "app01", "app\u{85}1"] {
        assert_eq!(revised(app), first, "{app}");
    }
    assert_eq!((revised("app0"), revised("app-1")), (second, first), "negative positions count from the end");
    for app in ["app3", "app-2", "app", "appx", "app_1", "app1.0", "app\u{1c}1", "app99999999999999999999"] {
        assert_eq!(revised(app), None, "{app}");
    }
    assert_eq!(revised("Other"), Some("Other"));
}
