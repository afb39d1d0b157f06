//! All roles in one process: the same code over a memory queue, SQLite and a directory.

mod adopting;
mod changing;
mod diagnosis;
mod gate;
mod integrity;
mod link_tree;
mod lock;
mod repair;
mod reserve;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use futures::FutureExt;
use prometheus::Registry;
use regatta_backends::{Blobs, Ledger, Permits, Queue, Stalled, StoreHealth};
use regatta_benchmarks::default_setting;
use regatta_catalog::{Catalog, Sweep};
use regatta_coordinator::{Coordinator, CoordinatorConfig, CoordinatorMetrics, Resumption};
use regatta_files::{FolderError, own_folder};
use regatta_llm::{CallMetrics, Standstill};
use regatta_memory::{ByteBudget, ByteMetrics};
use regatta_proto::{Clock, Digest, Report, SessionOutcome, SweepId, SweepState, SystemClock, counted};
use regatta_scorer::{Past, Scorer, ScorerConfig, ScorerMetrics};
use regatta_simulator::SimulatedSuite;
use regatta_traces::Traces;
use regatta_worker::{CachedResponses, Environment, Lifecycle, SharedPermits, Worker, WorkerConfig, WorkerMetrics};
use tokio::task::{JoinError, JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::args::TraceArgs;
use crate::benchmarks::BENCHMARKS;
use crate::exit::{BadConfiguration, CannotRecord, bad_configuration, cannot_write, refused};
use crate::output;
use crate::progress::Progress;
use crate::signals::Leaving;
use crate::simulated::SimulatedEndpoints;
use crate::trust::{Rights, locks_in};

pub(crate) use diagnosis::diagnose;
use gate::WhileRecording;
use link_tree::link_tree;
use lock::DirectoryLock;
#[cfg(test)]
pub(crate) use repair::{Finding, Standing};
pub(crate) use repair::{Repaired, Wish, repair};
use reserve::{Kept, Reserve};

/// Interval between two looks at the ledger; short, because nobody else uses it.
const TICK: Duration = Duration::from_millis(50);
/// Interval between two redraws of the table.
const REDRAW: Duration = Duration::from_millis(200);
/// Time the scorer gets to record what the workers reported last.
const RECORD_GRACE: Duration = Duration::from_secs(30);
/// The same after a second signal.
const STOP_GRACE: Duration = Duration::from_secs(1);
/// Time in which what was not recorded by then is to be stored.
const STORE_WITHIN: Duration = Duration::from_secs(10);
/// Time that a run waits for stores that cannot be written before it ends, unless told otherwise.
const GIVE_UP_AFTER: Duration = Duration::from_secs(60);

/// A run's directory and the stores in it.
pub(crate) struct Embedded {
    directory: PathBuf,
    ledger: Ledger,
    queue: Queue,
    permits: Permits,
    /// Folder of the response cache.
    answers: PathBuf,
    catalog: Catalog,
    registry: Registry,
    pub(crate) coordinator: Arc<Coordinator>,
    /// Rights of the spec: commands, keys, addresses, programs.
    pub(crate) rights: Rights,
    /// Time to wait for stores that cannot be written before the run ends.
    pub(crate) give_up_after: Duration,
    traces: Traces,
    /// Last, so that nobody else begins before the stores are closed.
    _lock: DirectoryLock,
}

impl Embedded {
    /// Opens (or creates) the stores of a sweep of others in `directory`: no program of its benchmarks is started.
    pub(crate) async fn open_of_others(directory: &Path) -> anyhow::Result<Self> {
        Self::open_with(directory, None, None, |_| Rights::foreign(None)).await
    }

    /// Opens (or creates) the stores of the run in `directory`, which has the rights that `rights` decides on by the digests of all its locks.
    ///
    /// `cache` is the directory of the response cache, which runs share; default: in the user's cache directory.
    pub(crate) async fn open_with(
        directory: &Path,
        cache: Option<&Path>,
        prices: Option<&Path>,
        rights: impl FnOnce(&[Digest]) -> anyhow::Result<Rights>,
    ) -> anyhow::Result<Self> {
        install_tls();
        let store = directory.join("store");
        let writable = |error| cannot_write(directory, error);
        own_folder(&store).map_err(|error| writable(refused(error)))?;
        let lock = DirectoryLock::take(directory, &store).map_err(writable)?;
        let blobs = Blobs::directory(store.join("blobs")).context("failed to open the run's blob store")?;
        integrity::refuse_without_file(directory, &store, &blobs).await?;
        let ledger = Ledger::sqlite(store.join("ledger.sqlite")).await.with_context(|| {
            format!("failed to open the run's ledger; if it is damaged, see `regatta repair {}`", directory.display())
        })?;
        changing::settle(directory, &ledger)
            .await
            .context("failed to end the change of a spec that was interrupted")?;
        let rights = rights(&locks_in(&blobs).await?)?;
        let catalog = Catalog::new(blobs, rights.benchmarks);
        integrity::refuse_without_sweep(directory, &ledger, catalog.blobs()).await?;
        let queue = Queue::memory();
        let permits = Permits::kept(&store).map_err(bad_configuration)?;
        let registry = Registry::new();
        let config = CoordinatorConfig { tick: TICK, queue_survives: false, ..CoordinatorConfig::default() };
        let coordinator = Coordinator::new(
            config,
            ledger.clone(),
            queue.clone(),
            permits.clone(),
            catalog.clone(),
            clock(),
            CoordinatorMetrics::register(&registry)?,
            crate::price_tables::price_book(prices)?,
        );
        Ok(Self {
            directory: directory.to_owned(),
            ledger,
            queue,
            permits,
            answers: match cache {
                Some(named) => named.to_owned(),
                None => default_cache(&store)?,
            },
            catalog,
            registry,
            coordinator: Arc::new(coordinator),
            rights,
            give_up_after: GIVE_UP_AFTER,
            traces: Traces::default(),
            _lock: lock,
        })
    }

    /// The sweep that this directory holds, if it holds one.
    pub(crate) async fn held(&self) -> anyhow::Result<Option<Arc<Sweep>>> {
        match self.ledger.sweeps().await?.first() {
            Some(row) => Ok(Some(self.catalog.sweep(&row.lock).await?)),
            None => Ok(None),
        }
    }

    /// Traces its sessions from now on, if `args` name a collector.
    pub(crate) fn trace(&mut self, args: &TraceArgs) -> anyhow::Result<()> {
        self.traces = crate::traces::start_or_go_without(args, "regatta", &self.registry)?;
        let coordinator = Arc::get_mut(&mut self.coordinator).context("the coordinator works already")?;
        coordinator.trace_to(self.traces.tracer("regatta.coordinator"));
        Ok(())
    }

    pub(crate) const fn registry(&self) -> &Registry {
        &self.registry
    }

    pub(crate) const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub(crate) const fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Runs `sweep` until it ends or the process is told to leave. An ended sweep with unmeasured sessions is resumed.
    pub(crate) async fn execute(
        &self,
        sweep: &Sweep,
        resumption: Resumption,
        leaving: &Leaving,
    ) -> anyhow::Result<SweepState> {
        let mut reserve = self.recover(sweep).await?;
        self.recover_lost(sweep).await?;
        let state = self.state(sweep).await?;
        integrity::tell_of_transcripts(&self.directory, sweep, &self.ledger, self.catalog.blobs()).await?;
        if state.is_end() && integrity::lacks_documents(sweep, self.catalog.blobs()).await? {
            output::note("what the sweep had left behind is not all there; it is made again from the ledger");
            self.tabulate(sweep).await?;
        }
        if state == SweepState::Complete {
            self.link_artifacts(&sweep.id)?;
            reserve.remove().context("failed to give the reserve's space back")?;
            return Ok(state);
        }
        if state.is_end() {
            self.coordinator.resume(&sweep.id, resumption).await.map_err(bad_configuration)?;
        } else if resumption.budget.is_some() {
            // Not raised: whoever repeats what was killed after a raise means the same one.
            output::note(
                "the run had not ended, so it goes on with the budget that it has; give --budget once it has ended",
            );
        }
        let suites: Vec<_> = sweep
            .cells()
            .iter()
            .filter_map(|cell| Some((cell.benchmark.clone(), sweep.suite(cell)?.clone())))
            .collect::<BTreeMap<_, _>>()
            .into_iter()
            .map(|(benchmark, suite)| SimulatedSuite {
                default_setting: BENCHMARKS.find(&benchmark).and_then(|known| default_setting(known, &*suite)),
                benchmark,
                suite,
            })
            .collect();
        let simulated = SimulatedEndpoints::start(&sweep.lock.endpoints, &suites).await?;
        let state = self.work(sweep, simulated.addresses(), leaving).await;
        self.traces.flush().await;
        simulated.shutdown().await;
        let is_all_recorded = self.keep_unrecorded(sweep, &mut reserve).await?;
        if is_all_recorded && matches!(state, Ok(state) if state.is_end()) {
            reserve.remove().context("failed to give the reserve's space back")?;
        }
        let checkpointed = self.ledger.checkpoint().await.context("failed to bring the ledger's log into its file");
        // First why the run ended: where nothing can be written, the log cannot be brought into its file either.
        let state = state?;
        checkpointed?;
        Ok(state)
    }

    /// Writes what an ended sweep leaves behind once more; the bytes are the same.
    async fn tabulate(&self, sweep: &Sweep) -> anyhow::Result<()> {
        let tabulate = Report::Tabulate { sweep: sweep.id.clone(), lock: sweep.digest, generation: None };
        self.scorer_apart(sweep)
            .await?
            .record_left_over(vec![tabulate])
            .await
            .context("failed to write the reports again")
    }

    /// Records sessions that transcripts know and the ledger does not: whoever wrote them was killed before it could, or the ledger has lost
    /// its latest entries.
    async fn recover_lost(&self, sweep: &Sweep) -> anyhow::Result<()> {
        let past = Past::read(self.catalog.blobs(), &sweep.id).await?;
        let recovery = self.scorer_apart(sweep).await?.recover_lost(sweep, &past).await;
        let recovery = recovery.context("failed to record sessions from their transcripts")?;
        if !recovery.is_nothing() {
            output::note(&format!(
                "recorded {} from transcripts, which the ledger did not know: nothing of that is paid for again",
                counted(recovery.sessions, "session", "sessions")
            ));
        }
        Ok(())
    }

    /// Records what an earlier run of this directory could only keep in its reserve, and takes the space of one for this run.
    async fn recover(&self, sweep: &Sweep) -> anyhow::Result<Reserve> {
        let (mut reserve, reports) = Reserve::open(&self.directory.join("store/reserve"))?;
        if reports.is_empty() {
            return Ok(reserve);
        }
        let count = reports.len();
        self.scorer_apart(sweep).await?.record_left_over(reports).await.map_err(|error| {
            CannotRecord(format!(
                "{count} reports of an earlier run are kept in {} and still cannot be recorded: {error}",
                self.directory.join("store/reserve").display()
            ))
        })?;
        // They tell of sessions that ended with their process, which would be waited for.
        self.ledger.forget_workers(&sweep.id).await.context("failed to forget the workers of an earlier run")?;
        reserve.clear().context("failed to clear the reserve")?;
        output::note(&format!("recorded {count} reports that an earlier run could not record"));
        Ok(reserve)
    }

    /// Keeps what workers have reported and no scorer could record, which would be gone with this process. `false` if there was any.
    ///
    /// Sessions go to the blobs, as those of a process that is killed between a segment and its record: there is room for all of them. What
    /// cannot be written there, and what is no session, goes to the reserve.
    async fn keep_unrecorded(&self, sweep: &Sweep, reserve: &mut Reserve) -> anyhow::Result<bool> {
        let mut consumer = self.queue.consume_reports(u32::MAX).await?;
        let (mut sessions, mut reports, mut receipts) = (Vec::new(), Vec::new(), Vec::new());
        while let Some(Some(delivery)) = consumer.next().now_or_never() {
            receipts.push(delivery.receipt);
            match delivery.message {
                Report::Session(outcome) => sessions.push(*outcome),
                report @ (Report::HandedOver { .. } | Report::Judge(_)) => reports.push(report),
                Report::Progress(_) | Report::Rejudge { .. } | Report::Echo { .. } | Report::Tabulate { .. } => {}
            }
        }
        if sessions.is_empty() && reports.is_empty() {
            return Ok(true);
        }
        let scorer = self.scorer_apart(sweep).await?;
        // Those of a store that hangs are in the reserve then, and perhaps there too: they are recorded once.
        let storing = tokio::time::timeout(STORE_WITHIN, scorer.store_unscored(sweep, &sessions));
        let stored = storing.await.unwrap_or(0);
        reports.extend(sessions.drain(stored..).map(|outcome| Report::Session(Box::new(outcome))));
        let kept = if reports.is_empty() {
            Kept::default()
        } else {
            reserve.keep(&reports).context("failed to keep what could not be recorded")?
        };
        let Kept { whole, reduced, lost } = kept;
        output::note(&format!(
            "kept {} reports that were not recorded; the next run records them",
            stored + whole + reduced
        ));
        if reduced > 0 {
            output::note(&format!(
                "{reduced} of them without what was said: there is no space, and their sessions run again"
            ));
        }
        if lost > 0 {
            output::note(&format!("{lost} could not be kept: what they cost is in no book but the provider's"));
        }
        Ok(false)
    }

    async fn work(
        &self,
        sweep: &Sweep,
        addresses: BTreeMap<regatta_proto::EndpointName, String>,
        leaving: &Leaving,
    ) -> anyhow::Result<SweepState> {
        let (dispatching, scoring) = (CancellationToken::new(), CancellationToken::new());
        let lifecycle = Lifecycle { drain: CancellationToken::new(), stop: leaving.stop.child_token() };
        let coordinating = tokio::spawn({
            let (coordinator, stop) = (self.coordinator.clone(), dispatching.clone());
            async move { coordinator.run(addresses, stop).await }
        });
        let scorer = self.scorer(&self.registry)?;
        let state = scorer.health();
        let working = tokio::spawn(self.worker(state.clone())?.run(lifecycle.clone()));
        let recording = tokio::spawn({
            let stop = scoring.clone();
            async move { scorer.run(stop).await }
        });
        let watched = self.watch(sweep, leaving, &state).await;
        dispatching.cancel();
        lifecycle.drain.cancel();
        if watched.is_err() {
            // No session could go on.
            lifecycle.stop.cancel();
        }
        let worked = working.await;
        scoring.cancel();
        let (recorded, coordinated) = tokio::join!(ended(recording, &leaving.stop), ended(coordinating, &leaving.stop));
        worked.context("the worker ended unexpectedly")??;
        match recorded {
            Some(recorded) => recorded.context("the scorer ended unexpectedly")??,
            None => tracing::warn!("left before every result was recorded; run it again to continue"),
        }
        match coordinated {
            Some(coordinated) => coordinated.context("the coordinator ended unexpectedly")?,
            None => tracing::warn!("left while the coordinator waited for a store; run it again to continue"),
        }
        watched?;
        let state = self.state(sweep).await?;
        if state.is_end() {
            self.link_artifacts(&sweep.id)?;
        }
        Ok(state)
    }

    /// Shows how the sweep goes until it ends or the process is told to leave.
    async fn watch(&self, sweep: &Sweep, leaving: &Leaving, recording: &StoreHealth) -> anyhow::Result<()> {
        let mut progress = Progress::start();
        loop {
            let stalled = recording.stalled().or_else(|| self.coordinator.health().stalled());
            if let Some(stalled) = stalled.filter(|stalled| stalled.since.elapsed() >= self.give_up_after) {
                progress.leave();
                return Err(self.cannot_record(&stalled).into());
            }
            let status = self.coordinator.status(&sweep.id).await?;
            let so_far = if progress.has_scores() { self.coordinator.so_far(&sweep.id).await? } else { Vec::new() };
            progress.show(&status, so_far);
            if status.state.is_end() {
                progress.finish(&status);
                return Ok(());
            }
            // Nobody else takes out what was set aside here, and the run would dispatch it again for ever.
            let set_aside = self.queue.dead_letters().await?;
            if set_aside > 0 {
                progress.leave();
                anyhow::bail!(
                    "failed to record {set_aside} of the run's reports; the log says why. What was recorded is in {}: run it again to \
                     continue when the cause is gone",
                    self.directory.display()
                );
            }
            tokio::select! {
                () = tokio::time::sleep(REDRAW) => {}
                () = leaving.drain.cancelled() => {
                    progress.leave();
                    return Ok(());
                }
            }
        }
    }

    /// Records `outcomes` of `sweep` without running anything. Questions that they lead to wait in the queues for [`Self::execute`].
    pub(crate) async fn take_over(&self, sweep: &Sweep, outcomes: Vec<SessionOutcome>) -> anyhow::Result<()> {
        declare(&self.queue, sweep).await?;
        // The metrics of the run's own scorer are registered when it starts.
        let scorer = self.scorer(&Registry::new())?;
        scorer.take_over(sweep, &outcomes).await.context("failed to record the sessions of the old run")
    }

    fn cannot_record(&self, stalled: &Stalled) -> CannotRecord {
        CannotRecord(format!(
            "nothing could be recorded for {} s, so nothing more is paid for: {}. What was paid for is kept in {}: make it writable, or \
             free some space, and run the same command again to continue",
            stalled.since.elapsed().as_secs(),
            stalled.reason,
            self.directory.display()
        ))
    }

    pub(crate) async fn state(&self, sweep: &Sweep) -> anyhow::Result<SweepState> {
        let row = self.ledger.sweep(&sweep.id).await?;
        row.map(|row| row.state).context("the ledger does not have the sweep it was given")
    }

    fn worker(&self, recording: StoreHealth) -> anyhow::Result<Worker> {
        let seed = crate::process::random_seed();
        let id = crate::process::worker_id(seed)?;
        let environment = Environment {
            clock: clock(),
            variables: crate::process::variables(),
            permits: Arc::new(WhileRecording { permits: SharedPermits(self.permits.clone()), recording }),
            bytes: ByteBudget::observed(regatta_memory::default_bytes(), ByteMetrics::register(&self.registry)?),
            answers: Arc::new(CachedResponses(Blobs::directory(&self.answers).with_context(|| {
                format!("failed to open the directory of the response cache {}", self.answers.display())
            })?)),
            policy: self.rights.policy.clone(),
            network: None,
            standstill: Standstill::watch(),
        };
        let metrics = WorkerMetrics::register(&self.registry)?;
        let calls = Arc::new(CallMetrics::register(&self.registry)?);
        Ok(Worker::new(
            WorkerConfig::new(id, seed),
            self.queue.clone(),
            self.catalog.clone(),
            environment,
            metrics,
            calls,
        )
        .with_tracer(self.traces.tracer("regatta.worker")))
    }

    fn scorer(&self, registry: &Registry) -> anyhow::Result<Scorer> {
        self.scorer_into(registry, self.queue.clone())
    }

    /// A scorer whose questions nobody gets: they are asked when the sweep goes on, and would be asked twice.
    async fn scorer_apart(&self, sweep: &Sweep) -> anyhow::Result<Scorer> {
        let queue = Queue::memory();
        declare(&queue, sweep).await?;
        self.scorer_into(&Registry::new(), queue)
    }

    fn scorer_into(&self, registry: &Registry, queue: Queue) -> anyhow::Result<Scorer> {
        let metrics = ScorerMetrics::register(registry)?;
        let config = ScorerConfig { shares_queue: false, ..ScorerConfig::default() };
        let (ledger, catalog) = (self.ledger.clone(), self.catalog.clone());
        let scorer = Scorer::new(config, ledger, queue, catalog, clock(), metrics);
        Ok(scorer.with_tracer(self.traces.tracer("regatta.scorer")))
    }

    /// Puts what the sweep has left behind at the top of the run's directory. Links, because transcripts can be large.
    pub(crate) fn link_artifacts(&self, sweep: &SweepId) -> anyhow::Result<()> {
        let from = self.directory.join("store/blobs/sweeps").join(sweep.as_str());
        link_tree(&from, &self.directory)
            .with_context(|| format!("failed to put the results of {sweep} into {}", self.directory.display()))
    }

    /// A file that the sweep has left behind.
    pub(crate) fn artifact(&self, name: &str) -> anyhow::Result<Vec<u8>> {
        let path = self.directory.join(name);
        std::fs::read(&path).with_context(|| format!("failed to read {}", path.display()))
    }

    /// Refuses to put `sweep` into a directory that holds another one, which would be run beside it.
    pub(crate) async fn refuse_another(&self, sweep: &Sweep) -> anyhow::Result<()> {
        let rows = self.ledger.sweeps().await?;
        match rows.iter().find(|row| row.id != sweep.id || row.lock != sweep.digest) {
            Some(held) => Err(BadConfiguration(format!(
                "{} holds the sweep {}, and the spec or its data have changed since (they would be {}); choose another directory \
                 with --output, or remove it",
                self.directory.display(),
                held.id,
                sweep.id
            ))
            .into()),
            None => Ok(()),
        }
    }
}

/// Folder of the response cache unless told otherwise: `$XDG_CACHE_HOME/regatta/answers`, else `~/.cache/regatta/answers`. Without either
/// the cache is kept with the run: a folder that everybody knows of is everybody's.
pub(crate) fn default_cache(store: &Path) -> anyhow::Result<PathBuf> {
    let given = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = given("XDG_CACHE_HOME").or_else(|| Some(given("HOME")?.join(".cache")));
    let Some(base) = base.filter(|base| base.is_absolute()) else { return Ok(store.join("answers")) };
    let (ours, answers) = (base.join("regatta"), base.join("regatta/answers"));
    // A home that cannot be written, as of a service's user, is as good as none.
    match own_folder(&ours).and_then(|()| own_folder(&answers)) {
        Err(error @ FolderError::Foreign { .. }) => Err(refused(error)),
        Err(FolderError::Io { .. }) => Ok(store.join("answers")),
        Ok(()) => Ok(answers),
    }
}

/// Waits for the end of `task`, which was told to leave. Ends it when that takes too long, a moment after `at_once`: then the result is `None`.
/// Either way nothing is left of it, and what it had taken from queues is there again.
async fn ended<T>(mut task: JoinHandle<T>, at_once: &CancellationToken) -> Option<Result<T, JoinError>> {
    let is_late = async {
        tokio::select! {
            () = tokio::time::sleep(RECORD_GRACE) => {}
            () = async { at_once.cancelled().await; tokio::time::sleep(STOP_GRACE).await } => {}
        }
    };
    tokio::select! {
        biased;
        ended = &mut task => return Some(ended),
        () = is_late => task.abort(),
    }
    Some(task.await).filter(|ended| !matches!(ended, Err(error) if error.is_cancelled()))
}

async fn declare(queue: &Queue, sweep: &Sweep) -> anyhow::Result<()> {
    for (name, endpoint) in &sweep.lock.endpoints {
        queue.declare_jobs(&endpoint.queue(name, &sweep.id)).await?;
    }
    Ok(())
}

fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock)
}

/// Every TLS connection of the process uses this provider; installing it twice is harmless.
pub(crate) fn install_tls() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}
