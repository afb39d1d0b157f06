//! Laws of estimates that hold for all scores.

use proptest::prelude::*;
use regatta_benchmarks::{Measure, Metric};
use regatta_proto::Level;

use super::*;
use crate::statistics::{difference, leaves, sample};

/// An item's scores by trial.
type Scores = Vec<Option<f64>>;

/// Counts of a session: right, predicted, gold.
type Counts = (u32, u32, u32);

/// Samples by trial from samples by item.
fn by_trial<S: Copy>(items: &[Vec<S>], sample: impl Fn(S) -> Sample) -> Vec<Vec<Sample>> {
    let trials = items.iter().map(Vec::len).max().unwrap_or(0);
    (0..trials).map(|trial| items.iter().map(|item| sample(item[trial])).collect()).collect()
}

fn estimated(metric: &Metric, trials: &[Vec<Sample>], clusters: &[u32]) -> Estimate {
    let positions: Vec<usize> = (0..clusters.len()).collect();
    estimate(metric, &[trials.to_vec()], &positions, clusters, Level::USUAL)
}

fn singles(items: usize) -> Vec<u32> {
    (0..items as u32).collect()
}

fn of_score(score: Option<f64>) -> Sample {
    score.map_or(Sample::Missing { weight: 1.0 }, |top| Sample::Scored { top, bottom: 1.0 })
}

/// The mean of items that are independent.
fn of_scores(items: &[Scores]) -> Estimate {
    estimated(&Metric::mean("x"), &by_trial(items, of_score), &singles(items.len()))
}

fn recall() -> Metric {
    let measure = Measure::Ratio { numerator: "right".into(), denominator: "gold".into(), of_item: true };
    Metric { measure, ..Metric::mean("recall") }
}

fn precision() -> Metric {
    let measure = Measure::Ratio { numerator: "right".into(), denominator: "predicted".into(), of_item: false };
    Metric { measure, ..Metric::mean("precision") }
}

fn f1() -> Metric {
    let measure = Measure::F1 { right: "right".into(), predicted: "predicted".into(), gold: "gold".into() };
    Metric { measure, ..Metric::mean("f1") }
}

fn values((right, predicted, gold): Counts) -> std::collections::BTreeMap<String, f64> {
    [("right", right), ("predicted", predicted), ("gold", gold)]
        .map(|(name, count)| (name.to_owned(), f64::from(count)))
        .into()
}

/// A metric of sessions with these counts; `None` has no score, and its item this much gold.
fn of_counts(metric: &Metric, items: &[Vec<Result<Counts, u32>>]) -> Estimate {
    let of = |counts: Result<Counts, u32>| match counts {
        Ok(counts) => crate::statistics::sample(metric, &values(counts)),
        Err(gold) => crate::statistics::missing(metric, Some(&values((0, 0, gold)))),
    };
    estimated(metric, &by_trial(items, of), &singles(items.len()))
}

#[test]
fn a_session_that_should_have_a_value_and_has_none_is_as_one_without_a_score() {
    let metric = Metric { missing_if: [("x".to_owned(), "x_ungraded".to_owned())].into(), ..Metric::mean("x") };
    let flat = |name: &str, value: f64| std::collections::BTreeMap::from([(name.to_owned(), value)]);
    let of = |score: Option<f64>| {
        crate::statistics::sample(&metric, &score.map_or(flat("x_ungraded", 1.0), |x| flat("x", x)))
    };
    let items = [vec![Some(1.0), None], vec![None, None], vec![Some(0.0), Some(1.0)]];
    let found = estimated(&metric, &by_trial(&items, of), &singles(items.len()));
    assert_eq!(found, of_scores(&items));
    assert_eq!((found.scored, found.total), (3, 6));
}

/// Average of a grade, which some sessions lack, and of a value that all of them have.
fn average_with_grade() -> Metric {
    let mean = |value: &str| Measure::Mean { value: value.to_owned() };
    let measure = Measure::Average { of: vec![mean("grade"), mean("right")] };
    Metric { measure, missing_if: [("grade".to_owned(), "grade_ungraded".to_owned())].into(), ..Metric::mean("both") }
}

/// The samples of sessions that are right or not, by leaf; the judge grades only what is right.
fn graded_if_right(metric: &Metric, items: &[bool]) -> Vec<Trials> {
    let values = |right: bool| match right {
        true => std::collections::BTreeMap::from([("grade".to_owned(), 1.0), ("right".to_owned(), 1.0)]),
        false => std::collections::BTreeMap::from([("grade_ungraded".to_owned(), 1.0), ("right".to_owned(), 0.0)]),
    };
    let of_leaf = |leaf: &Metric| vec![items.iter().map(|right| sample(leaf, &values(*right))).collect()];
    leaves(metric).iter().map(of_leaf).collect()
}

#[test]
fn an_average_keeps_the_parts_that_a_session_without_a_grade_has() {
    let metric = average_with_grade();
    let items: Vec<bool> = (0..20).map(|at| at % 5 < 2).collect();
    let samples = graded_if_right(&metric, &items);
    let positions: Vec<usize> = (0..items.len()).collect();
    let found = estimate(&metric, &samples, &positions, &singles(items.len()), Level::USUAL);
    // Right in 8 of 20; each grade that there is is 1, and the others may be anything.
    assert_eq!((found.scored, found.total, found.coverage), (8, 20, 0.4));
    assert!(close(found.bound_low, Some(0.4)) && close(found.bound_high, Some(0.7)), "{found:?}");
    assert!(close(found.value, Some(0.7)), "{found:?}");
    // A judge who gives no grade at all leaves bounds, and no value.
    let none = graded_if_right(&metric, &[false; 20]);
    let found = estimate(&metric, &none, &positions, &singles(items.len()), Level::USUAL);
    assert_eq!((found.value, found.bound_low, found.bound_high), (None, Some(0.0), Some(0.5)));
}

#[test]
fn a_difference_of_averages_is_of_the_parts_that_both_have_and_covers_the_sessions_that_have_all() {
    let metric = average_with_grade();
    let (ours, theirs) = ([true; 20], (0..20).map(|at| at >= 10).collect::<Vec<bool>>());
    let samples = [&ours[..], &theirs].map(|items| graded_if_right(&metric, items));
    let found = difference(&metric, &samples[0], &samples[1], &singles(20)).unwrap();
    let missing = found.missing.unwrap();
    assert_eq!(missing.coverage, 0.5);
    // Right in all against in half, and the ten grades that are missing may be 0 or 1.
    assert!(close(Some(found.value), Some(0.25)), "{found:?}");
    assert!(close(missing.bound_low, Some(0.25)) && close(missing.bound_high, Some(0.5)), "{found:?}");
}

#[test]
fn over_reruns_too_the_interval_reaches_over_all_that_missing_sessions_could_have_scored() {
    // Two of eight items were never measured, and each other one scored the same in both of its trials.
    let mut items = vec![vec![Some(1.0), Some(1.0)]; 4];
    items.extend([vec![Some(0.0), Some(0.0)], vec![Some(0.0), Some(1.0)], vec![None, None], vec![None, None]]);
    let (found, whole) = (of_scores(&items), of_scores(&items[..6]));
    let (reruns, of_whole) = (found.reruns.unwrap(), whole.reruns.unwrap());
    let (low, high) = (found.bound_low.unwrap(), found.bound_high.unwrap());
    assert!(reruns.low < low && high < reruns.high, "{reruns:?} about {low} to {high}");
    assert!(
        reruns.low < of_whole.low && of_whole.high < reruns.high,
        "{reruns:?}, {of_whole:?} without what is missing"
    );
    assert_eq!(reruns.trial_variance, of_whole.trial_variance);
}

fn close(left: Option<f64>, right: Option<f64>) -> bool {
    match (left, right) {
        (Some(left), Some(right)) => (left - right).abs() < 1e-9,
        (left, right) => left == right,
    }
}

fn alike(one: &Estimate, other: &Estimate) -> bool {
    close(one.value, other.value)
        && close(one.low, other.low)
        && close(one.high, other.high)
        && close(one.bound_low, other.bound_low)
        && close(one.bound_high, other.bound_high)
        && close(one.sd, other.sd)
        && (one.n, one.scored, one.total, one.clusters) == (other.n, other.scored, other.total, other.clusters)
}

#[test]
fn repeating_every_trial_does_not_narrow_the_interval() {
    let times = |n| [0.25, 0.75, 1.0].map(|score| vec![Some(score); n]);
    let (once, thrice) = (of_scores(&times(1)), of_scores(&times(3)));
    assert_eq!((once.value, once.low, once.high), (thrice.value, thrice.low, thrice.high));
    assert_eq!((once.n, thrice.n, thrice.scored), (3, 3, 9));
    assert_eq!((once.sd, thrice.sd), (None, Some(0.0)));
}

#[test]
fn repeating_every_trial_of_a_ratio_does_not_narrow_its_interval() {
    let times = |n| [(1, 2, 3), (2, 2, 2), (0, 1, 4)].map(|counts| vec![Ok(counts); n]);
    let (once, thrice) = (of_counts(&f1(), &times(1)), of_counts(&f1(), &times(3)));
    assert!(close(once.value, thrice.value) && close(once.low, thrice.low) && close(once.high, thrice.high));
}

#[test]
fn turns_of_one_conversation_are_one_cluster() {
    let turns = [0.0, 0.0, 1.0, 1.0, 0.5, 0.5].map(|score| vec![of_score(Some(score))]);
    let trials = by_trial(&turns, |sample| sample);
    let found = estimated(&Metric::mean("x"), &trials, &[0, 0, 1, 1, 2, 2]);
    let independent = estimated(&Metric::mean("x"), &trials, &singles(6));
    assert_eq!((found.n, found.clusters, independent.clusters), (6, 3, 6));
    assert!(found.low < independent.low && found.high > independent.high, "{found:?}");
    let alone = estimated(&Metric::mean("x"), &trials, &[0; 6]);
    assert_eq!((alone.value, alone.low, alone.clusters), (Some(0.5), None, 1));
}

#[test]
fn one_item_gives_a_value_without_an_interval() {
    let found = of_scores(&[vec![Some(0.2), Some(0.4)]]);
    assert!(close(found.value, Some(0.3)));
    assert_eq!((found.low, found.high), (None, None));
}

#[test]
fn bounds_are_the_mean_if_all_that_is_missing_were_wrong_or_right() {
    let found = of_scores(&[vec![Some(1.0), None], vec![None, None], vec![Some(0.5), Some(0.0)]]);
    assert!(close(found.value, Some(0.625)));
    assert!(close(found.bound_low, Some((0.5 + 0.0 + 0.25) / 3.0)));
    assert!(close(found.bound_high, Some((1.0 + 1.0 + 0.25) / 3.0)));
    assert_eq!(found.coverage, 0.5);
}

#[test]
fn the_bounds_of_a_recall_count_the_gold_of_what_is_missing() {
    let found = of_counts(&recall(), &[vec![Ok((3, 9, 4))], vec![Err(6)]]);
    assert!(close(found.value, Some(0.75)));
    assert!(close(found.bound_low, Some(0.3)) && close(found.bound_high, Some(0.9)), "{found:?}");
}

#[test]
fn the_bounds_of_a_precision_take_what_is_missing_for_as_talkative_as_the_most_talkative_session() {
    let found = of_counts(&precision(), &[vec![Ok((3, 4, 4))], vec![Ok((1, 1, 2))], vec![Err(6)]]);
    assert!(close(found.value, Some(0.8)));
    // Of nine predictions the four that nobody knows are wrong, or right.
    assert!(close(found.bound_low, Some(4.0 / 9.0)) && close(found.bound_high, Some(8.0 / 9.0)), "{found:?}");
    assert!(found.low.unwrap() < 4.0 / 9.0 && found.high.unwrap() > 8.0 / 9.0, "{found:?}");
    let endless = Metric { range: (0.0, f64::INFINITY), ..precision() };
    let found = of_counts(&endless, &[vec![Ok((3, 4, 4))], vec![Err(6)]]);
    assert_eq!((found.bound_low, found.bound_high), (Some(0.375), None));
}

#[test]
fn what_a_range_without_an_end_could_become_has_no_bound() {
    let turns = Metric { range: (0.0, f64::INFINITY), ..Metric::mean("turns") };
    let found = estimated(&turns, &[vec![of_score(Some(12.0)), of_score(None)]], &[0, 1]);
    assert_eq!((found.value, found.bound_low, found.bound_high), (Some(12.0), Some(6.0), None));
}

#[test]
fn a_share_that_may_exceed_1_has_an_interval_beyond_only_when_a_session_does() {
    let progress = Metric { range: (0.0, f64::INFINITY), unit: regatta_benchmarks::Unit::Percent, ..Metric::mean("p") };
    let of = |scores: [f64; 3]| estimated(&progress, &[scores.map(|score| of_score(Some(score))).to_vec()], &[0, 1, 2]);
    assert!(of([0.0, 1.0, 1.0]).high < Some(1.0));
    assert!(of([0.0, 1.0, 2.0]).high > Some(1.5));
}

#[test]
fn sessions_without_the_value_do_not_count() {
    let of = |score: Option<f64>| score.map_or(Sample::Nothing, |top| Sample::Scored { top, bottom: 1.0 });
    let trials = by_trial(&[vec![Some(8.0)], vec![None], vec![Some(6.0)]], of);
    let grade = Metric { range: (0.0, 10.0), ..Metric::mean("grade") };
    let found = estimated(&grade, &trials, &[0, 1, 2]);
    assert_eq!((found.value, found.n, found.scored, found.total), (Some(7.0), 2, 3, 3));
}

#[test]
fn nothing_to_divide_by_is_what_the_metric_says_it_is() {
    let nothing = [vec![Ok((0, 0, 0))], vec![Ok((0, 0, 0))]];
    assert_eq!(of_counts(&precision(), &nothing).value, None);
    let official = Metric { if_empty: Some(-0.0), ..precision() };
    let found = of_counts(&official, &nothing).value.unwrap();
    assert!(found == 0.0 && found.is_sign_negative());
    assert_eq!(of_counts(&Metric { if_empty: Some(0.0), ..f1() }, &nothing).value, Some(0.0));
}

#[test]
fn the_value_of_a_ratio_is_the_mean_over_trials_and_not_over_all_sessions() {
    let found = of_counts(&precision(), &[vec![Ok((1, 1, 1)), Ok((1, 4, 4))], vec![Ok((0, 1, 1)), Ok((0, 0, 1))]]);
    assert!(close(found.value, Some((0.5 + 0.25) / 2.0)));
    assert!(close(found.sd, Some(0.25 / 2.0_f64.sqrt())), "{found:?}");
}

#[test]
fn a_trial_in_which_the_evaluator_crashed_has_no_ratio() {
    let crashed = Sample::Void;
    let scored = |top| Sample::Scored { top, bottom: 4.0 };
    let trials = [vec![scored(1.0), scored(2.0)], vec![scored(4.0), crashed]];
    let found = estimated(&Metric { if_empty: Some(-0.0), ..recall() }, &trials, &[0, 1]);
    assert_eq!((found.value, found.scored, found.sd), (Some(3.0 / 8.0), 4, None));
    let found = estimated(&Metric { if_empty: Some(-0.0), ..recall() }, &[vec![crashed; 2]], &[0, 1]);
    assert_eq!((found.value, found.bound_low), (None, None));
}

fn some_items() -> impl Strategy<Value = Vec<Scores>> {
    (1_usize..4).prop_flat_map(|trials| {
        prop::collection::vec(prop::collection::vec(prop::option::weighted(0.8, 0.0..=1.0), trials), 1..30)
    })
}

/// Items with their gold, which belongs to the item, and sessions that get at most that and at most what they predict right.
fn some_counts() -> impl Strategy<Value = Vec<Vec<Result<Counts, u32>>>> {
    let session = |gold: u32| {
        prop_oneof![
            4 => (0..=gold, 0_u32..4).prop_map(move |(right, more)| Ok((right, right + more, gold))),
            1 => Just(Err(gold)),
        ]
    };
    (1_usize..4).prop_flat_map(move |trials| {
        prop::collection::vec((0_u32..5).prop_flat_map(move |gold| prop::collection::vec(session(gold), trials)), 1..25)
    })
}

#[test]
fn a_sample_without_a_failure_has_an_interval_with_a_width() {
    let right = of_scores(&vec![vec![Some(1.0)]; 35]);
    assert!(right.low.unwrap() < 0.91 && right.high == Some(1.0), "{right:?}");
    let alike = of_scores(&vec![vec![Some(0.1)]; 7]);
    assert!(alike.low.unwrap() < 0.06 && alike.high.unwrap() > 0.3, "{alike:?}");
    let ratios = of_counts(&f1(), &vec![vec![Ok((2, 2, 2))]; 12]);
    assert!(ratios.low.unwrap() < 0.8 && ratios.high == Some(1.0), "{ratios:?}");
}

#[test]
fn an_interval_reaches_as_far_as_what_is_missing_could_move_it() {
    let mut items = vec![vec![Some(1.0)]; 8];
    items.extend(vec![vec![None]; 27]);
    let found = of_scores(&items);
    assert_eq!((found.value, found.high), (Some(1.0), Some(1.0)));
    assert!(found.low.unwrap() < found.bound_low.unwrap() && found.bound_low.unwrap() < 0.23, "{found:?}");
}

#[test]
fn the_bounds_of_an_f1_are_nothing_predicted_and_all_right() {
    // As a session that the model made impossible is scored: 2·3 / (4 + 4 + 2) and (2·3 + 2·2) / (4 + 4 + 2·2).
    let found = of_counts(&f1(), &[vec![Ok((3, 4, 4))], vec![Err(2)]]);
    assert!(close(found.bound_low, Some(0.6)) && close(found.bound_high, Some(10.0 / 12.0)), "{found:?}");
    // A trial that is whole cannot become worse.
    let found = of_counts(&f1(), &[vec![Ok((3, 4, 4)), Ok((4, 4, 4))], vec![Err(2), Ok((0, 0, 0))]]);
    assert!(close(found.bound_low, Some(0.8)), "{found:?}");
}

#[test]
fn a_cell_with_nothing_measured_has_the_bounds_of_its_range() {
    let of_mean = of_scores(&[vec![None], vec![None]]);
    let [of_f1, of_precision] = [f1(), precision()].map(|metric| of_counts(&metric, &[vec![Err(1)], vec![Err(2)]]));
    for found in [of_mean, of_f1, of_precision] {
        assert_eq!((found.value, found.low, found.high), (None, None, None));
        assert_eq!((found.bound_low, found.bound_high), (Some(0.0), Some(1.0)));
    }
}

proptest! {
    #[test]
    fn the_order_of_items_and_trials_does_not_matter(items in some_items()) {
        let backward: Vec<Scores> =
            items.iter().rev().map(|scores| scores.iter().rev().copied().collect()).collect();
        prop_assert!(alike(&of_scores(&items), &of_scores(&backward)));
    }

    #[test]
    fn the_order_of_items_and_trials_does_not_matter_for_ratios(items in some_counts()) {
        let backward: Vec<Vec<Result<Counts, u32>>> =
            items.iter().rev().map(|counts| counts.iter().rev().copied().collect()).collect();
        for metric in [recall(), precision(), f1()] {
            prop_assert!(alike(&of_counts(&metric, &items), &of_counts(&metric, &backward)));
        }
    }

    #[test]
    fn interval_and_bounds_contain_the_value_and_stay_within_0_and_1(items in some_items()) {
        let found = of_scores(&items);
        if let Some(value) = found.value {
            let (low, high) = (found.bound_low.unwrap(), found.bound_high.unwrap());
            prop_assert!(low <= value && value <= high && low >= 0.0 && high <= 1.0 + 1e-12, "{found:?}");
            prop_assert_eq!(found.low.is_some(), found.n > 1);
            if let (Some(low), Some(high)) = (found.low, found.high) {
                prop_assert!(low <= value && value <= high && low >= 0.0 && high <= 1.0 + 1e-12, "{found:?}");
            }
        }
    }

    #[test]
    fn intervals_and_bounds_of_ratios_contain_the_value_and_stay_within_0_and_1(items in some_counts()) {
        for metric in [recall(), precision(), f1()] {
            let found = of_counts(&metric, &items);
            let Some(value) = found.value else { continue };
            for (low, high) in [(found.low, found.high), (found.bound_low, found.bound_high)] {
                let (low, high) = (low.unwrap_or(0.0), high.unwrap_or(1.0));
                prop_assert!(low <= value && value <= high && low >= 0.0 && high <= 1.0 + 1e-12, "{found:?}");
            }
        }
    }

    #[test]
    fn an_f1_of_one_trial_lies_between_precision_and_recall(items in some_counts()) {
        let items: Vec<_> = items.into_iter().map(|mut sessions| { sessions.truncate(1); sessions }).collect();
        let of = |metric: Metric| of_counts(&Metric { if_empty: Some(0.0), ..metric }, &items).value;
        let (Some(precision), Some(recall), Some(f1)) = (of(precision()), of(recall()), of(f1())) else { return Ok(()) };
        prop_assert!(f1 >= precision.min(recall) - 1e-12 && f1 <= precision.max(recall) + 1e-12);
    }

    #[test]
    fn a_ratio_of_equal_denominators_is_estimated_as_their_mean_is(
        items in (1_usize..4).prop_flat_map(|trials| {
            prop::collection::vec(prop::collection::vec((0.0..=1.0).prop_map(Some), trials), 1..30)
        })
    ) {
        let ratio = estimated(&recall(), &by_trial(&items, of_score), &singles(items.len()));
        prop_assert!(alike(&of_scores(&items), &ratio), "{ratio:?}");
    }

    #[test]
    fn whatever_is_missing_would_have_kept_a_recall_and_an_f1_within_their_bounds(
        items in some_counts(), right in 0.0..=1.0, more in 0_u32..40
    ) {
        let filled: Vec<Vec<Result<Counts, u32>>> = items.iter().map(|item| item.iter().map(|session| {
            session.or_else(|gold| {
                let right = (f64::from(gold) * right) as u32;
                Ok((right, right + more, gold))
            })
        }).collect()).collect();
        // An F1's lower bound is that of sessions that predict nothing; one that predicts much and all of it wrong may drown what is right.
        let sober: Vec<Vec<Result<Counts, u32>>> = filled.iter().zip(&items).map(|(item, before)| {
            let of = |(session, before): (&Result<Counts, u32>, &Result<Counts, u32>)| match (session, before) {
                (Ok((right, _, gold)), Err(_)) => Ok((*right, *right, *gold)),
                (session, _) => *session,
            };
            item.iter().zip(before).map(of).collect()
        }).collect();
        for (metric, filled) in [(recall(), &filled), (f1(), &sober)] {
            // Where a whole trial is missing, that trial has no value before and one after.
            let (before, after) = (of_counts(&metric, &items), of_counts(&metric, filled));
            let (Some(low), Some(high), Some(after)) = (before.bound_low, before.bound_high, after.value) else { continue };
            prop_assert!(low - 1e-9 <= after && after <= high + 1e-9, "{before:?} {after}");
        }
    }
}
