//! A deployment as a platform team runs it: separate processes over real RabbitMQ, PostgreSQL and S3.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use regatta_tests::regatta::{Process, finish, free_address, regatta, workspace};
use regatta_tests::{S3Config, Services, unique_name};
use serde_json::Value;
use tokio::process::Command;

/// One deployment in a virtual host, a database and a bucket of its own.
struct Deployment {
    amqp_url: String,
    database_url: String,
    s3: S3Config,
    api: SocketAddr,
    folder: tempfile::TempDir,
}

impl Deployment {
    async fn new() -> Self {
        let services = Services::shared().await.unwrap();
        Self {
            amqp_url: services.create_vhost().await.unwrap(),
            database_url: services.create_database().await.unwrap(),
            s3: services.create_bucket().await.unwrap(),
            api: free_address().await.unwrap(),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// `regatta ROLE` with the deployment's variables.
    fn command(&self, role: &str) -> Command {
        let mut command = regatta().unwrap();
        command
            .arg(role)
            .env("AMQP_URL", &self.amqp_url)
            .env("DATABASE_URL", &self.database_url)
            .env("S3_ENDPOINT", &self.s3.endpoint_url)
            .env("REGATTA_BUCKET", &self.s3.bucket)
            .env("AWS_REGION", &self.s3.region)
            .env("AWS_ACCESS_KEY_ID", &self.s3.access_key)
            .env("AWS_SECRET_ACCESS_KEY", &self.s3.secret_key)
            .env("REGATTA_COORDINATOR", format!("http://{}", self.api))
            .env("REGATTA_DOUBTFUL_AFTER_S", "5");
        command
    }

    async fn start(&self, role: &str) -> Process {
        let address = if role == "coordinator" { self.api } else { free_address().await.unwrap() };
        let mut command = self.command(role);
        command.args(["--listen", &address.to_string()]);
        if role == "worker" {
            command.args(["--drain-s", "1"]);
        }
        Process::start_and_probe(command, address).await.unwrap()
    }

    async fn run(&self, arguments: &[&str]) -> Output {
        let mut command = self.command(arguments[0]);
        command.args(&arguments[1..]);
        finish(command).await.unwrap()
    }

    /// Submits `spec` and returns the sweep's id.
    async fn submit(&self, spec: &Path) -> String {
        let output = self.run(&["submit", spec.to_str().unwrap()]).await;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    async fn status(&self, sweep: &str) -> Value {
        let output = self.run(&["status", sweep, "--json"]).await;
        serde_json::from_slice(&output.stdout).unwrap_or(Value::Null)
    }

    /// Waits until at least `sessions` sessions of `sweep` are recorded.
    async fn wait_for(&self, sweep: &str, sessions: u64) {
        loop {
            let status = self.status(sweep).await;
            let cells = status["cells"].as_array().cloned().unwrap_or_default();
            if cells.iter().filter_map(|cell| cell["recorded"].as_u64()).sum::<u64>() >= sessions {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits for the sweep's end and fetches what it has left behind.
    async fn finish(&self, sweep: &str) -> (Option<i32>, PathBuf) {
        let watched = self.run(&["watch", sweep]).await;
        let directory = self.folder.path().join(sweep);
        let exported = self.run(&["export", sweep, "--output", directory.to_str().unwrap()]).await;
        assert!(exported.status.success(), "{}", String::from_utf8_lossy(&exported.stderr));
        (watched.status.code(), directory)
    }
}

/// A simulated endpoint and a spec that uses it.
async fn sweep(folder: &Path, name: &str, median_ms: u32) -> (Process, PathBuf) {
    let data = workspace().join("examples/data/worfbench");
    let mut simulate = regatta().unwrap();
    simulate.args(["simulate", "llm", "--listen", "127.0.0.1:0"]);
    simulate.args(["--data", &format!("worfbench={}", data.display())]);
    simulate.args(["--simulation", &format!("latency: {{ median_ms: {median_ms}, spread: 1.5 }}")]);
    let server = Process::start_and_read(simulate).await.unwrap();
    let spec = folder.join(format!("{name}.yaml"));
    let text = format!(
        "name: {name}\nseed: 5\ntrials: 3\nbenchmarks:\n  worfbench: {{ data: {}, settings: [two-shot, zero-shot], judge: sim/lexical }}\n\
         endpoints:\n  sim:\n    kind: openai\n    base_url: {}\n    api_key_env: none\n    identify_sessions: true\n    \
         limits: {{ concurrency: 8 }}\nmodels:\n  - {{ id: sim/oracle, price: {{ input_per_mtok: 1, output_per_mtok: 2 }} }}\n  \
         - {{ id: sim/noisy-0.3, price: {{ input_per_mtok: 1, output_per_mtok: 2 }} }}\n",
        data.display(),
        server.first_line
    );
    std::fs::write(&spec, text).unwrap();
    (server, spec)
}

/// What the same sweep gives in one process.
async fn embedded_results(folder: &Path, spec: &Path) -> String {
    let directory = folder.join("embedded");
    let mut command = regatta().unwrap();
    command.arg("run").arg(spec).arg("--output").arg(&directory);
    let output = finish(command).await.unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read_to_string(directory.join("results.jsonl")).unwrap()
}

fn read(directory: &Path, name: &str) -> String {
    std::fs::read_to_string(directory.join(name)).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_gives_the_same_bytes_as_one_process() {
    let deployment = Deployment::new().await;
    let (_server, spec) = sweep(deployment.folder.path(), &unique_name("same"), 5).await;
    let _coordinator = deployment.start("coordinator").await;
    let _roles = [deployment.start("worker").await, deployment.start("worker").await, deployment.start("scorer").await];
    let id = deployment.submit(&spec).await;
    let (code, directory) = deployment.finish(&id).await;
    assert_eq!(code, Some(0));
    let results = read(&directory, "results.jsonl");
    assert!(results.lines().count() >= 24 * 12);
    assert_eq!(results, embedded_results(deployment.folder.path(), &spec).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_workers_and_a_restarted_coordinator_change_no_result_and_their_attempts_are_kept() {
    let deployment = Deployment::new().await;
    let (_server, spec) = sweep(deployment.folder.path(), &unique_name("chaos"), 600).await;
    let coordinator = deployment.start("coordinator").await;
    let _scorer = deployment.start("scorer").await;
    let (killed, asked_to_leave) = (deployment.start("worker").await, deployment.start("worker").await);
    let id = deployment.submit(&spec).await;
    deployment.wait_for(&id, 30).await;
    killed.kill().await.unwrap();
    let _replacement = deployment.start("worker").await;
    deployment.wait_for(&id, 60).await;
    coordinator.kill().await.unwrap();
    assert_eq!(asked_to_leave.terminate().await.unwrap(), Some(0));
    let _coordinator = deployment.start("coordinator").await;
    let (code, directory) = deployment.finish(&id).await;
    assert_eq!(code, Some(0));
    assert_eq!(read(&directory, "results.jsonl"), embedded_results(deployment.folder.path(), &spec).await);

    let attempts: Vec<Value> =
        read(&directory, "attempts.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let lost: Vec<&Value> = attempts.iter().filter(|attempt| attempt["state"] == "lost").collect();
    assert!(!lost.is_empty(), "the killed worker had sessions running");
    for attempt in lost {
        assert!(attempt["at_most_nanodollars"].as_u64().is_some_and(|most| most > 0), "{attempt}");
    }
    let recorded = attempts.iter().filter(|attempt| attempt["state"] == "recorded").count();
    assert_eq!(
        recorded,
        read(&directory, "results.jsonl").lines().count(),
        "exactly one attempt counts for each session"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_sweep_stops_and_keeps_what_it_has() {
    let deployment = Deployment::new().await;
    let (_server, spec) = sweep(deployment.folder.path(), &unique_name("cancel"), 150).await;
    let _coordinator = deployment.start("coordinator").await;
    let _roles = [deployment.start("worker").await, deployment.start("scorer").await];
    let id = deployment.submit(&spec).await;
    deployment.wait_for(&id, 10).await;
    assert!(deployment.run(&["cancel", &id]).await.status.success());
    let watched = deployment.run(&["watch", &id]).await;
    assert_eq!(watched.status.code(), Some(4));
    let status = deployment.status(&id).await;
    assert_eq!(status["state"], "cancelled");
}
