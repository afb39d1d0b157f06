//! A sweep of two benchmarks, each with tables of its own.

use insta::assert_snapshot;

use regatta_proto::{Cell, Evaluator};

use super::harness::{
    all_measured, documents, lock, some_trouble, summary, sweep_of_both, sweep_of_locked, text, with_dialogues,
};
use crate::tabulation::Documents;
use crate::{USUAL_WIDTH, render_tables};

const MODELS: [&str; 2] = ["sim/first", "sim/second"];

fn after_trouble() -> Documents {
    let only_in_dialogues = |cell: &Cell, at: usize| match cell.benchmark.as_str() {
        "dialogues" => some_trouble(cell, at),
        _ => all_measured(cell, at),
    };
    documents(&sweep_of_both(lock(&MODELS)), &only_in_dialogues)
}

#[test]
fn the_tables_of_both_papers_stand_in_one_report() {
    let report = text(&after_trouble(), "report.md");
    let from = report.find("## Ranking").unwrap();
    let to = report.find("## Cost").unwrap();
    assert_snapshot!(&report[from..to]);
}

#[test]
fn the_leaderboard_shows_tables_and_leaves_pictures_to_the_report() {
    let shown = render_tables(&summary(&after_trouble()), USUAL_WIDTH);
    assert!(!shown.contains("Figure 4"));
    assert_snapshot!(shown);
}

#[test]
fn every_table_is_a_file() {
    let documents = after_trouble();
    let mut names: Vec<&str> = documents.files.iter().map(|(name, _)| name.as_str()).collect();
    names.retain(|name| name.starts_with("table-"));
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "table-dialogues-figure-4-official-fixed.csv",
            "table-dialogues-table-3-official-fixed.csv",
            "table-worfbench-main-two-shot-official.csv",
        ]
    );
    assert_snapshot!(text(&documents, "table-dialogues-table-3-official-fixed.csv"));
}

/// Failures have scores under every evaluator, so that an aggregate of theirs would be one of nothing but failures.
#[test]
fn an_evaluator_that_measures_nothing_in_a_setting_has_no_aggregate_of_it() {
    let mut lock = with_dialogues(lock(&MODELS));
    let dialogues = lock.benchmarks.get_mut(&"dialogues".parse().unwrap()).unwrap();
    dialogues.evaluators = vec![Evaluator::OfficialFixed, Evaluator::Exec];
    let documents = documents(&sweep_of_locked(lock), &all_measured);
    let metrics: serde_json::Value = serde_json::from_str(&text(&documents, "metrics.json")).unwrap();
    let of_dialogues = metrics["aggregates"].as_array().unwrap().iter().filter(|row| row["benchmark"] == "dialogues");
    let evaluators: Vec<&str> = of_dialogues.map(|row| row["evaluator"].as_str().unwrap()).collect();
    // Of two models, over all trials and of each.
    assert_eq!(evaluators, ["official_fixed"; 6]);
}

#[test]
fn tables_and_parts_are_in_the_metrics_of_the_sweep() {
    let metrics: serde_json::Value = serde_json::from_str(&text(&after_trouble(), "metrics.json")).unwrap();
    let tables = metrics["tables"].as_array().unwrap();
    assert_eq!(tables.len(), 3);
    assert_eq!(tables[0]["rows"][0]["entries"][0]["published"], 0.834);
    let of_part = metrics["metrics"].as_array().unwrap().iter().filter(|row| row["part"] == "first conversation");
    // Four metrics of two models.
    assert_eq!(of_part.count(), 8);
}

#[test]
fn a_benchmark_aggregates_each_trial_and_all_of_them_together() {
    let metrics: serde_json::Value = serde_json::from_str(&text(&after_trouble(), "metrics.json")).unwrap();
    let aggregates = metrics["aggregates"].as_array().unwrap();
    let of_second = aggregates.iter().filter(|row| row["benchmark"] == "dialogues" && row["model"] == "sim/second");
    let found: Vec<(Option<u64>, String)> =
        of_second.map(|row| (row["trial"].as_u64(), row["aggregate"]["trials"].to_string())).collect();
    let sizes: Vec<String> = found[1..].iter().map(|(_, size)| size.trim_matches(['[', ']']).to_owned()).collect();
    let trials: Vec<Option<u64>> = found.iter().map(|(trial, _)| *trial).collect();
    assert_eq!((trials, &found[0].1), (vec![None, Some(0), Some(1)], &format!("[{}]", sizes.join(","))));
    assert!(aggregates.iter().all(|row| row["aggregate"]["has_details"] != true || !row["trial"].is_null()));
}

#[test]
fn fewer_turns_are_better_and_guesses_that_nobody_knows_have_bounds() {
    let found = summary(&after_trouble());
    let second = found.rows.iter().find(|row| row.benchmark.as_str() == "dialogues" && row.coverage < 1.0).unwrap();
    let of = |name: &str| second.metrics.iter().find(|metric| metric.metric == name).unwrap().estimate;
    let precision = of("precision");
    assert!(
        precision.bound_low.unwrap() < precision.value.unwrap() && precision.value < precision.bound_high,
        "{precision:?}"
    );
    let recall = of("recall");
    assert!(recall.bound_low.unwrap() < recall.value.unwrap() && recall.value.unwrap() < recall.bound_high.unwrap());
    // Six turns in three conversations.
    assert_eq!((recall.n, recall.clusters, recall.total), (6, 3, 12));
    assert_eq!(second.metrics.iter().filter(|metric| metric.of_sums).count(), 3);
}

#[test]
fn a_picture_is_drawn_where_there_can_be_one() {
    let html = text(&documents(&sweep_of_both(lock(&MODELS)), &all_measured), "report.html");
    assert_eq!(html.matches("class=\"plot bars\"").count(), 1);
    assert!(html.contains("published"));
}
