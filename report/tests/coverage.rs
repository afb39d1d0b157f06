//! The short form of the coverage study: `docs/statistics.md` has the whole.

#[path = "../benches/study/mod.rs"]
mod study;

use self::study::{Design, Method, Scores, Sizes, attainable, coverage, values};

const BINARY: Design =
    Design { scores: Scores::Binary, clusters: 30, items: 90, sizes: Sizes::Equal, alikeness: 0.1, missing: 0.0 };

/// Enough that chance moves a coverage by less than two points.
const REPLICATIONS: u32 = 1200;

#[test]
fn intervals_of_proportions_and_shares_cover_95_percent_in_the_middle_and_near_the_end() {
    let lognormal = Design { sizes: Sizes::Lognormal, ..BINARY };
    let shares = Design { scores: Scores::Shares, ..BINARY };
    let rows = [
        (BINARY, 0.5),
        (BINARY, 0.9),
        (BINARY, 0.984),
        (lognormal, 0.7),
        (lognormal, 0.9),
        (shares, 0.7),
        (shares, 0.95),
        (Design { clusters: 35, items: 35, alikeness: 0.0, ..BINARY }, 0.984),
    ];
    for (seed, (design, mean)) in (0..).zip(rows) {
        let [found] = coverage(&design, mean, [Method::Printed], REPLICATIONS, seed);
        assert!((0.92..=0.98).contains(&found.covered), "{design:?} at {mean}: {found:?}");
        assert!(found.width > 0.0);
    }
}

#[test]
fn scores_that_are_close_to_each_other_are_covered_at_least_as_often() {
    let close = Design { scores: Scores::Close, alikeness: 0.0, ..BINARY };
    let [found] = coverage(&close, 0.7, [Method::Printed], REPLICATIONS / 4, 5);
    assert!(found.covered > 0.94, "{found:?}");
}

#[test]
fn what_is_missing_at_random_never_costs_coverage_and_widens_the_interval() {
    let design = Design { missing: 0.15, ..BINARY };
    let [found, not_widened] = coverage(&design, 0.9, [Method::Printed, Method::NotWidened], REPLICATIONS / 4, 7);
    assert!(found.covered > 0.95 && found.width > 1.5 * not_widened.width, "{found:?} {not_widened:?}");
}

#[test]
fn few_clusters_whose_items_are_independent_are_not_taken_for_alike() {
    // A prior alone would cover more than 99 % of the time, and be half again as wide.
    let ten = Design { clusters: 10, items: 200, alikeness: 0.0, ..BINARY };
    let [printed, known] = coverage(&ten, 0.9, [Method::Printed, Method::Known], REPLICATIONS, 3);
    assert!((0.92..=0.98).contains(&printed.covered) && printed.width < 1.25 * known.width, "{printed:?} {known:?}");
}

#[test]
fn who_knows_the_variance_covers_95_percent_where_failures_sit_in_few_clusters() {
    let shares = Design { scores: Scores::Shares, clusters: 10, items: 200, alikeness: 0.3, ..BINARY };
    let [known, student] = coverage(&shares, 0.9, [Method::Known, Method::Student], REPLICATIONS, 4);
    assert!((0.93..=0.97).contains(&known.covered) && student.covered < 0.9, "{known:?} {student:?}");
}

#[test]
fn twenty_items_that_are_right_95_percent_of_the_time_can_only_be_covered_less_or_more() {
    let twenty = Design { clusters: 20, items: 20, alikeness: 0.0, ..BINARY };
    let wanted = 0.93..=0.97;
    // scipy.stats.binom.cdf([2, 3], 20, 0.05): whoever takes two failures for likely and three for not, or three and not four.
    let (below, above) = attainable(values(&twenty, 0.95, 20_000, 5), 0.95, &wanted).unwrap();
    assert!((below - 0.9245).abs() < 0.006 && (above - 0.9841).abs() < 0.003, "{below} {above}");
    // Of 99 %: whoever takes no failure for likely and one for not, or one and not two; binom.cdf([0, 1], 20, 0.01).
    let (below, above) = attainable(values(&twenty, 0.99, 20_000, 5), 0.99, &wanted).unwrap();
    assert!((below - 0.8179).abs() < 0.009 && (above - 0.9831).abs() < 0.003, "{below} {above}");
    assert_eq!(attainable(values(&twenty, 0.5, 20_000, 5), 0.5, &wanted), None);
}

#[test]
fn students_interval_fails_near_the_end_which_is_why_it_is_not_printed_there() {
    let design = Design { clusters: 35, items: 35, alikeness: 0.0, ..BINARY };
    let [printed, student] = coverage(&design, 0.984, [Method::Printed, Method::Student], REPLICATIONS / 2, 1);
    assert!(student.covered < 0.6 && printed.covered > 0.92, "{student:?} {printed:?}");
}

#[test]
fn a_bootstrap_t_covers_rare_failures_in_few_clusters_only_by_being_much_wider() {
    let design = Design { items: 300, alikeness: 0.3, ..BINARY };
    let [printed, _, hall, bootstrap, of_log_odds] = coverage(&design, 0.95, Method::ALL, REPLICATIONS / 12, 1);
    for other in [hall, bootstrap, of_log_odds] {
        assert!(other.covered > 0.85 && other.width > 1.4 * printed.width, "{other:?} {printed:?}");
    }
}
