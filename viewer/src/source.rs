//! The stores that sweeps are read from: those of a deployment, or of runs' directories.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use regatta_backends::{Blobs, Ledger, LedgerError, PageMark, PageMarkError, Permits, SweepRow};
use regatta_benchmarks::Registry;
use regatta_catalog::{Catalog, Sweep};
use regatta_proto::{Cell, Digest, SweepState};
use serde::Deserialize;
use tokio::sync::Mutex;

use crate::annotations::stored::OfSweep;
use crate::annotations::{self, Annotations, Annotator};
use crate::problem::Problem;

/// Most directories that are opened; each has a thread for its ledger.
const DIRECTORIES_MAX: usize = 200;
/// Runs of a page, and those of which lists and streams of events tell: a deployment keeps its sweeps for a long time.
pub(crate) const RUNS_MAX: u32 = 200;

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
    /// Directory of a run that has not ended and that no process is at work on; `None` for all others. A deployment goes on with its sweeps.
    pub(crate) interrupted: Option<PathBuf>,
    /// Annotations by people; `None` where there are none to be shown, and of a deployment's sweep until the page knows who looks.
    pub(crate) annotated: Option<AnnotatedRun>,
}

/// The annotations of a run, and the person who adds to them.
#[derive(Clone)]
pub(crate) struct AnnotatedRun {
    pub(crate) place: AnnotationPlace,
    /// `None` if nobody is named, or may: annotations are shown, and none is taken.
    pub(crate) by: Option<Annotator>,
}

/// The place of a run's annotations.
#[derive(Clone)]
pub(crate) enum AnnotationPlace {
    /// A file in the run's directory.
    File(PathBuf),
    /// Objects beside the results of a deployment's sweep.
    Sweep(OfSweep),
}

impl fmt::Display for AnnotationPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Sweep(stored) => write!(f, "{stored}"),
        }
    }
}

/// Annotations as far as they can be read.
#[derive(Default)]
pub(crate) struct ReadAnnotations {
    pub(crate) all: Annotations,
    /// The reason why the whole file cannot be read.
    pub(crate) problem: Option<String>,
}

impl AnnotatedRun {
    /// Reads them. A page is shown all the same if they cannot be read.
    pub(crate) async fn read(&self) -> Result<ReadAnnotations, Problem> {
        let read = match &self.place {
            AnnotationPlace::File(path) => {
                let path = path.clone();
                let read = tokio::task::spawn_blocking(move || annotations::read(&path)).await?;
                read.map_err(|error| error.to_string())
            }
            AnnotationPlace::Sweep(stored) => stored.read().await.map_err(|error| regatta_proto::causes(&error)),
        };
        match read {
            Ok(all) => Ok(ReadAnnotations { all, problem: None }),
            Err(error) => {
                let problem = format!("failed to read {}: {error}", self.place);
                Ok(ReadAnnotations { all: Annotations::default(), problem: Some(problem) })
            }
        }
    }
}

/// A page of runs.
pub(crate) struct Runs {
    /// Runs, the newest first.
    pub(crate) runs: Vec<Run>,
    /// Messages about those that cannot be opened.
    pub(crate) problems: Vec<String>,
    /// End of this page, if older runs follow.
    pub(crate) next: Option<PageMark>,
}

/// The query of an address of a page of runs.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct WantedRuns {
    after: String,
}

impl WantedRuns {
    /// End of the page before; `None` for the first page.
    pub(crate) fn after(&self) -> Result<Option<PageMark>, Problem> {
        match self.after.as_str() {
            "" => Ok(None),
            after => after.parse().map(Some).map_err(|error: PageMarkError| Problem::wrong(error.to_string())),
        }
    }
}

impl Source {
    /// The newest runs.
    pub(crate) async fn newest(&self) -> Result<Runs, Problem> {
        self.runs(None).await
    }

    /// The page of runs that come after `after`; `None` is the first page. Directories are few enough for one page.
    pub(crate) async fn runs(&self, after: Option<&PageMark>) -> Result<Runs, Problem> {
        match self {
            Self::Deployment(store) => {
                let mut rows = store.ledger.sweeps_after(after, RUNS_MAX + 1).await?;
                let is_more = rows.len() > RUNS_MAX as usize;
                rows.truncate(RUNS_MAX as usize);
                let next = rows.last().map(PageMark::from).filter(|_| is_more);
                let run = |row: SweepRow| Run::of_deployment(store, row);
                Ok(Runs { runs: rows.into_iter().map(run).collect(), problems: Vec::new(), next })
            }
            Self::Directories(directories) => {
                let (runs, problems) = directories.runs().await;
                Ok(Runs { runs, problems, next: None })
            }
        }
    }

    /// The run of this name.
    pub(crate) async fn run(&self, name: &str) -> Result<Run, Problem> {
        let missing = || Problem::missing(format!("there is no run {name:?} here"));
        match self {
            Self::Deployment(store) => {
                let id = name.parse().map_err(|_| missing())?;
                let row = store.ledger.sweep(&id).await?.ok_or_else(missing)?;
                Ok(Run::of_deployment(store, row))
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
    fn of_deployment(store: &Store, row: SweepRow) -> Self {
        Self { name: row.id.to_string(), row, store: store.clone(), interrupted: None, annotated: None }
    }

    /// `true` while something may happen by itself.
    pub(crate) const fn goes_on(&self) -> bool {
        !self.row.state.is_end() && self.interrupted.is_none()
    }

    /// The state in a word: that of the ledger, which an interruption and a pause leave as it was.
    pub(crate) const fn state(&self) -> &'static str {
        match self.interrupted {
            Some(_) => "interrupted",
            None if self.row.is_paused && matches!(self.row.state, SweepState::Running) => "paused",
            None => self.row.state.as_str(),
        }
    }

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
    annotations: AnnotationUse,
    open: Mutex<BTreeMap<PathBuf, Store>>,
}

/// The part that annotations by people have in the pages of runs' directories.
#[derive(Debug, Clone)]
pub enum AnnotationUse {
    /// They are left out, for readers who do not have the run.
    Hidden,
    /// They are shown, and taken from the person `by` if one is named.
    Shown {
        /// The person at the browser.
        by: Option<Annotator>,
    },
}

impl Directories {
    /// Runs in `roots`, each a run's directory or a folder with runs in it. `benchmarks` chooses those that a run is read by.
    #[must_use]
    pub fn new(
        roots: Vec<PathBuf>,
        benchmarks: impl Fn(&[Digest]) -> Registry + Send + Sync + 'static,
        annotations: AnnotationUse,
    ) -> Self {
        Self { roots, benchmarks: Box::new(benchmarks), annotations, open: Mutex::default() }
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
        // Before the row is read: a run that ends in between has ended, and was not interrupted.
        let is_at_work = is_at_work(path);
        let row = match store.ledger.sweeps().await {
            Ok(mut rows) if !rows.is_empty() => Some(rows.remove(0)),
            Ok(_) => None,
            Err(error) => {
                // The directory has changed since the run was opened.
                self.open.lock().await.remove(path);
                return Err(LedgerError::into(error));
            }
        };
        let annotated = match &self.annotations {
            AnnotationUse::Hidden => None,
            AnnotationUse::Shown { by } => {
                let place = AnnotationPlace::File(path.join(annotations::FILE_NAME));
                Some(AnnotatedRun { place, by: by.clone() })
            }
        };
        Ok(row.map(|row| {
            let interrupted = (!is_at_work && !row.state.is_end()).then(|| path.to_owned());
            Run { name: name.to_owned(), row, store, interrupted, annotated }
        }))
    }
}

fn holds_run(path: &Path) -> bool {
    path.join("store/ledger.sqlite").is_file()
}

/// `true` while a process holds the lock of the run in `path`. Where that cannot be told, the run is as its ledger says.
fn is_at_work(path: &Path) -> bool {
    regatta_files::is_locked(&path.join("store/lock")).unwrap_or(true)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use jiff::{SignedDuration, Timestamp};
    use regatta_backends::{NewSweep, Quota};
    use regatta_proto::SweepState;

    use super::*;

    fn sweep(number: u32) -> NewSweep {
        let name = format!("s{number}");
        NewSweep {
            id: name.parse().unwrap(),
            lock: Digest::of(name.as_bytes()),
            name,
            budget: None,
            created_at: Timestamp::UNIX_EPOCH + SignedDuration::from_secs(i64::from(number)),
            cells: Vec::new(),
            shards: Vec::new(),
            owner: None,
            quota: Quota::default(),
            inputs: BTreeSet::new(),
        }
    }

    /// A deployment with so many sweeps, a second apart.
    async fn deployment(sweeps: u32) -> Source {
        let ledger = Ledger::in_memory().unwrap();
        for number in 0..sweeps {
            ledger.create_sweep(sweep(number)).await.unwrap();
        }
        let catalog = Catalog::new(Blobs::memory(), Registry::new(&[]));
        Source::Deployment(Store { ledger, catalog, permits: None })
    }

    #[tokio::test]
    async fn however_many_sweeps_a_deployment_has_a_page_has_so_many_and_leads_to_older_ones() {
        let source = deployment(RUNS_MAX * 2 + 1).await;
        let mut names = Vec::new();
        let mut sizes = Vec::new();
        let mut wanted = WantedRuns::default();
        loop {
            let page = source.runs(wanted.after().unwrap().as_ref()).await.unwrap();
            sizes.push(page.runs.len());
            names.extend(page.runs.into_iter().map(|run| run.name));
            let Some(next) = page.next else { break };
            wanted = WantedRuns { after: next.to_string() };
        }
        assert_eq!(sizes, [200, 200, 1]);
        assert_eq!((names[0].as_str(), names[400].as_str()), ("s400", "s0"));
        assert!(deployment(RUNS_MAX).await.newest().await.unwrap().next.is_none());
    }

    #[tokio::test]
    async fn a_run_is_interrupted_when_it_has_not_ended_and_no_process_is_at_work_on_it() {
        let folder = tempfile::tempdir().unwrap();
        let (mine, store) = (folder.path().join("mine"), folder.path().join("mine/store"));
        std::fs::create_dir_all(&store).unwrap();
        let ledger = Ledger::sqlite(store.join("ledger.sqlite")).await.unwrap();
        ledger.create_sweep(sweep(1)).await.unwrap();
        let none = |_: &[Digest]| Registry::new(&[]);
        let directories = Directories::new(vec![folder.path().to_owned()], none, AnnotationUse::Hidden);
        let source = Source::Directories(Arc::new(directories));
        let seen = async || {
            let run = source.run("mine").await.unwrap();
            (run.state(), run.goes_on(), run.interrupted)
        };
        let lock = regatta_files::open_lock(&store.join("lock")).unwrap();
        regatta_files::try_lock(&lock).unwrap();
        assert_eq!(seen().await, ("running", true, None));
        drop(lock);
        assert_eq!(seen().await, ("interrupted", false, Some(mine)));
        let (id, at) = ("s1".parse().unwrap(), Timestamp::UNIX_EPOCH);
        assert!(ledger.transition(&id, &[SweepState::Running], SweepState::Cancelled, at).await.unwrap());
        assert_eq!(seen().await, ("cancelled", false, None));
        let run = &deployment(1).await.newest().await.unwrap().runs[0];
        assert_eq!((run.state(), run.goes_on()), ("running", true), "a coordinator goes on with it");
    }

    #[test]
    fn an_address_of_no_page_is_refused() {
        assert!(WantedRuns { after: "x".to_owned() }.after().unwrap_err().sentence().contains("not a page mark"));
    }
}
