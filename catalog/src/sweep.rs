//! One sweep with everything that is needed to run or score its sessions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use regatta_benchmarks::{Item, Suite, canary_items, listed_items, select_items, with_canaries};
use regatta_proto::{
    Answerer, BenchmarkLock, BenchmarkName, CacheMode, Cell, CellIndex, Digest, Image, ItemIndex, ModelRef,
    SessionSeed, Setting, SweepId, SweepLock,
};

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::audited::audited_items;
use crate::{CatalogError, Release};

/// A planned sweep: its lock, its grid, its loaded data sets and the items of each cell.
pub struct Sweep {
    /// Id of the sweep.
    pub id: SweepId,
    /// Digest of the bytes that `lock` was read from.
    pub digest: Digest,
    /// The resolved spec.
    pub lock: SweepLock,
    cells: Vec<Cell>,
    suites: BTreeMap<BenchmarkName, Arc<dyn Suite>>,
    selected: BTreeMap<(BenchmarkName, Setting), Arc<[ItemIndex]>>,
    /// Turns of the benchmarks whose calls wait for a process.
    turns: BTreeMap<BenchmarkName, Semaphore>,
    /// Orders in which an adaptive sweep buys the items; empty for other sweeps.
    releases: BTreeMap<(BenchmarkName, Setting), Release>,
    /// Items that a second judge judges, too; empty where a benchmark has no audit.
    audited: BTreeMap<(BenchmarkName, Setting), BTreeSet<ItemIndex>>,
    /// Items that are asked in every run; empty where a benchmark has none.
    canaries: BTreeMap<(BenchmarkName, Setting), BTreeSet<ItemIndex>>,
}

impl Sweep {
    /// Puts a sweep together from its lock and its loaded data sets.
    ///
    /// # Errors
    /// When a selection of items cannot be made, or differs from the lock's count.
    pub fn new(lock: SweepLock, suites: BTreeMap<BenchmarkName, Arc<dyn Suite>>) -> Result<Self, CatalogError> {
        let digest = Digest::of(&lock.to_bytes()?);
        Self::of(digest, lock, suites)
    }

    /// Like [`Sweep::new`], for a lock that was read from bytes with this digest. Bytes written by another version may serialise
    /// differently now; the sweep keeps the digest that it was stored under.
    ///
    /// # Errors
    /// When a selection of items cannot be made, or differs from the lock's count.
    pub(crate) fn of(
        digest: Digest,
        lock: SweepLock,
        suites: BTreeMap<BenchmarkName, Arc<dyn Suite>>,
    ) -> Result<Self, CatalogError> {
        let id = lock.sweep_id(&digest)?;
        let (mut selected, mut releases, mut audited) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut canaries = BTreeMap::new();
        for (name, benchmark) in &lock.benchmarks {
            let suite = suites.get(name).ok_or_else(|| CatalogError::UnknownBenchmark {
                name: name.clone(),
                known: suites.keys().map(BenchmarkName::as_str).collect::<Vec<_>>().join(", "),
            })?;
            for setting in &benchmark.settings {
                let limit = benchmark.restriction();
                let (suite_ref, tasks): (&dyn Suite, _) = (suite.as_ref(), &benchmark.tasks);
                let asked_always = canary_items(suite_ref, name, setting, tasks, benchmark.canaries, lock.seed)?;
                let items = select_items(suite_ref, name, setting, tasks, limit, lock.seed)?;
                let items = listed_items(suite_ref.items(), items, &benchmark.listed);
                let items = with_canaries(items, &asked_always);
                let locked = benchmark.items.get(setting).copied().unwrap_or(0);
                if items.len() != locked as usize {
                    return Err(CatalogError::SelectionChanged {
                        benchmark: name.clone(),
                        setting: setting.clone(),
                        locked,
                        found: items.len(),
                    });
                }
                if lock.decide.is_some() {
                    let release = Release::new(suite.as_ref(), name, &items, lock.seed);
                    releases.insert((name.clone(), setting.clone()), release);
                }
                if let Some(audit) = &benchmark.audit {
                    let drawn = audited_items(suite.items(), name, &items, audit, lock.seed);
                    audited.insert((name.clone(), setting.clone()), drawn);
                }
                if !asked_always.is_empty() {
                    canaries.insert((name.clone(), setting.clone()), asked_always);
                }
                selected.insert((name.clone(), setting.clone()), Arc::from(items));
            }
        }
        let cells = lock.cells();
        let turns = suites.iter().filter_map(|(name, suite)| {
            let at_once = suite.calls_at_once()?;
            Some((name.clone(), Semaphore::new(at_once.get())))
        });
        let turns = turns.collect();
        Ok(Self { id, digest, lock, cells, suites, selected, turns, releases, audited, canaries })
    }

    /// Names and manifests of its data sets.
    pub(crate) fn datasets(&self) -> impl Iterator<Item = (BenchmarkName, Digest)> {
        self.lock.benchmarks.iter().map(|(name, benchmark)| (name.clone(), benchmark.dataset))
    }

    /// The grid.
    #[must_use]
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The cell at `index`, if the grid has it.
    #[must_use]
    pub fn cell(&self, index: CellIndex) -> Option<&Cell> {
        self.cells.get(index.0 as usize)
    }

    /// The data set of `cell`. `None` only for a cell of another sweep.
    #[must_use]
    pub fn suite(&self, cell: &Cell) -> Option<&Arc<dyn Suite>> {
        self.suites.get(&cell.benchmark)
    }

    /// The image with this digest, with its bytes; `None` if no data set of the sweep has it.
    #[must_use]
    pub fn image(&self, digest: &Digest) -> Option<Image> {
        self.suites.values().find_map(|suite| suite.image(digest))
    }

    /// Waits until a call of `cell`'s benchmark would be answered at once, and holds its turn, so that no more sessions occupy a thread
    /// than there are processes to answer them. `None` if calls of this benchmark do not wait.
    pub async fn turn(&self, cell: &Cell) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed.
        self.turns.get(&cell.benchmark)?.acquire().await.ok()
    }

    /// Selection and settings of `cell`'s benchmark. `None` only for a cell of another sweep.
    #[must_use]
    pub fn benchmark(&self, cell: &Cell) -> Option<&BenchmarkLock> {
        self.lock.benchmarks.get(&cell.benchmark)
    }

    /// Items of `cell`, ascending.
    #[must_use]
    pub fn selected(&self, cell: &Cell) -> &[ItemIndex] {
        self.selected.get(&(cell.benchmark.clone(), cell.setting.clone())).map_or(&[], |items| items)
    }

    /// Items of `cell` that the judge of the benchmark's audit judges, too; `None` without an audit.
    #[must_use]
    pub fn audited(&self, cell: &Cell) -> Option<&BTreeSet<ItemIndex>> {
        // Of nearly every sweep none are, and every session asks.
        if self.audited.is_empty() {
            return None;
        }
        self.audited.get(&(cell.benchmark.clone(), cell.setting.clone()))
    }

    /// `true` if the item at `index` of `cell` is one that every run asks, and never takes from the response cache.
    #[must_use]
    pub fn is_canary(&self, cell: &Cell, index: ItemIndex) -> bool {
        if self.canaries.is_empty() {
            return false;
        }
        let canaries = self.canaries.get(&(cell.benchmark.clone(), cell.setting.clone()));
        canaries.is_some_and(|canaries| canaries.contains(&index))
    }

    /// Use of the response cache by the session of the item at `index` of `cell`. A cached answer to a canary would hide that its model answers
    /// otherwise today.
    #[must_use]
    pub fn cache(&self, cell: &Cell, index: ItemIndex) -> CacheMode {
        if self.is_canary(cell, index) { self.lock.cache.asking_anew() } else { self.lock.cache }
    }

    /// The order in which an adaptive sweep buys the items of `cell`; `None` for other sweeps.
    #[must_use]
    pub fn release(&self, cell: &Cell) -> Option<&Release> {
        if self.releases.is_empty() {
            return None;
        }
        self.releases.get(&(cell.benchmark.clone(), cell.setting.clone()))
    }

    /// Items of `cell` in the order in which they are dispatched: shards are ranges of it.
    #[must_use]
    pub fn dispatch_order(&self, cell: &Cell) -> &[ItemIndex] {
        self.release(cell).map_or_else(|| self.selected(cell), |release| &release.items)
    }

    /// The item at `index` of `cell`'s data set.
    #[must_use]
    pub fn item(&self, cell: &Cell, index: ItemIndex) -> Option<&Item> {
        self.suite(cell)?.items().get(index.0 as usize)
    }

    /// Identity of `model` as a judge of this sweep. `None` only for a model at an endpoint of another sweep.
    #[must_use]
    pub fn answerer(&self, model: &ModelRef) -> Option<Answerer> {
        let endpoint = self.lock.endpoints.get(&model.endpoint)?;
        Some(Answerer::new(endpoint, &model.model, &self.id))
    }

    /// Seed of the session of `item` in `cell`.
    #[must_use]
    pub fn seed(&self, cell: &Cell, item: &Item) -> SessionSeed {
        self.lock.session_seed(cell, &item.id)
    }
}
