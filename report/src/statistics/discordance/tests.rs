use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use regatta_benchmarks::{Metric, Unit};
use regatta_proto::Level;

use super::*;
use crate::statistics::difference::{paired_difference, shared, tests_of_margin};
use crate::statistics::flips::Flips;
use crate::statistics::paired::Paired;
use crate::statistics::shares::{Share, by_cluster};
use crate::statistics::{Difference, Sample, Test, Trials};

fn scored(scores: &[f64]) -> Vec<Trials> {
    vec![vec![scores.iter().map(|top| Sample::Scored { top: *top, bottom: 1.0 }).collect()]]
}

fn differing(metric: &Metric, ours: &[f64], theirs: &[f64], clusters: &[u32]) -> Difference {
    let (ours, theirs) = (scored(ours), scored(theirs));
    paired_difference(metric, Paired { ours: &ours, theirs: &theirs, clusters }, 1, Level::USUAL).unwrap()
}

fn singles(count: usize) -> Vec<u32> {
    (0..count as u32).collect()
}

fn ends(of: &Difference) -> (f64, f64) {
    (of.low.unwrap(), of.high.unwrap())
}

#[test]
fn ends_are_those_of_a_likelihood_that_is_maximised_numerically() {
    // scipy.optimize: minimize_scalar for the likelihood of the three cells, brentq for the ends; z = 1.959963984540054.
    for (more, less, items, low, high) in [
        (12.0, 2.0, 50.0, 0.061_112_406, 0.344_708_748),
        (0.0, 0.0, 40.0, -0.087_621_601, 0.087_621_601),
        (1.0, 0.0, 44.0, -0.059_393_231, 0.118_077_096),
        (5.0, 5.0, 20.0, -0.305_848_389, 0.305_848_389),
        (16.0, 6.0, 100.0, 0.008_684_963, 0.195_717_693),
        (3.0, 0.0, 30.0, -0.024_864_733, 0.256_210_825),
    ] {
        let found = Discordance { more: more / items, less: less / items };
        let end = |side| found.end(items, 1.959_963_984_540_054, side);
        assert!(
            (end(-1.0) - low).abs() < 1e-7 && (end(1.0) - high).abs() < 1e-7,
            "{more} {less} {items}: {}",
            end(-1.0)
        );
    }
}

#[test]
fn models_that_agree_on_every_item_may_differ_on_the_next() {
    for count in [2, 5, 20, 40] {
        let (low, high) = ends(&differing(&Metric::mean("x"), &vec![1.0; count], &vec![1.0; count], &singles(count)));
        assert!((low + high).abs() < 1e-9 && high > 3.0 / (count as f64 + 4.0), "{count}: {low} {high}");
        let (low, high) = ends(&differing(&Metric::mean("x"), &vec![1.0; count], &vec![0.0; count], &singles(count)));
        assert!(low < 1.0 - 3.0 / (count as f64 + 4.0) && high > 1.0 - 1e-12, "{count}: {low} {high}");
    }
}

#[test]
fn an_amount_that_never_differs_has_no_interval() {
    let turns = Metric { range: (0.0, f64::INFINITY), unit: Unit::Turns, ..Metric::mean("turns") };
    let found = differing(&turns, &[4.0; 30], &[4.0; 30], &singles(30));
    assert_eq!((found.value, found.low, found.high, found.p), (0.0, None, None, Some(1.0)));
}

#[test]
fn the_items_of_one_cluster_tell_less_than_as_many_clusters() {
    let pairs: Vec<u32> = (0..20).flat_map(|cluster| [cluster, cluster]).collect();
    let of = |clusters: &[u32]| ends(&differing(&Metric::mean("x"), &[1.0; 40], &[1.0; 40], clusters)).1;
    assert!(of(&pairs) > 1.1 * of(&singles(40)), "{} {}", of(&pairs), of(&singles(40)));
}

/// Coverage of `interval`: of 150 samples of `count` items, of which both models draw half in common and are right at these rates.
fn coverage(count: usize, rates: (f64, f64), interval: impl Fn(&[f64], &[f64]) -> (f64, f64)) -> f64 {
    const SAMPLES: u32 = 150;
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let mut uniform = || f64::from(random.next_u32()) / f64::from(u32::MAX);
    let covers = |_: &u32| {
        let mut draw = || {
            let (ours, other, is_common) = (uniform(), uniform(), uniform() < 0.5);
            let theirs = if is_common { ours } else { other };
            (f64::from(u8::from(ours < rates.0)), f64::from(u8::from(theirs < rates.1)))
        };
        let (ours, theirs): (Vec<f64>, Vec<f64>) = (0..count).map(|_| draw()).unzip();
        let (low, high) = interval(&ours, &theirs);
        (low - 1e-12..=high + 1e-12).contains(&(rates.0 - rates.1))
    };
    f64::from((0..SAMPLES).filter(covers).count() as u32) / f64::from(SAMPLES)
}

#[test]
fn a_difference_is_covered_near_the_ends_too_where_sign_flips_see_too_little() {
    let printed =
        |ours: &[f64], theirs: &[f64]| ends(&differing(&Metric::mean("x"), ours, theirs, &singles(ours.len())));
    for (count, rates) in [(40, (0.99, 0.97)), (20, (0.9, 0.7)), (12, (0.6, 0.5))] {
        let covered = coverage(count, rates, printed);
        assert!(covered >= 0.92, "{count} items at {rates:?}: {covered}");
    }
    let flips = |ours: &[f64], theirs: &[f64]| {
        let weight = 1.0 / ours.len() as f64;
        let share = |(ours, theirs): (&f64, &f64)| Share { sum: (ours - theirs) * weight, weight };
        let shares = by_cluster((0..).zip(ours.iter().zip(theirs).map(share)));
        Flips::new(&shares, 1).interval(Level::USUAL.alpha()).unwrap()
    };
    let covered = coverage(40, (0.99, 0.97), flips);
    assert!(covered < 0.75, "of 40 items at 0.99 and 0.97 the flips alone cover {covered}");
}

/// The part of 120 nights of `count` items on which a run of the second rate is shown to be better than one of the first less `margin`.
fn passes(count: usize, rates: (f64, f64), margin: f64) -> f64 {
    const NIGHTS: u32 = 120;
    let mut random = ChaCha8Rng::seed_from_u64(9);
    let mut uniform = || f64::from(random.next_u32()) / f64::from(u32::MAX);
    let passes = |night: &u32| {
        let mut right = |rate: f64| f64::from(u8::from(uniform() < rate));
        let (baseline, run): (Vec<f64>, Vec<f64>) = (0..count).map(|_| (right(rates.0), right(rates.1))).unzip();
        let (baseline, run, clusters) = (scored(&baseline), scored(&run), singles(count));
        let paired = Paired { ours: &run, theirs: &baseline, clusters: &clusters };
        let metric = Metric::mean("x");
        let found = shared(&metric, paired).unwrap();
        tests_of_margin(&metric, &found, true, margin, u64::from(*night)).more <= 0.05
    };
    f64::from((0..NIGHTS).filter(passes).count() as u32) / f64::from(NIGHTS)
}

#[test]
fn what_is_worse_by_the_margin_passes_one_night_in_twenty_however_seldom_models_differ() {
    for (count, rates, margin) in [(40, (1.0, 0.98), 0.02), (60, (0.7, 0.65), 0.05)] {
        let found = passes(count, rates, margin);
        // One in twenty are 6 of 120; 12 or more would happen by chance once in 50 times.
        assert!(found < 0.1, "{count} items at {rates:?}: {found} pass");
    }
    let equal = passes(100, (0.9, 0.9), 0.15);
    assert!(equal > 0.8, "what is as good as the baseline passes: {equal}");
}

#[test]
fn items_that_are_all_alike_prove_nothing_about_a_small_margin_and_something_about_a_large_one() {
    let (metric, clusters, all) = (Metric::mean("x"), singles(40), scored(&[1.0; 40]));
    let found = shared(&metric, Paired { ours: &all, theirs: &all, clusters: &clusters }).unwrap();
    let p = |margin| tests_of_margin(&metric, &found, true, margin, 1).more;
    assert!(p(0.01) > 0.2 && p(0.02) > 0.1, "{} {}", p(0.01), p(0.02));
    assert!(p(0.15) < 0.01, "{}", p(0.15));
}

proptest! {
    #[test]
    fn an_interval_holds_its_value_has_a_width_and_turns_with_the_pair(
        scores in prop::collection::vec((0u8..=4, 0u8..=4, 0u32..8), 2..30),
    ) {
        let of = |which: fn(&(u8, u8, u32)) -> u8| -> Vec<f64> {
            scores.iter().map(|item| f64::from(which(item)) / 4.0).collect()
        };
        let (ours, theirs) = (of(|item| item.0), of(|item| item.1));
        let clusters: Vec<u32> = scores.iter().map(|item| item.2).collect();
        let found = differing(&Metric::mean("x"), &ours, &theirs, &clusters);
        prop_assume!(found.clusters > 1);
        let (low, high) = ends(&found);
        prop_assert!(-1.0 <= low && low <= found.value && found.value <= high && high <= 1.0, "{found:?}");
        prop_assert!(high - low > 1e-3, "{found:?}");
        let (other_low, other_high) = ends(&differing(&Metric::mean("x"), &theirs, &ours, &clusters));
        prop_assert!((low + other_high).abs() < 1e-9 && (high + other_low).abs() < 1e-9, "{found:?}");
    }
}

/// Scores of two models in one trial, and the cluster of each item: of six clusters at least, so that sign-flips can refuse something.
fn two_models() -> impl Strategy<Value = (Vec<f64>, Vec<f64>, Vec<u32>)> {
    let score = || prop_oneof![3 => Just(0.0), 3 => Just(1.0), 1 => 0.0..1.0];
    let sizes = proptest::collection::vec(1..4_usize, 6..30);
    let lean = prop_oneof![Just(0.0), Just(0.5), Just(0.8)];
    (sizes, lean).prop_flat_map(move |(sizes, lean)| {
        let clusters: Vec<u32> = (0..).zip(sizes).flat_map(|(at, size): (u32, usize)| vec![at; size]).collect();
        let items = proptest::collection::vec((score(), score(), 0.0..1.0), clusters.len());
        (items, Just(clusters)).prop_map(move |(items, clusters)| {
            let of = |(ours, theirs, luck): (f64, f64, f64)| {
                if luck < lean { (ours.max(theirs), ours.min(theirs)) } else { (ours, theirs) }
            };
            let (ours, theirs) = items.into_iter().map(of).unzip();
            (ours, theirs, clusters)
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_difference_is_declared_exactly_where_its_interval_leaves_0_out((ours, theirs, clusters) in two_models()) {
        let found = differing(&Metric::mean("x"), &ours, &theirs, &clusters);
        let (low, high) = ends(&found);
        let (p, is_left_out) = (found.p.unwrap(), low > 0.0 || high < 0.0);
        // McNemar's test is exact where the interval goes by 10,000 patterns, which know a p-value of 0.05 to 0.002: the standard error.
        let is_resolved = found.test != Some(Test::Mcnemar) || clusters.len() <= 16 || (p - 0.05).abs() > 0.01;
        prop_assert!(!is_resolved || (p <= 0.05) == is_left_out, "{found:?}");
    }
}
