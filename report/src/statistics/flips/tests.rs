use proptest::prelude::*;

use super::*;
use crate::statistics::shares::beyond;

/// Clusters of equal weight.
fn even(differences: &[f64]) -> Vec<Share> {
    let weight = 1.0 / differences.len() as f64;
    differences.iter().map(|one| Share { sum: one * weight, weight }).collect()
}

/// Every pattern of signs, one after the other.
fn p_by_hand(shares: &[Share]) -> f64 {
    let seen: f64 = shares.iter().map(|share| share.sum).sum();
    let patterns = 1u32 << shares.len();
    let sum = |pattern: u32| -> f64 {
        let signed = |(at, share): (usize, &Share)| if pattern >> at & 1 == 1 { -share.sum } else { share.sum };
        shares.iter().enumerate().map(signed).sum()
    };
    let far = (0..patterns).filter(|pattern| sum(*pattern).abs() >= seen.abs() - 1e-12).count();
    far as f64 / f64::from(patterns)
}

#[test]
fn six_clusters_that_agree_are_the_fewest_that_can_show_a_difference() {
    let six = Flips::new(&even(&[0.1, 0.2, 0.3, 0.4, 0.5, 0.6]), 0);
    assert_eq!((six.p(), six.is_exact()), (2.0 / 64.0, true));
    assert!(six.interval(0.05).unwrap().0 > 0.0);
    let five = Flips::new(&even(&[0.1, 0.2, 0.3, 0.4, 0.5]), 0);
    assert_eq!((five.p(), five.interval(0.05)), (2.0 / 32.0, None));
    assert!(five.interval(0.1).unwrap().0 > 0.0, "which holds at 0.05 alone");
}

#[test]
fn equal_models_have_a_p_value_of_one_and_an_interval_without_width() {
    for count in [8, 40] {
        let none = Flips::new(&even(&vec![0.0; count]), 1);
        assert_eq!((none.p(), none.interval(0.05)), (1.0, Some((0.0, 0.0))));
    }
}

#[test]
fn a_difference_beyond_what_draws_resolve_has_hoeffdings_bound() {
    let clear = Flips::new(&even(&[1.0; 100]), 1);
    assert!(clear.is_bound() && (clear.p() - 2.0 * (-50.0f64).exp()).abs() < 1e-30, "{}", clear.p());
}

#[test]
fn draws_come_close_to_all_patterns() {
    let differences: Vec<f64> = (0..16).map(|at| f64::from(at * 7 % 11) / 10.0 - 0.35).collect();
    let all = Flips::new(&even(&differences), 0).p();
    // A seventeenth cluster that is a tie changes no pattern's sum, but is one too many to count all.
    let mut with_tie: Vec<Share> = even(&differences);
    with_tie.push(Share { sum: 0.0, weight: 0.01 });
    let drawn = Flips::new(&with_tie, 5);
    assert!(!drawn.is_exact() && (drawn.p() - all).abs() < 0.015, "{} and {all}", drawn.p());
}

#[test]
fn a_test_against_a_margin_looks_one_way() {
    let shares = even(&[0.02, -0.01, 0.01, 0.0, 0.03, -0.02, 0.01, 0.02]);
    let margin = Flips::new(&beyond(&shares, -0.05), 0);
    assert_eq!((margin.p_more(), margin.p_less()), (1.0 / 256.0, 1.0));
}

proptest! {
    #[test]
    fn counting_equals_the_slow_and_obvious_way(
        differences in prop::collection::vec((-10i32..=10).prop_map(|tenth| f64::from(tenth) / 10.0), 1..10)
    ) {
        let shares = even(&differences);
        prop_assert!((Flips::new(&shares, 3).p() - p_by_hand(&shares)).abs() < 1e-12);
    }

    #[test]
    fn the_interval_holds_a_difference_exactly_where_the_test_does_not_refuse_it(
        parts in prop::collection::vec((-100i32..=100, 1u32..5), 6..40),
        bound in -100i32..=100,
        alpha in prop::sample::select(vec![0.05, 0.1, 0.2, 0.07]),
    ) {
        let total: f64 = parts.iter().map(|(_, weight)| f64::from(*weight)).sum();
        let share = |(tenth, weight): &(i32, u32)| Share {
            sum: f64::from(*tenth) / 100.0 * f64::from(*weight) / total,
            weight: f64::from(*weight) / total,
        };
        let shares: Vec<Share> = parts.iter().map(share).collect();
        let bound = f64::from(bound) / 100.0;
        let (low, high) = Flips::new(&shares, 9).interval(alpha).unwrap();
        // At its very ends, rounding decides.
        prop_assume!((low - bound).abs() > 1e-9 && (high - bound).abs() > 1e-9);
        let moved = Flips::new(&beyond(&shares, bound), 9);
        prop_assert_eq!(moved.p() > alpha, low < bound && bound < high, "p {} in [{}, {}]", moved.p(), low, high);
    }

    #[test]
    fn the_other_way_round_is_the_same_mirrored(parts in prop::collection::vec(-100i32..=100, 6..40)) {
        let of = |sign: f64| {
            Flips::new(&even(&parts.iter().map(|part| sign * f64::from(*part) / 100.0).collect::<Vec<_>>()), 4)
        };
        let (one, other) = (of(1.0), of(-1.0));
        prop_assert_eq!(one.p(), other.p());
        let ((low, high), (other_low, other_high)) = (one.interval(0.05).unwrap(), other.interval(0.05).unwrap());
        prop_assert!((low + other_high).abs() < 1e-12 && (high + other_low).abs() < 1e-12);
    }
}
