//! Reads each sweep and each data set once, and keeps the latest ones.

use futures::future::BoxFuture;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use lru::LruCache;
use regatta_backends::{BlobError, Blobs};
use regatta_benchmarks::{DataError, Registry, SelectError, Suite};
use regatta_proto::{BenchmarkName, Digest, Setting, SweepLock};
use tokio::sync::OnceCell;

use crate::{Sweep, load_dataset};

/// Most sweeps, and most data sets, kept in memory at once; an evicted one is read again.
const KEPT: NonZeroUsize = NonZeroUsize::new(32).unwrap();

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
            | Self::Select(_)
            | Self::Id(_)
            | Self::SelectionChanged { .. } => false,
        }
    }
}

/// A document that is read at most once, however many callers ask at the same time.
type Once<T> = Arc<OnceCell<Arc<T>>>;
/// The documents used most recently, by name.
type Recent<K, T> = Arc<Mutex<LruCache<K, Once<T>>>>;

/// Sweeps by the digest of their lock, read from Blobs at first use. Cheap to clone.
#[derive(Clone)]
pub struct Catalog {
    blobs: Blobs,
    benchmarks: Registry,
    sweeps: Recent<Digest, Sweep>,
    suites: Recent<(BenchmarkName, Digest), dyn Suite>,
}

impl Catalog {
    /// A catalog over `blobs` of sweeps with these benchmarks.
    #[must_use]
    pub fn new(blobs: Blobs, benchmarks: Registry) -> Self {
        Self {
            blobs,
            benchmarks,
            sweeps: Arc::new(Mutex::new(LruCache::new(KEPT))),
            suites: Arc::new(Mutex::new(LruCache::new(KEPT))),
        }
    }

    /// The sweep whose lock has `digest`.
    ///
    /// # Errors
    /// When its documents are missing, damaged, or of another version.
    pub fn sweep<'a>(&'a self, digest: &'a Digest) -> BoxFuture<'a, Result<Arc<Sweep>, CatalogError>> {
        Box::pin(async move {
            let once = slot(&self.sweeps, *digest);
            once.get_or_try_init(|| self.read_sweep(digest)).await.cloned()
        })
    }

    async fn read_sweep(&self, digest: &Digest) -> Result<Arc<Sweep>, CatalogError> {
        let lock = read_lock(&self.blobs, digest).await?;
        let mut suites = BTreeMap::new();
        for (name, benchmark) in &lock.benchmarks {
            suites.insert(name.clone(), self.suite(name, &benchmark.dataset).await?);
        }
        Ok(Arc::new(Sweep::of(*digest, lock, suites)?))
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
        Box::pin(async move {
            let once = slot(&self.suites, (name.clone(), *digest));
            once.get_or_try_init(|| async {
                let benchmark = self.benchmarks.find(name).ok_or_else(|| CatalogError::UnknownBenchmark {
                    name: name.clone(),
                    known: self.benchmarks.names(),
                })?;
                Ok(benchmark.load(&load_dataset(&self.blobs, digest).await?)?)
            })
            .await
            .cloned()
        })
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
        let known = Arc::new(OnceCell::new_with(Some(Arc::clone(&sweep))));
        self.sweeps.lock().unwrap_or_else(PoisonError::into_inner).put(sweep.digest, known);
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

/// Returns the cell that all callers of `key` share, so that concurrent callers read the document once.
fn slot<K: std::hash::Hash + Eq, T: ?Sized>(cache: &Mutex<LruCache<K, Once<T>>>, key: K) -> Once<T> {
    cache.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(key, Arc::default).clone()
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
