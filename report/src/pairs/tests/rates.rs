//! Rates of differences that are found, beside those that a plan foretells.

use super::*;
use crate::statistics::{Components, Design, Threshold};

/// Difference between the abilities of the better and the worse model.
const ABLE: f64 = 0.38;

/// Items of the sweep that `seed` draws, and how `model` does on them: each item is hard or easy for all, each cluster a little harder or
/// easier for the model, each session has its own chance. Unlike [`group`], the items are others in every sweep.
fn drawn(model: &str, ability: f64, seed: u64) -> GroupResult {
    let mut items = ChaCha8Rng::seed_from_u64(seed);
    let mut chance = ChaCha8Rng::seed_from_u64(flips_seed(seed, &[model, "drawn"]));
    let mut trials = vec![Vec::new(); TRIALS as usize];
    for _ in 0..CLUSTERS {
        let mood = 0.2 * (uniform(&mut chance) - 0.5);
        for _ in 0..ITEMS_OF_CLUSTER {
            // Rates stay within 0 and 1, so that the true difference is the difference of abilities.
            let rate = 0.1 + 0.4 * uniform(&mut items) + mood + ability;
            for trial in &mut trials {
                let is_right = uniform(&mut chance) < rate;
                trial.push(Sample::Scored { top: f64::from(u8::from(is_right)), bottom: 1.0 });
            }
        }
    }
    GroupResult { samples: vec![vec![trials]], ..group(model, "plain", 0.0, seed) }
}

fn sweep_of(seed: u64) -> Vec<GroupResult> {
    MODELS.iter().map(|model| drawn(model, if *model == "sim/c" { ABLE } else { 0.0 }, seed)).collect()
}

/// Components of the difference of the first and the third model, over many pilots.
fn piloted() -> Components {
    const PILOTS: u64 = 300;
    let mut sum = Components { knows_trials: true, ..Components::default() };
    for seed in 0..PILOTS {
        let (one, other) = (drawn("sim/a", 0.0, 90_000 + seed), drawn("sim/c", ABLE, 90_000 + seed));
        let found = matched_by_trial(&one, &other).unwrap();
        let of = Components::of(&found.differences, &found.clusters).unwrap();
        sum.cluster += of.cluster / PILOTS as f64;
        sum.item += of.item / PILOTS as f64;
        sum.trial += of.trial / PILOTS as f64;
    }
    sum
}

#[test]
fn among_five_models_the_one_that_is_better_is_found_at_the_rate_that_the_plan_foretells() {
    const SWEEPS: u64 = 200;
    let clusters: Vec<u32> = (0..CLUSTERS * ITEMS_OF_CLUSTER).map(|at| at / ITEMS_OF_CLUSTER).collect();
    let pairs = 10.0;
    let threshold = Threshold { level: Level::USUAL.alpha() / pairs, is_binary: true };
    let foretold = Design::of(&clusters, TRIALS).power(&piloted(), threshold, ABLE);
    let (mut found, mut wrong) = (0.0, 0);
    for seed in 0..SWEEPS {
        let family = family(seed, Level::USUAL, &sweep_of(seed)).unwrap();
        assert_eq!(family.pairs.len() as f64, pairs);
        let mut shown = family.pairs.iter().filter_map(|pair| pair.order(Level::USUAL));
        found += f64::from(u8::from(family.pairs[1].order(Level::USUAL).is_some())) / SWEEPS as f64;
        wrong += usize::from(shown.any(|(better, _)| better.model.model.as_str() != "c"));
    }
    // Holm's method tests less strictly once it has refused something, so that slightly more is found than Bonferroni's level foretells.
    assert!(
        (foretold - found).abs() <= 0.05 && (0.3..0.95).contains(&foretold),
        "{foretold:.3} foretold, {found:.3} found"
    );
    assert!(wrong <= 19, "{wrong} of {SWEEPS} sweeps show a difference that is none");
}
