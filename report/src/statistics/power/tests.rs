use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use regatta_benchmarks::Metric;
use regatta_proto::Level;

use super::super::difference::{by_trial, paired_difference};
use super::super::paired::Paired;
use super::super::sample::{Sample, Trials};
use super::*;

const ALPHA: f64 = 0.05;
const POWER: f64 = 0.8;

/// A made-up benchmark: clusters of equal size, and how two models do in it.
#[derive(Clone, Copy)]
struct World {
    clusters: u32,
    size: u32,
    trials: u32,
    /// True difference of the one from the other.
    effect: f64,
    /// Spread of the difference over single clusters and items, beyond that.
    mood: f64,
    taste: f64,
    is_binary: bool,
}

const WORLD: World = World { clusters: 40, size: 3, trials: 1, effect: 0.0, mood: 0.3, taste: 0.3, is_binary: true };

/// A sweep of two models: the samples of both, and the cluster of each item.
struct Sweep([Vec<Trials>; 2], Vec<u32>);

impl World {
    fn sweep(self, seed: u64) -> Sweep {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut uniform = || f64::from(random.next_u32()) / f64::from(u32::MAX);
        let mut trials = [vec![Vec::new(); self.trials as usize], vec![Vec::new(); self.trials as usize]];
        let mut clusters = Vec::new();
        for cluster in 0..self.clusters {
            let mood = self.mood * (uniform() - 0.5);
            for _ in 0..self.size {
                clusters.push(cluster);
                let apart = self.effect + mood + self.taste * (uniform() - 0.5);
                let middle = 0.35 + 0.3 * uniform();
                for (model, sign) in [(0, 0.5), (1, -0.5)] {
                    for trial in &mut trials[model] {
                        let (able, luck) = (middle + sign * apart, uniform());
                        let top = if self.is_binary { f64::from(u8::from(luck < able)) } else { able + luck - 0.5 };
                        trial.push(Sample::Scored { top, bottom: 1.0 });
                    }
                }
            }
        }
        Sweep(trials.map(|trials| vec![trials]), clusters)
    }

    fn test(self) -> Threshold {
        Threshold { level: ALPHA, is_binary: self.is_binary }
    }

    fn design(self) -> Design {
        Design::of(&self.sweep(0).1, self.trials)
    }

    /// The part of `sweeps` sweeps that show that the one is better.
    fn found(self, sweeps: u64) -> f64 {
        let shows = |seed: &u64| {
            let Sweep([ours, theirs], clusters) = self.sweep(1000 + seed);
            let paired = Paired { ours: &ours, theirs: &theirs, clusters: &clusters };
            paired_difference(&Metric::mean("x"), paired, *seed, Level::USUAL).unwrap().p.unwrap() <= ALPHA
        };
        (0..sweeps).filter(shows).count() as f64 / sweeps as f64
    }
}

/// Pilot in which no model is better.
fn pilot(world: World) -> Components {
    let Sweep([ours, theirs], clusters) = World { effect: 0.0, ..world }.sweep(77);
    let paired = Paired { ours: &ours, theirs: &theirs, clusters: &clusters };
    Components::of(&by_trial(&Metric::mean("x"), paired), &clusters).unwrap()
}

#[test]
fn a_true_difference_is_found_at_the_rate_that_was_foretold() {
    let worlds = [
        World { effect: 0.15, trials: 3, ..WORLD },
        World { effect: 0.1, trials: 8, ..WORLD },
        World { effect: 0.2, trials: 2, clusters: 14, size: 8, ..WORLD },
        World { effect: 0.15, trials: 1, clusters: 200, size: 1, ..WORLD },
        World { effect: 0.07, trials: 2, clusters: 200, size: 1, is_binary: false, ..WORLD },
    ];
    for world in worlds {
        // Large, so that only the foretelling is tried, not the luck of a pilot.
        let of = pilot(World { clusters: 1200, trials: 4, ..world });
        let foretold = world.design().power(&of, world.test(), world.effect);
        let found = world.found(200);
        let told = format!("{} clusters of {}: {foretold:.3} foretold, {found:.3} found", world.clusters, world.size);
        assert!((0.3..0.98).contains(&foretold) && (foretold - found).abs() <= 0.05, "{told}");
    }
}

#[test]
fn the_trials_that_a_pilot_asks_for_find_the_difference_at_the_wished_rate() {
    let asked = World { effect: 0.12, ..WORLD };
    let of = pilot(World { clusters: 400, trials: 3, ..asked });
    let trials = asked.design().trials_needed(&of, asked.test(), asked.effect, POWER, 100).unwrap();
    let found = World { trials, ..asked }.found(200);
    assert!((found - POWER).abs() <= 0.05, "{trials} trials: {found:.3}");
}

#[test]
fn the_clusters_that_are_asked_for_are_just_enough() {
    let of = pilot(World { clusters: 400, trials: 3, ..WORLD });
    let (design, test) = (WORLD.design(), WORLD.test());
    let clusters = design.clusters_needed(&of, test, 0.1, POWER, 100_000).unwrap();
    assert!(design.with_clusters(clusters).power(&of, test, 0.1) >= POWER);
    assert!(design.with_clusters(clusters - 1).power(&of, test, 0.1) < POWER);
}

#[test]
fn where_items_differ_too_much_no_number_of_trials_suffices() {
    let of = Components { cluster: 0.2, item: 0.0, trial: 0.3, knows_trials: true };
    let test = Threshold { level: ALPHA, is_binary: true };
    let design = Design::of(&(0..50).collect::<Vec<u32>>(), 1);
    assert_eq!(design.trials_needed(&of, test, 0.1, POWER, 1000), None);
    let at_most = Design { trials: f64::INFINITY, ..design }.smallest_effect(&of, test, POWER).unwrap();
    // 2.8 standard errors of sqrt(0.2 / 50), and a little for the t.
    assert!((0.177..0.19).contains(&at_most), "{at_most}");
}

#[test]
fn five_clusters_can_refuse_nothing_and_a_corrected_level_needs_more() {
    let of = Components { cluster: 0.1, item: 0.0, trial: 0.1, knows_trials: true };
    let design = |clusters: u32| Design::of(&(0..clusters).collect::<Vec<u32>>(), 1);
    let test = |level| Threshold { level, is_binary: false };
    assert_eq!(design(5).smallest_effect(&of, test(ALPHA), POWER), None);
    assert!(design(6).smallest_effect(&of, test(ALPHA), POWER).is_some());
    assert_eq!(design(6).smallest_effect(&of, test(ALPHA / 10.0), POWER), None);
}

#[test]
fn more_trials_items_and_certainty_never_make_it_harder() {
    let of = Components { cluster: 0.05, item: 0.1, trial: 0.3, knows_trials: true };
    let test = Threshold { level: ALPHA, is_binary: false };
    let smallest = |clusters: u32, trials: u32, level: f64| {
        let ids: Vec<u32> = (0..clusters * 2).map(|at| at / 2).collect();
        Design::of(&ids, trials).smallest_effect(&of, Threshold { level, ..test }, POWER).unwrap()
    };
    assert!(smallest(40, 2, 0.05) < smallest(40, 1, 0.05));
    assert!(smallest(80, 1, 0.05) < smallest(40, 1, 0.05));
    assert!(smallest(40, 1, 0.005) > smallest(40, 1, 0.05));
}

#[test]
fn of_models_that_agreed_everywhere_nothing_is_known_and_nothing_is_promised() {
    let of = Components { knows_trials: true, ..Components::default() };
    let test = Threshold { level: ALPHA, is_binary: false };
    let design = Design::of(&(0..60).collect::<Vec<u32>>(), 2);
    assert_eq!((design.power(&of, test, 0.02), design.smallest_effect(&of, test, POWER)), (0.0, None));
    assert_eq!(design.clusters_needed(&of, test, 0.02, POWER, 1_000_000), None);
}

#[test]
fn a_difference_of_what_is_right_or_wrong_varies_at_least_as_far_as_it_reaches() {
    // Two models that seldom differ in the pilot: to differ by half they have to differ in half of the items.
    let of = Components { cluster: 0.0, item: 0.001, trial: 0.001, knows_trials: true };
    let design = Design::of(&(0..8).collect::<Vec<u32>>(), 2);
    let power = |is_binary| design.power(&of, Threshold { level: ALPHA, is_binary }, 0.5);
    assert!(power(false) > 0.99 && power(true) < 0.9, "{} {}", power(false), power(true));
}
