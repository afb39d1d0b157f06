//! Intervals of numbers that are computed again without one cluster after another.

use regatta_benchmarks::Metric;

use super::*;
use crate::statistics::{Sample, estimate};

/// Right or wrong: of other scores a metric also knows how the items of a cluster differ.
const SCORES: [f64; 9] = [1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0];
const CLUSTERS: [u32; 9] = [0, 0, 1, 1, 1, 2, 3, 3, 4];
const SHARE: (f64, f64) = (0.0, 1.0);

fn mean(scores: &[f64]) -> f64 {
    scores.iter().sum::<f64>() / scores.len() as f64
}

/// The mean of `scores` without each of the clusters.
fn left(scores: &[f64], clusters: &[u32]) -> Vec<(u32, f64)> {
    let without = |group: u32| {
        let kept = scores.iter().zip(clusters).filter(|(_, cluster)| **cluster != group).map(|(score, _)| *score);
        let kept: Vec<f64> = kept.collect();
        ((scores.len() - kept.len()) as u32, mean(&kept))
    };
    (0..=clusters.iter().copied().max().unwrap()).map(without).collect()
}

#[test]
fn a_mean_in_an_aggregate_has_the_interval_of_the_same_mean_as_a_metric() {
    for level in [0.9, 0.95] {
        let level = Level::new(level).unwrap();
        let trial = SCORES.map(|top| Sample::Scored { top, bottom: 1.0 }).to_vec();
        let positions: Vec<usize> = (0..9).collect();
        let known = estimate(&Metric::mean("score"), &[vec![trial]], &positions, &CLUSTERS, level);
        let (found, clusters) = interval(mean(&SCORES), &left(&SCORES, &CLUSTERS), 9, SHARE, level);
        let (low, high) = found.unwrap();
        assert!(
            (low - known.low.unwrap()).abs() < 1e-9 && (high - known.high.unwrap()).abs() < 1e-9,
            "{found:?} {known:?}"
        );
        assert_eq!(clusters, 5);
    }
}

#[test]
fn clusters_that_a_number_is_not_about_do_not_narrow_its_interval() {
    // The number is of the first two clusters alone, whatever else there is.
    let of_two = [(10, 0.8), (10, 0.2)];
    let elsewhere = std::iter::repeat_n((10, 0.5), 18);
    let all: Vec<(u32, f64)> = of_two.into_iter().chain(elsewhere).collect();
    let (found, clusters) = interval(0.5, &all, 200, SHARE, Level::USUAL);
    let (low, high) = found.unwrap();
    assert_eq!(clusters, 2);
    assert!(low < 0.05 && high > 0.95, "two clusters say next to nothing: {low} {high}");
}

#[test]
fn what_one_cluster_moves_or_none_has_no_interval() {
    let one = [(5, 0.5), (5, 0.5), (5, 0.7)];
    assert_eq!(interval(0.5, &one, 15, SHARE, Level::USUAL), (None, 1));
    assert_eq!(interval(1.0, &[(5, 1.0); 3], 15, SHARE, Level::USUAL), (None, 0));
}

#[test]
fn an_amount_is_cut_where_nothing_can_be_and_a_share_that_is_none_is_taken_for_an_amount() {
    let turns = [9.0, 1.0, 1.0, 1.0];
    let left = left(&turns, &[0, 1, 2, 3]);
    let (found, _) = interval(mean(&turns), &left, 4, (0.0, f64::INFINITY), Level::USUAL);
    assert_eq!(found.unwrap().0, 0.0);
    assert!(found.unwrap().1 > 9.0);
    let over = [(1, 1.02), (1, 0.99), (1, 1.01)];
    let (low, high) = interval(1.01, &over, 3, SHARE, Level::USUAL).0.unwrap();
    assert!(low < 1.0 && high >= 1.01, "{low} {high}");
}

#[test]
fn numbers_are_named_by_pointers_and_those_in_lists_are_left_out() {
    let aggregate = serde_json::json!({ "C/R": 0.5, "a~b": { "n": 3 }, "chunks": [{ "acc": 0.1 }], "none": null });
    let mut found = Vec::new();
    push_numbers(&aggregate, String::new(), &mut |pointer, value| found.push((pointer, value)));
    assert_eq!(found, [("/C~1R".to_owned(), 0.5), ("/a~0b/n".to_owned(), 3.0)]);
    assert!(found.iter().all(|(pointer, value)| aggregate.pointer(pointer).unwrap().as_f64() == Some(*value)));
}
