//! Simulated models.

use proptest::prelude::*;
use regatta_benchmarks::{Persona, Suite};
use regatta_proto::{Evaluator, ItemIndex};

use crate::harness::{BOTH, answer, index_of, indices, load, miniature, miniature_files, scored};

/// Means of both metrics over all items and some seeds.
fn means(suite: &dyn Suite, evaluator: Evaluator, probability: f64) -> [f64; 2] {
    const SEEDS: u64 = 8;
    let mut sums = [0.0; 2];
    let items = indices(suite);
    for item in &items {
        for seed in 0..SEEDS {
            let reply = answer(suite, *item, Persona::Noisy(probability), seed);
            let values = scored(suite, *item, evaluator, Some(&reply)).values;
            sums[0] += values["f1_chain"];
            sums[1] += values["f1_graph"];
        }
    }
    sums.map(|sum| sum / (items.len() as f64 * SEEDS as f64))
}

#[test]
fn the_oracle_answers_with_the_gold_word_for_word_and_so_does_no_noise() {
    let suite = miniature();
    let files = miniature_files();
    for (path, content) in files.iter().filter(|(path, _)| path.starts_with("gold_traj/")) {
        let records: Vec<serde_json::Value> = serde_json::from_slice(content).unwrap();
        for record in &records {
            let item = index_of(&*suite, record["id"].as_str().unwrap());
            let gold = record["conversations"][2]["content"].as_str().unwrap();
            assert_eq!(answer(&*suite, item, Persona::Oracle, 3), gold, "{path}");
            for seed in 0..50 {
                assert_eq!(answer(&*suite, item, Persona::Noisy(0.0), seed), gold, "{path}");
            }
        }
    }
}

#[test]
fn noise_is_a_function_of_the_seed() {
    let suite = miniature();
    let item = index_of(&*suite, "wikihow_mini4");
    let replies = |seed| answer(&*suite, item, Persona::Noisy(0.5), seed);
    assert_eq!(replies(1), replies(1));
    let distinct: std::collections::BTreeSet<String> = (0..20).map(replies).collect();
    assert!(distinct.len() > 15, "{}", distinct.len());
    insta::assert_snapshot!(replies(4));
}

#[test]
fn more_noise_scores_worse_under_both_evaluators_and_in_both_metrics() {
    let suite = miniature();
    for evaluator in BOTH {
        let means = [0.0, 0.2, 0.5, 1.0].map(|probability| means(&*suite, evaluator, probability));
        let falls = |metric: usize| means.windows(2).all(|pair| pair[0][metric] > pair[1][metric] + 0.02);
        assert!(falls(0) && falls(1), "{evaluator}: {means:?}");
    }
}

#[test]
fn noise_breaks_the_format_now_and_then() {
    let suite = miniature();
    let item = index_of(&*suite, "os_mini1");
    let statuses: Vec<String> = (0..300)
        .map(|seed| {
            let reply = answer(&*suite, item, Persona::Noisy(0.5), seed);
            scored(&*suite, item, Evaluator::Official, Some(&reply)).detail["node"]["status"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    let count = |status: &str| statuses.iter().filter(|found| *found == status).count();
    assert!(count("ok") > 240 && count("unparsable") > 3 && count("crash") > 0, "{}", count("ok"));
}

proptest! {
    #[test]
    fn any_gold_probability_and_seed_give_an_answer(
        nodes in prop::collection::vec("[a-z é]{1,12}", 1..9),
        pairs in prop::collection::vec((0..9_usize, 0..9_usize), 0..12),
        probability in prop_oneof![Just(f64::NAN), Just(f64::INFINITY), -1.0..3.0_f64],
        seed: u64,
    ) {
        let lines: String = nodes.iter().enumerate().map(|(at, text)| format!("{}: x{text}\n", at + 1)).collect();
        let forward: String = pairs.iter().filter(|(a, b)| a < b).map(|(a, b)| format!(" ({a},{b})")).collect();
        let gold = format!("Node:\n{lines}Edge: (START,1){forward}");
        let record = serde_json::json!([{ "id": "os_1", "conversations": [
            { "role": "system", "content": "s" }, { "role": "user", "content": "u" }, { "role": "assistant", "content": gold },
        ] }]);
        let suite = load(&[("gold_traj/os/graph_eval.json", &record.to_string())]).unwrap();
        let reply = answer(&*suite, ItemIndex(0), Persona::Noisy(probability), seed);
        for evaluator in BOTH {
            let score = scored(&*suite, ItemIndex(0), evaluator, Some(&reply));
            prop_assert!(score.values.values().all(|value| (0.0..=1.0).contains(value)));
        }
    }
}
