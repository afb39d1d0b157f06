//! Recorded runs of several systems on the same items: bought in rounds and as a whole.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use regatta_deciding::simulation::{Draws, play};
use regatta_deciding::{Contest, Over, Question, Scores, State, UnitScore};
use serde_json::Value;

use crate::contest;

/// Orders in which the items are bought.
const ORDERS: u64 = 40;
/// Most wrong answers of forty: if each is wrong with probability 0.05, 7 or more are with a probability of 0.003.
const WRONG_MAX: usize = 7;

/// Folder of the golden cases of AutoSLURP, where it is at hand.
fn cases() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let shared = std::env::var_os("REGATTA_SHARED").map_or(beside, PathBuf::from);
    let cases = shared.join("benchmarks/autoslurp/golden");
    cases.is_dir().then_some(cases)
}

/// Scores of the official evaluator in a case, in the order of the items' names.
fn scores(case: &Path) -> Vec<f64> {
    let text = std::fs::read_to_string(case.join("expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    let items: BTreeMap<&String, &Value> = expected["items"].as_object().unwrap().iter().collect();
    items.values().map(|item| f64::from(u8::from(item["counted_as"] == "right"))).collect()
}

/// The scores of every system whose run of the hundred test items was recorded.
fn systems(cases: &Path) -> Vec<Vec<f64>> {
    let names = std::fs::read_dir(cases).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    // The structured evaluator scores one of these runs once more.
    let mut names: Vec<String> =
        names.filter(|name| name.contains("test100") && !name.starts_with("structured")).collect();
    names.sort_unstable();
    names.iter().map(|name| scores(&cases.join(name))).collect()
}

fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    let mut draws = Draws::new(seed);
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, (draws.uniform() * (last + 1) as f64) as usize);
    }
    order
}

#[test]
fn of_recorded_systems_rounds_find_one_that_all_sessions_show_to_be_the_best_within_the_margin() {
    let Some(cases) = cases() else {
        let why = "the official benchmark data is not there; set REGATTA_SHARED to it";
        assert!(std::env::var_os("REGATTA_TEST_ALL").is_none_or(|value| value.is_empty()), "{why}");
        eprintln!("skipped: recorded systems: {why}");
        return;
    };
    let systems = systems(&cases);
    let items = 100;
    assert!(systems.len() > 2 && systems.iter().all(|of| of.len() == items), "{}", systems.len());
    let shown = |one: usize| systems[one].iter().sum::<f64>() / items as f64;
    let best = (0..systems.len()).map(shown).fold(0.0, f64::max);
    let all = (systems.len() * items) as u64;
    for margin in [0.1, 0.05] {
        let contest = Contest { margin, over: Over::Grid, ..contest(systems.len(), vec![1; items], Question::Best) };
        let (mut wrong, mut sessions) = (0, Vec::new());
        for seed in 0..ORDERS {
            let order = shuffled(items, seed);
            let in_order = |of: &Vec<f64>| vec![order.iter().map(|at| UnitScore::exact(of[*at])).collect()];
            let grid: Scores = systems.iter().map(in_order).collect();
            let played = play(&contest, &grid);
            assert_eq!(played.path.state, State::Decided, "the whole grid decides everything");
            wrong += usize::from(shown(played.path.winner.unwrap()) < best - margin - 1e-9);
            sessions.push(played.sessions.iter().sum::<u64>());
        }
        sessions.sort_unstable();
        let (median, most) = (sessions[sessions.len() / 2], sessions[sessions.len() - 1]);
        println!(
            "best of {} systems within {margin}: {all} sessions as a whole; in rounds {median} in the median of {ORDERS} orders, {most} at \
             most, {wrong} wrong",
            systems.len()
        );
        assert!(wrong < WRONG_MAX, "{margin}: {wrong} of {ORDERS}");
        assert!(median < all && most <= all, "{margin}: {median} and {most} of {all}");
    }
}
