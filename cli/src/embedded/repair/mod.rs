//! Repair of a run's directory: files that were lost or damaged since they were written.
//!
//! Repair works on a copy of the ledger, whose own file is replaced at the very end, in one step, and kept. When a person only wants to
//! know what would be done, it works on linked copies of the other files too, which are thrown away; so both say the same.

mod finding;
mod segments;
mod workshop;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use prometheus::Registry;
use regatta_backends::{Blobs, Ledger, Permits, Queue, Salvaged, SqliteLedger};
use regatta_catalog::{Catalog, Sweep};
use regatta_coordinator::{Coordinator, CoordinatorConfig, CoordinatorMetrics};
use regatta_proto::{Clock, Digest, ManualClock, Report, SweepLock, SweepState};
use regatta_report::DOCUMENTS;
use regatta_scorer::{Past, Recovery, Scorer, ScorerConfig, ScorerMetrics};

pub(crate) use self::finding::{Finding, Repaired, Standing};
use self::segments::{Segments, Survey};
use self::workshop::Workshop;
pub(super) use self::workshop::unfinished;
use super::clock;
use super::link_tree::link_tree;
use super::lock::DirectoryLock;
use super::reserve::Reserve;
use crate::exit::BadConfiguration;
use crate::trust::{benchmarks_of, locks_in};

/// Options of a repair.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wish {
    /// Only reports what would be done.
    pub(crate) dry_run: bool,
    /// Runs sessions again whose transcripts are gone.
    pub(crate) run_again: bool,
}

/// A run that is being repaired.
struct Patient<'a> {
    directory: &'a Path,
    wish: Wish,
    workshop: Workshop,
    /// Folder of the blobs that are worked on.
    root: PathBuf,
    catalog: Catalog,
    findings: Vec<Finding>,
}

/// The ledger that is worked on.
struct Working {
    path: PathBuf,
    ledger: Ledger,
    sweep: Arc<Sweep>,
    /// It differs from the one that is in place.
    has_changed: bool,
}

/// Repairs the run in `directory`.
///
/// # Errors
/// [`BadConfiguration`] when it holds no run, or a process is at work there; or when a file cannot be read or written.
pub(crate) async fn repair(directory: &Path, wish: Wish) -> anyhow::Result<Repaired> {
    super::install_tls();
    let store = directory.join("store");
    if !store.join("blobs").is_dir() {
        let problem = format!("{} holds no run: there is no {}", directory.display(), store.join("blobs").display());
        return Err(BadConfiguration(problem).into());
    }
    let _alone = DirectoryLock::take(directory, &store)?;
    let workshop = Workshop::open(&store)?;
    let root = if wish.dry_run { workshop.linked_blobs()? } else { store.join("blobs") };
    let blobs = Blobs::directory(&root).context("failed to open the run's blob store")?;
    let benchmarks = benchmarks_of(&locks_in(&blobs).await?);
    let catalog = Catalog::new(blobs, benchmarks);
    let patient = Patient { directory, wish, workshop, root, catalog, findings: Vec::new() };
    patient.treat().await
}

impl Patient<'_> {
    async fn treat(mut self) -> anyhow::Result<Repaired> {
        let store = self.directory.join("store");
        if self.wish.dry_run && unfinished(&store).exists() {
            self.found("ledger", "an earlier repair was interrupted", "its ledger is put into place first");
        } else if self.workshop.finish_interrupted()? {
            self.found("ledger", "an earlier repair was interrupted", "its ledger is put into place");
        }
        self.check_small_files(&store)?;
        let standing = match self.open_ledger().await? {
            Some(working) => Some(self.treat_ledger(working).await?),
            None => None,
        };
        self.workshop.clear()?;
        Ok(Repaired { findings: self.findings, standing })
    }

    fn found(&mut self, about: &'static str, problem: impl Into<String>, remedy: impl Into<String>) {
        self.findings.push(Finding::mended(about, problem, remedy));
    }

    fn aside(&self) -> String {
        self.workshop.aside().display().to_string()
    }

    /// The files that a run cannot begin without reading.
    fn check_small_files(&mut self, store: &Path) -> anyhow::Result<()> {
        let accounts = store.join("accounts.json");
        let remedy = |what: &str| format!("it is set aside in {}: {what}", self.aside());
        let (for_accounts, for_reserve) = (
            remedy("of what earlier processes had reserved, only what the ledger knows is held against the budget"),
            remedy("sessions that only it held run again"),
        );
        if let Err(error) = Permits::kept(store) {
            self.found("accounts", regatta_proto::causes(&error), for_accounts);
            self.set_aside(&accounts)?;
        }
        let reserve = store.join("reserve");
        if let Err(error) = Reserve::check(&reserve) {
            self.found("reserve", format!("{error:#}"), for_reserve);
            self.set_aside(&reserve)?;
        }
        Ok(())
    }

    fn set_aside(&self, file: &Path) -> anyhow::Result<()> {
        if self.wish.dry_run { Ok(()) } else { self.workshop.set_aside(file) }
    }

    /// Opens a copy of the ledger, or a new one where there is none to copy. `None` where no sweep can be read.
    async fn open_ledger(&mut self) -> anyhow::Result<Option<Working>> {
        let copy = self.workshop.copy()?;
        let damage = match &copy {
            Some(copy) => SqliteLedger::damage(copy).await.map(|damage| format!("it is damaged: {damage}")),
            None => Some("it is gone".to_owned()),
        };
        if let (None, Some(path)) = (&damage, &copy) {
            let ledger = Ledger::sqlite(path).await.context("failed to open a copy of the ledger")?;
            if let Some(row) = ledger.sweeps().await?.first() {
                let sweep = self.sweep_of(&row.lock).await?;
                let path = path.clone();
                return Ok(sweep.map(|sweep| Working { path, ledger, sweep, has_changed: false }));
            }
        }
        let Some(sweep) = self.sweep_in_blobs().await? else {
            return Ok(None);
        };
        let working = self.make_anew(sweep).await?;
        let salvaged = match (&copy, working.ledger.as_file()) {
            (Some(damaged), Some(new)) => new.salvage(&working.sweep.id, damaged).await?,
            _ => Salvaged::default(),
        };
        let Salvaged { verdicts, judge_attempts: _, attempts } = salvaged;
        let kept = if copy.is_some() { format!("; the old one is kept in {}", self.aside()) } else { String::new() };
        let taken = match (verdicts, attempts) {
            (0, 0) => String::new(),
            _ => format!(", {verdicts} verdicts and the costs of {attempts} attempts are taken over from the old one"),
        };
        let problem = damage.unwrap_or_else(|| "it knows of no sweep".to_owned());
        self.found("ledger", problem, format!("a new one is made from the transcripts{taken}{kept}"));
        Ok(Some(working))
    }

    /// The sweep with this lock. A lock that is lost is taken from what the sweep has left behind.
    async fn sweep_of(&mut self, lock: &Digest) -> anyhow::Result<Option<Arc<Sweep>>> {
        let error = match self.catalog.sweep(lock).await {
            Ok(sweep) => return Ok(Some(sweep)),
            Err(error) => error,
        };
        if let Some(sweep) = self.sweep_left_behind().await?.filter(|sweep| sweep.digest == *lock) {
            self.found(
                "lock",
                regatta_proto::causes(&error),
                "it is written again from the sweep.lock.yaml of the run",
            );
            return Ok(Some(sweep));
        }
        self.findings.push(Finding::left(
            "sweep",
            format!("it cannot be read: {}", regatta_proto::causes(&error)),
            "restore that file from a backup; a lock or data set that is only missing is written again by `regatta run SPEC`",
        ));
        Ok(None)
    }

    /// The sweep whose files are in the run's store, where the ledger does not say which.
    async fn sweep_in_blobs(&mut self) -> anyhow::Result<Option<Arc<Sweep>>> {
        let left_behind = self.catalog.blobs().list("sweeps/").await?;
        let mut problem = None;
        let mut found = Vec::new();
        for key in self.catalog.blobs().list("locks/").await? {
            let name = key.strip_prefix("locks/").and_then(|name| name.strip_suffix(".json"));
            let Some(digest) = name.and_then(|name| name.parse::<Digest>().ok()) else { continue };
            match self.catalog.sweep(&digest).await {
                Ok(sweep) => found.push(sweep),
                Err(error) => problem = Some(regatta_proto::causes(&error)),
            }
        }
        found.retain(|sweep| {
            let place = format!("sweeps/{}/", sweep.id);
            left_behind.iter().any(|key| key.starts_with(&place))
        });
        match (found.len(), left_behind.is_empty()) {
            (1, _) => return Ok(found.pop()),
            (0, true) => return Ok(None),
            (0, false) => {
                if let Some(sweep) = self.sweep_left_behind().await? {
                    self.found("lock", "it is gone", "it is written again from the sweep.lock.yaml of the run");
                    return Ok(Some(sweep));
                }
            }
            (_, _) => problem = Some(format!("there are files of {} sweeps", found.len())),
        }
        let problem = problem.unwrap_or_else(|| "its lock is gone".to_owned());
        self.findings.push(Finding::left(
            "sweep",
            format!("the ledger does not say which one it is, and {problem}"),
            "restore store/ledger.sqlite, with its -wal file, or store/blobs/locks from a backup",
        ));
        Ok(None)
    }

    /// The sweep of `sweep.lock.yaml`, whose lock is stored again.
    async fn sweep_left_behind(&self) -> anyhow::Result<Option<Arc<Sweep>>> {
        let Ok(text) = std::fs::read_to_string(self.directory.join("sweep.lock.yaml")) else { return Ok(None) };
        let Ok(lock) = SweepLock::from_yaml(&text) else { return Ok(None) };
        Ok(self.catalog.store(&lock).await.ok())
    }

    /// A ledger that knows of `sweep` and nothing else.
    async fn make_anew(&self, sweep: Arc<Sweep>) -> anyhow::Result<Working> {
        let path = self.workshop.new_ledger();
        let ledger = Ledger::sqlite(&path).await.context("failed to make a new ledger")?;
        let coordinator = Coordinator::new(
            CoordinatorConfig { queue_survives: false, ..CoordinatorConfig::default() },
            ledger.clone(),
            Queue::memory(),
            Permits::memory(),
            self.catalog.clone(),
            clock(),
            CoordinatorMetrics::register(&Registry::new())?,
            crate::price_tables::price_book(None)?,
        );
        coordinator.enter(&sweep).await?;
        Ok(Working { path, ledger, sweep, has_changed: true })
    }

    async fn treat_ledger(&mut self, mut working: Working) -> anyhow::Result<Standing> {
        let is_new = working.has_changed;
        let sweep = Arc::clone(&working.sweep);
        let file = working.ledger.as_file().cloned().context("the copy of the ledger is no file")?;
        let miscounted = file.recount(&sweep.id).await?;
        if miscounted > 0 && !is_new {
            let problem = format!("the counters of {miscounted} cells are not those of their sessions");
            self.found("ledger", problem, "they are counted again");
            working.has_changed = true;
        }
        let survey = self.mend_segments(&working).await?;
        let past = Past::read(self.catalog.blobs(), &sweep.id).await?;
        let span = self.scorer(&working.ledger, clock())?.find_lost(&sweep, &past).await?.span;
        let ended_at = past.ended_at.or(span.map(|(_, ended)| ended)).unwrap_or_else(|| clock().now());
        let scorer = self.scorer(&working.ledger, Arc::new(ManualClock::at(ended_at)))?;
        let recovery = scorer.recover_lost(&sweep, &past).await?;
        working.has_changed |= !recovery.is_nothing();
        self.tell_of_recovery(&recovery, is_new);
        if is_new && let Some(began_at) = past.created_at.or(span.map(|(began, _)| began)) {
            file.correct_beginning(&sweep.id, began_at).await?;
        }
        self.put_back(&mut working, &file, &survey).await?;
        file.recount(&sweep.id).await?;
        let standing = standing(&working).await?;
        self.write_documents(&working, &scorer, &standing).await?;
        let standing = self::standing(&working).await?;
        if working.has_changed && !self.wish.dry_run {
            working.ledger.checkpoint().await.context("failed to finish the repaired ledger")?;
            let Working { path, ledger, .. } = working;
            drop((ledger, file, scorer));
            self.workshop.install(&path)?;
        }
        Ok(standing)
    }

    /// Restores segments from their other copies, and sets those aside that have none.
    async fn mend_segments(&mut self, working: &Working) -> anyhow::Result<Survey> {
        let attempts = working.ledger.attempts(&working.sweep.id).await?;
        let known: BTreeSet<String> =
            attempts.into_iter().filter_map(|attempt| Some(attempt.transcript?.segment)).collect();
        let segments = Segments {
            directory: self.directory,
            sweep: &working.sweep.id,
            root: &self.root,
            blobs: self.catalog.blobs(),
        };
        let survey = segments.survey(&known).await?;
        segments.mend(&survey, (!self.wish.dry_run).then_some(&self.workshop)).await?;
        if !survey.restorable.is_empty() {
            let problem = format!("{} files are missing or damaged in the store", survey.restorable.len());
            self.found("transcripts", problem, "their copies in the run's directory are whole, and are put back");
        }
        Ok(survey)
    }

    fn tell_of_recovery(&mut self, recovery: &Recovery, is_new: bool) {
        let Recovery { sessions, surplus, costs, without_end, unreadable: _, span: _ } = recovery;
        if !recovery.is_nothing() {
            let problem = if is_new {
                "nothing of them is in the new ledger yet".to_owned()
            } else {
                "the ledger does not know all of them".to_owned()
            };
            let mut parts = vec![format!("{sessions} sessions are recorded from them")];
            if *surplus > 0 {
                parts.push(format!("{surplus} further attempts count as spent"));
            }
            if *costs > 0 {
                parts.push(format!("the costs of {costs} attempts without any are taken from attempts.jsonl"));
            }
            self.found("transcripts", problem, parts.join(", "));
        }
        if *without_end > 0 {
            self.found(
                "transcripts",
                format!("{without_end} of an older version do not say how their session ended"),
                "these sessions run again with the next run",
            );
        }
    }

    /// Sessions whose transcripts are nowhere.
    async fn put_back(&mut self, working: &mut Working, file: &SqliteLedger, survey: &Survey) -> anyhow::Result<()> {
        let gone: Vec<String> = survey.damaged.iter().chain(&survey.missing).cloned().collect();
        if gone.is_empty() {
            return Ok(());
        }
        let sweep = &working.sweep.id;
        let put_back = file.put_back(sweep, &gone, self.wish.run_again).await?;
        if put_back.results > 0 {
            for ended in [SweepState::Complete, SweepState::Incomplete, SweepState::StoppedByBudget] {
                working.ledger.transition(sweep, &[ended], SweepState::Running, clock().now()).await?;
            }
        }
        working.has_changed |= put_back.results + put_back.continuations > 0;
        let (missing, damaged) = (survey.missing.len(), survey.damaged.len());
        let problem = match (missing, damaged) {
            (_, 0) => format!("{missing} files are missing"),
            (0, _) => format!("{damaged} files are damaged"),
            (_, _) => format!("{missing} files are missing, {damaged} are damaged"),
        };
        let mut parts = Vec::new();
        if damaged > 0 {
            parts.push(format!("what is damaged is set aside in {}", self.aside()));
        }
        if put_back.kept > 0 {
            parts.push(format!(
                "{} sessions keep their scores, which are in the ledger; with --run-again they are run, and paid for, again",
                put_back.kept
            ));
        }
        if put_back.results > 0 {
            parts.push(format!("{} sessions are planned again", put_back.results));
        }
        if put_back.continuations > 0 {
            parts.push(format!("{} sessions that were to go on from one begin anew", put_back.continuations));
        }
        if parts.is_empty() {
            parts.push("no session needs them".to_owned());
        }
        self.found("transcripts", problem, parts.join("; "));
        Ok(())
    }

    /// Writes what an ended sweep leaves behind, and links it into the run's directory. Says what was not what it is now.
    async fn write_documents(&mut self, working: &Working, scorer: &Scorer, standing: &Standing) -> anyhow::Result<()> {
        let Working { ledger, sweep, .. } = working;
        let is_settled = standing.to_run == 0 && standing.to_judge == 0;
        if standing.state == SweepState::Running && !is_settled {
            return Ok(());
        }
        let mut lacking = Vec::new();
        let mut before = Vec::new();
        for name in DOCUMENTS {
            let stored = self.catalog.blobs().get(&format!("sweeps/{}/{name}", sweep.id)).await?;
            let linked = std::fs::read(self.directory.join(name)).ok();
            if stored.is_none() || linked.is_none() {
                lacking.push(name);
            }
            before.push((name, stored, linked));
        }
        if !lacking.is_empty() {
            let problem = format!("{} missing", named(&lacking));
            self.found("documents", problem, "they are written from the ledger");
        }
        if standing.state == SweepState::Running {
            ledger.transition(&sweep.id, &[SweepState::Running], SweepState::Tabulating, clock().now()).await?;
        }
        let tabulate = Report::Tabulate { sweep: sweep.id.clone(), lock: sweep.digest, generation: None };
        scorer.record_left_over(vec![tabulate]).await.context("failed to write the reports again")?;
        let mut differing = Vec::new();
        for (name, stored, linked) in before {
            let now = self.catalog.blobs().get(&format!("sweeps/{}/{name}", sweep.id)).await?;
            let differs = |was: Option<&[u8]>| was.is_some_and(|was| now.as_deref() != Some(was));
            if differs(stored.as_deref()) || differs(linked.as_deref()) {
                differing.push(name);
            }
        }
        if !differing.is_empty() {
            let problem = format!("{} not what the ledger says", named(&differing));
            self.found("documents", problem, "they are written again");
        }
        if self.wish.dry_run {
            return Ok(());
        }
        let from = self.root.join("sweeps").join(sweep.id.as_str());
        link_tree(&from, self.directory)
            .with_context(|| format!("failed to put the results into {}", self.directory.display()))
    }

    fn scorer(&self, ledger: &Ledger, clock: Arc<dyn Clock>) -> anyhow::Result<Scorer> {
        let config = ScorerConfig { shares_queue: false, ..ScorerConfig::default() };
        let metrics = ScorerMetrics::register(&Registry::new())?;
        Ok(Scorer::new(config, ledger.clone(), Queue::memory(), self.catalog.clone(), clock, metrics))
    }
}

async fn standing(working: &Working) -> anyhow::Result<Standing> {
    let row = working.ledger.sweep(&working.sweep.id).await?.context("the ledger has lost its sweep")?;
    let progress = working.ledger.cell_progress(&working.sweep.id).await?;
    let sum = |count: fn(&regatta_backends::CellProgress) -> u64| progress.iter().map(count).sum::<u64>();
    let (sessions, recorded, settled) = (sum(|cell| cell.items), sum(|cell| cell.recorded), sum(|cell| cell.settled));
    Ok(Standing {
        state: row.state,
        sessions,
        to_run: sessions.saturating_sub(recorded),
        to_judge: recorded.saturating_sub(settled),
    })
}

/// `a, b and c are`.
fn named(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => format!("{one} is"),
        [first @ .., last] => format!("{} and {last} are", first.join(", ")),
    }
}
