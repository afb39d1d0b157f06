//! Laws of every subset.

use proptest::prelude::*;
use regatta_deciding::{Responses, Sessions, Subset, mean_score, weighted_mean};

use super::{responses, sessions};

/// Scores of 5 to 8 models in 12 to 40 items.
fn histories() -> impl Strategy<Value = Vec<Vec<f64>>> {
    (5_usize..=8, 12_usize..=40).prop_flat_map(|(models, items)| {
        let score = prop_oneof![Just(0.0), Just(1.0), Just(0.5)];
        prop::collection::vec(prop::collection::vec(score, items), models)
    })
}

/// `true` if five models differ from each other.
fn varies(history: &[Vec<f64>]) -> bool {
    history.iter().enumerate().filter(|&(at, scores)| !history[..at].contains(scores)).count() >= 5
}

proptest! {
    #[test]
    fn weights_sum_to_the_number_of_items_and_as_many_are_chosen_as_were_asked(
        history in histories(), asked in 1_usize..12, seed in any::<u64>(),
    ) {
        prop_assume!(varies(&history));
        let subset = Subset::choose(&responses(&history), asked, seed).unwrap();
        let sum: f64 = subset.anchors.iter().map(|anchor| anchor.weight).sum();
        prop_assert!((sum - history[0].len() as f64).abs() < 1e-9, "{}", sum);
        prop_assert_eq!(subset.anchors.len(), asked);
        let names: Vec<&String> = subset.anchors.iter().map(|anchor| &anchor.item).collect();
        prop_assert!(names.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", names);
        prop_assert!(subset.anchors.iter().all(|anchor| anchor.weight > 0.0));
    }

    #[test]
    fn the_same_history_and_seed_give_the_same_subset_in_whatever_order_it_comes(
        history in histories(), asked in 1_usize..12, seed in any::<u64>(),
    ) {
        prop_assume!(varies(&history));
        let found = Subset::choose(&responses(&history), asked, seed).unwrap();
        let some: Vec<Vec<Option<f64>>> =
            history.iter().map(|scores| scores.iter().map(|score| Some(*score)).collect()).collect();
        let reversed: Sessions = sessions(&some)
            .into_iter()
            .rev()
            .map(|(model, items)| (model, items.into_iter().rev().collect()))
            .collect();
        prop_assert_eq!(found, Subset::choose(&Responses::new(&reversed).unwrap(), asked, seed).unwrap());
    }

    #[test]
    fn a_history_of_no_more_patterns_than_items_asked_is_estimated_exactly(
        patterns in prop::collection::vec(prop::collection::vec(prop_oneof![Just(0.0), Just(1.0), Just(0.25)], 6), 2..6),
        copies in prop::collection::vec(0_usize..6, 8..40),
        seed in any::<u64>(),
    ) {
        // By item, then by model.
        let items: Vec<&Vec<f64>> =
            patterns.iter().chain(copies.iter().map(|copy| &patterns[copy % patterns.len()])).collect();
        let history: Vec<Vec<f64>> = (0..6).map(|model| items.iter().map(|item| item[model]).collect()).collect();
        prop_assume!(varies(&history));
        let subset = Subset::choose(&responses(&history), patterns.len(), seed).unwrap();
        for scores in &history {
            let of_anchor = |anchor: &regatta_deciding::Anchor| {
                let at: usize = anchor.item.strip_prefix("item-").unwrap().parse().unwrap();
                (anchor.weight, scores[at])
            };
            let estimate = weighted_mean(subset.anchors.iter().map(of_anchor));
            let whole = scores.iter().sum::<f64>() / scores.len() as f64;
            prop_assert!((estimate - whole).abs() < 1e-9, "{} for {}", estimate, whole);
        }
    }
}

#[test]
fn an_item_without_a_score_of_some_model_counts_in_the_whole_and_is_not_chosen() {
    let mut scores: Vec<Vec<Option<f64>>> =
        (0..5).map(|model| (0..20).map(|item| Some(f64::from(u8::from(item % 5 <= model)))).collect()).collect();
    scores[2][7] = None;
    for of_model in &mut scores {
        of_model[11] = None;
    }
    let responses = Responses::new(&sessions(&scores)).unwrap();
    assert_eq!((responses.items().len(), responses.incomplete()), (19, 1));
    assert_eq!(responses.unmeasured(), ["item-0011"]);
    for seed in 0..20 {
        let subset = Subset::choose(&responses, 18, seed).unwrap();
        let sum: f64 = subset.anchors.iter().map(|anchor| anchor.weight).sum();
        assert!((sum - 19.0).abs() < 1e-9, "{sum}");
        assert!(subset.anchors.iter().all(|anchor| anchor.item != "item-0007"));
    }
}

#[test]
fn an_item_that_only_the_held_out_model_has_a_score_of_is_in_no_cluster() {
    let scores: Vec<Vec<Option<f64>>> =
        (0..5).map(|model| (0..20).map(|item| Some(f64::from(u8::from(item % 5 <= model)))).collect()).collect();
    let mut with_more = scores.clone();
    for (model, of_model) in with_more.iter_mut().enumerate() {
        of_model.push((model == 0).then_some(1.0));
    }
    let estimate = |scores: &[Vec<Option<f64>>]| {
        Subset::choose(&Responses::new(&sessions(scores)).unwrap(), 8, 3).unwrap().held_out[0].estimate
    };
    assert!((estimate(&scores) - estimate(&with_more)).abs() < 1e-12);
}

#[test]
fn trials_are_averaged_over_those_that_were_measured() {
    assert_eq!(mean_score(&[Some(1.0), None, Some(0.5)]), Some(0.75));
    assert_eq!(mean_score(&[None]), None);
    let (one, other) = ([0.1, 0.2, 0.3].map(Some), [0.3, 0.1, 0.2].map(Some));
    assert_eq!(mean_score(&one), mean_score(&other));
}
