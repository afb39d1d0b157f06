//! Sessions per second and CPU per session of the embedded pipeline, against a simulated endpoint without latency.
//!
//! `cargo bench -p regatta-tests --bench embedded [-- TRIALS]`. The whole process is measured from outside, because that is what a user
//! pays: HTTP, JSON, compression and a durable ledger included. The machine's noise is in the wall time; quote the CPU time.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement that cannot go on has failed; it prints its figures"
)]

use std::path::Path;

use regatta_tests::regatta::{Process, finish, regatta, workspace};

/// Items of the miniature data set, each of which is a session a trial.
const ITEMS: u32 = 35;

#[tokio::main]
async fn main() {
    let trials = std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(400);
    let folder = tempfile::tempdir().unwrap();
    let data = workspace().join("examples/data/worfbench");
    let mut simulate = regatta().unwrap();
    simulate
        .args(["simulate", "llm", "--listen", "127.0.0.1:0", "--data"])
        .arg(format!("worfbench={}", data.display()));
    let server = Process::start_and_read(simulate).await.unwrap();
    let apart = format!("kind: openai, base_url: '{}', api_key_env: none, identify_sessions: true", server.first_line);
    println!("{:<46} {:>9} {:>12} {:>14}", "", "sessions", "sessions/s", "CPU ms/session");
    measure("endpoint in a process of its own", &apart, trials, &data, folder.path()).await;
    measure("endpoint in the same process", "kind: simulated", trials, &data, folder.path()).await;
}

async fn measure(name: &str, endpoint: &str, trials: u32, data: &Path, folder: &Path) {
    let id = name.replace(' ', "-");
    let spec = folder.join(format!("{id}.yaml"));
    let text = format!(
        "name: {id}\ntrials: {trials}\nbenchmarks:\n  worfbench: {{ data: '{}', settings: [two-shot], judge: sim/lexical }}\n\
         endpoints:\n  sim: {{ {endpoint}, limits: {{ concurrency: 256 }} }}\nmodels: [sim/oracle]\n",
        data.display()
    );
    std::fs::write(&spec, text).unwrap();
    // The shell's own clock accounts for the finished child, threads included.
    let script = "TIMEFORMAT='%U %S %R'; time \"$0\" run \"$1\" --output \"$2\" >/dev/null 2>&1";
    let mut command = tokio::process::Command::new("bash");
    command.args(["-c", script]).arg(regatta().unwrap().as_std().get_program()).arg(&spec).arg(folder.join(&id));
    let output = finish(command).await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let times: Vec<f64> =
        String::from_utf8(output.stderr).unwrap().split_whitespace().map(|time| time.parse().unwrap()).collect();
    let sessions = f64::from(trials * ITEMS);
    println!("{name:<46} {sessions:>9} {:>12.0} {:>14.4}", sessions / times[2], 1e3 * (times[0] + times[1]) / sessions);
}
