//! Errors of making a certificate.

use std::path::PathBuf;

use regatta_tests::HarnessError;

/// The audit itself failed, which says nothing about the deployment.
#[derive(Debug, thiserror::Error)]
pub enum CertifyError {
    /// A service did not start, or a command could not be run.
    #[error(transparent)]
    Harness(#[from] HarnessError),
    /// The ledger could not be read.
    #[error("failed to read the ledger: {0}")]
    Ledger(#[from] tokio_postgres::Error),
    /// The broker could not be asked.
    #[error("failed to ask the broker: {0}")]
    Broker(#[from] lapin::Error),
    /// A file could not be read or written.
    #[error("failed to use {path}: {source}")]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Answer of the system.
        source: std::io::Error,
    },
    /// The system refused something.
    #[error("failed to {action}: {source}")]
    System {
        /// Action that failed.
        action: &'static str,
        /// Answer of the system.
        source: std::io::Error,
    },
    /// A precondition of the audit did not hold.
    #[error("{0}")]
    Broken(String),
}

impl CertifyError {
    pub(crate) fn system(action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::System { action, source }
    }

    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}
