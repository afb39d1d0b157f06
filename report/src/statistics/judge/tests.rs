use proptest::prelude::*;
use regatta_benchmarks::Metric;

use super::super::sample::Sample;
use super::*;

/// Samples of one trial.
fn trial(scores: &[f64]) -> Vec<Trials> {
    vec![vec![scores.iter().map(|top| Sample::Scored { top: *top, bottom: 1.0 }).collect()]]
}

fn part(repeats: &[&[f64]], clusters: &[u32]) -> Option<JudgePart> {
    let items = clusters.len();
    let together: Vec<f64> =
        (0..items).map(|at| repeats.iter().map(|repeat| repeat[at]).sum::<f64>() / repeats.len() as f64).collect();
    let of_repeats: Vec<Vec<Trials>> = repeats.iter().map(|repeat| trial(repeat)).collect();
    let of_repeats: Vec<&[Trials]> = of_repeats.iter().map(Vec::as_slice).collect();
    let positions: Vec<usize> = (0..items).collect();
    judge_part(&Metric::mean("x"), &trial(&together), &of_repeats, &positions, clusters)
}

#[test]
fn a_judge_that_repeats_itself_adds_nothing() {
    let found = part(&[&[1.0, 0.0, 1.0], &[1.0, 0.0, 1.0]], &[0, 1, 2]).unwrap();
    assert_eq!((found.variance, found.share), (0.0, Some(0.0)));
}

#[test]
fn a_judge_that_is_asked_once_shows_no_part() {
    assert_eq!(part(&[&[1.0, 0.0]], &[0, 1]), None);
}

#[test]
fn the_variance_of_each_item_between_two_repeats_is_halved_and_added_up() {
    // Each of the first two items has the variance 1/2 between its repeats: (1/2 + 1/2) / 2 repeats / 4² items.
    let found = part(&[&[1.0, 0.0, 1.0, 0.0], &[0.0, 1.0, 1.0, 0.0]], &[0, 1, 2, 3]).unwrap();
    assert!((found.variance - 1.0 / 32.0).abs() < 1e-15, "{found:?}");
}

#[test]
fn items_of_one_cluster_may_share_a_verdict_so_their_differences_add_up_before_they_are_squared() {
    let alike = part(&[&[1.0, 1.0, 0.0], &[0.0, 0.0, 0.0]], &[0, 0, 1]).unwrap();
    let apart = part(&[&[1.0, 1.0, 0.0], &[0.0, 0.0, 0.0]], &[0, 1, 2]).unwrap();
    assert!((alike.variance - 2.0 * apart.variance).abs() < 1e-15, "{alike:?} {apart:?}");
}

#[test]
fn where_nothing_but_the_judge_varies_all_of_the_uncertainty_is_its_own() {
    // Every pattern of four replies once: items are alike, and only the dice of the judge differ.
    let reply = |item: u32, repeat: u32| f64::from((item >> repeat) & 1);
    let repeats: Vec<Vec<f64>> = (0..4).map(|repeat| (0..16).map(|item| reply(item, repeat)).collect()).collect();
    let clusters: Vec<u32> = (0..16).collect();
    let found = part(&[&repeats[0], &repeats[1], &repeats[2], &repeats[3]], &clusters).unwrap();
    assert!(found.share.unwrap() > 0.9, "{found:?}");
}

proptest! {
    #[test]
    fn it_does_not_depend_on_the_order_of_repeats_and_is_a_part_of_the_whole(
        one in prop::collection::vec(0.0..1.0_f64, 6),
        two in prop::collection::vec(0.0..1.0_f64, 6),
        three in prop::collection::vec(0.0..1.0_f64, 6),
    ) {
        let clusters = [0, 0, 1, 2, 2, 3];
        let found = part(&[&one, &two, &three], &clusters).unwrap();
        let turned = part(&[&three, &one, &two], &clusters).unwrap();
        prop_assert!((found.variance - turned.variance).abs() < 1e-12);
        prop_assert!(found.variance >= 0.0);
        prop_assert!(found.share.is_none_or(|share| (0.0..=1.0).contains(&share)));
    }
}
