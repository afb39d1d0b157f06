//! The batch lane of a deployment: a batch that was handed in is found again and paid once, whatever dies meanwhile.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};

use regatta_tests::regatta::{Process, finish, get_json, regatta, workspace};
use regatta_tests::waiting::until;
use regatta_tests::{Deployment, unique_name};
use serde_json::Value;

/// Live, and by the batch.
const PRICE: &str =
    "{ input_per_mtok: 1, output_per_mtok: 2, variants: { batch: { input_per_mtok: 0.5, output_per_mtok: 1 } } }";

fn data() -> String {
    workspace().join("examples/data/worfbench").display().to_string()
}

/// An endpoint whose batches take `delay_ms`.
async fn simulate(delay_ms: u32) -> Process {
    let simulation = format!("{{ prices: {{ noisy-0.3: {PRICE} }}, batch: {{ delay_ms: {delay_ms} }} }}");
    let mut command = regatta().unwrap();
    let data = format!("worfbench={}", data());
    command.args(["simulate", "llm", "--listen", "127.0.0.1:0", "--data", &data, "--simulation", &simulation]);
    Process::start_and_read(command).await.unwrap()
}

/// A sweep at an endpoint of `kind`, with `lane`.
fn spec(folder: &Path, name: &str, kind: &str, server: &Process, lane: &str) -> PathBuf {
    let address = &server.first_line;
    let text = format!(
        "name: {name}\nseed: 3\ntrials: 2\nbenchmarks:\n  worfbench: {{ data: {}, settings: [two-shot], judge: judge/lexical }}\n\
         endpoints:\n  main: {{ kind: {kind}, base_url: '{address}', api_key_env: none, identify_sessions: true, {lane} }}\n  \
         judge: {{ kind: openai, base_url: '{address}', api_key_env: none }}\n\
         models:\n  - {{ id: main/noisy-0.3, max_tokens: 1024, price: {PRICE} }}\n",
        data()
    );
    let path = folder.join(format!("{name}.yaml"));
    std::fs::write(&path, text).unwrap();
    path
}

async fn counters(server: &Process) -> Value {
    get_json(&server.first_line.replace("/v1", "/simulator/counters")).await.unwrap()
}

fn read(directory: &Path, name: &str) -> String {
    std::fs::read_to_string(directory.join(name)).unwrap()
}

/// Contents of `results.jsonl` of the same sweep with the delivery mode `live`, in one process.
async fn live_results(folder: &Path, name: &str, kind: &str) -> String {
    let server = simulate(0).await;
    let (spec, directory) = (spec(folder, name, kind, &server, "lane: live"), folder.join("live"));
    let mut command = regatta().unwrap();
    command.arg("run").arg(spec).arg("--output").arg(&directory);
    let output = finish(command).await.unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    read(&directory, "results.jsonl")
}

async fn a_batch_outlives_every_process(kind: &str) {
    let deployment = Deployment::new().await.unwrap();
    // Long enough that all processes are killed before it ends.
    let server = simulate(8_000).await;
    // A claim of a worker that was killed stands for as long as a request may take.
    let lane = "lane: batch, batch: { gather_ms: 300, poll_ms: 200 }, timeouts: { total_ms: 20000 }";
    let name = unique_name("batch");
    let spec = spec(deployment.folder.path(), &name, kind, &server, lane);
    let mut processes = Vec::new();
    for role in ["coordinator", "scorer", "worker"] {
        processes.push(deployment.start(role).await.unwrap());
    }
    let id = deployment.submit(&spec).await.unwrap();
    let created = until("a batch that was handed in", async || {
        let counted = counters(&server).await;
        if counted["batches"]["created"] == 0 { Err(counted.to_string()) } else { Ok(()) }
    });
    created.await.unwrap();
    for process in processes.drain(..) {
        process.kill().await.unwrap();
    }
    assert_eq!(counters(&server).await["batches"]["answered"], 0, "it was still being worked on");
    for role in ["coordinator", "scorer", "worker", "worker"] {
        processes.push(deployment.start(role).await.unwrap());
    }
    let (code, directory) = deployment.finish(&id).await.unwrap();
    assert_eq!(code, Some(0));
    let results = read(&directory, "results.jsonl");
    assert_eq!(results, live_results(deployment.folder.path(), &name, kind).await);

    let counted = counters(&server).await;
    assert_eq!(counted["batches"]["answered"], results.lines().count(), "nothing was asked twice");
    let summary: Value = serde_json::from_str(&read(&directory, "summary.json")).unwrap();
    let billed = &counted["billed_nanodollars"]["noisy-0.3"]["delivered"];
    assert!(billed.as_u64().unwrap() > 0);
    assert_eq!(&summary["spending"]["cost"]["known"], billed, "at the price of batches, once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_of_openais_format_outlives_every_process() {
    a_batch_outlives_every_process("openai").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_of_anthropics_format_outlives_every_process() {
    a_batch_outlives_every_process("anthropic").await;
}
