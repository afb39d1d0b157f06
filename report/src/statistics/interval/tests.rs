//! Intervals against statsmodels, and what must be true of all of them.

use proptest::prelude::*;
use regatta_benchmarks::{Metric, Unit};
use regatta_proto::Level;

use super::*;
use crate::statistics::clusters::tests::{CLUSTERS, SCORES};
use crate::statistics::{Estimate, Sample, estimate};

fn of(scores: &[f64], clusters: &[u32], range: (f64, f64)) -> Estimate {
    let trial = scores.iter().map(|top| Sample::Scored { top: *top, bottom: 1.0 }).collect();
    let positions: Vec<usize> = (0..scores.len()).collect();
    let unit = if range.1 > 1.0 { Unit::OutOfTen } else { Unit::Plain };
    estimate(&Metric { range, unit, ..Metric::mean("x") }, &[vec![trial]], &positions, clusters, Level::USUAL)
}

fn singles(count: usize) -> Vec<u32> {
    (0..count as u32).collect()
}

fn is_close(found: (Option<f64>, Option<f64>), expected: (f64, f64)) -> bool {
    found.0.is_some_and(|low| (low - expected.0).abs() < 1e-9)
        && found.1.is_some_and(|high| (high - expected.1).abs() < 1e-9)
}

#[test]
fn wilsons_interval_is_that_of_statsmodels() {
    // statsmodels.stats.proportion.proportion_confint(count, n, method="wilson")
    let normal = 1.959_963_984_540_054;
    for (count, n, low, high) in [
        (0.0, 12.0, 0.0, 0.242_494_006_655_240_96),
        (11.0, 12.0, 0.646_120_088_858_883, 0.985_134_905_595_082_9),
        (50.0, 70.0, 0.599_498_034_182_797_5, 0.806_777_796_212_802_5),
    ] {
        let found = wilson(count / n, normal * normal / n);
        assert!(is_close((Some(found.0), Some(found.1)), (low, high)), "{count} of {n}: {found:?}");
    }
}

#[test]
fn the_whole_method_is_that_of_its_reference_in_numpy_and_scipy() {
    // `docs/statistics.md` says it in formulas. The reference has its quantiles, tails and ends from scipy.stats and scipy.optimize.brentq.
    type Case<'a> = (&'a [f64], &'a [u32], (f64, f64), (f64, f64));
    let fives: Vec<u32> = (0..40).map(|at| at / 5).collect();
    let fours: Vec<u32> = (0..40).map(|at| at / 4).collect();
    let (mut few, mut one) = ([1.0; 40], [1.0; 40]);
    (few[3], few[5], few[7], few[30], one[39]) = (0.0, 0.0, 0.5, 0.0, 0.0);
    let dozen: Vec<u32> = (0..12).flat_map(|cluster| vec![cluster; 2 + cluster as usize % 3]).collect();
    let many = [
        1.0, 0.5, 1.0, 1.0, 0.5, 1.0, 1.0, 1.0, 0.5, 0.0, 1.0, 0.5, 0.0, 1.0, 1.0, 0.5, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0,
        1.0, 0.0, 1.0, 1.0, 1.0, 0.5, 0.0, 1.0, 0.5, 0.0, 1.0, 1.0, 0.5, 0.0,
    ];
    let wrong = few.map(|score| 1.0 - score);
    let mut twenty = [1.0; 20];
    (twenty[0], twenty[9]) = (0.0, 0.0);
    let cases: [Case<'_>; 9] = [
        (&many, &dozen, (0.0, 1.0), (0.561_939_579_917_529, 0.801_058_571_534_230_8)),
        (&SCORES, &CLUSTERS, (0.0, 1.0), (0.461_405_740_305_258_27, 0.864_419_822_372_654_6)),
        (&[1.0; 35], &singles(35), (0.0, 1.0), (0.894_453_977_187_094, 1.0)),
        (&[1.0; 17], &CLUSTERS, (0.0, 1.0), (0.724_374_858_799_252_7, 1.0)),
        (&few, &fives, (0.0, 1.0), (0.755_324_241_296_553_5, 0.969_971_840_665_870_9)),
        (&wrong, &fives, (0.0, 1.0), (0.030_028_159_334_129_084, 0.244_675_758_703_446_7)),
        (&twenty, &singles(20), (0.0, 1.0), (0.707_137_759_016_574, 0.974_199_233_412_179_8)),
        (&one, &fours, (0.0, 1.0), (0.822_995_310_284_504_9, 0.996_475_215_257_827_8)),
        (&[7.0, 9.0, 8.0, 10.0, 6.5, 7.0], &singles(6), (0.0, 10.0), (5.257_206_443_860_132, 9.287_092_187_926_824)),
    ];
    for (scores, clusters, range, expected) in cases {
        let found = of(scores, clusters, range);
        assert!(is_close((found.low, found.high), expected), "{found:?}");
    }
}

#[test]
fn an_interval_of_a_higher_level_holds_that_of_a_lower_one() {
    let fives: Vec<u32> = (0..40).map(|at| at / 5).collect();
    let mut few = [1.0; 40];
    (few[3], few[5], few[7], few[30]) = (0.0, 0.0, 0.5, 0.0);
    let trial = few.iter().map(|top| Sample::Scored { top: *top, bottom: 1.0 }).collect::<Vec<_>>();
    let positions: Vec<usize> = (0..few.len()).collect();
    // The reference of the whole method at these levels.
    for (level, expected) in [
        (0.9, (0.794_126_903_885_766_9, 0.962_711_826_718_738_7)),
        (0.99, (0.654_539_325_147_109_2, 0.981_301_823_866_185_7)),
    ] {
        let level = Level::new(level).unwrap();
        let found = estimate(&Metric::mean("x"), &[vec![trial.clone()]], &positions, &fives, level);
        assert!(is_close((found.low, found.high), expected), "{level:?}: {found:?}");
    }
    let ends = [0.501, 0.6, 0.9, 0.95, 0.99, 0.999].map(|level| {
        let level = Level::new(level).unwrap();
        let found = estimate(&Metric::mean("x"), &[vec![trial.clone()]], &positions, &fives, level);
        (found.low.unwrap(), found.high.unwrap())
    });
    for pair in ends.windows(2) {
        assert!(pair[1].0 < pair[0].0 && pair[0].1 < pair[1].1, "{ends:?}");
    }
}

#[test]
fn an_end_towards_the_middle_is_as_far_as_the_distance_that_is_found_when_it_is_tested() {
    for share in [0.2, 0.55, 0.9, 0.999] {
        let squared = |tested: f64| 0.1 + 0.3 * (1.0 - (tested - share).abs());
        let found = towards_the_middle(share, 0.3, squared);
        let end = if share > 0.5 { wilson(share, found).0 } else { wilson(share, found).1 };
        assert!((found - squared(end)).abs() < 1e-9, "{share}: {found}");
        assert!((squared_distance(share, end) - found).abs() < 1e-9, "{share}: {found}");
    }
}

#[test]
fn of_a_range_without_an_end_students_interval_is_taken_and_none_where_all_are_alike() {
    // scipy.stats.t.interval(0.95, 3, loc=numpy.mean(turns), scale=scipy.stats.sem(turns))
    let turns = (0.0, f64::INFINITY);
    let metric = Metric { range: turns, unit: Unit::Turns, ..Metric::mean("turns") };
    let of = |scores: [f64; 4], level: f64| {
        let trial = scores.iter().map(|top| Sample::Scored { top: *top, bottom: 1.0 }).collect();
        estimate(&metric, &[vec![trial]], &[0, 1, 2, 3], &singles(4), Level::new(level).unwrap())
    };
    for (level, expected) in [
        (0.9, (4.740_433_395_764_676, 8.759_566_604_235_324)),
        (0.95, (4.032_469_116_203_985, 9.467_530_883_796_016)),
        (0.99, (1.762_374_156_227_270_6, 11.737_625_843_772_73)),
    ] {
        let found = of([5.0, 7.0, 6.0, 9.0], level);
        assert!(is_close((found.low, found.high), expected), "{level}: {found:?}");
    }
    assert_eq!(of([5.0; 4], 0.95).low, None);
}

proptest! {
    #[test]
    fn no_interval_is_without_width_and_each_holds_its_value(
        scores in prop::collection::vec(prop_oneof![Just(0.0), Just(1.0), Just(0.3), 0.0..=1.0], 2..40), group in 1_u32..4
    ) {
        let clusters: Vec<u32> = (0..scores.len() as u32).map(|at| at / group).collect();
        let found = of(&scores, &clusters, (0.0, 1.0));
        let value = found.value.unwrap();
        prop_assert_eq!(found.low.is_some(), found.clusters > 1);
        if let (Some(low), Some(high)) = (found.low, found.high) {
            prop_assert!(low <= value && value <= high && low >= 0.0 && high <= 1.0 && high - low > 1e-3, "{found:?}");
        }
    }

    #[test]
    fn a_range_that_is_stretched_stretches_the_interval(scores in prop::collection::vec(0.0..=1.0, 2..30)) {
        let clusters = singles(scores.len());
        let grades: Vec<f64> = scores.iter().map(|score| score * 10.0).collect();
        let (shares, grades) = (of(&scores, &clusters, (0.0, 1.0)), of(&grades, &clusters, (0.0, 10.0)));
        prop_assert!((shares.low.unwrap() * 10.0 - grades.low.unwrap()).abs() < 1e-9);
        prop_assert!((shares.high.unwrap() * 10.0 - grades.high.unwrap()).abs() < 1e-9);
    }

    #[test]
    fn right_and_wrong_are_mirror_images(
        scores in prop::collection::vec(prop_oneof![Just(0.0), Just(1.0), 0.0..=1.0], 2..30), group in 1_u32..4
    ) {
        let clusters: Vec<u32> = (0..scores.len() as u32).map(|at| at / group).collect();
        prop_assume!(clusters.last().is_some_and(|last| *last > 0));
        let wrong: Vec<f64> = scores.iter().map(|score| 1.0 - score).collect();
        let (right, wrong) = (of(&scores, &clusters, (0.0, 1.0)), of(&wrong, &clusters, (0.0, 1.0)));
        prop_assert!((right.low.unwrap() + wrong.high.unwrap() - 1.0).abs() < 1e-9);
    }
}
