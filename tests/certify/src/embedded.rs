//! A storm over one process: `regatta run` is killed at random moments and started again over the same directory.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::time::sleep;

use crate::certificate::SeedReport;
use crate::checks::check;
use crate::evidence::{Account, Evidence, Leftovers, Struck, attempts};
use crate::fleet::{plain, ports_of};
use crate::history::{ms, without_limit};
use crate::workload::{Part, RunBy, Workload};
use crate::{CertifyError, Fault, Options};

/// Time that a run gets before it is killed, in milliseconds. It begins with reading what the one before has left.
const LIFE_MS: std::ops::Range<u64> = 2_000..15_000;
/// Longest time of the last run, which nobody kills.
const PATIENCE: Duration = Duration::from_secs(1_800);

/// One storm over an embedded run.
pub(crate) async fn embedded(
    options: &Options,
    length: Duration,
    workload: &Workload,
    folder: &Path,
) -> Result<SeedReport, CertifyError> {
    let folder = folder.join("storm-embedded");
    std::fs::create_dir_all(&folder).map_err(CertifyError::file(&folder))?;
    let spec = workload.write_spec(&folder, "storm-embedded", Part::Live, RunBy::OneProcess)?;
    let directory = folder.join("run");
    let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
    let (begun, mut struck, mut endpoints_opened_ms) = (workload.endpoint.open_books(), Vec::new(), Vec::new());
    let status = loop {
        let log = folder.join(format!("run-{}.log", struck.len()));
        let log = std::fs::File::create(&log).map_err(CertifyError::file(&log))?;
        let mut command = plain(&options.binary);
        command.arg("run").arg(&spec).arg("--output").arg(&directory).stdout(Stdio::null()).stderr(log);
        let mut run = command.spawn().map_err(CertifyError::system("start a run"))?;
        endpoints_opened_ms.push(ms(begun));
        let is_last = begun.elapsed() >= length;
        let life = if is_last { PATIENCE } else { Duration::from_millis(rng.random_range(LIFE_MS)) };
        let ended = tokio::select! {
            ended = run.wait() => Some(ended.map_err(CertifyError::system("wait for a run"))?),
            () = sleep(life) => None,
        };
        if let Some(status) = ended {
            break status;
        }
        if is_last {
            return Err(CertifyError::Broken(format!(
                "the run has not ended {} s after the storm",
                PATIENCE.as_secs()
            )));
        }
        let at_ms = ms(begun);
        let Some(pid) = run.id() else { continue };
        // It does nothing any more while its connections are looked at.
        if let Some(pid) = Pid::from_raw(pid.cast_signed()) {
            kill_process(pid, Signal::STOP)
                .map_err(|error| CertifyError::Broken(format!("failed to stop a run: {error}")))?;
        }
        let in_flight = workload.endpoint.in_flight_of_stopped(&ports_of(pid)?, at_ms).await;
        run.kill().await.map_err(CertifyError::system("kill a run"))?;
        let target = "regatta run".to_owned();
        // The next one begins at once.
        let (ended_ms, recovered_after_ms) = (ms(begun), Some(0));
        let (fault, had_two_leaders) = (Fault::KillWorker, false);
        struck.push(Struck { fault, target, at_ms, ended_ms, recovered_after_ms, in_flight, had_two_leaders });
    };
    let took = begun.elapsed();
    let unreadable = || CertifyError::Broken(format!("{} cannot be read", directory.display()));
    let read = |name: &str| std::fs::read_to_string(directory.join(name)).map_err(|_| unreadable());
    let (results, told, summary) = (read("results.jsonl")?, read("attempts.jsonl")?, read("summary.json")?);
    let summary: Value = serde_json::from_str(&summary).map_err(|_| unreadable())?;
    let known = |judge: &Value| judge["cost"]["known"].as_u64();
    let judged_cost = summary["judges"].as_array().ok_or_else(unreadable)?.iter().filter_map(known).sum();
    let evidence = Evidence {
        state: if status.success() { "complete".to_owned() } else { format!("ended with {status}") },
        attempts: attempts(&told, &results).ok_or_else(unreadable)?,
        results,
        books: workload.endpoint.close_books().await?,
        judged_cost,
        accounts: vec![Account {
            part: Part::Live,
            sweep: "regatta run".to_owned(),
            counted: Some(summary["at_most"].as_u64().ok_or_else(unreadable)?),
            budget: workload.budget_dollars() * 1_000_000_000,
        }],
        requests_per_minute: workload.requests_per_minute().ok_or_else(without_limit)?,
        leftovers: Leftovers::default(),
        struck,
        endpoints_opened_ms,
        fallen: Vec::new(),
        // Each run begins with reading what the one before has left, and nobody looks at its ledger meanwhile.
        progress_ms: Vec::new(),
    };
    Ok(SeedReport::new(options.seed, took, &workload.live, &evidence, check(&workload.live, &evidence)))
}
