//! Sweeps of equal and of different models, with made-up outcomes.

mod rates;

use std::collections::BTreeMap;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use regatta_benchmarks::Metric;
use regatta_proto::{Cell, CellIndex, ItemIndex, Level, Trial};

use super::*;
use crate::statistics::{Estimate, Sample};
use crate::summary::SessionCounts;
use crate::tabulation::SampledSessions;

const CLUSTERS: u32 = 12;
const ITEMS_OF_CLUSTER: u32 = 3;
const TRIALS: u32 = 2;

fn uniform(random: &mut ChaCha8Rng) -> f64 {
    f64::from(random.next_u32()) / f64::from(u32::MAX)
}

/// Scores of one model in `setting`: every item has a difficulty, every cluster a mood that the model's sessions of it share, and every
/// session its own chance. `ability` moves all of them.
fn group(model: &str, setting: &str, ability: f64, seed: u64) -> GroupResult {
    let mut items = ChaCha8Rng::seed_from_u64(99);
    let mut chance = ChaCha8Rng::seed_from_u64(flips_seed(seed, &[model, setting]));
    let mut trials = vec![Vec::new(); TRIALS as usize];
    for _ in 0..CLUSTERS {
        let mood = 0.4 * (uniform(&mut chance) - 0.5);
        for _ in 0..ITEMS_OF_CLUSTER {
            let difficulty = uniform(&mut items);
            for trial in &mut trials {
                let is_right = uniform(&mut chance) < difficulty + mood + ability;
                trial.push(Sample::Scored { top: f64::from(u8::from(is_right)), bottom: 1.0 });
            }
        }
    }
    let count = CLUSTERS * ITEMS_OF_CLUSTER;
    GroupResult {
        first: Cell {
            index: CellIndex(0),
            benchmark: "made-up".parse().unwrap(),
            setting: setting.parse().unwrap(),
            model: model.parse().unwrap(),
            trial: Trial(0),
        },
        simulated: true,
        items: count,
        keys: vec![(Evaluator::Official, Metric::mean("accuracy"))],
        headline: [0].into(),
        estimates: vec![Estimate { value: Some(0.5), ..Estimate::default() }],
        tables: Vec::new(),
        sessions: SessionCounts::default(),
        cells: Vec::new(),
        tasks: Vec::new(),
        parts: Vec::new(),
        outcomes: BTreeMap::new(),
        poisoned: None,
        examples: BTreeMap::new(),
        served: BTreeMap::new(),
        flags: BTreeMap::new(),
        agent_ends: Default::default(),
        filtered: None,
        passes: Vec::new(),
        left_out: Vec::new(),
        samples: vec![vec![trials]],
        audits: BTreeMap::new(),
        sampled: SampledSessions::default(),
        gaps: BTreeMap::new(),
        selected: (0..count).map(ItemIndex).collect(),
        clusters: (0..count).map(|at| at / ITEMS_OF_CLUSTER).collect(),
    }
}

const MODELS: [&str; 5] = ["sim/a", "sim/b", "sim/c", "sim/d", "sim/e"];

fn alike(seed: u64) -> Vec<GroupResult> {
    MODELS.iter().map(|model| group(model, "plain", 0.0, seed)).collect()
}

#[test]
fn one_group_of_items_alone_is_not_tested() {
    let of_one_cluster = |model| GroupResult {
        clusters: vec![0; (CLUSTERS * ITEMS_OF_CLUSTER) as usize],
        ..group(model, "plain", 0.0, 1)
    };
    let found = family(1, Level::USUAL, &[of_one_cluster("sim/a"), of_one_cluster("sim/b")]).unwrap();
    let difference = &found.pairs[0].difference;
    assert_eq!((difference.clusters, difference.p, difference.test, found.pairs[0].p_holm), (1, None, None, None));
    let csv = String::from_utf8(crate::tabulation::comparisons::csv(&[found]).unwrap()).unwrap();
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    for column in ["p", "p_holm", "test", "complete_p"] {
        let at = lines[0].iter().position(|name| *name == column).unwrap();
        assert_eq!(lines[1][at], "", "{column}");
    }
}

#[test]
fn five_equal_models_show_a_difference_in_at_most_one_of_twenty_sweeps() {
    const SWEEPS: u64 = 200;
    let shows_any = |seed: &u64| {
        family(*seed, Level::USUAL, &alike(*seed)).unwrap().pairs.iter().any(|pair| pair.order(Level::USUAL).is_some())
    };
    let found = (0..SWEEPS).filter(shows_any).count();
    // One in twenty are 10; more than 19 of 200 would happen by chance once in 250 times.
    assert!(found <= 19, "{found} of {SWEEPS} sweeps of equal models show a difference");
}

#[test]
fn without_correction_the_same_sweeps_would_show_far_too_many() {
    let by_itself = |seed: &u64| {
        let family = family(*seed, Level::USUAL, &alike(*seed)).unwrap();
        family.pairs.iter().any(|pair| pair.difference.p.unwrap() <= Level::USUAL.alpha())
    };
    let found = (0..100).filter(by_itself).count();
    assert!(found > 15, "{found} of 100");
}

#[test]
fn a_model_that_is_much_better_is_seen_and_the_others_stay_tied() {
    let mut groups = alike(4);
    groups[2] = group("sim/c", "plain", 0.9, 4);
    let found = [family(4, Level::USUAL, &groups).unwrap()];
    let ranks: Vec<String> = rankings(&groups, &found, Level::USUAL).iter().map(|of| of.rank.to_string()).collect();
    assert_eq!(ranks, ["2–5", "2–5", "1", "2–5", "2–5"]);
    let winners: Vec<&str> =
        found[0].pairs.iter().filter_map(|pair| Some(pair.order(Level::USUAL)?.0.model.model.as_str())).collect();
    assert_eq!(winners, ["c"; 4]);
}

#[test]
fn one_more_model_changes_no_other_pairs_p_value() {
    let four = family(1, Level::USUAL, &alike(1)[..4]).unwrap();
    let five = family(1, Level::USUAL, &alike(1)).unwrap();
    assert_eq!((four.pairs.len(), five.pairs.len()), (6, 10));
    for pair in &four.pairs {
        let same = five.pairs.iter().find(|other| other.one == pair.one && other.other == pair.other).unwrap();
        assert_eq!(same.difference, pair.difference);
    }
}

#[test]
fn settings_and_casts_of_a_model_are_compared_over_the_items_of_both() {
    let mut groups = Vec::new();
    for setting in ["plain", "plain/cast=tuned"] {
        groups.extend(MODELS[..2].iter().map(|model| group(model, setting, 0.0, 5)));
    }
    // The tuned cast runs without the first cluster, and in another order.
    for tuned in &mut groups[2..] {
        tuned.selected = tuned.selected[3..].iter().rev().copied().collect();
        tuned.clusters = (0..33).map(|at| at / 3).collect();
        tuned.samples[0][0].iter_mut().for_each(|trial| {
            trial.drain(..3);
            trial.reverse();
        });
    }
    let found = family(5, Level::USUAL, &groups).unwrap();
    let seen: Vec<String> = found
        .pairs
        .iter()
        .map(|pair| format!("{} | {}: {} of {}", pair.one, pair.other, pair.difference.n, pair.difference.clusters))
        .collect();
    assert_eq!(
        seen,
        [
            "sim/a plain | sim/b plain: 36 of 12",
            "sim/a plain | sim/a plain/cast=tuned: 33 of 11",
            "sim/b plain | sim/b plain/cast=tuned: 33 of 11",
            "sim/a plain/cast=tuned | sim/b plain/cast=tuned: 33 of 11",
        ]
    );
    let whole = group("sim/a", "plain/cast=tuned", 0.0, 5);
    let sum_of = |group: &GroupResult| -> f64 {
        let tops = group.samples[0][0].iter().flat_map(|trial| &trial[3..]).map(|sample| match sample {
            Sample::Scored { top, .. } => *top,
            _ => 0.0,
        });
        tops.sum()
    };
    let expected = (sum_of(&groups[0]) - sum_of(&whole)) / 66.0;
    assert!((found.pairs[1].difference.value - expected).abs() < 1e-12);
}

#[test]
fn settings_about_other_items_are_no_pairs_and_nothing_is_corrected_for_them() {
    let mut groups: Vec<GroupResult> = ["plain", "other"].map(|setting| group("sim/a", setting, 0.0, 5)).into();
    groups.push(group("sim/b", "plain", 0.0, 5));
    groups[1].selected = (100..136).map(ItemIndex).collect();
    let found = family(5, Level::USUAL, &groups).unwrap();
    assert_eq!((found.size, found.pairs.len()), (1, 1));
    assert_eq!(found.pairs[0].p_holm, found.pairs[0].difference.p);
}

#[test]
fn of_too_many_models_each_is_compared_with_the_best_and_corrected_for_all() {
    let name = |at: usize| format!("sim/m{at:02}");
    let mut groups: Vec<GroupResult> = (0..65).map(|at| group(&name(at), "plain", 0.0, 8)).collect();
    groups[40].estimates[0].value = Some(0.9);
    let found = family(8, Level::USUAL, &groups).unwrap();
    assert!(found.with_best_only && found.size == 65 * 64 / 2 && found.pairs.len() == 64);
    assert!(found.pairs.iter().all(|pair| [&pair.one, &pair.other].iter().any(|of| of.model.model.as_str() == "m40")));
}

#[test]
fn of_models_that_lose_what_they_get_wrong_none_is_called_better() {
    let mut groups = vec![group("sim/a", "plain", 0.0, 11), group("sim/b", "plain", 0.0, 11)];
    // The first loses seven of eight of its wrong sessions.
    for (at, sample) in groups[0].samples[0][0].iter_mut().flatten().enumerate() {
        if *sample == (Sample::Scored { top: 0.0, bottom: 1.0 }) && at % 8 < 7 {
            *sample = Sample::Missing { weight: 1.0 };
        }
    }
    let found = family(11, Level::USUAL, &groups).unwrap();
    let pair = &found.pairs[0];
    let missing = pair.difference.missing.unwrap();
    assert!(missing.complete_p.unwrap() <= 0.05, "over what both have, it looks better: {:?}", pair.difference);
    assert_eq!(pair.order(Level::USUAL), None);
    assert!(pair.difference.low.unwrap() < 0.0 && missing.bound_low.unwrap() < missing.bound_high.unwrap());
}

#[test]
fn below_the_least_coverage_a_pair_claims_nothing_however_clear_it_is() {
    let mut groups = vec![group("sim/a", "plain", 2.0, 12), group("sim/b", "plain", -2.0, 12)];
    for trial in &mut groups[0].samples[0][0] {
        trial[..6].fill(Sample::Missing { weight: 1.0 });
    }
    let found = family(12, Level::USUAL, &groups).unwrap();
    let coverage = found.pairs[0].difference.missing.unwrap().coverage;
    assert!(found.pairs[0].order(Level::USUAL).is_some() && (coverage - 30.0 / 36.0).abs() < 1e-12);
    assert!(found.clone().withheld_below(0.8).pairs[0].order(Level::USUAL).is_some());
    assert_eq!(found.withheld_below(0.9).pairs[0].order(Level::USUAL), None);
}
