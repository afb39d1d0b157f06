//! One seed, from the start of a deployment to the evidence; and all seeds.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use regatta_tests::Services;
use tokio::time::{Instant, sleep};

use crate::certificate::{Certificate, SeedReport};
use crate::checks::check;
use crate::embedded::embedded;
use crate::evidence::{Evidence, Leftovers, Struck, attempts};
use crate::faults::{PUT_BACK, strike};
use crate::fleet::Fleet;
use crate::ledger::{LedgerView, SessionPlace, Standing};
use crate::plan::plan;
use crate::workload::{Part, RunBy, Workload};
use crate::{CertifyError, Fault, broker, storm};

/// Pause between two looks at the ledger.
const LOOK: Duration = Duration::from_millis(100);
/// Longest time from submission to the end.
const PATIENCE: Duration = Duration::from_secs(1_800);
/// Longest time in which late progress, and slots of those that are gone, may end: what is there afterwards is left over.
const SETTLE: Duration = Duration::from_secs(15);
/// Pause between two looks at what is left over.
const SETTLE_LOOK: Duration = Duration::from_millis(200);

/// Extent of a certification.
#[derive(Debug, Clone)]
pub struct Options {
    /// The program whose roles are hurt.
    pub binary: PathBuf,
    /// A folder with data of `worfbench`, `flowbench`, `autoslurp` and `appbench`.
    pub data: PathBuf,
    /// The first seed.
    pub seed: u64,
    /// Number of seeds, one after the other.
    pub seeds: u64,
    /// Faults of each seed.
    pub faults: usize,
    /// Kinds of faults to draw from.
    pub among: Vec<Fault>,
    /// Trials of every cell, which determine the length of a sweep.
    pub trials: u16,
    /// Time for which everything is killed at random moments, of a deployment and of one process, instead of seeds with faults.
    pub storm: Option<Duration>,
    /// Folder in which specs, logs and exports of seeds stay; `None` deletes them.
    pub keep: Option<PathBuf>,
}

/// Runs all seeds. `tell` hears of each as it ends.
///
/// # Errors
/// When the audit itself cannot be done.
pub async fn certify(options: &Options, mut tell: impl FnMut(&SeedReport)) -> Result<Certificate, CertifyError> {
    let scratch = tempfile::tempdir().map_err(CertifyError::system("make a folder"))?;
    let folder = options.keep.as_deref().unwrap_or(scratch.path());
    std::fs::create_dir_all(folder).map_err(CertifyError::file(folder))?;
    let services = Services::start().await?;
    let workload = Workload::start(&options.binary, &options.data, options.trials, folder).await?;
    let mut reports = Vec::new();
    if let Some(length) = options.storm {
        workload.endpoint.delay(storm::delay(&workload, length));
        reports.push(storm::deployed(options, length, &services, &workload, folder).await?);
        reports.push(embedded(options, length, &workload, folder).await?);
        reports.iter().for_each(tell);
        return Ok(Certificate::new(options, &workload, reports));
    }
    for seed in options.seed..options.seed.saturating_add(options.seeds) {
        let report = one_seed(seed, options, &services, &workload, folder).await?;
        tell(&report);
        reports.push(report);
    }
    Ok(Certificate::new(options, &workload, reports))
}

async fn one_seed(
    seed: u64,
    options: &Options,
    services: &Services,
    workload: &Workload,
    folder: &Path,
) -> Result<SeedReport, CertifyError> {
    let folder = folder.join(format!("seed-{seed}"));
    std::fs::create_dir_all(&folder).map_err(CertifyError::file(&folder))?;
    let mut fleet = Fleet::start(&options.binary, workload.agent.as_ref(), services, folder.clone()).await?;
    let sweeps = submit(&fleet, workload, &folder, &format!("certify-{seed}")).await?;
    let (begun, watch) = (Instant::now(), Watch::of(fleet.stores.database_url.clone()));

    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0x5eed);
    let mut struck: Vec<Struck> = Vec::new();
    for next in plan(seed, options.faults, &options.among) {
        let has_come = |standing: &Standing| standing.recorded * 1000 >= u64::from(next.at_permille) * standing.items;
        if watch.until(begun, |standing| has_come(standing) || is_over(standing)).await.is_none_or(|s| is_over(&s)) {
            break;
        }
        let at_ms = ms(begun);
        let done = strike(next.fault, &mut fleet, &workload.endpoint, &sweeps[0], &mut rng).await?;
        let ended_ms = ms(begun);
        let recovered_after_ms = match done.thrown_away.as_slice() {
            [] => watch.recovery(begun).await,
            places => watch.return_of(places, begun).await,
        };
        struck.push(Struck {
            fault: next.fault,
            target: done.target,
            at_ms,
            ended_ms,
            recovered_after_ms,
            in_flight: done.in_flight,
            had_two_leaders: done.had_two_leaders,
        });
    }
    let last_fault_ms = struck.last().map_or(0, |struck| struck.ended_ms);
    let end = watch.until(begun, is_over).await;
    let took = begun.elapsed();
    let evidence =
        collect(&mut fleet, workload, &folder, &sweeps, end, struck, watch.longest_silence(last_fault_ms)).await?;
    Ok(SeedReport::new(seed, took, &workload.both, &evidence, check(&workload.both, &evidence)))
}

/// Submits the workload; the ids of its sweeps.
pub(crate) async fn submit(
    fleet: &Fleet<'_>,
    workload: &Workload,
    folder: &Path,
    name: &str,
) -> Result<Vec<String>, CertifyError> {
    let mut sweeps = Vec::new();
    for part in Part::ALL {
        let spec = workload.write_spec(folder, &format!("{name}-{}", part.name()), part, RunBy::Deployment)?;
        let submitted = fleet.client(&["submit", &spec.to_string_lossy()]).await?;
        if !submitted.status.success() {
            return Err(CertifyError::Broken(String::from_utf8_lossy(&submitted.stderr).into_owned()));
        }
        sweeps.push(String::from_utf8_lossy(&submitted.stdout).trim().to_owned());
    }
    Ok(sweeps)
}

/// Gathers what the deployment and the others say once the sweeps are over. Nobody reaches the broker afterwards.
pub(crate) async fn collect(
    fleet: &mut Fleet<'_>,
    workload: &Workload,
    folder: &Path,
    sweeps: &[String],
    end: Option<Standing>,
    struck: Vec<Struck>,
    longest_silence_ms: u64,
) -> Result<Evidence, CertifyError> {
    let mut state = end.map_or("without an end".to_owned(), |standing| standing.state);
    let mut evidence = Evidence {
        budget: sweeps.len() as u64 * workload.budget_dollars() * 1_000_000_000,
        struck,
        longest_silence_ms,
        ..Evidence::default()
    };
    for sweep in sweeps {
        let output = folder.join(format!("export-{sweep}"));
        let exported = fleet.client(&["export", sweep, "--output", &output.to_string_lossy()]).await?;
        if !exported.status.success() {
            state.push_str(", and reports cannot be exported");
        }
        let read = |name: &str| std::fs::read_to_string(output.join(name)).unwrap_or_default();
        let (results, told) = (read("results.jsonl"), read("attempts.jsonl"));
        let unreadable = || CertifyError::Broken(format!("{} cannot be read", output.join("attempts.jsonl").display()));
        evidence.attempts.extend(attempts(&told, &results).ok_or_else(unreadable)?);
        evidence.results.push_str(&results);
        match account(fleet, sweep, &["spent", "maybe_spent", "reserved"]).await? {
            Some(counted) => evidence.account += counted,
            None => evidence.without_account.push(sweep.clone()),
        }
    }
    evidence.state = state;
    evidence.judged_cost = LedgerView::of(&fleet.stores.database_url).judged_cost().await?;
    evidence.books = workload.endpoint.close_books().await?;
    evidence.fallen = fleet.fallen();
    evidence.leftovers = leftovers(fleet, sweeps).await?;
    Ok(evidence)
}

/// Sum of these parts of a sweep's budget, in nano-dollars; nothing if it has no account.
async fn account(fleet: &Fleet<'_>, sweep: &str, parts: &[&str]) -> Result<Option<u64>, CertifyError> {
    let status = fleet.client(&["status", sweep, "--json"]).await?;
    let untold = || CertifyError::Broken(format!("the status of {sweep} does not tell its budget"));
    let status: serde_json::Value = serde_json::from_slice(&status.stdout).map_err(|_| untold())?;
    let Some(budget) = status["budget"].as_object() else { return Ok(None) };
    let part = |name: &&str| budget.get(*name).and_then(serde_json::Value::as_u64).ok_or_else(untold);
    parts.iter().map(part).sum::<Result<u64, _>>().map(Some)
}

/// The remains of sweeps after some seconds. At last nobody reaches the broker any more: what appears in queues then was taken, and not
/// acknowledged.
async fn leftovers(fleet: &Fleet<'_>, sweeps: &[String]) -> Result<Leftovers, CertifyError> {
    let (ledger, begun) = (LedgerView::of(&fleet.stores.database_url), Instant::now());
    let jobs = ledger.queues(sweeps).await?;
    let depths = async || -> Result<Vec<(String, u64)>, CertifyError> {
        let depths = broker::depths(&fleet.stores.broker_url, &jobs).await?;
        Ok(depths.into_iter().filter(|(_, depth)| *depth > 0).collect())
    };
    let mut left = loop {
        let mut left = ledger.leftovers().await?;
        for sweep in sweeps {
            // An account that is gone is a finding of its own.
            left.reserved += account(fleet, sweep, &["reserved"]).await?.unwrap_or(0);
        }
        left.checkpoints = fleet.checkpoints().await?;
        left.queues = depths().await?;
        if left.counts().is_empty() || begun.elapsed() > SETTLE {
            break left;
        }
        sleep(SETTLE_LOOK).await;
    };
    fleet.leave_broker();
    sleep(PUT_BACK).await;
    let mut put_back = depths().await?;
    put_back.retain(|of_queue| !left.queues.contains(of_queue));
    left.unacknowledged = put_back;
    Ok(left)
}

pub(crate) fn is_over(standing: &Standing) -> bool {
    matches!(standing.state.as_str(), "complete" | "incomplete" | "stopped_by_budget")
}

pub(crate) fn ms(since: Instant) -> u64 {
    since.elapsed().as_millis() as u64
}

/// Looks at the ledger all the time, also while faults are done.
pub(crate) struct Watch {
    database_url: String,
    seen: Arc<Mutex<Seen>>,
    task: tokio::task::JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Seen {
    standing: Option<Standing>,
    /// When more was recorded or settled than before, in milliseconds since the watch began.
    progress_ms: Vec<u64>,
}

impl Watch {
    pub(crate) fn of(database_url: String) -> Self {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let (watched, url) = (Arc::clone(&seen), database_url.clone());
        let task = tokio::spawn(async move {
            let begun = Instant::now();
            let ledger = LedgerView::of(&url);
            loop {
                if let Some(standing) = ledger.standing().await {
                    let mut seen = watched.lock().unwrap_or_else(PoisonError::into_inner);
                    let count = |standing: &Standing| (standing.recorded + standing.settled, is_over(standing));
                    if seen.standing.as_ref().map(count) != Some(count(&standing)) {
                        seen.progress_ms.push(ms(begun));
                    }
                    seen.standing = Some(standing);
                }
                sleep(LOOK).await;
            }
        });
        Self { database_url, seen, task }
    }

    pub(crate) fn standing(&self) -> Option<Standing> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).standing.clone()
    }

    /// The first standing of which `holds` is true; none when it takes too long.
    pub(crate) async fn until(&self, begun: Instant, holds: impl Fn(&Standing) -> bool) -> Option<Standing> {
        while begun.elapsed() < PATIENCE {
            if let Some(standing) = self.standing().filter(&holds) {
                return Some(standing);
            }
            sleep(LOOK / 2).await;
        }
        None
    }

    /// Milliseconds from now to the next progress, or to the end of the sweeps.
    pub(crate) async fn recovery(&self, begun: Instant) -> Option<u64> {
        let now = Instant::now();
        let count = || self.seen.lock().unwrap_or_else(PoisonError::into_inner).progress_ms.len();
        let before = count();
        while begun.elapsed() < PATIENCE {
            if count() > before || self.standing().as_ref().is_some_and(is_over) {
                return Some(ms(now));
            }
            sleep(LOOK / 2).await;
        }
        None
    }

    /// Milliseconds from now until each of these sessions is recorded.
    pub(crate) async fn return_of(&self, places: &[SessionPlace], begun: Instant) -> Option<u64> {
        let (now, ledger) = (Instant::now(), LedgerView::of(&self.database_url));
        while begun.elapsed() < PATIENCE {
            // Nobody answers while the database is away.
            if ledger.are_recorded(places).await.unwrap_or(false) {
                return Some(ms(now));
            }
            sleep(LOOK).await;
        }
        None
    }

    /// Longest time without progress after `since_ms`.
    pub(crate) fn longest_silence(&self, since_ms: u64) -> u64 {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let after: Vec<u64> =
            std::iter::once(since_ms).chain(seen.progress_ms.iter().copied().filter(|at| *at > since_ms)).collect();
        after.windows(2).map(|two| two[1] - two[0]).max().unwrap_or(0)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[cfg(test)]
mod tampered;
