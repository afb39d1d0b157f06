//! Files that are their owner's alone: what models said, what was paid, how it was scored.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use anyhow::Context;

use crate::exit::BadConfiguration;

const FOLDER_MODE: u32 = 0o700;

/// From now on nobody else may read what this process writes.
pub(crate) fn keep_private() {
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
}

/// Makes the folder at `path`, or takes the one that is there as this user's own.
///
/// # Errors
/// [`BadConfiguration`] when somebody else could have put something into it: it is a link, or belongs to another user.
pub(crate) fn own_folder(path: &Path) -> anyhow::Result<()> {
    let failed = || format!("failed to create {}", path.display());
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).with_context(failed)?;
    }
    match DirBuilder::new().mode(FOLDER_MODE).create(path) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error).with_context(failed),
    }
    let found = fs::symlink_metadata(path).with_context(failed)?;
    let us = rustix::process::geteuid().as_raw();
    let problem = if found.is_symlink() {
        "is a link, and might lead anywhere".to_owned()
    } else if !found.is_dir() {
        "is no folder".to_owned()
    } else if found.uid() != us {
        format!("belongs to user {}, not to this one ({us})", found.uid())
    } else {
        if found.mode() & 0o077 != 0 {
            fs::set_permissions(path, Permissions::from_mode(FOLDER_MODE)).with_context(failed)?;
        }
        return Ok(());
    };
    Err(BadConfiguration(format!("{} {problem}; choose another directory, or remove it", path.display())).into())
}

/// Writes the file at `path` as a new one: a link that stands there is replaced, not followed.
pub(crate) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".regatta-").tempfile_in(folder)?;
    file.write_all(content)?;
    file.persist(path)?;
    Ok(())
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
        for path in [link, file] {
            let error = own_folder(&path).unwrap_err();
            assert!(error.downcast_ref::<BadConfiguration>().is_some(), "{error}");
        }
    }

    #[test]
    fn a_link_in_the_place_of_a_file_is_replaced_and_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (victim, place) = (folder.path().join("victim"), folder.path().join("report.md"));
        fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, &place).unwrap();
        write(&place, b"report").unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"precious");
        assert_eq!(fs::read(&place).unwrap(), b"report");
        assert_eq!(fs::symlink_metadata(&place).unwrap().mode() & 0o777, 0o600);
    }
}
