//! Folders that were made for a run, which go again if it does not begin.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::lock::LOCK;

/// The folder of a run's stores and those around it, as far as they were made for it.
///
/// To be dropped while the directory is locked: what another process made there would go too.
pub(super) struct NewFolders {
    /// Folders around the one of the stores, the outermost first.
    around: Vec<PathBuf>,
    /// The folder of the stores, if it was not there when those around it were made.
    absent: Option<PathBuf>,
    /// The same once it is locked, if nobody else has been in it.
    stores: Option<PathBuf>,
    /// `false` until there is something that is worth keeping.
    pub(super) are_kept: bool,
}

impl NewFolders {
    /// Makes the folders around `store` that are not there yet. One that cannot be made is for who makes `store` to tell of.
    pub(super) fn around(store: &Path) -> Self {
        let folders = store.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
        let mut around: Vec<PathBuf> = folders.take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
        around.reverse();
        // Another process may make one at the same time, and then it is that one's.
        around.retain(|folder| fs::create_dir(folder).is_ok());
        let absent = (!store.exists()).then(|| store.to_owned());
        Self { around, absent, stores: None, are_kept: false }
    }

    /// The same with the folder of the stores, now that it is there and locked. Another run may have been in it since it was absent: then it is not new.
    pub(super) fn with_stores(mut self) -> Self {
        let is_lock = |entry: io::Result<fs::DirEntry>| entry.is_ok_and(|entry| entry.file_name() == LOCK);
        let is_new = |store: &PathBuf| fs::read_dir(store).is_ok_and(|mut entries| entries.all(is_lock));
        self.stores = self.absent.take().filter(is_new);
        self
    }
}

impl Drop for NewFolders {
    fn drop(&mut self) {
        if self.are_kept {
            return;
        }
        if let Some(store) = &self.stores
            && let Err(error) = fs::remove_dir_all(store)
        {
            tracing::warn!(folder = %store.display(), %error, "failed to remove the folder of a run that did not begin");
        }
        // One in which somebody has put something meanwhile stays.
        let _ = self.around.iter().rev().try_for_each(fs::remove_dir);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The folder of a run's stores in a `folder`, and what making and locking it has made.
    fn made(folder: &Path, run: &str) -> NewFolders {
        let store = folder.join(run).join("store");
        let around = NewFolders::around(&store);
        fs::create_dir_all(&store).unwrap();
        fs::write(store.join(LOCK), "").unwrap();
        let new = around.with_stores();
        fs::create_dir_all(store.join("blobs")).unwrap();
        new
    }

    #[test]
    fn what_was_there_and_what_others_put_beside_it_stays() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        drop(made(folder.path(), "runs/new"));
        assert!(!at("runs").exists());
        let mut kept = made(folder.path(), "runs/kept");
        kept.are_kept = true;
        drop(kept);
        drop(made(folder.path(), "runs/kept"));
        assert!(at("runs/kept/store/blobs").exists());
        let new = made(folder.path(), "runs/other");
        fs::write(at("runs/other/notes"), "mine").unwrap();
        drop(new);
        assert!(at("runs/other/notes").exists() && !at("runs/other/store").exists());
        fs::create_dir(at("empty")).unwrap();
        drop(made(folder.path(), "empty"));
        assert!(at("empty").exists() && !at("empty/store").exists());
    }

    #[test]
    fn stores_that_another_run_has_been_in_meanwhile_stay() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("runs/twice/store");
        let late = NewFolders::around(&store);
        // Another process makes it, works in it, and ends before this one locks it.
        let mut other = made(folder.path(), "runs/twice");
        other.are_kept = true;
        drop(other);
        drop(late.with_stores());
        assert!(store.join("blobs").exists());
    }

    #[test]
    fn stores_that_another_run_holds_stay() {
        let folder = tempfile::tempdir().unwrap();
        let late = NewFolders::around(&folder.path().join("runs/twice/store"));
        let held = made(folder.path(), "runs/twice");
        // It could not lock them.
        drop(late);
        assert!(folder.path().join("runs/twice/store/blobs").exists());
        drop(held);
        assert!(!folder.path().join("runs/twice/store").exists());
    }
}
