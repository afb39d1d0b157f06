//! Differences of which sessions are missing.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use regatta_benchmarks::{Metric, Unit};

use super::super::paired::Paired;
use super::*;

fn of(scores: &[Option<f64>]) -> Vec<Trials> {
    let sample = |score: &Option<f64>| match score {
        Some(top) => Sample::Scored { top: *top, bottom: 1.0 },
        None => Sample::Missing { weight: 1.0 },
    };
    vec![vec![scores.iter().map(sample).collect()]]
}

fn singles(scores: &[Option<f64>]) -> Vec<u32> {
    (0..scores.len() as u32).collect()
}

fn found(ours: &[Option<f64>], theirs: &[Option<f64>]) -> Difference {
    difference(&Metric::mean("x"), &of(ours), &of(theirs), &singles(ours)).unwrap()
}

/// So many right, wrong and missing sessions.
fn sessions(right: usize, wrong: usize, missing: usize) -> Vec<Option<f64>> {
    [vec![Some(1.0); right], vec![Some(0.0); wrong], vec![None; missing]].concat()
}

#[test]
fn a_lead_that_the_missing_sessions_could_turn_is_none() {
    // Ours is right wherever it has a score, and has none where theirs is right.
    let (ours, theirs) = (sessions(20, 0, 20), [vec![Some(0.0); 20], vec![Some(1.0); 20]].concat());
    let found = found(&ours, &theirs);
    let missing = found.missing.unwrap();
    assert_eq!((found.value, missing.coverage), (1.0, 0.5), "over the sessions of both it is far ahead");
    assert!(missing.complete_p.unwrap() < 0.001 && missing.complete_low.unwrap() > 0.5);
    assert_eq!((missing.bound_low, missing.bound_high), (Some(0.0), Some(0.5)));
    assert!(found.p == Some(1.0) && found.low.unwrap() < -0.2, "{found:?}");
    assert!(found.may_turn(Level::USUAL) && found.withheld_below(0.8).withheld);
}

#[test]
fn a_lead_that_holds_whatever_is_missing_has_the_test_and_the_interval_of_the_worst_case() {
    let (ours, theirs) = (sessions(40, 8, 2), sessions(10, 40, 0));
    let with_missing = found(&ours, &theirs);
    let worst = found(&sessions(40, 10, 0), &theirs);
    let best = found(&[sessions(40, 8, 0), sessions(2, 0, 0)].concat(), &theirs);
    let missing = with_missing.missing.unwrap();
    assert_eq!((missing.bound_low, missing.bound_high), (Some(worst.value), Some(best.value)));
    let larger = worst.p.zip(missing.complete_p).map(|(worst, complete)| worst.max(complete));
    assert_eq!((with_missing.low, with_missing.p), (worst.low, larger));
    assert_eq!(with_missing.high, best.high);
    assert!(missing.complete_low.unwrap() > with_missing.low.unwrap());
    assert!(!with_missing.may_turn(Level::USUAL) && !with_missing.withheld_below(0.8).withheld);
}

#[test]
fn bounds_are_those_of_the_one_less_the_opposite_ones_of_the_other() {
    let (ours, theirs) = (sessions(6, 2, 3), [sessions(2, 0, 2), sessions(1, 6, 0)].concat());
    let missing = found(&ours, &theirs).missing.unwrap();
    // Six to nine of eleven less three to five of them.
    assert!((missing.bound_low.unwrap() - 1.0 / 11.0).abs() < 1e-12, "{missing:?}");
    assert!((missing.bound_high.unwrap() - 6.0 / 11.0).abs() < 1e-12, "{missing:?}");
}

#[test]
fn the_interval_without_what_is_missing_lies_in_the_one_with_it() {
    let (ours, theirs) = (sessions(20, 15, 5), [vec![Some(0.0); 3], sessions(15, 22, 0)].concat());
    let found = found(&ours, &theirs);
    let missing = found.missing.unwrap();
    assert!(found.low <= missing.complete_low && missing.complete_high <= found.high);
    assert!(found.low <= missing.bound_low && missing.bound_high <= found.high);
    assert_eq!(
        found.complete(),
        difference(&Metric::mean("x"), &of(&ours[..35]), &of(&theirs[..35]), &singles(&ours[..35])).unwrap()
    );
    assert_eq!(found.turned().turned(), found);
}

#[test]
fn of_an_amount_without_an_end_nothing_is_claimed_while_sessions_are_missing() {
    let turns = Metric { range: (0.0, f64::INFINITY), unit: Unit::Turns, ..Metric::mean("turns") };
    let (mut ours, theirs) = (vec![Some(3.0); 12], (0..12).map(|at| Some(8.0 + f64::from(at % 3))).collect::<Vec<_>>());
    let seen = difference(&turns, &of(&ours), &of(&theirs), &singles(&ours)).unwrap();
    assert!(seen.missing.is_none() && seen.p.unwrap() < 0.01);
    ours[0] = None;
    let seen = difference(&turns, &of(&ours), &of(&theirs), &singles(&ours)).unwrap();
    let missing = seen.missing.unwrap();
    assert_eq!((seen.low, seen.high, seen.p, missing.bound_high), (None, None, Some(1.0), None));
    assert!(missing.complete_p.unwrap() < 0.01 && seen.may_turn(Level::USUAL));
}

#[test]
fn what_only_one_side_bought_is_not_missing() {
    let mut ours = of(&[Some(1.0), Some(0.0), Some(1.0)]);
    ours[0][0][2] = Sample::NotBought;
    let found = difference(&Metric::mean("x"), &ours, &of(&[Some(0.0), Some(0.0), None]), &[0, 1, 2]).unwrap();
    assert!(found.missing.is_none() && (found.value, found.n) == (0.5, 2), "{found:?}");
}

#[test]
fn of_a_ratio_what_only_one_side_bought_moves_no_difference() {
    let measure = Measure::Ratio { numerator: "right".into(), denominator: "gold".into(), of_item: true };
    let recall = Metric { measure, ..Metric::mean("recall") };
    let ours = vec![vec![vec![
        Sample::Scored { top: 1.0, bottom: 2.0 },
        Sample::Scored { top: 2.0, bottom: 2.0 },
        Sample::Scored { top: 0.0, bottom: 8.0 },
    ]]];
    let theirs = vec![vec![vec![
        Sample::Scored { top: 1.0, bottom: 2.0 },
        Sample::Scored { top: 1.0, bottom: 2.0 },
        Sample::NotBought,
    ]]];
    let found = difference(&recall, &ours, &theirs, &[0, 1, 2]).unwrap();
    assert!((found.value - 0.25).abs() < 1e-12 && found.n == 2, "{found:?}");
}

/// A model that loses just those sessions that it gets wrong looks better than its equal over the sessions of both.
#[test]
fn equal_models_of_which_one_loses_what_it_gets_wrong_are_told_apart_no_more_often_than_the_level_says() {
    const SWEEPS: u64 = 100;
    let drawn = |seed: u64| -> (Difference, bool) {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut uniform = || f64::from(random.next_u32()) / f64::from(u32::MAX);
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..60 {
            let (right, others) = (uniform() < 0.6, uniform() < 0.6);
            // Of the wrong ones, six of ten never come back.
            ours.push((right || uniform() < 0.4).then_some(f64::from(u8::from(right))));
            theirs.push(Some(f64::from(u8::from(others))));
        }
        let found = found(&ours, &theirs);
        let claimed = found.p.unwrap() <= 0.05;
        (found, claimed)
    };
    let all: Vec<(Difference, bool)> = (0..SWEEPS).map(drawn).collect();
    let complete = all.iter().filter(|(found, _)| found.missing.unwrap().complete_p.unwrap() <= 0.05).count();
    assert!(complete > 30, "without what is missing {complete} of {SWEEPS} claim a difference");
    let claims = all.iter().filter(|(_, claimed)| *claimed).count();
    assert!(claims <= 5, "{claims} of {SWEEPS}");
    // The true difference is 0.
    let held = all.iter().filter(|(found, _)| found.low.unwrap() <= 0.0 && 0.0 <= found.high.unwrap()).count();
    assert!(held >= 95, "{held} of {SWEEPS}");
}

#[test]
fn a_margin_is_passed_only_if_it_is_whatever_the_missing_sessions_would_have_scored() {
    let tests = |ours: &[Option<f64>], theirs: &[Option<f64>]| {
        let (ours, theirs) = (of(ours), of(theirs));
        let clusters: Vec<u32> = (0..ours[0][0].len() as u32).collect();
        let paired = Paired { ours: &ours, theirs: &theirs, clusters: &clusters };
        tests_whatever_is_missing(&Metric::mean("x"), paired, true, 0.1, 1).unwrap()
    };
    // Equal wherever both have a score.
    let whole = vec![Some(1.0); 200];
    assert!(tests(&whole, &whole).more < 0.001, "not worse by the margin");
    let few = [vec![Some(1.0); 198], vec![None; 2]].concat();
    assert!(tests(&few, &whole).more < 0.05, "two more wrong ones would not be worse by it");
    let many = [vec![Some(1.0); 170], vec![None; 30]].concat();
    let found = tests(&many, &whole);
    assert!(found.more > 0.5 && found.less > 0.5, "thirty more would be, or would not: {found:?}");
    // Worse, and not worse any more if all that is missing had been right.
    let worse = [vec![Some(1.0); 120], vec![Some(0.0); 40], vec![None; 40]].concat();
    assert!(tests(&worse[..160], &whole[..160]).less < 0.01);
    let found = tests(&[vec![Some(1.0); 120], vec![Some(0.0); 25], vec![None; 55]].concat(), &whole);
    assert!(found.less > 0.05, "{found:?}");
}
