//! One process at a time works in a run's directory: two would both pay for everything.

use std::fs::{self, File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use anyhow::Context;

use crate::exit::BadConfiguration;

/// File that is locked, in the folder of the stores. The viewer looks at it too.
pub(super) const LOCK: &str = "lock";

/// The right to work in a directory. It ends with the process, however that ends.
#[derive(Debug)]
pub(crate) struct DirectoryLock {
    _file: File,
}

impl DirectoryLock {
    /// Locks the run in `directory`, whose stores are in `store`.
    ///
    /// # Errors
    /// [`BadConfiguration`] when another process works there; or when the lock's file cannot be written, or is a link, which might lead to any file.
    pub(crate) fn take(directory: &Path, store: &Path) -> anyhow::Result<Self> {
        let path = store.join(LOCK);
        let file = regatta_files::open_lock(&path).with_context(|| format!("failed to lock {}", path.display()))?;
        Self::hold(file, directory, &path)
    }

    /// Locks `file`, which was opened at `path`.
    fn hold(mut file: File, directory: &Path, path: &Path) -> anyhow::Result<Self> {
        let failed = || format!("failed to lock {}", path.display());
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
        if !is_at(&file, path) {
            return Err(BadConfiguration(format!(
                "the stores in {} were removed just now, as by a run that was refused before it began; run the same command again",
                directory.display()
            ))
            .into());
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

/// `true` if `file` is the one at `path`: who locks a file that was removed meanwhile keeps nobody out, since the next one makes another.
fn is_at(file: &File, path: &Path) -> bool {
    let inode = |found: fs::Metadata| (found.dev(), found.ino());
    let there = fs::symlink_metadata(path).map(inode).ok();
    there.is_some() && there == file.metadata().map(inode).ok()
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
    #[test]
    fn a_lock_that_was_removed_before_it_was_taken_keeps_nobody_out_and_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOCK);
        let opened = || regatta_files::open_lock(&path).unwrap();
        let removed = opened();
        fs::remove_file(&path).unwrap();
        let refused = DirectoryLock::hold(removed, Path::new("runs/s"), &path).unwrap_err();
        assert!(refused.downcast_ref::<BadConfiguration>().is_some());
        assert!(refused.to_string().starts_with("the stores in runs/s were removed just now"), "{refused}");
        let replaced = opened();
        fs::write(folder.path().join("new"), "").unwrap();
        fs::rename(folder.path().join("new"), &path).unwrap();
        DirectoryLock::hold(replaced, Path::new("runs/s"), &path).unwrap_err();
        DirectoryLock::hold(opened(), Path::new("runs/s"), &path).unwrap();
    }

    #[test]
    fn a_link_in_the_place_of_a_lock_is_not_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let (mine, store) = (folder.path().join("mine"), folder.path().join("store"));
        fs::write(&mine, "something that is longer than a number").unwrap();
        fs::create_dir(&store).unwrap();
        std::os::unix::fs::symlink(&mine, store.join(LOCK)).unwrap();
        DirectoryLock::take(Path::new("runs/s"), &store).unwrap_err();
        assert_eq!(fs::read_to_string(&mine).unwrap(), "something that is longer than a number");
    }
}
