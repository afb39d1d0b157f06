//! Stores of one test in a folder of its own.

use std::path::{Path, PathBuf};

use regatta_backends::{Blobs, Ledger};
use regatta_catalog::Catalog;
use tempfile::TempDir;

use crate::BENCHMARKS;

/// A folder with blobs, and a ledger in a file where a test wants one. It is gone when this is dropped.
#[derive(Debug)]
pub struct Folder(TempDir);

impl Folder {
    /// An empty folder.
    #[must_use]
    pub fn make() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Path of the blobs.
    #[must_use]
    pub fn blob_folder(&self) -> PathBuf {
        self.path().join("blobs")
    }

    /// The blobs, as each process opens them for itself.
    #[must_use]
    pub fn blobs(&self) -> Blobs {
        Blobs::directory(self.blob_folder()).unwrap()
    }

    /// A catalog of the blobs that has read nothing yet.
    #[must_use]
    pub fn catalog(&self) -> Catalog {
        Catalog::new(self.blobs(), BENCHMARKS)
    }

    /// The ledger.
    pub async fn ledger(&self) -> Ledger {
        Ledger::sqlite(self.ledger_file()).await.unwrap()
    }

    /// Does to the ledger what no call of it does.
    pub fn run_sql(&self, sql: &str) {
        rusqlite::Connection::open(self.ledger_file()).unwrap().execute_batch(sql).unwrap();
    }

    fn ledger_file(&self) -> PathBuf {
        self.path().join("ledger.sqlite")
    }
}
