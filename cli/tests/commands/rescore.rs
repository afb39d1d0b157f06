//! Stored sessions are scored again, and no agent is asked.

use std::path::Path;

use serde_json::Value;

use super::{examples, json, regatta, said, text};

/// A run of WorFBench by one noisy model, scored by one evaluator and a judge that compares words.
pub(crate) fn run(folder: &Path, evaluators: &str) -> String {
    let data = examples().join("data/worfbench");
    let text = format!(
        "name: small
seed: 3
benchmarks:
  worfbench: {{ data: {}, settings: [zero-shot], limit: 8, evaluators: {evaluators}, judge: sim/lexical }}
endpoints:
  sim: {{ kind: simulated, simulation: {{ latency: {{ median_ms: 1, spread: 1.1 }} }} }}
models: [{{ id: sim/noisy-0.4, price: {{ input_per_mtok: 1, output_per_mtok: 2 }} }}]
",
        data.display()
    );
    let (spec, directory) = (folder.join("spec.yaml"), folder.join("run"));
    std::fs::write(&spec, text).expect("it can be written");
    let directory = directory.display().to_string();
    said(&["run", &spec.display().to_string(), "--output", &directory]);
    directory
}

/// Model, role and requests of every call to the simulated endpoint that a run made, which its attempts tell.
fn calls(directory: &Path) -> u64 {
    let attempts = std::fs::read_to_string(directory.join("attempts.jsonl")).expect("a file");
    attempts.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")["calls"].as_u64().unwrap_or(0)).sum()
}

fn scores(directory: &Path, evaluator: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(directory.join("results.jsonl")).expect("a file");
    text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")["scores"][evaluator].clone()).collect()
}

#[test]
fn an_evaluator_whose_verdicts_are_stored_asks_nobody_and_gives_the_same_scores() {
    let folder = tempfile::tempdir().expect("a folder");
    let old = run(folder.path(), "[official, paper]");
    let before = std::fs::read(Path::new(&old).join("results.jsonl")).expect("a file");
    // It asks for fewer similarities than both evaluators together, so that its questions are others.
    let (_, notes) = said(&["rescore", &old, "--evaluator", "paper"]);
    assert!(notes.contains("and nothing has to be asked"), "{notes}");
    let new = folder.path().join("run-rescored");
    assert_eq!(scores(&new, "paper"), scores(Path::new(&old), "paper"));
    assert!(scores(&new, "paper").iter().all(Value::is_object) && scores(&new, "official").iter().all(Value::is_null));
    assert_eq!(
        std::fs::read(Path::new(&old).join("results.jsonl")).expect("a file"),
        before,
        "the old run is as it was"
    );
    assert_eq!(calls(&new), calls(Path::new(&old)), "its sessions are the old ones");
    let judges = json(&new.join("summary.json"))["judging"].clone();
    assert_eq!(
        (&judges["usage"]["input"], &judges["cost"]["unknown_calls"]),
        (&0.into(), &0.into()),
        "nobody was asked"
    );
}

#[test]
fn another_evaluator_gives_what_a_run_with_it_gives_and_shows_what_changed() {
    let (one, both) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let expected = run(both.path(), "[official, paper]");
    let old = run(one.path(), "[official]");
    let (shown, _) = said(&["rescore", &old, "--evaluator", "paper", "--yes"]);
    let new = one.path().join("run-rescored");
    assert_eq!(scores(&new, "paper"), scores(Path::new(&expected), "paper"));
    assert_eq!(calls(&new), calls(Path::new(&old)), "no agent was asked");
    insta::assert_snapshot!(shown);
}

#[test]
fn another_judge_is_priced_and_asked_only_if_somebody_agrees() {
    let folder = tempfile::tempdir().expect("a folder");
    let old = run(folder.path(), "[official]");
    let spec = folder.path().join("judge.yaml");
    let data = examples().join("data/worfbench");
    let judge = format!(
        "name: judge
benchmarks:
  worfbench: {{ data: {}, judge: other/lexical, judge_price: {{ input_per_mtok: 1, output_per_mtok: 0 }} }}
endpoints:
  other: {{ kind: simulated }}
models: [other/lexical]
",
        data.display()
    );
    std::fs::write(&spec, judge).expect("it can be written");
    let spec = spec.display().to_string();
    let output = regatta(&["rescore", &old, "--spec", &spec]);
    let notes = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{notes}");
    assert!(notes.contains("questions are to be asked") && notes.contains("nothing was asked"), "{notes}");
    let new = folder.path().join("run-rescored");
    assert!(!new.exists(), "nothing is written before somebody agrees");
    let (shown, _) = said(&["rescore", &old, "--spec", &spec, "--budget", "1"]);
    assert!(shown.contains("no session's score changed"), "the same words are compared: {shown}");
    let judges = json(&new.join("summary.json"))["judges"].clone();
    assert!(judges[0]["judge"] == "other/lexical" && judges[0]["usage"]["input"].as_u64().unwrap_or(0) > 0, "{judges}");
}

/// A run of a declared benchmark whose metric has another name than the grade that it is the mean of.
pub(crate) fn graded(folder: &Path) -> String {
    let bench = folder.join("bench");
    std::fs::create_dir(&bench).expect("a folder");
    let items: String = (0..8).map(|at| format!("{{\"request\": \"Say it kindly, {at} times.\"}}\n")).collect();
    std::fs::write(bench.join("test.jsonl"), items).expect("it can be written");
    let benchmark = "v: 1
data: { test: test.jsonl }
prompt: { turns: [user: \"{{ request }}\"], sampling: { max_tokens: 50 } }
scorers: { polite: { judge: { rubric: Is the answer polite?, grades: { no: 0, yes: 1 } } } }
metrics: { manners: { mean: polite, unit: percent } }
simulate: { reply: Gladly. }
";
    std::fs::write(bench.join("benchmark.yaml"), benchmark).expect("it can be written");
    let text = format!(
        "name: graded\nbenchmarks: {{ polite: {{ data: {}, judge: sim/oracle }} }}\nendpoints: {{ sim: {{ kind: simulated }} }}\n\
         models: [sim/oracle]\n",
        bench.display()
    );
    let (spec, directory) = (folder.join("spec.yaml"), folder.join("run"));
    std::fs::write(&spec, text).expect("it can be written");
    let directory = directory.display().to_string();
    said(&["run", &spec.display().to_string(), "--output", &directory]);
    directory
}

#[test]
fn a_metric_with_another_name_than_its_value_changes_with_its_sessions() {
    let folder = tempfile::tempdir().expect("a folder");
    let old = graded(folder.path());
    let (shown, _) = said(&["rescore", &old, "--judge", "sim/noisy-1.0", "--yes"]);
    let rescored = json(&folder.path().join("run-rescored/rescored.json"));
    let [row] = rescored["rows"].as_array().expect("rows").as_slice() else { panic!("{rescored}") };
    assert_ne!(row["old"], row["new"], "{rescored}");
    let changes = rescored["changes"].as_array().expect("changes");
    assert_eq!(row["changed"], changes.len(), "{rescored}");
    assert!(!changes.is_empty() && changes.iter().all(|change| change["old"] != change["new"]), "{rescored}");
    assert!(!shown.contains("no session's score changed"), "{shown}");
}

#[test]
fn what_is_no_ended_run_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = regatta(&["rescore", &folder.path().display().to_string()]);
    assert_eq!(output.status.code(), Some(78));
    assert!(text(&output.stderr).contains("is not the directory of an embedded run"));
}
