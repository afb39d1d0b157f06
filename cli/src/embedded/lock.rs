//! One process at a time works in a run's directory: two would both pay for everything.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use anyhow::Context;

use crate::exit::BadConfiguration;

/// File that is locked, in the folder of the stores. The viewer looks at it too.
const LOCK: &str = "lock";

/// The right to work in a directory. It ends with the process, however that ends.
#[derive(Debug)]
pub(crate) struct DirectoryLock {
    _file: File,
}

impl DirectoryLock {
    /// Locks the run in `directory`, whose stores are in `store`.
    ///
    /// # Errors
    /// [`BadConfiguration`] when another process works there; or when the lock's file cannot be written.
    pub(crate) fn take(directory: &Path, store: &Path) -> anyhow::Result<Self> {
        let path = store.join(LOCK);
        let failed = || format!("failed to lock {}", path.display());
        let mut file =
            File::options().read(true).write(true).create(true).truncate(false).open(&path).with_context(failed)?;
        match regatta_files::try_lock(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // Its number is there for people; without it the sentence is still true.
                let _ = file.read_to_string(&mut holder);
                let holder =
                    holder.trim().parse::<u32>().map_or_else(|_| String::new(), |pid| format!(" (process {pid})"));
                return Err(BadConfiguration(format!(
                    "another regatta{holder} is at work in {}; wait until it ends, or choose another directory with --output",
                    directory.display()
                ))
                .into());
            }
            Err(TryLockError::Error(error)) => return Err(error).with_context(failed),
        }
        // Written over, not truncated: a directory on a full disk can be locked all the same.
        let written = file
            .seek(SeekFrom::Start(0))
            .and_then(|_| file.write_all(format!("{:<10}\n", std::process::id()).as_bytes()));
        if let Err(error) = written {
            tracing::debug!(%error, "failed to write the process's number into the lock");
        }
        Ok(Self { _file: file })
    }

    /// `true` while a process works in the directory whose stores are in `store`.
    ///
    /// # Errors
    /// When the lock cannot be looked at.
    pub(crate) fn is_taken(store: &Path) -> anyhow::Result<bool> {
        let path = store.join(LOCK);
        regatta_files::is_locked(&path).with_context(|| format!("failed to look at {}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_locked_until_its_lock_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let lock = DirectoryLock::take(Path::new("runs/s"), folder.path()).unwrap();
        let refused = DirectoryLock::take(Path::new("runs/s"), folder.path()).unwrap_err();
        assert!(refused.downcast_ref::<BadConfiguration>().is_some());
        assert_eq!(
            refused.to_string(),
            format!(
                "another regatta (process {}) is at work in runs/s; wait until it ends, or choose another directory with --output",
                std::process::id()
            )
        );
        assert!(DirectoryLock::is_taken(folder.path()).unwrap());
        drop(lock);
        assert!(!DirectoryLock::is_taken(folder.path()).unwrap());
        DirectoryLock::take(Path::new("runs/s"), folder.path()).unwrap();
    }
}
