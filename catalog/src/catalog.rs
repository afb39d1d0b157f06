//! Reads each sweep and each data set once, and keeps the latest ones, as far as they fit.

use futures::future::BoxFuture;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use regatta_backends::{BlobError, Blobs};
use regatta_benchmarks::{DataError, Registry, SelectError, Suite};
use regatta_proto::{BenchmarkName, Digest, Setting, SweepLock};
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::recent::{Dataset, DatasetKey, Recent};
use crate::{Sweep, load_dataset};

/// Longest time to load a data set: that of a program that loads for as long as its definition may say (600 s), and a minute.
const LOAD_MAX: Duration = Duration::from_secs(660);

/// A sweep or data set that cannot be read or stored.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// The blob store failed.
    #[error(transparent)]
    Blobs(#[from] BlobError),
    /// The blob store has no such key.
    #[error("{key} is not in the blob store; is this process pointed at the same store as the coordinator?")]
    Missing {
        /// Key of the missing blob.
        key: String,
    },
    /// The content of a blob has another digest than its key says.
    #[error("{key} does not match its digest; the blob store is damaged")]
    Damaged {
        /// Key of the damaged blob.
        key: String,
    },
    /// A stored document is not the JSON that was expected.
    #[error("failed to read a stored document: {0}")]
    Json(#[from] serde_json::Error),
    /// The lock was written in a version that this build does not read.
    #[error("the sweep's lock has version {found}, this build reads {}: upgrade the older side", SweepLock::VERSION)]
    Version {
        /// The version found.
        found: u32,
    },
    /// This build does not know the benchmark.
    #[error("unknown benchmark {:?}; known: {known}", name.as_str())]
    UnknownBenchmark {
        /// The name, as the lock has it.
        name: BenchmarkName,
        /// The benchmarks of this build, separated by commas.
        known: String,
    },
    /// The data set is malformed.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The data set takes too long.
    #[error("the data set of {benchmark} was not loaded within {} s; make it smaller, or its definition simpler", LOAD_MAX.as_secs())]
    Slow {
        /// The benchmark.
        benchmark: BenchmarkName,
    },
    /// The benchmark panicked over the data set.
    #[error("failed to load the data set of {benchmark}: {source}")]
    Panicked {
        /// The benchmark.
        benchmark: BenchmarkName,
        /// The panic.
        source: tokio::task::JoinError,
    },
    /// The lock selects items in a way that this data set does not have.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// A stored id is malformed.
    #[error(transparent)]
    Id(#[from] regatta_proto::IdError),
    /// This build selects other items than the one that planned the sweep.
    #[error(
        "{benchmark} {setting}: the lock counts {locked} items, this build selects {found}; run it with the version that planned it"
    )]
    SelectionChanged {
        /// The benchmark whose items differ.
        benchmark: BenchmarkName,
        /// The setting whose items differ.
        setting: Setting,
        /// Number of items in the lock.
        locked: u32,
        /// Number of items that this build selects.
        found: usize,
    },
}

impl CatalogError {
    /// `true` if the blob store could not be reached. All other errors are about one sweep or data set alone.
    #[must_use]
    pub fn is_outage(&self) -> bool {
        match self {
            Self::Blobs(error) => error.is_outage(),
            Self::Missing { .. }
            | Self::Damaged { .. }
            | Self::Json(_)
            | Self::Version { .. }
            | Self::UnknownBenchmark { .. }
            | Self::Data(_)
            | Self::Slow { .. }
            | Self::Panicked { .. }
            | Self::Select(_)
            | Self::Id(_)
            | Self::SelectionChanged { .. } => false,
        }
    }
}

/// Sweeps by the digest of their lock, read from Blobs at first use. Cheap to clone.
#[derive(Clone)]
pub struct Catalog {
    blobs: Blobs,
    benchmarks: Registry,
    recent: Arc<Mutex<Recent>>,
}

impl Catalog {
    /// A catalog over `blobs` of sweeps with these benchmarks.
    #[must_use]
    pub fn new(blobs: Blobs, benchmarks: Registry) -> Self {
        Self { blobs, benchmarks, recent: Arc::new(Mutex::new(Recent::new())) }
    }

    /// The sweep whose lock has `digest`.
    ///
    /// # Errors
    /// When its documents are missing, damaged, or of another version.
    pub fn sweep<'a>(&'a self, digest: &'a Digest) -> BoxFuture<'a, Result<Arc<Sweep>, CatalogError>> {
        Box::pin(async move {
            let once = self.recent().sweep(*digest);
            let mut loaded = None;
            let reading = async {
                let (sweep, datasets) = self.read_sweep(digest).await?;
                loaded = Some(datasets);
                Ok::<_, CatalogError>(Arc::new(sweep))
            };
            let sweep = once.get_or_try_init(|| reading).await?.clone();
            if let Some(datasets) = loaded {
                self.recent().hold(datasets);
            }
            Ok(sweep)
        })
    }

    async fn read_sweep(&self, digest: &Digest) -> Result<(Sweep, Vec<(DatasetKey, Dataset)>), CatalogError> {
        let lock = read_lock(&self.blobs, digest).await?;
        let (mut suites, mut datasets) = (BTreeMap::new(), Vec::new());
        for (name, benchmark) in &lock.benchmarks {
            let dataset = self.dataset(name, &benchmark.dataset).await?;
            suites.insert(name.clone(), dataset.suite.clone());
            datasets.push(((name.clone(), benchmark.dataset), dataset));
        }
        Ok((Sweep::of(*digest, lock, suites)?, datasets))
    }

    /// The loaded data set of benchmark `name` whose manifest has `digest`.
    ///
    /// # Errors
    /// When the benchmark is unknown or its files are missing or malformed.
    pub fn suite<'a>(
        &'a self,
        name: &'a BenchmarkName,
        digest: &'a Digest,
    ) -> BoxFuture<'a, Result<Arc<dyn Suite>, CatalogError>> {
        Box::pin(async move { Ok(self.dataset(name, digest).await?.suite) })
    }

    async fn dataset(&self, name: &BenchmarkName, digest: &Digest) -> Result<Dataset, CatalogError> {
        let once = self.recent().dataset((name.clone(), *digest));
        let is_loaded = once.initialized();
        let dataset = once.get_or_try_init(|| self.load(name, digest)).await?.clone();
        if !is_loaded {
            self.recent().fit();
        }
        Ok(dataset)
    }

    /// Loads a data set beside the event loop. Where that has one thread alone it is loaded there: only tests have such a runtime, and
    /// their order of events must not depend on another thread.
    async fn load(&self, name: &BenchmarkName, digest: &Digest) -> Result<Dataset, CatalogError> {
        let benchmark = self
            .benchmarks
            .find(name)
            .ok_or_else(|| CatalogError::UnknownBenchmark { name: name.clone(), known: self.benchmarks.names() })?;
        let files = load_dataset(&self.blobs, digest).await?;
        let bytes: u64 = files.iter().map(|(_, content)| content.len() as u64).sum();
        let suite = match Handle::current().runtime_flavor() {
            RuntimeFlavor::CurrentThread => benchmark.load(&files)?,
            _ => {
                let loading = tokio::task::spawn_blocking(move || benchmark.load(&files));
                let loaded = tokio::time::timeout(LOAD_MAX, loading).await;
                let loaded = loaded.map_err(|_| CatalogError::Slow { benchmark: name.clone() })?;
                loaded.map_err(|source| CatalogError::Panicked { benchmark: name.clone(), source })??
            }
        };
        let bytes = bytes.saturating_add(suite.unpacked_bytes());
        Ok(Dataset { suite, bytes })
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores `lock`, so that every process can read the sweep, and returns it.
    ///
    /// # Errors
    /// When Blobs fail, or the lock does not fit its data.
    pub fn store<'a>(&'a self, lock: &'a SweepLock) -> BoxFuture<'a, Result<Arc<Sweep>, CatalogError>> {
        Box::pin(async move {
            let bytes = lock.to_bytes()?;
            let digest = Digest::of(&bytes);
            self.blobs.put(&lock_key(&digest), Bytes::from(bytes)).await?;
            self.sweep(&digest).await
        })
    }

    /// Adds a sweep that was assembled elsewhere. Nothing is read, and its benchmarks need not be among those of this build.
    #[must_use]
    pub fn keep(&self, sweep: Sweep) -> Arc<Sweep> {
        let sweep = Arc::new(sweep);
        self.recent().keep(sweep.clone());
        sweep
    }

    /// The benchmarks that sweeps can have.
    #[must_use]
    pub const fn benchmarks(&self) -> Registry {
        self.benchmarks
    }

    /// The store behind the catalog.
    #[must_use]
    pub const fn blobs(&self) -> &Blobs {
        &self.blobs
    }
}

/// The lock that has `digest`, without the data sets that it names.
///
/// # Errors
/// When it is missing, damaged, or of another version.
pub fn read_lock<'a>(blobs: &'a Blobs, digest: &'a Digest) -> BoxFuture<'a, Result<SweepLock, CatalogError>> {
    Box::pin(async move {
        let key = lock_key(digest);
        let bytes = blobs.get(&key).await?.ok_or_else(|| CatalogError::Missing { key: key.clone() })?;
        if Digest::of(&bytes) != *digest {
            return Err(CatalogError::Damaged { key });
        }
        let lock = SweepLock::from_bytes(&bytes)?;
        if !(SweepLock::OLDEST_READ..=SweepLock::VERSION).contains(&lock.v) {
            return Err(CatalogError::Version { found: lock.v });
        }
        Ok(lock)
    })
}

pub(crate) fn lock_key(digest: &Digest) -> String {
    format!("locks/{digest}.json")
}

#[cfg(test)]
mod tests;
