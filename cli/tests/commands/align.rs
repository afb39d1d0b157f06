//! People's ratings as the audit of a judge.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{regatta, said, text};

const BENCHMARK: &str = "v: 1
data: { test: test.jsonl }
items: { id: id }
prompt: { turns: [user: \"{{ question }}\"], sampling: { temperature: 0, max_tokens: 50 } }
scorers: { correct: { exact: { gold: \"{{ answer }}\" } } }
metrics: { accuracy: { mean: correct, unit: percent } }
simulate: { reply: \"{{ answer }}\" }
";

/// A folder with an ended run of 100 items by a model that gets about half of them wrong, and `more` in its spec.
fn run(more: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let quiz = folder.path().join("quiz");
    std::fs::create_dir(&quiz).expect("a folder");
    let item = |at: usize| format!("{{\"id\": \"i{at:02}\", \"question\": \"{at}?\", \"answer\": \"{at}\"}}\n");
    std::fs::write(quiz.join("test.jsonl"), (0..100).map(item).collect::<String>()).expect("items");
    std::fs::write(quiz.join("benchmark.yaml"), BENCHMARK).expect("a benchmark");
    let spec = format!(
        "name: rated\nseed: 1\nbenchmarks: {{ quiz: {{ data: quiz }} }}\nendpoints: {{ sim: {{ kind: simulated }} }}\n\
         models: [sim/noisy-0.5{}]\n{more}",
        if more.is_empty() { "" } else { ", sim/oracle" }
    );
    let (file, run) = (folder.path().join("rated.yaml"), folder.path().join("run"));
    std::fs::write(&file, spec).expect("a spec");
    said(&["run", &file.display().to_string(), "--output", &run.display().to_string()]);
    (folder, run)
}

/// Ratings of every second session: people call every fifth one wrong, whatever the judge says.
fn ratings(run: &Path) -> PathBuf {
    let results = std::fs::read_to_string(run.join("results.jsonl")).expect("results");
    let rated = |(at, line): (usize, &str)| {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let judge = line["scores"]["declared"]["correct"].as_f64().expect("a score");
        let rating = if at.is_multiple_of(10) { 0.0 } else { judge };
        let of = |field: &str| line[field].clone();
        json!({
            "setting": of("setting"), "model": of("model"), "trial": of("trial"), "item": of("item"), "ratings": { "ann": rating },
        })
        .to_string()
    };
    let lines: Vec<String> = results.lines().enumerate().filter(|(at, _)| at.is_multiple_of(2)).map(rated).collect();
    let file = run.join("ratings.jsonl");
    std::fs::write(&file, lines.join("\n")).expect("ratings");
    file
}

#[test]
fn ratings_in_a_file_audit_the_judge_of_a_run() {
    let (_folder, run) = run("");
    let (at, file) = (run.display().to_string(), ratings(&run).display().to_string());
    let arguments = ["align", &at, "--ratings", &file, "--score", "correct", "--audit"];
    let (shown, notes) = said(&arguments);
    assert!(shown.starts_with("correct (declared), as people would have it\n"), "{shown}");
    assert!(shown.contains("sim/noisy-0.5") && shown.contains("50 of 100"), "{shown}");
    assert!(notes.contains("a random sample of those that the judge scored"), "{notes}");
    let (found, _) = said(&[&arguments[..], &["--json"]].concat());
    let found: Value = serde_json::from_str(&found).expect("JSON");
    let row = &found["rows"][0];
    let number = |value: &Value| value.as_f64().expect("a number");
    let audited = &row["audited"];
    assert!(number(&audited["bias"]["value"]) >= 0.0, "{row}");
    assert!(
        number(&audited["low"]) <= number(&audited["value"])
            && number(&audited["value"]) <= number(&row["judge"]) + 0.2
    );
    let width = |of: &Value| number(&of["high"]) - number(&of["low"]);
    assert!(width(audited) <= width(&audited["alone"]) + 1e-12, "{row}");
    assert_eq!((&row["rated"], &row["sessions"]), (&json!(50), &json!(100)));
}

#[test]
fn a_run_with_a_question_is_not_audited() {
    let (_folder, run) = run("decide: { question: best, margin: 10pp }\n");
    let (at, file) = (run.display().to_string(), ratings(&run).display().to_string());
    let output = regatta(&["align", &at, "--ratings", &file, "--score", "correct", "--audit"]);
    assert_eq!(output.status.code(), Some(78));
    assert!(text(&output.stderr).contains("is a run with a question (decide)"), "{}", text(&output.stderr));
}
