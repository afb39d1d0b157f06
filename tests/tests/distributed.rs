//! A deployment as a platform team runs it: separate processes over real RabbitMQ, PostgreSQL and S3.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use regatta_tests::referee::Referee;
use regatta_tests::regatta::{Process, finish, get_json, regatta, workspace};
use regatta_tests::waiting::in_time;
use regatta_tests::{Deployment, Proxy, Traffic, unique_name};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};

const MODELS: [&str; 2] = ["oracle", "noisy-0.3"];
const PRICE: &str = "{ input_per_mtok: 1, output_per_mtok: 2 }";

/// A simulated endpoint and a spec that uses it.
async fn sweep(folder: &Path, name: &str, median_ms: u32) -> (Process, PathBuf) {
    let server = simulate(median_ms).await;
    let spec = spec_at(&server.first_line, folder, name);
    (server, spec)
}

async fn simulate(median_ms: u32) -> Process {
    let data = workspace().join("examples/data/worfbench");
    let mut simulate = regatta().unwrap();
    simulate.args(["simulate", "llm", "--listen", "127.0.0.1:0"]);
    simulate.args(["--data", &format!("worfbench={}", data.display())]);
    let prices = format!("prices: {{ oracle: {PRICE}, noisy-0.3: {PRICE} }}");
    let latency = format!("latency: {{ median_ms: {median_ms}, spread: 1.5 }}");
    simulate.args(["--simulation", &format!("{{ {prices}, {latency} }}")]);
    Process::start_and_read(simulate).await.unwrap()
}

/// A spec that uses the endpoint at `base_url`.
fn spec_at(base_url: &str, folder: &Path, name: &str) -> PathBuf {
    let data = workspace().join("examples/data/worfbench");
    let spec = folder.join(format!("{name}.yaml"));
    let text = format!(
        "name: {name}\nseed: 5\ntrials: 3\nbenchmarks:\n  worfbench: {{ data: {}, settings: [two-shot, zero-shot], judge: sim/lexical }}\n\
         endpoints:\n  sim:\n    kind: openai\n    base_url: {base_url}\n    api_key_env: none\n    identify_sessions: true\n    \
         limits: {{ concurrency: 8 }}\nmodels:\n  - {{ id: sim/oracle, price: {PRICE} }}\n  - {{ id: sim/noisy-0.3, price: {PRICE} }}\n",
        data.display()
    );
    std::fs::write(&spec, text).unwrap();
    spec
}

/// Contents of `results.jsonl` of the same sweep in one process.
async fn embedded_results(folder: &Path, spec: &Path) -> String {
    let directory = folder.join("embedded");
    let mut command = regatta().unwrap();
    command.arg("run").arg(spec).arg("--output").arg(&directory);
    let output = finish(command).await.unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read_to_string(directory.join("results.jsonl")).unwrap()
}

async fn counters(server: &Process) -> Value {
    get_json(&server.first_line.replace("/v1", "/simulator/counters")).await.unwrap()
}

/// Calls of the models under test that the endpoint has answered.
async fn calls(server: &Process) -> u64 {
    let answered = &counters(server).await["answered"];
    MODELS.iter().filter_map(|model| answered[model].as_u64()).sum()
}

/// Bill of the endpoint for the models under test, in nano-dollars: for answers that arrived, and for others.
async fn billed(server: &Process) -> (u64, u64) {
    let billed = &counters(server).await["billed_nanodollars"];
    let sum = |part: &str| MODELS.iter().filter_map(|model| billed[model][part].as_u64()).sum();
    (sum("delivered"), sum("lost"))
}

fn read(directory: &Path, name: &str) -> String {
    std::fs::read_to_string(directory.join(name)).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_gives_the_same_bytes_as_one_process() {
    let deployment = Deployment::new().await.unwrap();
    let (_server, spec) = sweep(deployment.folder.path(), &unique_name("same"), 5).await;
    let _coordinator = deployment.start("coordinator").await.unwrap();
    let _roles = [
        deployment.start("worker").await.unwrap(),
        deployment.start("worker").await.unwrap(),
        deployment.start("scorer").await.unwrap(),
    ];
    let id = deployment.submit(&spec).await.unwrap();
    let (code, directory) = deployment.finish(&id).await.unwrap();
    assert_eq!(code, Some(0));
    let results = read(&directory, "results.jsonl");
    assert!(results.lines().count() >= 24 * 12);
    assert_eq!(results, embedded_results(deployment.folder.path(), &spec).await);

    // In the formats of others, a sweep by its name is what the files that were fetched are.
    let mut tables = Vec::new();
    for (run, name) in [(id.as_str(), "by-name"), (directory.to_str().unwrap(), "by-directory")] {
        let to = deployment.folder.path().join(name);
        let exported = deployment.run(&["export", run, "--output", to.to_str().unwrap(), "--format", "csv,otlp"]).await;
        let exported = exported.unwrap();
        assert!(exported.status.success(), "{}", String::from_utf8_lossy(&exported.stderr));
        tables.push(["sessions.csv", "attempts.csv", "calls.csv", "traces.jsonl"].map(|table| read(&to, table)));
    }
    assert_eq!(tables[0][0].lines().count(), results.lines().count() + 1);
    assert!(tables[0] == tables[1], "the two exports differ");
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_workers_and_a_restarted_coordinator_change_no_result_and_their_attempts_are_kept() {
    let deployment = Deployment::new().await.unwrap();
    let (_server, spec) = sweep(deployment.folder.path(), &unique_name("chaos"), 600).await;
    let coordinator = deployment.start("coordinator").await.unwrap();
    let _scorer = deployment.start("scorer").await.unwrap();
    let (killed, asked_to_leave) =
        (deployment.start("worker").await.unwrap(), deployment.start("worker").await.unwrap());
    let id = deployment.submit(&spec).await.unwrap();
    deployment.wait_for(&id, 30).await.unwrap();
    killed.kill().await.unwrap();
    let _replacement = deployment.start("worker").await.unwrap();
    deployment.wait_for(&id, 60).await.unwrap();
    coordinator.kill().await.unwrap();
    assert_eq!(asked_to_leave.terminate().await.unwrap(), Some(0));
    let _coordinator = deployment.start("coordinator").await.unwrap();
    let (code, directory) = deployment.finish(&id).await.unwrap();
    assert_eq!(code, Some(0));
    assert_eq!(read(&directory, "results.jsonl"), embedded_results(deployment.folder.path(), &spec).await);

    let attempts: Vec<Value> =
        read(&directory, "attempts.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let lost: Vec<&Value> = attempts.iter().filter(|attempt| attempt["state"] == "lost").collect();
    assert!(!lost.is_empty(), "the killed worker had sessions running");
    // Sessions that waited for their permits cost nothing; those whose call was sent may have.
    let at_most: Vec<u64> = lost.iter().map(|attempt| attempt["at_most_nanodollars"].as_u64().unwrap()).collect();
    assert!(at_most.iter().any(|most| *most > 0), "{lost:?}");
    let recorded = attempts.iter().filter(|attempt| attempt["state"] == "recorded").count();
    assert_eq!(
        recorded,
        read(&directory, "results.jsonl").lines().count(),
        "exactly one attempt counts for each session"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_sweep_stops_and_keeps_what_it_has() {
    let deployment = Deployment::new().await.unwrap();
    let referee = Referee::start(10, Duration::ZERO).await.unwrap();
    let spec = referee.spec(deployment.folder.path(), &unique_name("cancel"), 200, "").unwrap();
    let _coordinator = deployment.start("coordinator").await.unwrap();
    let _roles = [deployment.start("worker").await.unwrap(), deployment.start("scorer").await.unwrap()];
    let id = deployment.submit(&spec).await.unwrap();
    deployment.wait_for(&id, 10).await.unwrap();
    assert!(deployment.run(&["cancel", &id]).await.unwrap().status.success());
    referee.answer_after(Duration::from_secs(1));
    referee.answer_all();
    let watched = deployment.run(&["watch", &id]).await.unwrap();
    assert_eq!(watched.status.code(), Some(4));
    let status = deployment.status(&id).await.unwrap();
    assert_eq!(status["state"], "cancelled");
    assert!(referee.calls() < 200, "it stopped before it had paid for everything");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_coordinators_one_leads_and_when_it_is_killed_the_other_goes_on_without_a_call_made_twice() {
    let deployment = Deployment::new().await.unwrap();
    let (server, spec) = sweep(deployment.folder.path(), &unique_name("leaders"), 300).await;
    let leader = deployment.start_another_coordinator().await.unwrap();
    let _standby = deployment.start("coordinator").await.unwrap();
    let _roles = [
        deployment.start("worker").await.unwrap(),
        deployment.start("worker").await.unwrap(),
        deployment.start("scorer").await.unwrap(),
    ];
    let id = deployment.submit(&spec).await.unwrap();
    deployment.wait_for(&id, 30).await.unwrap();
    leader.kill().await.unwrap();
    let (code, directory) = deployment.finish(&id).await.unwrap();
    assert_eq!(code, Some(0));
    let results = read(&directory, "results.jsonl");
    assert_eq!(calls(&server).await, results.lines().count() as u64, "one call a session");
    assert_eq!(results, embedded_results(deployment.folder.path(), &spec).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_that_is_cancelled_and_resumed_at_once_makes_no_call_twice() {
    let deployment = Deployment::new().await.unwrap();
    let server = simulate(300).await;
    let (endpoint, base_url) = Proxy::before(&server.first_line).await.unwrap();
    let spec = spec_at(&base_url, deployment.folder.path(), &unique_name("regret"));
    let _coordinator = deployment.start("coordinator").await.unwrap();
    let _roles = [
        deployment.start("worker").await.unwrap(),
        deployment.start("worker").await.unwrap(),
        deployment.start("scorer").await.unwrap(),
    ];
    let id = deployment.submit(&spec).await.unwrap();
    deployment.wait_for(&id, 30).await.unwrap();
    // However long a command takes to start, the sweep goes on until it is cancelled.
    endpoint.set(Traffic::IsHeld);
    assert!(deployment.run(&["cancel", &id]).await.unwrap().status.success());
    endpoint.set(Traffic::Passes);
    deployment.resume(&id).await.unwrap();
    let (code, directory) = deployment.finish(&id).await.unwrap();
    assert_eq!(code, Some(0));
    let results = read(&directory, "results.jsonl");
    assert_eq!(calls(&server).await, results.lines().count() as u64, "one call a session");
    // The ledger, the export and the books agree to the nano-dollar on what was spent before and after.
    let (spent, lost) = billed(&server).await;
    assert_eq!(lost, 0);
    let summary: Value = serde_json::from_str(&read(&directory, "summary.json")).unwrap();
    let attempts = read(&directory, "attempts.jsonl");
    let attempts = attempts.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let told: u64 = attempts.filter_map(|attempt| attempt["cost_nanodollars"].as_u64()).sum();
    let status = deployment.status(&id).await.unwrap();
    assert_eq!(told, spent);
    assert_eq!(summary["spending"]["cost"]["known"], spent, "{summary:#}");
    assert_eq!(status["cost"]["known"]["known"], spent, "{status:#}");
    assert_eq!(results, embedded_results(deployment.folder.path(), &spec).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_follows_a_sweep_follows_it_over_a_coordinator_that_is_replaced() {
    let deployment = Deployment::new().await.unwrap();
    let referee = Referee::start(10, Duration::ZERO).await.unwrap();
    let spec = referee.spec(deployment.folder.path(), &unique_name("followed"), 100, "").unwrap();
    let coordinator = deployment.start("coordinator").await.unwrap();
    let _roles = [deployment.start("worker").await.unwrap(), deployment.start("scorer").await.unwrap()];
    let id = deployment.submit(&spec).await.unwrap();
    // As a job of a cluster does: submitting again is harmless.
    let mut command = deployment.command("submit").unwrap();
    let mut following = command.arg(&spec).arg("--watch").stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut said = BufReader::new(following.stderr.take().unwrap()).lines();
    let mut next_line = async || in_time("a line of who follows", said.next_line()).await.unwrap().unwrap();
    let submitted = next_line().await.unwrap();
    assert!(submitted.contains("was there already"), "{submitted}");
    // Who has heard of the sweep once asks again; the first line on its progress says so.
    next_line().await.unwrap();
    deployment.wait_for(&id, 10).await.unwrap();
    coordinator.kill().await.unwrap();
    while !next_line().await.unwrap().contains("the sweep goes on, asking again") {}
    let _next = deployment.start("coordinator").await.unwrap();
    referee.answer_all();
    let mut last = String::new();
    while let Some(line) = next_line().await {
        last = line;
    }
    assert_eq!(in_time("the end of who follows", following.wait()).await.unwrap().unwrap().code(), Some(0), "{last}");
    assert!(last.contains(&format!("regatta export {id}")), "{last}");
}
