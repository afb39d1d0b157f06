//! Shapes of small plans.

use super::*;

fn topology(calls: &[&str]) -> Topology {
    Topology::of(calls.len(), calls).unwrap()
}

#[test]
fn two_producers_of_one_consumer_are_two_components_officially_and_one_in_the_paper() {
    let found = topology(&["a = f(#x='1')", "b = g(#y='2')", "c = h(#a=a, #b=b)"]);
    assert_eq!(found.edges(), [(0, 2), (1, 2)]);
    assert_eq!((found.sizes(), found.weak_sizes()), (vec![2, 1], vec![3]));
    assert_eq!(found.scale().bucket(), "2x1.50");
}

#[test]
fn every_producer_of_a_name_gives_an_edge_even_a_later_one() {
    let found = topology(&["a = f()", "b = g(#x=a)", "a = f()", "c = h()"]);
    assert_eq!(found.edges(), [(0, 1), (2, 1)]);
}

#[test]
fn the_first_call_needs_nothing_and_the_last_gives_nothing() {
    assert!(topology(&["b = f(#x=a)", "a = g()"]).edges().is_empty());
    assert_eq!(topology(&["b = f(#x=a)", "a = g(#y=b)"]).edges(), [(0, 1)]);
}

#[test]
fn a_call_does_not_need_itself_and_needs_another_once() {
    assert_eq!(topology(&["a, b = f()", "a = g(#x=a, #y=b)", "c = h()"]).edges(), [(0, 1)]);
}

#[test]
fn what_is_quoted_is_no_variable() {
    let edges = |call: &str| topology(&["a, b = f()", call]).edges().len();
    assert_eq!(edges("c = g(#x='a')"), 0);
    assert_eq!(edges("c = g(#x='#y=a')"), 0, "quotes are consumed first");
    assert_eq!(edges("c = g(#x='it, #y=a)"), 1, "unless they do not close");
    assert_eq!(edges("c = g(#x = a)"), 0);
    assert_eq!(edges("c = g(##x=a)"), 1);
    assert_eq!(edges("c = g(x=a)"), 0);
}

#[test]
fn calls_without_an_app_are_cut_off() {
    assert_eq!(Topology::of(1, &["a = f()", "no call"]).unwrap().calls(), 1);
    assert!(Topology::of(0, &["no call"]).unwrap().sizes().is_empty());
}

#[test]
fn what_the_official_code_cannot_read_is_an_error() {
    let error = |call: &str| Topology::of(1, &[call]).err();
    assert_eq!(error("f(#x)"), Some(Unreadable::NothingReturned));
    for call in ["a = f (#x=y)", "a = 1", "a = ", "f(#x=y)", "a = App.f()"] {
        assert_eq!(error(call), Some(Unreadable::NoCall), "{call}");
    }
    assert_eq!(error("a =\u{1c}f("), None);
}

#[test]
fn buckets_say_how_many_items_have_all_arguments_right() {
    let (single, pair) = (Scale { components: 1, calls: 1 }, Scale { components: 1, calls: 2 });
    let found = buckets([(single, true), (pair, false), (single, false)]);
    assert_eq!(found, serde_json::json!({ "1x1.00": { "n": 2, "em": 0.5 }, "1x2.00": { "n": 1, "em": 0.0 } }));
}
