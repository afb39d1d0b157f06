//! Differences by hand, and rules of each kind of metric.

use regatta_benchmarks::{Metric, Unit};

use super::*;

fn items(scores: &[Option<f64>]) -> Vec<Vec<Sample>> {
    let of = |score: &Option<f64>| match score {
        Some(top) => Sample::Scored { top: *top, bottom: 1.0 },
        None => Sample::Missing { weight: 1.0 },
    };
    vec![scores.iter().map(of).collect()]
}

fn paired(ours: &[Option<f64>], theirs: &[Option<f64>]) -> Option<Difference> {
    let clusters: Vec<u32> = (0..ours.len() as u32).collect();
    difference(&Metric::mean("x"), &[items(ours)], &[items(theirs)], &clusters)
}

fn recall() -> Metric {
    let measure = Measure::Ratio { numerator: "right".into(), denominator: "gold".into(), of_item: true };
    Metric { measure, ..Metric::mean("recall") }
}

fn scored(top: f64, bottom: f64) -> Sample {
    Sample::Scored { top, bottom }
}

#[test]
fn what_is_hard_for_both_does_not_widen_the_interval() {
    let width = |found: Difference| found.high.unwrap() - found.low.unwrap();
    let hard_for_both = paired(&[Some(0.1), Some(0.5), Some(1.0)], &[Some(0.0), Some(0.4), Some(0.9)]).unwrap();
    let alike = paired(&[Some(0.5); 3], &[Some(0.4); 3]).unwrap();
    assert!((hard_for_both.value - 0.1).abs() < 1e-9, "{hard_for_both:?}");
    assert!((width(hard_for_both) - width(alike)).abs() < 1e-9, "{hard_for_both:?} {alike:?}");
}

#[test]
fn only_items_that_both_have_count() {
    let found = paired(&[Some(1.0), None, Some(0.5)], &[Some(0.5), Some(1.0), None]).unwrap();
    assert_eq!((found.value, found.low, found.high, found.n, found.clusters), (0.5, None, None, 1, 1));
    assert_eq!(paired(&[None], &[Some(1.0)]), None);
}

#[test]
fn three_differences_of_an_amount_have_the_interval_of_the_textbook() {
    let turns = Metric { range: (0.0, f64::INFINITY), unit: Unit::Turns, ..Metric::mean("turns") };
    let (ours, theirs) = (items(&[Some(4.0), Some(5.0), Some(6.0)]), items(&[Some(0.0); 3]));
    let found = difference(&turns, &[ours], &[theirs], &[0, 1, 2]).unwrap();
    // Standard error 1 / √3, quantile 4.3027.
    assert!((found.low.unwrap() - 2.515_862).abs() < 1e-5 && (found.high.unwrap() - 7.484_138).abs() < 1e-5);
}

#[test]
fn ratios_of_equal_denominators_differ_as_their_means_do() {
    let (ours, theirs) = ([Some(0.9), Some(0.2), Some(0.6), Some(0.4)], [Some(0.5), Some(0.3), Some(0.1), Some(0.4)]);
    let of_means = paired(&ours, &theirs).unwrap();
    let of_ratios = difference(&recall(), &[items(&ours)], &[items(&theirs)], &[0, 1, 2, 3]).unwrap();
    assert!((of_means.value - of_ratios.value).abs() < 1e-12 && of_means.n == of_ratios.n);
    assert!((of_means.low.unwrap() - of_ratios.low.unwrap()).abs() < 1e-12);
    assert!((of_means.high.unwrap() - of_ratios.high.unwrap()).abs() < 1e-12);
}

#[test]
fn sessions_that_only_one_has_do_not_move_the_difference_of_ratios() {
    let ours = vec![vec![scored(1.0, 2.0), scored(0.0, 8.0), scored(3.0, 4.0)]];
    let theirs = vec![vec![scored(1.0, 2.0), Sample::Missing { weight: 8.0 }, scored(1.0, 4.0)]];
    let found = difference(&recall(), std::slice::from_ref(&ours), std::slice::from_ref(&theirs), &[0, 1, 2]).unwrap();
    assert!((found.value - (4.0 / 6.0 - 2.0 / 6.0)).abs() < 1e-12 && found.n == 2, "{found:?}");
    let other = difference(&recall(), &[theirs], &[ours], &[0, 1, 2]).unwrap();
    assert!((found.value + other.value).abs() < 1e-12);
}

#[test]
fn a_model_does_not_differ_from_itself_as_far_as_two_items_tell() {
    let ours = vec![vec![scored(1.0, 2.0), scored(0.0, 8.0)], vec![scored(2.0, 2.0), scored(3.0, 8.0)]];
    let found = difference(&recall(), std::slice::from_ref(&ours), std::slice::from_ref(&ours), &[0, 1]).unwrap();
    assert_eq!((found.value, found.p, found.test, found.n), (0.0, Some(1.0), Some(Test::AllFlips), 2));
    assert!(found.low.unwrap() < -0.9 && found.high.unwrap() > 0.9, "two items tell next to nothing: {found:?}");
}

#[test]
fn items_that_are_right_or_wrong_have_mcnemars_test_and_items_of_one_cluster_do_not() {
    let right = |count: usize| (0..20).map(|at| Some(f64::from(u8::from(at < count)))).collect::<Vec<_>>();
    let found = paired(&right(15), &right(6)).unwrap();
    // Nine items are right for one alone, none for the other alone.
    assert!(found.p > Some(2.0 / 512.0) && found.test == Some(Test::Score), "the score test is the more careful one");
    // Of three nobody is sure.
    let found_of_three = paired(&right(9), &right(6)).unwrap();
    assert!((found_of_three.p.unwrap() - 2.0 / 8.0).abs() < 1e-12 && found_of_three.test == Some(Test::Mcnemar));
    let clusters: Vec<u32> = (0..20).map(|at| at / 2).collect();
    let found = difference(&Metric::mean("x"), &[items(&right(15))], &[items(&right(6))], &clusters).unwrap();
    // Five clusters differ, and always the same way.
    assert_eq!((found.p, found.test), (Some(2.0 / 32.0), Some(Test::AllFlips)));
}

#[test]
fn a_trial_that_only_one_has_does_not_count() {
    let trial = |score: f64| vec![scored(score, 1.0)];
    let missing = vec![Sample::Missing { weight: 1.0 }];
    let found =
        difference(&Metric::mean("x"), &[vec![trial(1.0), trial(0.0)]], &[vec![trial(0.5), missing]], &[0]).unwrap();
    assert_eq!((found.value, found.n), (0.5, 1));
}

#[test]
fn the_shares_of_a_ratio_add_up_to_its_difference() {
    let ours = vec![vec![scored(1.0, 2.0), scored(0.0, 8.0), scored(3.0, 4.0)]];
    let theirs = vec![vec![scored(1.0, 2.0), scored(6.0, 8.0), scored(1.0, 4.0)]];
    let (ours, theirs) = ([ours], [theirs]);
    let found = shared(&recall(), Paired { ours: &ours, theirs: &theirs, clusters: &[0, 1, 1] }).unwrap();
    let sum: f64 = found.shares.iter().map(|share| share.sum).sum();
    let weight: f64 = found.shares.iter().map(|share| share.weight).sum();
    assert!((sum - found.value).abs() < 1e-12 && (weight - 1.0).abs() < 1e-12 && found.shares.len() == 2);
}
