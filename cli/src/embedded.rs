//! All roles in one process: the same code over a memory queue, SQLite and a directory.

mod adopting;
mod changing;
mod diagnosis;
mod gate;
mod integrity;
mod link_tree;
mod lock;
mod new_folders;
mod recovering;
mod repair;
mod reserve;
mod working;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use prometheus::Registry;
use regatta_backends::{Blobs, Ledger, Permits, Queue};
use regatta_benchmarks::default_setting;
use regatta_catalog::{Catalog, Sweep};
use regatta_coordinator::{Coordinator, CoordinatorConfig, CoordinatorMetrics, Resumption};
use regatta_files::{FolderError, own_folder};
use regatta_proto::{Clock, Digest, SweepId, SweepState, SystemClock};
use regatta_simulator::SimulatedSuite;
use regatta_traces::Traces;

use crate::args::TraceArgs;
use crate::benchmarks::BENCHMARKS;
use crate::exit::{BadConfiguration, bad_configuration, cannot_write, refused};
use crate::output;
use crate::signals::Leaving;
use crate::simulated::SimulatedEndpoints;
use crate::system_limits::too_low;
use crate::trust::{Rights, locks_in};

pub(crate) use changing::Fewer;
pub(crate) use diagnosis::diagnose;
use link_tree::link_tree;
use lock::DirectoryLock;
use new_folders::NewFolders;
#[cfg(test)]
pub(crate) use repair::{Finding, Standing};
pub(crate) use repair::{Repaired, Wish, repair};

/// Interval between two looks at the ledger; short, because nobody else uses it.
const TICK: Duration = Duration::from_millis(50);
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
    /// After the stores, and while the directory is locked.
    new_folders: NewFolders,
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
        let around = NewFolders::around(&store);
        own_folder(&store).map_err(|error| writable(refused(error)))?;
        let lock = DirectoryLock::take(directory, &store).map_err(writable)?;
        // Behind the lock, so that they go before it does.
        let mut new_folders = around.with_stores();
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
        let answers = match cache {
            Some(named) => named.to_owned(),
            None => default_cache(&store)?,
        };
        new_folders.are_kept = true;
        Ok(Self {
            directory: directory.to_owned(),
            ledger,
            queue,
            permits,
            answers,
            catalog,
            registry,
            coordinator: Arc::new(coordinator),
            rights,
            give_up_after: GIVE_UP_AFTER,
            traces: Traces::default(),
            new_folders,
            _lock: lock,
        })
    }

    /// Closes the stores of a run that does not begin, and removes them if they were made for it.
    pub(crate) fn abandon(mut self) {
        self.new_folders.are_kept = false;
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
        let sessions = sweep.cells().iter().map(|cell| sweep.selected(cell).len() as u64).sum();
        let files = regatta_processes::open_files_limit();
        too_low(&sweep.lock.endpoints, sessions, files).iter().for_each(|limit| output::note(limit));
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

    pub(crate) async fn state(&self, sweep: &Sweep) -> anyhow::Result<SweepState> {
        let row = self.ledger.sweep(&sweep.id).await?;
        row.map(|row| row.state).context("the ledger does not have the sweep it was given")
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

fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock)
}

/// Every TLS connection of the process uses this provider; installing it twice is harmless.
pub(crate) fn install_tls() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}
