//! Files of a ledger while it is repaired. The repair works on a copy; until that takes the ledger's place, in one step, nothing of the
//! ledger is touched, and a repair that is interrupted is simply done again.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::super::link_tree::link_tree;

const LEDGER: &str = "ledger.sqlite";
/// Suffixes of the files that hold a ledger. The index of the log (`-shm`) is made from these.
const PARTS: [&str; 2] = ["", "-wal"];

/// Tries at removing a folder from which others remove files.
const TRIES: u32 = 8;

/// Working place of a repair within a run's stores.
#[derive(Debug)]
pub(super) struct Workshop {
    store: PathBuf,
    /// Folder of what is set aside, made when the first thing is.
    aside: PathBuf,
}

/// Name of a repaired ledger that has not taken its place yet: the repair was interrupted there.
pub(in super::super) fn unfinished(store: &Path) -> PathBuf {
    store.join("ledger.repaired.sqlite")
}

impl Workshop {
    /// Clears the place of what an interrupted repair has left.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn open(store: &Path) -> anyhow::Result<Self> {
        let mut folders = (1..).map(|number: u32| store.join("damaged").join(number.to_string()));
        let aside = folders.find(|folder| !folder.exists()).context("no folder is left")?;
        let workshop = Self { store: store.to_owned(), aside };
        workshop.clear()?;
        fs::create_dir(workshop.bench()).with_context(|| format!("failed to create {}", workshop.bench().display()))?;
        Ok(workshop)
    }

    /// Removes working copies.
    ///
    /// # Errors
    /// When that fails.
    pub(super) fn clear(&self) -> anyhow::Result<()> {
        // A ledger that was closed takes its log's files away by itself, perhaps at this moment.
        for _ in 0..TRIES {
            if fs::remove_dir_all(self.bench()).is_ok() {
                break;
            }
        }
        match fs::remove_dir_all(self.bench()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("failed to remove {}", self.bench().display()))
            }
            _ => Ok(()),
        }
    }

    fn bench(&self) -> PathBuf {
        self.store.join("repair")
    }

    /// A copy of the ledger with its log; `None` where there is no ledger, or an empty file.
    ///
    /// # Errors
    /// When it cannot be copied.
    pub(super) fn copy(&self) -> anyhow::Result<Option<PathBuf>> {
        let ledger = self.store.join(LEDGER);
        if fs::metadata(&ledger).map_or(0, |found| found.len()) == 0 {
            return Ok(None);
        }
        for part in PARTS {
            let (from, to) = (self.part(LEDGER, part), self.bench().join(format!("{LEDGER}{part}")));
            match fs::copy(&from, &to) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error).with_context(|| format!("failed to copy {}", from.display())),
            }
        }
        Ok(Some(self.bench().join(LEDGER)))
    }

    /// A copy of the blobs that may be changed: links, which are replaced when something is written.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(super) fn linked_blobs(&self) -> anyhow::Result<PathBuf> {
        let (from, to) = (self.store.join("blobs"), self.bench().join("blobs"));
        link_tree(&from, &to).with_context(|| format!("failed to link {} into {}", from.display(), to.display()))?;
        Ok(to)
    }

    /// Place of a ledger that is made anew.
    pub(super) fn new_ledger(&self) -> PathBuf {
        self.bench().join("new.sqlite")
    }

    /// Folder of what is set aside, for people.
    pub(super) fn aside(&self) -> &Path {
        &self.aside
    }

    /// Moves `file` out of the way; one that is not there is none.
    ///
    /// # Errors
    /// When it cannot be moved.
    pub(super) fn set_aside(&self, file: &Path) -> anyhow::Result<()> {
        let failed = || format!("failed to set {} aside in {}", file.display(), self.aside.display());
        let Some(name) = file.file_name() else { return Ok(()) };
        fs::create_dir_all(&self.aside).with_context(failed)?;
        // Both links of a file are moved: under the name of the first, the second would stay where it is.
        let mut target = self.aside.join(name);
        if target.exists() {
            target = self.aside.join(format!("{}.linked", name.to_string_lossy()));
        }
        match fs::rename(file, target) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).with_context(failed),
            _ => Ok(()),
        }
    }

    /// Puts the ledger `working`, whose log is empty, into the place of the old one, which is kept.
    ///
    /// # Errors
    /// When a file cannot be written. Once the repaired ledger has its name, [`finish`] does the rest.
    pub(super) fn install(&self, working: &Path) -> anyhow::Result<()> {
        let ready = unfinished(&self.store);
        File::open(working)
            .and_then(|file| file.sync_all())
            .and_then(|()| fs::rename(working, &ready))
            .and_then(|()| File::open(&self.store)?.sync_all())
            .with_context(|| format!("failed to write {}", ready.display()))?;
        self.finish()
    }

    /// Gives a repaired ledger its place, if there is one; says whether there was. May be interrupted anywhere, and done again.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(super) fn finish_interrupted(&self) -> anyhow::Result<bool> {
        let is_there = unfinished(&self.store).exists();
        if is_there {
            self.finish()?;
        }
        Ok(is_there)
    }

    fn finish(&self) -> anyhow::Result<()> {
        let steps = || -> io::Result<()> {
            for part in PARTS {
                let (old, kept) = (self.part(LEDGER, part), self.aside.join(format!("{LEDGER}{part}")));
                if old.exists() && !kept.exists() {
                    fs::create_dir_all(&self.aside)?;
                    // Some file systems have no links.
                    fs::hard_link(&old, &kept).or_else(|_| fs::copy(&old, &kept).map(|_| ()))?;
                }
            }
            // Before the new file has the name: the log of the old one would be written over it.
            for part in ["-wal", "-shm"] {
                match fs::remove_file(self.part(LEDGER, part)) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
            File::open(&self.store)?.sync_all()?;
            fs::rename(unfinished(&self.store), self.store.join(LEDGER))?;
            File::open(&self.store)?.sync_all()
        };
        steps().with_context(|| format!("failed to put the repaired ledger into {}", self.store.display()))
    }

    fn part(&self, ledger: &str, part: &str) -> PathBuf {
        self.store.join(format!("{ledger}{part}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &Path) -> Option<String> {
        fs::read_to_string(path).ok()
    }

    #[test]
    fn a_repaired_ledger_takes_its_place_and_the_old_one_is_kept_with_its_log() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm"] {
            fs::write(at(name), format!("old {name}")).unwrap();
        }
        let workshop = Workshop::open(folder.path()).unwrap();
        let copy = workshop.copy().unwrap().unwrap();
        assert_eq!(read(&copy).as_deref(), Some("old ledger.sqlite"));
        fs::write(workshop.new_ledger(), "new").unwrap();
        workshop.install(&workshop.new_ledger()).unwrap();
        assert_eq!(read(&at("ledger.sqlite")).as_deref(), Some("new"));
        assert_eq!(read(&at("damaged/1/ledger.sqlite")).as_deref(), Some("old ledger.sqlite"));
        assert_eq!(read(&at("damaged/1/ledger.sqlite-wal")).as_deref(), Some("old ledger.sqlite-wal"));
        for gone in ["ledger.sqlite-wal", "ledger.sqlite-shm", "ledger.repaired.sqlite"] {
            assert_eq!(read(&at(gone)), None, "{gone}");
        }
        workshop.clear().unwrap();
        assert!(!at("repair").exists());
    }

    #[test]
    fn an_installation_that_was_interrupted_anywhere_is_finished_by_the_next_repair() {
        // Interrupted before the log went, after it, and after the old ledger was kept.
        for left in [&["ledger.sqlite", "ledger.sqlite-wal"][..], &["ledger.sqlite"], &[]] {
            let folder = tempfile::tempdir().unwrap();
            let at = |name: &str| folder.path().join(name);
            for name in left {
                fs::write(at(name), "old").unwrap();
            }
            fs::write(unfinished(folder.path()), "new").unwrap();
            let workshop = Workshop::open(folder.path()).unwrap();
            assert!(workshop.finish_interrupted().unwrap());
            assert_eq!(read(&at("ledger.sqlite")).as_deref(), Some("new"));
            assert_eq!(read(&at("ledger.sqlite-wal")), None, "{left:?}");
            assert!(!Workshop::open(folder.path()).unwrap().finish_interrupted().unwrap());
        }
    }

    #[test]
    fn both_links_of_a_file_are_set_aside() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (folder.path().join("a/x"), folder.path().join("b/x"));
        fs::create_dir(folder.path().join("a")).unwrap();
        fs::create_dir(folder.path().join("b")).unwrap();
        fs::write(&one, "damaged").unwrap();
        fs::hard_link(&one, &other).unwrap();
        let workshop = Workshop::open(folder.path()).unwrap();
        for file in [&one, &other, &other] {
            workshop.set_aside(file).unwrap();
            assert!(!file.exists());
        }
        assert_eq!(read(&workshop.aside().join("x")).as_deref(), Some("damaged"));
    }

    #[test]
    fn an_empty_file_is_no_ledger() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("ledger.sqlite"), "").unwrap();
        assert_eq!(Workshop::open(folder.path()).unwrap().copy().unwrap(), None);
    }
}
