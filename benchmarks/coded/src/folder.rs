//! The files of a benchmark, unpacked into a private folder before its program is started.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path};

use regatta_processes::{Account, Home};
use regatta_proto::FileSet;

/// Mode of the folder itself: only the user that runs the program can enter it.
const PRIVATE_MODE: u32 = 0o500;
/// Modes of its files and folders: read-only, so that a process leaves nothing behind for the next one. Root can
/// write all the same.
const FILE_MODE: u32 = 0o444;
const FOLDER_MODE: u32 = 0o555;

/// An unpacked folder, which is removed on drop.
pub(crate) struct Folder(Home);

impl Folder {
    /// Unpacks `files` into a folder that only this user and `account` can read.
    ///
    /// # Errors
    /// If a path leads out of the folder or the disk refuses; the text is for the user.
    pub(crate) fn unpack(files: &FileSet, account: Option<Account>) -> Result<Self, String> {
        let folder = regatta_processes::home("regatta-benchmark-", account)?;
        for (path, content) in files.iter() {
            if !Path::new(path).components().all(|part| matches!(part, Component::Normal(_))) {
                return Err(format!("the path {path:?} leads out of the benchmark's folder"));
            }
            write(folder.path(), path, content).map_err(|error| format!("failed to unpack {path}: {error}"))?;
        }
        set_modes(folder.path(), FOLDER_MODE)
            .and_then(|()| fs::set_permissions(folder.path(), fs::Permissions::from_mode(PRIVATE_MODE)))
            .map_err(|error| format!("failed to protect the folder: {error}"))?;
        Ok(Self(folder))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

fn write(folder: &Path, path: &str, content: &[u8]) -> io::Result<()> {
    let file = folder.join(path);
    if let Some(parent) = file.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(&file, content)?;
    fs::set_permissions(&file, fs::Permissions::from_mode(FILE_MODE))
}

/// Sets the mode of `folder` and of all folders below it.
fn set_modes(folder: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(folder, fs::Permissions::from_mode(mode | 0o200))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            set_modes(&entry.path(), mode)?;
        }
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(mode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_unpacked_for_reading_and_gone_afterwards() {
        let mut files = FileSet::from_origin("test");
        files.insert("benchmark.py", "print()".to_owned());
        files.insert("data/test.jsonl", "{}".to_owned());
        let folder = Folder::unpack(&files, None).unwrap();
        let place = folder.path().to_owned();
        assert_eq!(fs::read_to_string(place.join("data/test.jsonl")).unwrap(), "{}");
        let mode = |path: &str| fs::metadata(place.join(path)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("data/test.jsonl"), mode("data"), mode("")), (FILE_MODE, FOLDER_MODE, PRIVATE_MODE));
        drop(folder);
        assert!(!place.exists());
    }

    #[test]
    fn a_path_that_leads_out_of_the_folder_is_refused() {
        for path in ["../x", "/etc/x", "a/../../x"] {
            let mut files = FileSet::from_origin("test");
            files.insert(path, "x".to_owned());
            assert!(Folder::unpack(&files, None).is_err(), "{path}");
        }
    }
}
