//! A directory of one start's own.

use std::ffi::OsStr;
use std::path::Path;

use tempfile::TempDir;

use crate::Account;

/// Variables that name a directory of each start's own, so that no start finds what another has left.
const OWN: [&str; 3] = ["HOME", "TMPDIR", "XDG_CACHE_HOME"];

/// Home of a process.
pub struct Place;

impl Place {
    /// Variables by which a process finds the directory `home`.
    pub fn variables(home: &Path) -> impl Iterator<Item = (&'static str, &OsStr)> {
        OWN.into_iter().map(move |name| (name, home.as_os_str()))
    }
}

/// An empty directory that belongs to `account`, and is removed when it is dropped.
///
/// # Errors
/// In words, when it cannot be made or given away.
pub fn home(prefix: &str, account: Option<Account>) -> Result<TempDir, String> {
    let made = tempfile::Builder::new().prefix(prefix).tempdir().and_then(|home| {
        if let Some(Account { uid, gid }) = account {
            std::os::unix::fs::chown(home.path(), Some(uid), Some(gid))?;
        }
        Ok(home)
    });
    made.map_err(|error| format!("failed to make a directory in {}: {error}", std::env::temp_dir().display()))
}
