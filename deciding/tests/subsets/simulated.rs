//! Histories of a known kind: two-parameter logistic responses (2PL item response theory).

use regatta_deciding::Subset;
use regatta_deciding::simulation::Draws;

use super::responses;

/// Approximately normal with variance 1.
fn normal(draws: &mut Draws) -> f64 {
    (0..12).map(|_| draws.uniform()).sum::<f64>() - 6.0
}

/// Scores of models of normal abilities in items that tell well between them, as means of three trials.
fn history(models: usize, items: usize, seed: u64) -> Vec<Vec<f64>> {
    let mut draws = Draws::new(seed);
    let items: Vec<(f64, f64)> =
        (0..items).map(|_| ((0.9 + 0.4 * normal(&mut draws)).exp(), 1.5 * normal(&mut draws))).collect();
    let of_model = |_: usize| -> Vec<f64> {
        let ability = normal(&mut draws);
        let score = |(discrimination, difficulty): &(f64, f64)| {
            let right = 1.0 / (1.0 + (discrimination * (difficulty - ability)).exp());
            (0..3).filter(|_| draws.uniform() < right).count() as f64 / 3.0
        };
        items.iter().map(score).collect()
    };
    (0..models).map(of_model).collect()
}

#[test]
fn models_that_were_held_out_are_estimated_better_than_by_random_subsets() {
    let (mut error, mut random) = (0.0, 0.0);
    for seed in 0..20 {
        let subset = Subset::choose(&responses(&history(12, 200, seed)), 20, seed).unwrap();
        error += subset.error() / 20.0;
        random += subset.random_error() / 20.0;
    }
    assert!(error < 0.8 * random, "{error} of chosen items, {random} of random ones");
}

#[test]
fn a_model_is_estimated_by_what_others_chose() {
    let mut history = history(8, 60, 3);
    let whole = |subset: &Subset| subset.held_out.iter().map(|of| of.whole).collect::<Vec<f64>>();
    let before = Subset::choose(&responses(&history), 10, 1).unwrap();
    // The choice for a model that is turned around is as before, because it had no part in it.
    history[5].iter_mut().for_each(|score| *score = 1.0 - *score);
    let after = Subset::choose(&responses(&history), 10, 1).unwrap();
    assert!((after.held_out[5].estimate - (1.0 - before.held_out[5].estimate)).abs() < 1e-8);
    assert!((whole(&after)[5] - (1.0 - whole(&before)[5])).abs() < 1e-8);
}

#[test]
fn a_model_that_has_a_second_name_is_estimated_as_if_it_had_one() {
    let mut history = history(8, 60, 3);
    let before = Subset::choose(&responses(&history), 10, 1).unwrap();
    history.push(history[5].clone());
    let after = Subset::choose(&responses(&history), 10, 1).unwrap();
    assert_eq!(after.held_out[5], before.held_out[5]);
    assert!((after.held_out[8].estimate - before.held_out[5].estimate).abs() < 1e-12);
}
