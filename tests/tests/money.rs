//! Budgets that hold, books that agree with the provider's, sweeps that run again from the cache, and providers compared.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};
use std::process::Output;

use regatta_tests::regatta::{Process, finish, get_json, regatta, workspace};
use regatta_tests::{Deployment, unique_name};
use serde_json::Value;

const PRICE: &str = "{ input_per_mtok: 1, cached_input_per_mtok: 0.25, output_per_mtok: 2 }";

async fn simulate(simulation: &str) -> Process {
    let mut command = regatta().unwrap();
    let data = format!("worfbench={}", workspace().join("examples/data/worfbench").display());
    command.args(["simulate", "llm", "--listen", "127.0.0.1:0", "--data", &data, "--simulation", simulation]);
    Process::start_and_read(command).await.unwrap()
}

async fn run(arguments: &[&str]) -> Output {
    let mut command = regatta().unwrap();
    command.args(arguments);
    finish(command).await.unwrap()
}

fn read(directory: &Path, name: &str) -> String {
    std::fs::read_to_string(directory.join(name)).unwrap()
}

fn json(directory: &Path, name: &str) -> Value {
    serde_json::from_str(&read(directory, name)).unwrap()
}

fn lines(text: &str) -> impl Iterator<Item = Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap())
}

/// Sum of the costs of all calls in the transcripts of a run, in nanodollars.
fn cost_of_calls(directory: &Path) -> u64 {
    let mut sum = 0;
    for segment in directory.join("transcripts").read_dir().unwrap() {
        let bytes = std::fs::read(segment.unwrap().path()).unwrap();
        let text = String::from_utf8(zstd::decode_all(&bytes[..]).unwrap()).unwrap();
        for line in lines(&text) {
            let events = line["transcript"]["events"].as_array().unwrap();
            sum += events.iter().filter_map(|event| event["call"]["cost"].as_u64()).sum::<u64>();
        }
    }
    sum
}

fn budgeted_spec(folder: &Path, name: &str, address: &str, judge: &str) -> PathBuf {
    let data = workspace().join("examples/data/worfbench");
    let text = format!(
        "name: {name}\ntrials: 30\nbudget_usd: 0.25\nbenchmarks:\n  worfbench: {{ data: {}, settings: [two-shot], judge: judge/lexical, \
         judge_price: {{ input_per_mtok: 0, output_per_mtok: 0 }} }}\nendpoints:\n  \
         main: {{ kind: openai, base_url: '{address}', api_key_env: none, identify_sessions: true, limits: {{ concurrency: 200 }} }}\n  \
         judge: {{ kind: openai, base_url: '{judge}', api_key_env: none }}\nmodels:\n  \
         - {{ id: main/oracle, max_tokens: 300, price: {PRICE} }}\n",
        data.display()
    );
    let path = folder.join(format!("{name}.yaml"));
    std::fs::write(&path, text).unwrap();
    path
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_holds_over_four_workers_and_every_nano_dollar_is_where_the_provider_has_it() {
    let deployment = Deployment::new().await.unwrap();
    let simulation =
        format!("{{ prices: {{ oracle: {PRICE} }}, cached_fraction: 0.3, latency: {{ median_ms: 20, spread: 1.5 }} }}");
    let (server, judge) = (simulate(&simulation).await, simulate("{}").await);
    let spec = budgeted_spec(deployment.folder.path(), &unique_name("budget"), &server.first_line, &judge.first_line);
    let _roles = [deployment.start("coordinator").await.unwrap(), deployment.start("scorer").await.unwrap()];
    let mut workers = Vec::new();
    for _ in 0..4 {
        workers.push(deployment.start("worker").await.unwrap());
    }
    let billed = async || {
        let counters = get_json(&server.first_line.replace("/v1", "/simulator/counters")).await.unwrap();
        assert_eq!(counters["billed_nanodollars"]["oracle"]["lost"], 0, "{counters:#}");
        counters["billed_nanodollars"]["oracle"]["delivered"].as_u64().unwrap()
    };
    let id = deployment.submit(&spec).await.unwrap();
    let (code, stopped) = deployment.finish(&id).await.unwrap();
    assert_eq!(code, Some(3), "stopped by budget");
    let spent = billed().await;
    assert!(spent <= 250_000_000, "{spent} of a quarter of a dollar");
    assert!(spent >= 225_000_000, "{spent}: at least nine tenths are used");
    let known = |directory: &Path| json(directory, "summary.json")["spending"]["cost"]["known"].as_u64().unwrap();
    assert_eq!((known(&stopped), cost_of_calls(&stopped)), (spent, spent));

    let resumed = deployment.run(&["resume", &id, "--budget", "+50"]).await.unwrap();
    assert!(resumed.status.success(), "{}", String::from_utf8_lossy(&resumed.stderr));
    let (code, complete) = deployment.finish(&id).await.unwrap();
    assert_eq!(code, Some(0));
    let spent = billed().await;
    let sessions: u64 = lines(&read(&complete, "attempts.jsonl")).filter_map(|a| a["cost_nanodollars"].as_u64()).sum();
    assert_eq!((cost_of_calls(&complete), sessions, known(&complete)), (spent, spent, spent));
}

fn embedded_spec(folder: &Path, name: &str, endpoints: &str, models: &str) -> PathBuf {
    let data = workspace().join("examples/data/worfbench");
    let text = format!(
        "name: {name}\nseed: 11\ntrials: 2\nbenchmarks:\n  worfbench: {{ data: {}, settings: [two-shot], judge: judge/lexical }}\n\
         endpoints:\n  judge: {{ kind: simulated }}\n{endpoints}models: {models}\n",
        data.display()
    );
    let path = folder.join(format!("{name}.yaml"));
    std::fs::write(&path, text).unwrap();
    path
}

#[tokio::test]
async fn replaying_gives_the_same_results_with_nobody_to_ask() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (cache, first, again, missed) = (place("cache"), place("first"), place("again"), place("missed"));
    let server = simulate("{ latency: { median_ms: 2 } }").await;
    let endpoint = format!(
        "  main: {{ kind: openai, base_url: '{}', api_key_env: none, identify_sessions: true, retries: {{ attempts: 1 }} }}\n",
        server.first_line
    );
    let spec = embedded_spec(folder.path(), "kept", &endpoint, "[main/noisy-0.4]");
    let spec = spec.to_str().unwrap();
    let output = run(&["run", spec, "--cache", "read_write", "--cache-dir", &cache, "--output", &first]).await;
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    // Nobody listens any more.
    drop(server);
    let output = run(&["run", spec, "--cache", "replay", "--cache-dir", &cache, "--output", &again]).await;
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(read(Path::new(&first), "results.jsonl"), read(Path::new(&again), "results.jsonl"));
    let spending = &json(Path::new(&again), "summary.json")["spending"];
    assert_eq!((&spending["cost"]["known"], &spending["cost"]["unknown_calls"]), (&0.into(), &0.into()), "{spending}");

    let other = ["run", spec, "--cache", "replay", "--cache-dir", &cache, "--output", &missed, "--trials", "3"];
    let output = run(&other).await;
    assert_eq!(output.status.code(), Some(4), "{}", String::from_utf8_lossy(&output.stderr));
    let causes: Vec<Value> =
        lines(&read(Path::new(&missed), "results.jsonl")).map(|line| line["cause"].clone()).collect();
    let missing = causes.iter().filter(|cause| **cause == "cache_miss").count();
    assert_eq!(missing * 3, causes.len(), "only what was never asked is missing");
}

#[tokio::test]
async fn three_providers_of_one_model_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let mut servers = Vec::new();
    let mut endpoints = String::new();
    // Far enough apart that a busy machine cannot turn them round, and the slow one's first tokens far enough from its last ones.
    let latencies = [("fast", 50, 2, 0.0), ("slow", 500, 20, 0.0), ("shaky", 50, 2, 0.1)];
    for (name, median_ms, per_token_ms, errors) in latencies {
        let server = simulate(&format!(
            "{{ latency: {{ median_ms: {median_ms}, spread: 1.4, per_token_ms: {per_token_ms} }}, \
             faults: {{ server_error: {errors} }} }}"
        ))
        .await;
        endpoints += &format!(
            "  {name}: {{ kind: openai, base_url: '{}', api_key_env: none, identify_sessions: true, stream: true, \
             retries: {{ attempts: 12, base_delay_ms: 5, max_delay_ms: 20 }} }}\n",
            server.first_line
        );
        servers.push(server);
    }
    let models = "\n  - { id: fast/noisy-0.3, family: model-x, price: { input_per_mtok: 3, output_per_mtok: 15 } }\n  \
                  - { id: slow/noisy-0.1, family: model-x, price: { input_per_mtok: 1, output_per_mtok: 5 } }\n  \
                  - { id: shaky/noisy-0.6, family: model-x, price: { input_per_mtok: 0.2, output_per_mtok: 1 } }";
    let spec = embedded_spec(folder.path(), "providers", &endpoints, models);
    let directory = folder.path().join("run");
    let output = run(&["run", spec.to_str().unwrap(), "--output", directory.to_str().unwrap()]).await;
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let summary = json(&directory, "summary.json");
    let providers = summary["comparisons"][0]["providers"].as_array().unwrap();
    assert_eq!(providers.len(), 3, "{summary:#}");
    let [fast, slow, shaky] = [&providers[0], &providers[1], &providers[2]];
    let p50 = |provider: &Value, of: &str| provider[of]["p50"].as_f64().unwrap();
    assert!(p50(fast, "latency") < p50(slow, "latency"), "{fast:#} {slow:#}");
    assert!(p50(slow, "first_token") < p50(slow, "latency"), "{slow:#}");
    let cost = |provider: &Value| provider["cost_per_session"].as_u64().unwrap();
    assert!(cost(fast) > cost(slow) && cost(slow) > cost(shaky));
    assert!(shaky["errors"]["server"].as_u64().unwrap() > 0 && fast["errors"].as_object().unwrap().is_empty());
    let better = &slow["quality"][0]["difference"];
    assert!(better["low"].as_f64().unwrap() > 0.0, "less noise is better by more than chance: {better}");
    let html = read(&directory, "report.html");
    assert!(html.contains("Providers compared") && html.contains("class=\"plot\""));
}
