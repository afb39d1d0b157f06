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

/// A recorded run: a score and a price for each item, in the order of the items' names.
struct System {
    name: String,
    scores: Vec<f64>,
    dollars: Vec<f64>,
}

/// Dollars for a million tokens of answers: list prices of DeepSeek's chat model, which the systems of that name were made for, and of gpt-4o for
/// the others.
const DEEPSEEK: f64 = 1.1;
const OTHERS: f64 = 10.0;
/// Usual number of characters of a token.
const CHARACTERS: f64 = 4.0;

impl System {
    /// The run of `case`, scored by the official evaluator. No usage was recorded: a session costs what its log would have cost as an answer.
    fn read(cases: &Path, case: &str) -> Self {
        let text = |file: &str| std::fs::read_to_string(cases.join(case).join(file)).unwrap();
        let price = if case.contains("deepseek") { DEEPSEEK } else { OTHERS };
        let dollars = |line: &str| {
            let line: Value = serde_json::from_str(line).unwrap();
            let characters = line["log"].as_str().unwrap().chars().count();
            (line["item"].to_string(), characters as f64 / CHARACTERS * price / 1e6)
        };
        let dollars: BTreeMap<String, f64> = text("predictions.jsonl").lines().map(dollars).collect();
        let expected: Value = serde_json::from_str(&text("expected.json")).unwrap();
        let items: BTreeMap<&String, &Value> = expected["items"].as_object().unwrap().iter().collect();
        Self {
            name: case.to_owned(),
            scores: items.values().map(|item| f64::from(u8::from(item["counted_as"] == "right"))).collect(),
            dollars: items.keys().map(|item| dollars[*item]).collect(),
        }
    }

    /// Every system whose run of the hundred test items was recorded.
    fn all(cases: &Path) -> Vec<Self> {
        let names = std::fs::read_dir(cases).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        // The structured evaluator scores one of these runs once more.
        let mut names: Vec<String> =
            names.filter(|name| name.contains("test100") && !name.starts_with("structured")).collect();
        names.sort_unstable();
        names.iter().map(|name| Self::read(cases, name)).collect()
    }

    /// Price of its sessions on the first `count` items of `order`.
    fn cost(&self, order: &[usize], count: u64) -> f64 {
        order.iter().take(count as usize).map(|at| self.dollars[*at]).sum()
    }
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
    let systems = System::all(&cases);
    let items = 100;
    assert!(systems.len() > 2 && systems.iter().all(|of| of.scores.len() == items), "{}", systems.len());
    let shown = |one: usize| systems[one].scores.iter().sum::<f64>() / items as f64;
    let best = (0..systems.len()).map(shown).fold(0.0, f64::max);
    let are_best: Vec<&str> =
        (0..systems.len()).filter(|one| shown(*one) == best).map(|one| systems[one].name.as_str()).collect();
    let all = (systems.len() * items) as u64;
    let dollars_of_all: f64 = systems.iter().flat_map(|system| &system.dollars).sum();
    for margin in [0.1, 0.05] {
        let contest = Contest { margin, over: Over::Grid, ..contest(systems.len(), vec![1; items], Question::Best) };
        let (mut wrong, mut sessions, mut dollars) = (0, Vec::new(), Vec::new());
        let mut winners: BTreeMap<&str, u64> = BTreeMap::new();
        for seed in 0..ORDERS {
            let order = shuffled(items, seed);
            let in_order = |of: &System| vec![order.iter().map(|at| UnitScore::exact(of.scores[*at])).collect()];
            let grid: Scores = systems.iter().map(in_order).collect();
            let played = play(&contest, &grid);
            assert_eq!(played.path.state, State::Decided, "the whole grid decides everything");
            let winner = played.path.winner.unwrap();
            wrong += usize::from(shown(winner) < best - margin - 1e-9);
            *winners.entry(&systems[winner].name).or_default() += 1;
            sessions.push(played.sessions.iter().sum::<u64>());
            let bought = systems.iter().zip(&played.sessions);
            dollars.push(bought.map(|(system, count)| system.cost(&order, *count)).sum::<f64>());
        }
        sessions.sort_unstable();
        dollars.sort_by(f64::total_cmp);
        let (median, most) = (sessions[sessions.len() / 2], sessions[sessions.len() - 1]);
        let (dollars_median, dollars_most) = (dollars[dollars.len() / 2], dollars[dollars.len() - 1]);
        println!(
            "best of {} systems within {margin}
  as a whole: {all} sessions, ${dollars_of_all:.2}: {} with {:.1} % right
  in rounds:  {median} sessions in the median of {ORDERS} orders, {most} at most; ${dollars_median:.2}, ${dollars_most:.2} at most; {wrong} wrong: {winners:?}",
            systems.len(),
            are_best.join(", "),
            100.0 * best
        );
        assert!(wrong < WRONG_MAX, "{margin}: {wrong} of {ORDERS}");
        assert!(median < all && most <= all, "{margin}: {median} and {most} of {all}");
        assert!(
            dollars_median < dollars_of_all && dollars_most <= dollars_of_all + 1e-9,
            "{margin}: {dollars_median} and {dollars_most} of {dollars_of_all}"
        );
    }
}
