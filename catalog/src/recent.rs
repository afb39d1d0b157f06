//! Sweeps and data sets that are kept in memory: the latest, as many as fit.

use std::collections::{BTreeSet, HashMap};
use std::num::NonZeroUsize;
use std::sync::{Arc, Weak};

use lru::LruCache;
use regatta_benchmarks::Suite;
use regatta_proto::{BenchmarkName, Digest};
use tokio::sync::OnceCell;

use crate::Sweep;

/// Most sweeps that are kept; an evicted one is put together again from its lock.
const SWEEPS_MAX: NonZeroUsize = NonZeroUsize::new(32).unwrap();
/// Most bytes of data sets that are kept, as they were before they were parsed. The one that was used last is kept whatever its size, and so
/// are those of the sweep that was used last.
const BYTES_MAX: u64 = 128 << 20;
/// Bytes that a data set counts as at least, which bounds the number of small ones.
const DATASET_BYTES_MIN: u64 = 1 << 20;

/// A document that is read at most once, however many callers ask at the same time.
pub(crate) type Once<T> = Arc<OnceCell<T>>;
/// Name and manifest of a data set.
pub(crate) type DatasetKey = (BenchmarkName, Digest);

/// A loaded data set.
#[derive(Clone)]
pub(crate) struct Dataset {
    pub(crate) suite: Arc<dyn Suite>,
    /// Size of its files, archives unpacked.
    pub(crate) bytes: u64,
}

/// The sweeps and data sets that were used last.
pub(crate) struct Recent {
    sweeps: LruCache<Digest, Once<Arc<Sweep>>>,
    datasets: LruCache<DatasetKey, Once<Dataset>>,
    /// Data sets that are not kept, but that somebody may hold: loaded again, they would be in memory twice.
    evicted: HashMap<DatasetKey, (Weak<dyn Suite>, u64)>,
}

impl Recent {
    pub(crate) fn new() -> Self {
        Self { sweeps: LruCache::new(SWEEPS_MAX), datasets: LruCache::unbounded(), evicted: HashMap::new() }
    }

    /// The cell that all callers of this sweep share. Its data sets count as used, too.
    pub(crate) fn sweep(&mut self, digest: Digest) -> Once<Arc<Sweep>> {
        let once = self.sweeps.get_or_insert(digest, Arc::default).clone();
        if let Some(sweep) = once.get() {
            for key in sweep.datasets() {
                self.datasets.promote(&key);
            }
        }
        once
    }

    /// Keeps a sweep that was assembled elsewhere.
    pub(crate) fn keep(&mut self, sweep: Arc<Sweep>) {
        self.sweeps.put(sweep.digest, Arc::new(OnceCell::new_with(Some(sweep))));
    }

    /// The cell that all callers of this data set share.
    pub(crate) fn dataset(&mut self, key: DatasetKey) -> Once<Dataset> {
        let held = self.evicted.remove(&key);
        let held = held.and_then(|(suite, bytes)| Some(Dataset { suite: suite.upgrade()?, bytes }));
        let once = self.datasets.get_or_insert(key, || Arc::new(OnceCell::new_with(held))).clone();
        self.fit();
        once
    }

    /// Takes in the data sets of a sweep that has just been loaded; some may have been evicted meanwhile.
    pub(crate) fn hold(&mut self, datasets: Vec<(DatasetKey, Dataset)>) {
        for (key, dataset) in datasets {
            self.datasets.get_or_insert(key, || Arc::new(OnceCell::new_with(Some(dataset))));
        }
        self.fit();
    }

    /// Evicts the data sets that were not used for longest, each with all sweeps that hold it, until the rest fits.
    pub(crate) fn fit(&mut self) {
        let last_sweep = self.sweeps.iter().find_map(|(_, once)| once.get());
        let mut pinned: BTreeSet<DatasetKey> = last_sweep.into_iter().flat_map(|sweep| sweep.datasets()).collect();
        pinned.extend(self.datasets.iter().next().map(|(key, _)| key.clone()));
        while self.bytes() > BYTES_MAX {
            let oldest = self.datasets.iter().rev().map(|(key, _)| key).find(|key| !pinned.contains(*key));
            let Some(oldest) = oldest.cloned() else { return };
            self.evict(&oldest);
        }
    }

    fn evict(&mut self, key: &DatasetKey) {
        let holding = self
            .sweeps
            .iter()
            .filter(|(_, once)| once.get().is_some_and(|sweep| sweep.datasets().any(|held| held == *key)));
        let holding: Vec<Digest> = holding.map(|(digest, _)| *digest).collect();
        for digest in holding {
            self.sweeps.pop(&digest);
        }
        let dropped = self.datasets.pop(key);
        self.evicted.retain(|_, (suite, _)| suite.strong_count() > 0);
        if let Some(Dataset { suite, bytes }) = dropped.as_ref().and_then(|once| once.get()) {
            self.evicted.insert(key.clone(), (Arc::downgrade(suite), *bytes));
        }
    }

    fn bytes(&self) -> u64 {
        let each = self.datasets.iter().map(|(_, once)| once.get().map_or(0, |dataset| dataset.bytes));
        each.map(|bytes| bytes.max(DATASET_BYTES_MIN)).sum()
    }
}
