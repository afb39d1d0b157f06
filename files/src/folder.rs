//! Folders that nobody else could have prepared.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

const FOLDER_MODE: u32 = 0o700;

/// A folder that cannot be this user's own.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// Somebody else could have put something into it.
    #[error("{} {problem}; choose another directory, or remove it", path.display())]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// The reason, as the end of a sentence about it.
        problem: String,
    },
    /// It cannot be made or looked at.
    #[error("failed to create {}", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// Cause, from the system.
        source: io::Error,
    },
}

impl From<FolderError> for io::Error {
    fn from(error: FolderError) -> Self {
        match error {
            FolderError::Io { source, .. } => source,
            foreign @ FolderError::Foreign { .. } => Self::other(foreign),
        }
    }
}

/// Makes the folder at `path`, or takes the one that is there as this user's own, and closes it to others.
///
/// # Errors
/// [`FolderError::Foreign`] when somebody else could have put something into it: it is a link, or belongs to another user.
pub fn own_folder(path: &Path) -> Result<(), FolderError> {
    let failed = |source| FolderError::Io { path: path.to_owned(), source };
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    match DirBuilder::new().mode(FOLDER_MODE).create(path) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(failed(error)),
    }
    let found = fs::symlink_metadata(path).map_err(failed)?;
    let us = rustix::process::geteuid().as_raw();
    let problem = if found.is_symlink() {
        "is a link, and might lead anywhere".to_owned()
    } else if !found.is_dir() {
        "is no folder".to_owned()
    } else if found.uid() != us {
        format!("belongs to user {}, not to this one ({us})", found.uid())
    } else {
        if found.mode() & 0o077 != 0 {
            fs::set_permissions(path, Permissions::from_mode(FOLDER_MODE)).map_err(failed)?;
        }
        return Ok(());
    };
    Err(FolderError::Foreign { path: path.to_owned(), problem })
}

/// `true` if the folder is this user's or root's, and nobody else may write it.
pub(crate) fn is_closed_to_others(path: &Path) -> bool {
    let us = rustix::process::geteuid().as_raw();
    fs::metadata(path).is_ok_and(|found| found.mode() & 0o022 == 0 && (found.uid() == us || found.uid() == 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_ours_is_closed_to_others() {
        let folder = tempfile::tempdir().unwrap();
        let (new, old) = (folder.path().join("a/new"), folder.path().join("old"));
        fs::create_dir(&old).unwrap();
        fs::set_permissions(&old, Permissions::from_mode(0o755)).unwrap();
        for path in [new, old] {
            own_folder(&path).unwrap();
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        }
    }

    #[test]
    fn a_link_or_a_file_in_the_place_of_a_folder_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (link, file) = (folder.path().join("link"), folder.path().join("file"));
        std::os::unix::fs::symlink(folder.path(), &link).unwrap();
        fs::write(&file, "").unwrap();
        for (path, problem) in [(link, "is a link"), (file, "is no folder")] {
            let error = own_folder(&path).unwrap_err();
            assert!(matches!(error, FolderError::Foreign { .. }) && error.to_string().contains(problem), "{error}");
        }
    }

    #[test]
    fn a_folder_of_another_user_is_refused_as_it_is() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root can give a folder to another user");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let theirs = folder.path().join("theirs");
        fs::create_dir(&theirs).unwrap();
        fs::set_permissions(&theirs, Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::chown(&theirs, Some(12_345), None).unwrap();
        let error = own_folder(&theirs).unwrap_err();
        assert!(error.to_string().contains("belongs to user 12345, not to this one (0)"), "{error}");
        let found = fs::metadata(&theirs).unwrap();
        assert_eq!((found.uid(), found.mode() & 0o777), (12_345, 0o755));
    }
}
