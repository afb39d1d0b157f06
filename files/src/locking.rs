//! Locks that one process at a time holds, for as long as it lives, and looks at whether one is held.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

use crate::{FILE_MODE, no_follow};

/// Time for which a lock is asked for again while others look at it. A look takes microseconds, unless the system lets its process wait.
const LOOKED_AT_FOR: Duration = Duration::from_secs(1);

/// Opens the file at `path` to be locked, and makes it where there is none.
///
/// # Errors
/// When it cannot be opened, or is a link.
pub fn open_lock(path: &Path) -> io::Result<File> {
    File::options()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .mode(FILE_MODE)
        .custom_flags(no_follow())
        .open(path)
}

/// Locks `file` for this process alone. Looks ([`is_locked`]) that others take meanwhile do not count.
///
/// # Errors
/// [`TryLockError::WouldBlock`] when another process holds the lock.
pub fn try_lock(file: &File) -> Result<(), TryLockError> {
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if begun.elapsed() < LOOKED_AT_FOR => {}
            locked => return locked,
        }
        // A look is a shared lock, and holds up no other one; that of whoever holds the lock does.
        file.try_lock_shared()?;
        file.unlock().map_err(TryLockError::Error)?;
        std::thread::yield_now();
    }
}

/// `true` while a process holds the lock of the file at `path`; where there is no file, none does. The file stays as it is.
///
/// # Errors
/// When the file cannot be opened or locked, or is a link.
pub fn is_locked(path: &Path) -> io::Result<bool> {
    // A pipe in its place would wait for a writer.
    let flags = no_follow() | OFlags::NONBLOCK.bits().cast_signed();
    let file = match File::options().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_seen_while_it_is_held_and_a_look_leaves_no_trace() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        assert!(!is_locked(&path).unwrap() && !path.exists());
        let file = open_lock(&path).unwrap();
        assert!(!is_locked(&path).unwrap());
        try_lock(&file).unwrap();
        assert!(is_locked(&path).unwrap() && is_locked(&path).unwrap());
        assert!(matches!(try_lock(&open_lock(&path).unwrap()), Err(TryLockError::WouldBlock)));
        drop(file);
        assert!(!is_locked(&path).unwrap());
    }

    #[test]
    fn who_looks_keeps_nobody_from_a_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let (file, looking) = (open_lock(&path).unwrap(), open_lock(&path).unwrap());
        looking.lock_shared().unwrap();
        std::thread::scope(|scope| {
            let locked = scope.spawn(|| try_lock(&file));
            drop(looking);
            locked.join().unwrap().unwrap();
        });
        assert!(is_locked(&path).unwrap());
    }
}
