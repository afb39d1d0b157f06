//! Folders that were made for a run, which go again if it does not begin.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of a run's stores and those around it, as far as they were not there before.
///
/// To be dropped while the directory is locked: what another process made there would go too.
pub(super) struct NewFolders {
    /// That of the stores comes first, then what it is in.
    made: Vec<PathBuf>,
    /// `false` until there is something that is worth keeping.
    pub(super) are_kept: bool,
}

impl NewFolders {
    /// Folders that were `absent` and are there now, which are removed again unless they are kept.
    pub(super) const fn made(absent: Vec<PathBuf>) -> Self {
        Self { made: absent, are_kept: false }
    }

    /// `store` and the folders around it that are not there yet.
    pub(super) fn absent(store: &Path) -> Vec<PathBuf> {
        let around = store.ancestors().filter(|folder| !folder.as_os_str().is_empty());
        around.take_while(|folder| !folder.exists()).map(Path::to_owned).collect()
    }
}

impl Drop for NewFolders {
    fn drop(&mut self) {
        if self.are_kept {
            return;
        }
        let mut made = self.made.iter();
        let Some(store) = made.next() else { return };
        if let Err(error) = fs::remove_dir_all(store) {
            tracing::warn!(folder = %store.display(), %error, "failed to remove the folder of a run that did not begin");
            return;
        }
        // One in which somebody has put something meanwhile stays.
        let _ = made.try_for_each(fs::remove_dir);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_and_what_others_put_beside_it_stays() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        let made = |path: &str| {
            let store = at(path);
            let absent = NewFolders::absent(&store);
            fs::create_dir_all(store.join("blobs")).unwrap();
            NewFolders::made(absent)
        };
        drop(made("runs/new/store"));
        assert!(!at("runs").exists());
        let mut kept = made("runs/kept/store");
        kept.are_kept = true;
        drop(kept);
        drop(made("runs/kept/store"));
        assert!(at("runs/kept/store/blobs").exists());
        let new = made("runs/other/store");
        fs::write(at("runs/other/notes"), "mine").unwrap();
        drop(new);
        assert!(at("runs/other/notes").exists() && !at("runs/other/store").exists());
    }
}
