//! A sweep whose judge is asked every question twice.

use insta::assert_snapshot;
use regatta_backends::SessionRow;
use regatta_proto::Judge;
use serde_json::{Value, json};

use super::harness::{all_measured, circumstances, lock, rows, sweep, text};
use crate::tabulation::{Documents, Tabulation};

/// The documents of a sweep of one model in two trials, whose scores the judge's first repeat gives `more` for, and the second as much less.
fn judged(judge: &str, more: f64) -> Documents {
    let mut lock = lock(&["sim/first"]);
    for benchmark in lock.benchmarks.values_mut() {
        benchmark.judge = Some(serde_json::from_str::<Judge>(judge).unwrap());
    }
    let sweep = sweep(lock);
    let mut tabulation = Tabulation::new(&sweep, &[]).unwrap();
    for cell in sweep.cells() {
        let with_repeats = |mut row: SessionRow| {
            let values = row.scores["official"]["values"].as_object().unwrap().clone();
            let repeat = |by: f64| -> Value {
                values.iter().map(|(name, value)| (name.clone(), json!(value.as_f64().unwrap() + by))).collect()
            };
            row.scores["official"]["repeats"] = json!([repeat(more), repeat(-more)]);
            row
        };
        let rows: Vec<SessionRow> = rows(&sweep, cell, &all_measured).into_iter().map(with_repeats).collect();
        tabulation.add(cell, &rows).unwrap();
    }
    tabulation.finish(&circumstances(regatta_proto::SweepState::Complete, Vec::new())).unwrap()
}

const TWICE: &str = r#"{"panel": ["sim/lexical"], "rule": "mean", "repeats": 2}"#;

#[test]
fn what_the_judge_adds_stands_beside_what_items_and_trials_do() {
    let documents = judged(TWICE, 0.1);
    let metrics: Value = serde_json::from_str(&text(&documents, "metrics.json")).unwrap();
    let whole = metrics["metrics"].as_array().unwrap().iter().find(|row| row["trial"].is_null()).unwrap();
    // Both trials of each of four items differ by the same 0.2 between repeats, whose variance is 0.02: 4 × (0.02 / 4²) / 2 repeats.
    let variance = whole["judge"]["variance"].as_f64().unwrap();
    assert!((variance - 0.0025).abs() < 1e-12, "{whole}");
    let report = text(&documents, "report.md");
    let from = report.find("Over new items, and over reruns of these").unwrap();
    assert_snapshot!(report[from..].lines().take(8).collect::<Vec<_>>().join("\n"));
}

#[test]
fn repeats_are_in_no_result() {
    assert!(!text(&judged(TWICE, 0.1), "results.jsonl").contains("repeats"));
}

#[test]
fn a_judge_that_is_asked_once_has_no_part() {
    let metrics: Value = serde_json::from_str(&text(&judged(r#""sim/lexical""#, 0.1), "metrics.json")).unwrap();
    assert!(metrics["metrics"].as_array().unwrap().iter().all(|row| row.get("judge").is_none()));
}
