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
use crate::endpoint::Endpoint;
use crate::evidence::{Account, Evidence, Leftovers, Struck, attempts};
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
/// Time that a live sweep takes undisturbed: more than the minute of its limit.
const LENGTH: Duration = Duration::from_secs(75);
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
    let length = options.storm.map_or(LENGTH, storm::undisturbed);
    let workload = Workload::start(&options.binary, &options.data, options.trials, length, folder).await?;
    let mut reports = Vec::new();
    if let Some(length) = options.storm {
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
    let begun = workload.endpoint.open_books();
    let sweeps = submit(&fleet, workload, &folder, &format!("certify-{seed}")).await?;
    let watch = Watch::of(fleet.stores.database_url.clone(), begun);

    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0x5eed);
    let mut struck: Vec<Struck> = Vec::new();
    for next in plan(seed, options.faults, &options.among) {
        let has_come = |standing: &Standing| standing.recorded * 1000 >= u64::from(next.at_permille) * standing.items;
        if watch.until(|standing| has_come(standing) || is_over(standing)).await.is_none_or(|s| is_over(&s)) {
            break;
        }
        let (met, at_ms) = (workload.endpoint.waiting(), ms(begun));
        let done = strike(next.fault, &mut fleet, &workload.endpoint, &sweeps[0], &mut rng).await?;
        let ended_ms = ms(begun);
        let recovered_after_ms = match done.thrown_away.as_slice() {
            [] => watch.recovery(met.into_iter().chain(done.sessions()), ended_ms, &workload.endpoint).await,
            places => watch.return_of(places, ended_ms).await,
        };
        struck.push(done.struck(next.fault, (at_ms, ended_ms), recovered_after_ms));
    }
    let end = watch.until(is_over).await;
    let took = begun.elapsed();
    let evidence = collect(&mut fleet, workload, &folder, &sweeps, end, struck, watch.progress_ms()).await?;
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
    progress_ms: Vec<u64>,
) -> Result<Evidence, CertifyError> {
    let mut state = end.map_or("without an end".to_owned(), |standing| standing.state);
    let requests_per_minute = workload.requests_per_minute().ok_or_else(without_limit)?;
    let endpoints_opened_ms = fleet.endpoints_opened.iter().map(|at| workload.endpoint.time_of(*at)).collect();
    let mut evidence =
        Evidence { struck, progress_ms, requests_per_minute, endpoints_opened_ms, ..Evidence::default() };
    for (part, sweep) in Part::ALL.into_iter().zip(sweeps) {
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
        let counted = account(fleet, sweep, &["spent", "maybe_spent", "reserved"]).await?;
        let budget = workload.budget_dollars() * 1_000_000_000;
        evidence.accounts.push(Account { part, sweep: sweep.clone(), counted, budget });
    }
    evidence.state = state;
    evidence.judged_cost = LedgerView::of(&fleet.stores.database_url).judged_cost().await?;
    evidence.books = workload.endpoint.close_books().await?;
    evidence.fallen = fleet.fallen();
    evidence.leftovers = leftovers(fleet, sweeps).await?;
    Ok(evidence)
}

/// A workload that has not run undisturbed has no limit to hold a history to.
pub(crate) fn without_limit() -> CertifyError {
    CertifyError::Broken("the live sweep has not run undisturbed".to_owned())
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
    begun: Instant,
    seen: Arc<Mutex<Seen>>,
    task: tokio::task::JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Seen {
    standing: Option<Standing>,
    /// When more was recorded or settled than before, in milliseconds since the history began.
    progress_ms: Vec<u64>,
}

impl Watch {
    /// A watch over a history that has `begun`.
    pub(crate) fn of(database_url: String, begun: Instant) -> Self {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let (watched, url) = (Arc::clone(&seen), database_url.clone());
        let task = tokio::spawn(async move {
            let ledger = LedgerView::of(&url);
            loop {
                if let Some(standing) = ledger.standing().await {
                    let mut seen = watched.lock().unwrap_or_else(PoisonError::into_inner);
                    let count = |standing: &Standing| (standing.recorded + standing.settled, is_over(standing));
                    // A scorer that writes reports is busy for as long as the sweep is large.
                    let writes_reports = standing.state == "tabulating" && standing.settled == standing.items;
                    if writes_reports || seen.standing.as_ref().map(count) != Some(count(&standing)) {
                        seen.progress_ms.push(ms(begun));
                    }
                    seen.standing = Some(standing);
                }
                sleep(LOOK).await;
            }
        });
        Self { database_url, begun, seen, task }
    }

    pub(crate) fn standing(&self) -> Option<Standing> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).standing.clone()
    }

    /// The first standing of which `holds` is true; none when it takes too long.
    pub(crate) async fn until(&self, holds: impl Fn(&Standing) -> bool) -> Option<Standing> {
        while self.begun.elapsed() < PATIENCE {
            if let Some(standing) = self.standing().filter(&holds) {
                return Some(standing);
            }
            sleep(LOOK / 2).await;
        }
        None
    }

    /// Milliseconds from `since_ms` until each of these sessions is recorded or has begun another call.
    pub(crate) async fn recovery(
        &self,
        sessions: impl Iterator<Item = String>,
        since_ms: u64,
        endpoint: &Endpoint,
    ) -> Option<u64> {
        let ledger = LedgerView::of(&self.database_url);
        let mut away: Vec<String> = sessions.collect();
        while self.begun.elapsed() < PATIENCE {
            let back = endpoint.called_since(since_ms);
            away.retain(|session| !back.contains(session));
            // Nobody answers while the database is away.
            away = ledger.unrecorded(&away).await.unwrap_or(away);
            if away.is_empty() {
                return Some(ms(self.begun).saturating_sub(since_ms));
            }
            sleep(LOOK).await;
        }
        None
    }

    /// Milliseconds from `since_ms` until each of these sessions is recorded.
    pub(crate) async fn return_of(&self, places: &[SessionPlace], since_ms: u64) -> Option<u64> {
        let ledger = LedgerView::of(&self.database_url);
        while self.begun.elapsed() < PATIENCE {
            // Nobody answers while the database is away.
            if ledger.are_recorded(places).await.unwrap_or(false) {
                return Some(ms(self.begun).saturating_sub(since_ms));
            }
            sleep(LOOK).await;
        }
        None
    }

    /// Times of all progress, from the beginning of the history.
    pub(crate) fn progress_ms(&self) -> Vec<u64> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        std::iter::once(0).chain(seen.progress_ms.iter().copied()).collect()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[cfg(test)]
mod tampered;
