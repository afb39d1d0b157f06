//! Pools that outlive their process: their durable states, in a small file.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::PermitsError;
use super::pool::Pool;

/// Most bytes of the file: some hundred pools.
const BYTES_MAX: u64 = 8 * 1024 * 1024;

/// The file of an embedded run's pools.
#[derive(Debug)]
pub(super) struct KeptPools(PathBuf);

/// Pools of the process before.
#[derive(Debug)]
pub(super) enum Inherited {
    /// Pools whose grants still count, by name.
    Pools(HashMap<String, Pool>),
    /// The file cannot be read: what was granted in the last minute is not known.
    Unknown,
}

impl KeptPools {
    pub(super) const fn at(path: PathBuf) -> Self {
        Self(path)
    }

    /// Pools of the process before, none where there was none. `clock_ms` is the store's clock, in milliseconds since 1970.
    pub(super) fn inherited(&self, clock_ms: u64) -> Inherited {
        match read(&self.0) {
            Ok(pools) => {
                let pools = pools.into_iter();
                let still_count = |(name, pool): (String, Pool)| Some((name, pool.inherited(clock_ms)?));
                Inherited::Pools(pools.filter_map(still_count).collect())
            }
            Err(error) => {
                let path = self.0.display();
                tracing::warn!(%error, "failed to read {path}, which says what was sent in the last minute; nothing is sent until it has passed");
                Inherited::Unknown
            }
        }
    }

    /// Makes the states of all pools durable.
    ///
    /// # Errors
    /// When they cannot be written; then what made it necessary must not be told.
    pub(super) fn keep<'p>(&self, pools: impl Iterator<Item = (&'p str, &'p Pool)>) -> Result<(), PermitsError> {
        let pools: HashMap<&str, &Pool> = pools.collect();
        let written = serde_json::to_vec(&pools).map_err(io::Error::from);
        let written = written.and_then(|bytes| regatta_files::write_durably(&self.0, bytes));
        written.map_err(|source| PermitsError::Pools { path: self.0.clone(), source })
    }
}

fn read(path: &Path) -> io::Result<HashMap<String, Pool>> {
    match File::open(path) {
        Ok(file) if file.metadata()?.len() > BYTES_MAX => {
            Err(io::Error::new(io::ErrorKind::InvalidData, "it is too large"))
        }
        Ok(file) => Ok(serde_json::from_reader(io::BufReader::new(file))?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(HashMap::new()),
        Err(error) => Err(error),
    }
}
