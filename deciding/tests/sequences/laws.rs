//! Laws of sequences.

use proptest::prelude::*;
use regatta_deciding::{Population, Unit, bounds};

use crate::unit;

fn units() -> impl Strategy<Value = Vec<Unit>> {
    let unit = (0.0..=1.0_f64, 0.0..=1.0_f64, 0.05..=1.0_f64).prop_map(|(one, other, weight)| Unit {
        low: one.min(other) * weight,
        high: one.max(other) * weight,
        weight,
    });
    proptest::collection::vec(unit, 1..40)
}

proptest! {
    #[test]
    fn independent_draws_have_the_same_bounds_in_any_order(units in units(), seed in any::<u64>()) {
        let mut turned = units.clone();
        turned.sort_by_key(|unit| (unit.low.to_bits() ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        prop_assert_eq!(bounds(&units, None, 0.01), bounds(&turned, None, 0.01));
    }

    #[test]
    fn what_is_missing_only_ever_widens_a_sequence(units in units(), at in any::<prop::sample::Index>(), over in any::<bool>()) {
        let exact: Vec<Unit> = units.iter().map(|unit| Unit { high: unit.low, ..*unit }).collect();
        let mut lacking = exact.clone();
        let at = at.index(lacking.len());
        lacking[at] = Unit { low: 0.0, high: lacking[at].weight, ..lacking[at] };
        let weight: f64 = exact.iter().map(|unit| unit.weight).sum();
        let population = over.then_some(Population { units: exact.len() + 3, weight: weight + 2.0 });
        let (known, bounded) = (bounds(&exact, population, 0.05), bounds(&lacking, population, 0.05));
        prop_assert!(bounded.low <= known.low + 1e-9 && known.high <= bounded.high + 1e-9, "{:?} {:?}", known, bounded);
    }

    #[test]
    fn a_population_that_was_drawn_whole_is_known(units in units()) {
        let exact: Vec<Unit> = units.iter().map(|unit| Unit { high: unit.low, ..*unit }).collect();
        let weight: f64 = exact.iter().map(|unit| unit.weight).sum();
        let mean = exact.iter().map(|unit| unit.low).sum::<f64>() / weight;
        let found = bounds(&exact, Some(Population { units: exact.len(), weight }), 0.05);
        prop_assert!((found.low - mean).abs() < 1e-6 && (found.high - mean).abs() < 1e-6, "{:?}, {}", found, mean);
    }
}

#[test]
fn an_improbable_order_denies_nothing_that_is_certain_of_a_population() {
    let units: Vec<Unit> = (0..120).map(|at| unit(f64::from(at / 60))).collect();
    let all = Some(Population { units: 120, weight: 120.0 });
    assert!(bounds(&units[..60], all, 0.05).high < 0.5, "the first half misleads");
    let found = bounds(&units, all, 0.05);
    assert!((found.low - 0.5).abs() < 1e-6 && (found.high - 0.5).abs() < 1e-6, "{found:?}");
}

#[test]
fn a_sequence_without_replacement_is_narrower() {
    let units: Vec<Unit> = (0..80).map(|at| unit(f64::from(at % 2))).collect();
    let population = Population { units: 100, weight: 100.0 };
    let (finite, endless) = (bounds(&units, Some(population), 0.025), bounds(&units, None, 0.025));
    assert!(finite.width() < 0.6 * endless.width(), "{finite:?} {endless:?}");
}
