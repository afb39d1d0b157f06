//! Benchmarks with programs, in a deployment: whole folders reach every process by their digest, and roles run what their policies allow.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};

use regatta_tests::regatta::{Process, finish, regatta, skipped, workspace};
use regatta_tests::{Deployment, unique_name};
use serde_json::Value;

/// An interpreter that other users can run, too.
const PYTHON: &str = "/usr/bin/python3";

fn folder(name: &str) -> String {
    workspace().join("examples/benchmarks").join(name).display().to_string()
}

const NODE: &str = "/usr/bin/node";

/// The miniatures, each with the rest of its entry in a spec and its number of items in all its settings.
const MINIATURES: [(&str, &str, usize); 4] = [
    ("parcels", ", settings: [rules=short, rules=long], roles: { user: sim/oracle }", 2 * 8),
    ("library", "", 6),
    ("router", ", roles: { user: sim/oracle }", 6),
    ("anagrams", "", 8),
];

/// The miniatures whose interpreters are here.
fn miniatures() -> impl Iterator<Item = (&'static str, &'static str, usize)> {
    MINIATURES.into_iter().filter(|(name, ..)| *name != "anagrams" || Path::new(NODE).is_file())
}

/// The section of a policy that allows programs in Python and JavaScript. Root's roles run none as root.
fn allowing() -> String {
    let is_root = rustix::process::geteuid().is_root();
    let user = if is_root { ", user: '65534'" } else { "" };
    format!("{{ interpreters: {{ python3: {{ command: [{PYTHON}]{user} }}, node: {{ command: [{NODE}]{user} }} }} }}")
}

async fn simulate() -> Process {
    let mut simulate = regatta().unwrap();
    simulate.args(["simulate", "llm", "--listen", "127.0.0.1:0", "--simulation", "latency: { median_ms: 100 }"]);
    for (name, ..) in miniatures() {
        simulate.args(["--data", &format!("{name}={}", folder(name))]);
    }
    Process::start_and_read(simulate).await.unwrap()
}

fn spec(place: &Path, server: &Process) -> PathBuf {
    let mut text = format!("name: {}\nseed: 3\ntrials: 3\nbenchmarks:\n", unique_name("coded"));
    for (name, rest, _) in miniatures() {
        text.push_str(&format!("  {name}: {{ data: {}{rest} }}\n", folder(name)));
    }
    text.push_str(&format!(
        "endpoints:\n  sim: {{ kind: openai, base_url: '{}', api_key_env: none, identify_sessions: true, limits: {{ concurrency: 8 }} }}\n\
         models: [sim/oracle, sim/noisy-0.3]\n",
        server.first_line
    ));
    let path = place.join("coded.yaml");
    std::fs::write(&path, text).unwrap();
    path
}

fn results(directory: &Path) -> String {
    std::fs::read_to_string(directory.join("results.jsonl")).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_coded_benchmark_gives_the_same_bytes_in_a_deployment_also_when_a_worker_is_killed() {
    if !Path::new(PYTHON).is_file() {
        skipped("coded_deployed", &format!("there is no {PYTHON}; `apt-get install python3` brings it"));
        return;
    }
    let deployment = Deployment::new().await.unwrap().with_programs(allowing());
    let server = simulate().await;
    let spec = spec(deployment.folder.path(), &server);
    let _roles = [
        deployment.start("coordinator").await.unwrap(),
        deployment.start("scorer").await.unwrap(),
        deployment.start("worker").await.unwrap(),
    ];
    let killed = deployment.start("worker").await.unwrap();
    let id = deployment.submit(&spec).await.unwrap();
    deployment.wait_for(&id, 10).await.unwrap();
    killed.kill().await.unwrap();
    let (code, directory) = deployment.finish(&id).await.unwrap();
    assert_eq!(code, Some(0));
    let alone = deployment.folder.path().join("embedded");
    let mut command = regatta().unwrap();
    command.arg("run").arg(&spec).arg("--output").arg(&alone);
    let output = finish(command).await.unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(results(&directory), results(&alone));
    let lines: Vec<Value> = results(&directory).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let items: usize = miniatures().map(|(.., items)| items).sum();
    assert_eq!(lines.len(), 3 * 2 * items);
    for line in &lines {
        assert_eq!(line["outcome"], "measured", "{line}");
        let scores = &line["scores"]["declared"];
        let solved = scores["solved"].as_f64().or(scores["right"].as_f64()).unwrap();
        assert!(solved == 1.0 || line["model"] != "sim/oracle", "{line}");
    }
    for value in ["solved", "right"] {
        assert!(lines.iter().any(|line| line["scores"]["declared"][value] == 0.0), "{value}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_refuses_a_program_that_nobody_allowed_and_says_what_to_write() {
    let deployment = Deployment::new().await.unwrap();
    let server = simulate().await;
    let spec = spec(deployment.folder.path(), &server);
    let _coordinator = deployment.start("coordinator").await.unwrap();
    let refused = deployment.submit(&spec).await.unwrap_err().to_string();
    assert!(
        refused.contains("program: is not run here: have the operator of this role allow it under `coded`"),
        "{refused}"
    );
}
