//! The stores that sweeps are read from: those of a deployment, or of runs' directories.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use regatta_backends::{Blobs, Ledger, LedgerError, Permits, SweepRow};
use regatta_benchmarks::Registry;
use regatta_catalog::{Catalog, Sweep};
use regatta_proto::{Cell, Digest};
use tokio::sync::Mutex;

use crate::problem::Problem;

/// Most directories that are opened; each has a thread for its ledger.
const DIRECTORIES_MAX: usize = 200;

/// Stores that hold sweeps.
#[derive(Clone)]
pub struct Store {
    /// Plans, attempts and results.
    pub ledger: Ledger,
    /// Locks, data sets and transcripts.
    pub catalog: Catalog,
    /// Limits that a fleet shares; `None` for a run's directory.
    pub permits: Option<Permits>,
}

/// The stores that sweeps are read from.
#[derive(Clone)]
pub enum Source {
    /// The stores of a deployment: each sweep is a run, by its id.
    Deployment(Store),
    /// Directories of runs: each holds one sweep, and is called by its own name.
    Directories(Arc<Directories>),
}

/// A sweep, with its name in addresses.
#[derive(Clone)]
pub struct Run {
    /// Name in addresses.
    pub name: String,
    /// The sweep's row in the ledger.
    pub row: SweepRow,
    /// The stores that hold it.
    pub store: Store,
}

impl Source {
    /// All runs, the newest first, and messages about those that cannot be opened.
    pub(crate) async fn runs(&self) -> Result<(Vec<Run>, Vec<String>), Problem> {
        match self {
            Self::Deployment(store) => {
                let rows = store.ledger.sweeps().await?;
                let run = |row: SweepRow| Run { name: row.id.to_string(), row, store: store.clone() };
                Ok((rows.into_iter().map(run).collect(), Vec::new()))
            }
            Self::Directories(directories) => Ok(directories.runs().await),
        }
    }

    /// The run of this name.
    pub(crate) async fn run(&self, name: &str) -> Result<Run, Problem> {
        let missing = || Problem::missing(format!("there is no run {name:?} here"));
        match self {
            Self::Deployment(store) => {
                let id = name.parse().map_err(|_| missing())?;
                let row = store.ledger.sweep(&id).await?.ok_or_else(missing)?;
                Ok(Run { name: name.to_owned(), row, store: store.clone() })
            }
            Self::Directories(directories) => directories.run(name).await?.ok_or_else(missing),
        }
    }

    /// The store of schedules; `None` for runs' directories.
    pub(crate) const fn deployment(&self) -> Option<&Store> {
        match self {
            Self::Deployment(store) => Some(store),
            Self::Directories(_) => None,
        }
    }
}

impl Run {
    /// The run's lock, grid and data sets.
    pub(crate) async fn sweep(&self) -> Result<Arc<Sweep>, Problem> {
        Ok(self.store.catalog.sweep(&self.row.lock).await?)
    }
}

/// Cells of one benchmark and setting.
pub(crate) fn cells_of<'s>(sweep: &'s Sweep, benchmark: &str, setting: &str) -> Vec<&'s Cell> {
    let is_of = |cell: &&Cell| cell.benchmark.as_str() == benchmark && cell.setting.as_str() == setting;
    sweep.cells().iter().filter(is_of).collect()
}

/// Chooses the benchmarks by which a run is read, by the digests of its locks: programs of others' benchmarks are not to be started.
type BenchmarksOf = Box<dyn Fn(&[Digest]) -> Registry + Send + Sync>;

/// Directories of runs, and folders that hold such directories.
pub struct Directories {
    roots: Vec<PathBuf>,
    benchmarks: BenchmarksOf,
    open: Mutex<BTreeMap<PathBuf, Store>>,
}

impl Directories {
    /// Runs in `roots`, each a run's directory or a folder with runs in it. `benchmarks` chooses those that a run is read by.
    #[must_use]
    pub fn new(roots: Vec<PathBuf>, benchmarks: impl Fn(&[Digest]) -> Registry + Send + Sync + 'static) -> Self {
        Self { roots, benchmarks: Box::new(benchmarks), open: Mutex::default() }
    }

    /// Directories that hold a run, by name. Searched each time, because runs may begin while somebody looks.
    #[must_use]
    pub fn found(&self) -> BTreeMap<String, PathBuf> {
        let mut found = BTreeMap::new();
        let mut add = |path: PathBuf| {
            if found.len() >= DIRECTORIES_MAX {
                return;
            }
            let name = path.file_name().map_or_else(|| "run".to_owned(), |name| name.to_string_lossy().into_owned());
            // Runs of one name get a number, in the order in which they were given.
            let names = std::iter::once(name.clone()).chain((2..).map(|number| format!("{name}-{number}")));
            if let Some(free) = names.into_iter().find(|name| !found.contains_key(name)) {
                found.insert(free, path);
            }
        };
        for root in &self.roots {
            if holds_run(root) {
                // `.` has no name of its own.
                add(root.canonicalize().unwrap_or_else(|_| root.clone()));
                continue;
            }
            let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
            let mut below: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| holds_run(path)).collect();
            below.sort();
            below.into_iter().for_each(&mut add);
        }
        found
    }

    async fn runs(&self) -> (Vec<Run>, Vec<String>) {
        let (mut runs, mut problems) = (Vec::new(), Vec::new());
        let found = self.found();
        if found.len() >= DIRECTORIES_MAX {
            problems.push(format!("only the first {DIRECTORIES_MAX} directories are shown; name those that you want"));
        }
        for (name, path) in found {
            match self.open(&name, &path).await {
                Ok(Some(run)) => runs.push(run),
                Ok(None) => {}
                Err(problem) => problems.push(format!("{}: {}", path.display(), problem.sentence())),
            }
        }
        runs.sort_by(|one, other| other.row.created_at.cmp(&one.row.created_at).then(one.name.cmp(&other.name)));
        (runs, problems)
    }

    async fn run(&self, name: &str) -> Result<Option<Run>, Problem> {
        match self.found().remove(name) {
            Some(path) => self.open(name, &path).await,
            None => Ok(None),
        }
    }

    /// The run in `path`; `None` while its sweep is not planned yet.
    async fn open(&self, name: &str, path: &Path) -> Result<Option<Run>, Problem> {
        let known = self.open.lock().await.get(path).cloned();
        let store = match known {
            Some(store) => store,
            None => {
                let ledger = Ledger::sqlite(path.join("store/ledger.sqlite")).await?;
                let locks: Vec<Digest> = ledger.sweeps().await?.iter().map(|row| row.lock).collect();
                if locks.is_empty() {
                    return Ok(None);
                }
                let blobs = Blobs::directory(path.join("store/blobs"))?;
                let catalog = Catalog::new(blobs, (self.benchmarks)(&locks));
                let store = Store { ledger, catalog, permits: None };
                self.open.lock().await.entry(path.to_owned()).or_insert(store).clone()
            }
        };
        let row = match store.ledger.sweeps().await {
            Ok(mut rows) if !rows.is_empty() => Some(rows.remove(0)),
            Ok(_) => None,
            Err(error) => {
                // The directory has changed since the run was opened.
                self.open.lock().await.remove(path);
                return Err(LedgerError::into(error));
            }
        };
        Ok(row.map(|row| Run { name: name.to_owned(), row, store }))
    }
}

fn holds_run(path: &Path) -> bool {
    path.join("store/ledger.sqlite").is_file()
}
