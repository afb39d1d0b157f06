//! A directory of one start's own.

use std::ffi::OsStr;
use std::path::Path;

use tempfile::TempDir;

use crate::Account;
use crate::clearing::clear;

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

/// A directory of one start's own. It is removed when this is dropped, whatever a program has left in it.
#[derive(Debug)]
pub struct Home(TempDir);

impl Home {
    /// Place of the directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if let Err(error) = clear(self.path()) {
            tracing::warn!(home = %self.path().display(), %error, "failed to empty a directory of a program; it is left to the system");
            // Who removes it by the usual way would go as deep as the program has.
            self.0.disable_cleanup(true);
        }
    }
}

/// An empty directory that belongs to `account`.
///
/// # Errors
/// In words, when it cannot be made or given away.
pub fn home(prefix: &str, account: Option<Account>) -> Result<Home, String> {
    let made = tempfile::Builder::new().prefix(prefix).tempdir().and_then(|home| {
        if let Some(Account { uid, gid }) = account {
            std::os::unix::fs::chown(home.path(), Some(uid), Some(gid))?;
        }
        Ok(Home(home))
    });
    made.map_err(|error| format!("failed to make a directory in {}: {error}", std::env::temp_dir().display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_is_removed_with_all_that_is_in_it() {
        let home = home("regatta-test-", None).unwrap();
        let place = home.path().to_owned();
        std::fs::create_dir_all(place.join("a/b")).unwrap();
        std::fs::write(place.join("a/b/file"), "").unwrap();
        drop(home);
        assert!(!place.exists());
    }
}
