//! Limits and shares of a whole fleet, as the endpoint itself counts them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};

use regatta_tests::regatta::{Process, get_json, regatta, workspace};
use regatta_tests::waiting::until;
use regatta_tests::{Deployment, unique_name};
use serde_json::Value;

/// A simulated endpoint that counts a sliding minute itself, and one that judges.
struct Endpoints {
    main: Process,
    judge: Process,
}

impl Endpoints {
    async fn start(simulation: &str) -> Self {
        Self { main: simulate(simulation).await, judge: simulate("{}").await }
    }

    async fn counters(&self) -> Value {
        get_json(&self.main.first_line.replace("/v1", "/simulator/counters")).await.unwrap()
    }

    /// Waits until the endpoint has been in use for `seconds`.
    async fn in_use_for(&self, seconds: u64) -> Value {
        let used = until(format!("second {seconds} of an endpoint's use"), async || {
            let counters = self.counters().await;
            let last = counters["arrivals"].as_array().and_then(|all| all.last()?[0].as_u64());
            if last.is_some_and(|last| last >= seconds) { Ok(counters) } else { Err(format!("second {last:?}")) }
        });
        used.await.unwrap()
    }

    /// A spec of more sessions than the limits let through while the test looks.
    fn spec(&self, folder: &Path, name: &str, model: &str, limits: &str, more: &str) -> PathBuf {
        let data = workspace().join("examples/data/worfbench");
        let text = format!(
            "name: {name}\ntrials: 400\nbenchmarks:\n  worfbench: {{ data: {}, settings: [two-shot], judge: judge/lexical }}\nendpoints:\n  \
             main: {{ kind: openai, base_url: '{}', api_key_env: none, identify_sessions: true, limits: {limits} }}\n  \
             judge: {{ kind: openai, base_url: '{}', api_key_env: none }}\nmodels: [main/{model}]\n{more}",
            data.display(),
            self.main.first_line,
            self.judge.first_line,
        );
        let path = folder.join(format!("{name}.yaml"));
        std::fs::write(&path, text).unwrap();
        path
    }
}

async fn simulate(simulation: &str) -> Process {
    let mut command = regatta().unwrap();
    let data = format!("worfbench={}", workspace().join("examples/data/worfbench").display());
    command.args(["simulate", "llm", "--listen", "127.0.0.1:0", "--data", &data, "--simulation", simulation]);
    Process::start_and_read(command).await.unwrap()
}

/// Places in an entry of `arrivals`, which begins with its second.
const REQUESTS: usize = 1;
const TOKENS: usize = 2;

/// Least part of a limit that a fleet uses which has work for more: fast machines come close to all of it, and slow ones lose some, with
/// three deployments side by side. What is let through at most is exact everywhere.
const USED_MIN_PERCENT: u64 = 80;

/// Sum of `figure` (requests or tokens) over the seconds `from..to`.
fn arrived(arrivals: &Value, figure: usize, from: u64, to: u64) -> u64 {
    let within = |one: &&Value| one[0].as_u64().is_some_and(|second| (from..to).contains(&second));
    arrivals.as_array().unwrap().iter().filter(within).filter_map(|one| one[figure].as_u64()).sum()
}

/// Each takes two minutes of waiting, so they wait side by side.
#[tokio::test(flavor = "multi_thread")]
async fn a_fleet_keeps_to_the_limits_of_an_endpoint_uses_them_and_shares_them_fairly() {
    tokio::join!(
        four_workers_together_keep_to_a_limit_of_requests_and_use_it_also_when_one_of_them_is_killed(),
        four_workers_together_keep_to_a_limit_of_tokens_and_use_it(),
        two_sweeps_of_weights_1_and_3_get_a_quarter_and_three_quarters_of_an_endpoint(),
    );
}

async fn four_workers_together_keep_to_a_limit_of_requests_and_use_it_also_when_one_of_them_is_killed() {
    let deployment = Deployment::new().await.unwrap();
    let endpoints = Endpoints::start("{ requests_per_minute: 600, latency: { median_ms: 50 } }").await;
    let limits = "{ concurrency: 64, requests_per_minute: 600 }";
    let spec = endpoints.spec(deployment.folder.path(), &unique_name("rpm"), "oracle", limits, "");
    let _roles = [deployment.start("coordinator").await.unwrap(), deployment.start("scorer").await.unwrap()];
    let mut workers = Vec::new();
    for _ in 0..4 {
        workers.push(deployment.start("worker").await.unwrap());
    }
    deployment.submit(&spec).await.unwrap();
    endpoints.in_use_for(61).await;
    workers.remove(0).kill().await.unwrap();
    let counters = endpoints.in_use_for(121).await;
    assert_eq!(counters["faults"]["requests_per_minute"], 0, "{counters:#}");
    assert!(counters["busiest_minute"]["requests"].as_u64().unwrap() <= 600, "{counters:#}");
    let used = arrived(&counters["arrivals"], REQUESTS, 0, 120);
    assert!(used * 100 >= 2 * 600 * USED_MIN_PERCENT, "{used} of 1200 in two minutes");
}

async fn four_workers_together_keep_to_a_limit_of_tokens_and_use_it() {
    let deployment = Deployment::new().await.unwrap();
    let endpoints = Endpoints::start("{ tokens_per_minute: 240000, latency: { median_ms: 50 } }").await;
    let limits = "{ concurrency: 64, tokens_per_minute: 240000 }";
    let spec = endpoints.spec(deployment.folder.path(), &unique_name("tpm"), "oracle", limits, "");
    let _roles = [deployment.start("coordinator").await.unwrap(), deployment.start("scorer").await.unwrap()];
    let mut workers = Vec::new();
    for _ in 0..4 {
        workers.push(deployment.start("worker").await.unwrap());
    }
    deployment.submit(&spec).await.unwrap();
    let counters = endpoints.in_use_for(121).await;
    assert_eq!(counters["over_limit_after_first_minute"], 0, "{counters:#}");
    let used = arrived(&counters["arrivals"], TOKENS, 60, 120);
    assert!(used * 100 >= 240_000 * USED_MIN_PERCENT, "{used} of 240000 in the second minute");
}

async fn two_sweeps_of_weights_1_and_3_get_a_quarter_and_three_quarters_of_an_endpoint() {
    let deployment = Deployment::new().await.unwrap();
    let endpoints = Endpoints::start("{ requests_per_minute: 600, latency: { median_ms: 50 } }").await;
    let limits = "{ concurrency: 64, requests_per_minute: 600 }";
    let folder = deployment.folder.path();
    let light = endpoints.spec(folder, &unique_name("light"), "oracle", limits, "");
    let heavy = endpoints.spec(folder, &unique_name("heavy"), "noisy-0.1", limits, "share: { weight: 3 }\n");
    let _roles = [
        deployment.start("coordinator").await.unwrap(),
        deployment.start("scorer").await.unwrap(),
        deployment.start("worker").await.unwrap(),
        deployment.start("worker").await.unwrap(),
    ];
    deployment.submit(&light).await.unwrap();
    deployment.submit(&heavy).await.unwrap();
    let counters = endpoints.in_use_for(121).await;
    let of = |model: &str| arrived(&counters["arrivals_by_model"][model], REQUESTS, 60, 120);
    let (light, heavy) = (of("oracle"), of("noisy-0.1"));
    let share = light as f64 / (light + heavy) as f64;
    assert!((0.20..=0.30).contains(&share), "{light} and {heavy}");
}
