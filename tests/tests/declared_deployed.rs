//! Benchmarks that are declared in files, in a deployment: definition and data reach every process by their digest.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};

use regatta_tests::regatta::{Process, finish, regatta, workspace};
use regatta_tests::{Deployment, unique_name};
use serde_json::Value;

/// The miniatures, each with the settings that are run; empty for those that have one alone.
const MINIATURES: [(&str, &str); 5] = [
    ("arithmetic", "shots=0, shots=4"),
    ("knowledge", "style=letter/shots=3, style=reason/shots=0"),
    ("instructions", ""),
    ("functions", ""),
    ("pictures", "shots=0, shots=2"),
];

fn folder(name: &str) -> String {
    workspace().join("examples/benchmarks").join(name).display().to_string()
}

async fn simulate() -> Process {
    let mut simulate = regatta().unwrap();
    simulate.args(["simulate", "llm", "--listen", "127.0.0.1:0", "--simulation", "latency: { median_ms: 200 }"]);
    for (name, _) in MINIATURES {
        simulate.args(["--data", &format!("{name}={}", folder(name))]);
    }
    Process::start_and_read(simulate).await.unwrap()
}

fn spec(place: &Path, server: &Process) -> PathBuf {
    let mut text = format!("name: {}\nseed: 3\ntrials: 2\nbenchmarks:\n", unique_name("declared"));
    for (name, settings) in MINIATURES {
        text.push_str(&format!("  {name}: {{ data: {}, settings: [{settings}] }}\n", folder(name)));
    }
    text.push_str(&format!(
        "endpoints:\n  sim: {{ kind: openai, base_url: '{}', api_key_env: none, identify_sessions: true, limits: {{ concurrency: 16 }} }}\n\
         models: [sim/oracle, sim/noisy-0.3]\n",
        server.first_line
    ));
    let path = place.join("declared.yaml");
    std::fs::write(&path, text).unwrap();
    path
}

#[tokio::test(flavor = "multi_thread")]
async fn declared_benchmarks_give_the_same_bytes_in_a_deployment_also_when_a_worker_is_killed() {
    let deployment = Deployment::new().await.unwrap();
    let server = simulate().await;
    let spec = spec(deployment.folder.path(), &server);
    let _roles = [
        deployment.start("coordinator").await.unwrap(),
        deployment.start("scorer").await.unwrap(),
        deployment.start("worker").await.unwrap(),
    ];
    let killed = deployment.start("worker").await.unwrap();
    let id = deployment.submit(&spec).await.unwrap();
    deployment.wait_for(&id, 30).await.unwrap();
    killed.kill().await.unwrap();
    let (code, directory) = deployment.finish(&id).await.unwrap();
    assert_eq!(code, Some(0));
    let alone = deployment.folder.path().join("embedded");
    let mut command = regatta().unwrap();
    command.arg("run").arg(&spec).arg("--output").arg(&alone);
    let output = finish(command).await.unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let results = |directory: &Path| std::fs::read_to_string(directory.join("results.jsonl")).unwrap();
    assert_eq!(results(&directory), results(&alone));
    let lines: Vec<Value> = results(&directory).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2 * 2 * (12 * 2 + 12 * 2 + 10 + 6 + 8 * 2));
    for line in lines.iter().filter(|line| line["model"] == "sim/oracle") {
        assert_eq!(line["outcome"], "measured", "{line}");
        let scores = line["scores"]["declared"].as_object().unwrap();
        let right = ["correct", "accuracy", "strict"].iter().find_map(|name| scores.get(*name)?.as_f64());
        assert_eq!(right, Some(1.0), "{line}");
    }
}
