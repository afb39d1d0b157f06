//! The official WorFBench data: what a perfect answer scores under the official evaluator, and that no item is lost.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use regatta_tests::regatta::{finish, regatta, shared, skipped, workspace};
use serde_json::Value;

/// Task, items, and the mean f1 of a verbatim copy of the gold: chain and graph, by the official evaluator with all-MiniLM-L6-v2.
/// The gold does not score 1 everywhere: long golds keep START and END, golds with many orders are cut off, repeated nodes tie.
const CEILING: [(&str, usize, f64, f64); 9] = [
    ("wikihow", 262, 0.9382, 0.9879),
    ("toolbench", 114, 0.9772, 0.9971),
    ("toolalpaca", 93, 0.9978, 1.0),
    ("lumos", 489, 0.9965, 0.9960),
    ("alfworld", 312, 0.9384, 0.9989),
    ("webshop", 133, 1.0, 1.0),
    ("os", 20, 1.0, 1.0),
    ("seal_tools", 223, 0.8962, 0.9942),
    ("intercodesql", 500, 0.9982, 1.0),
];

/// The local model directory, if it can be had.
async fn minilm() -> Option<PathBuf> {
    let output = tokio::process::Command::new(workspace().join("tests/fixtures/minilm.sh")).output().await.unwrap();
    let directory = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status.success() && !directory.is_empty()).then(|| PathBuf::from(directory))
}

#[tokio::test]
async fn the_oracle_scores_exactly_the_ceiling_on_the_tasks_that_encode_quickly() {
    let test = "the_oracle_scores_exactly_the_ceiling_on_the_tasks_that_encode_quickly";
    scores_the_ceiling(test, &["toolbench", "toolalpaca", "os"]).await;
}

#[tokio::test]
#[ignore = "minutes of encoding"]
async fn the_oracle_scores_exactly_the_ceiling_on_all_2146_items() {
    let all = CEILING.map(|(task, ..)| task);
    scores_the_ceiling("the_oracle_scores_exactly_the_ceiling_on_all_2146_items", &all).await;
}

async fn scores_the_ceiling(test: &str, tasks: &[&str]) {
    let Some(shared) = shared(test) else { return };
    let Some(minilm) = minilm().await else {
        skipped(test, "the MiniLM model cannot be had; set REGATTA_MINILM to its directory");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let data = format!("worfbench={}", shared.join("benchmarks/worfbench/data").display());
    // The answers of its other model are as many texts more to encode.
    let example = std::fs::read_to_string(workspace().join("examples/worfbench.yaml")).unwrap();
    let (of_the_oracle, others) = example.split_at(example.find("sim/oracle\n").unwrap() + "sim/oracle\n".len());
    assert_eq!(others.trim(), "- sim/noisy-0.3");
    let settings = "    settings: [zero-shot]\n";
    let chosen = of_the_oracle.replace(settings, &format!("{settings}    tasks: [{}]\n", tasks.join(", ")));
    let spec = folder.path().join("oracle.yaml");
    std::fs::write(&spec, chosen).unwrap();
    let run = folder.path().join("run");
    let mut command = regatta().unwrap();
    command.arg("run").arg(&spec).args(["--data", &data, "--output"]).arg(&run);
    command.env("REGATTA_MINILM", &minilm);
    let output = finish(command).await.unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));

    let results = std::fs::read_to_string(run.join("results.jsonl")).unwrap();
    let mut oracle: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for line in results.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["outcome"], "measured");
        let official = &line["scores"]["official"];
        let scores = (official["f1_chain"].as_f64().unwrap(), official["f1_graph"].as_f64().unwrap());
        oracle.entry(line["task"].as_str().unwrap().to_owned()).or_default().push(scores);
    }
    assert_eq!(oracle.keys().map(String::as_str).collect::<BTreeSet<_>>(), tasks.iter().copied().collect());
    for (task, items, chain, graph) in CEILING.iter().filter(|(task, ..)| tasks.contains(task)) {
        let scores = &oracle[*task];
        let mean = |of: fn(&(f64, f64)) -> f64| scores.iter().map(of).sum::<f64>() / scores.len() as f64;
        assert_eq!(scores.len(), *items, "{task}: every item is accounted for");
        assert!((mean(|score| score.0) - chain).abs() <= 5e-5, "{task}: chain {}", mean(|score| score.0));
        assert!((mean(|score| score.1) - graph).abs() <= 5e-5, "{task}: graph {}", mean(|score| score.1));
    }
}
