//! Repricing of all calls that a run paid for.

use std::io::Write;
use std::path::Path;

use serde_json::Value;

use super::{examples, json, said};

/// Recorded costs in nano-dollars: all of them, and those of each purpose.
fn recorded(run: &Path) -> (u64, Vec<(String, u64)>) {
    let (shown, _) = said(&["reprice", &run.display().to_string(), "--json"]);
    let repriced: Value = serde_json::from_str(&shown).expect("JSON");
    let known = |of: &Value| of["recorded"]["known"].as_u64().expect("nano-dollars");
    let bills = repriced["models"].as_array().expect("bills").iter();
    let bills = bills.map(|bill| (bill["purpose"].as_str().unwrap_or("none").to_owned(), known(bill))).collect();
    (known(&repriced), bills)
}

#[test]
fn judges_and_attempts_that_were_lost_are_in_the_sums() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = examples().join("data/worfbench");
    let text = format!(
        "name: small
benchmarks:
  worfbench: {{ data: {}, settings: [zero-shot], limit: 5, judge: sim/lexical, judge_price: {{ input_per_mtok: 1, output_per_mtok: 0 }} }}
endpoints:
  sim: {{ kind: simulated, simulation: {{ latency: {{ median_ms: 1, spread: 1.1 }} }} }}
models: [{{ id: sim/oracle, price: {{ input_per_mtok: 1, output_per_mtok: 2 }} }}]
",
        data.display()
    );
    let (spec, run) = (folder.path().join("spec.yaml"), folder.path().join("run"));
    std::fs::write(&spec, text).expect("it can be written");
    said(&["run", &spec.display().to_string(), "--output", &run.display().to_string()]);
    let summary = json(&run.join("summary.json"));
    let known = |of: &str| summary[of]["cost"]["known"].as_u64().expect("nano-dollars");
    assert!(known("judging") > 0);
    let (all, bills) = recorded(&run);
    assert_eq!(all, known("spending") + known("judging"));
    assert!(bills.contains(&("judging".to_owned(), known("judging"))), "{bills:?}");

    // A worker died in the middle of a session that somebody else then ran: its transcript is gone with it.
    let mut attempts = std::fs::OpenOptions::new().append(true).open(run.join("attempts.jsonl")).expect("a file");
    let lost = r#"{"cell":0,"item":"x","state":"lost","started_at":"2026-02-10T12:00:00Z","usage":{"input":70,"output":5},"known_cost_nanodollars":80000,"unpriced_calls":0,"calls":1}"#;
    writeln!(attempts, "{lost}").expect("it can be written");
    let (with_lost, bills) = recorded(&run);
    assert_eq!(with_lost, all + 80_000);
    assert!(bills.contains(&("lost".to_owned(), 80_000)), "{bills:?}");
}
