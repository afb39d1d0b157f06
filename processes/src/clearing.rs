//! Empties directories that programs of others have filled.
//!
//! The usual way goes down level by level, with a file open and a part of the stack taken for each: a program that has made a hundred thousand
//! levels would end whoever removes them. Here directories are lifted to the top before they are emptied, so that nobody goes deeper than two.

use std::ffi::CStr;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, chmodat, fchmod, openat, renameat, unlinkat};
use rustix::io::{Errno, Result};
use rustix::path::Arg;
use rustix::process::geteuid;

/// Beginning of the names of directories that were lifted.
const LIFTED: &str = ".lifted-";
/// Most looks at the top; each takes at least one level away. Whoever still fills the directory meanwhile is not waited for.
const LOOKS_MAX: u32 = 1_000_000;

/// Removes all that is in `directory`. No link is followed, and rights that a program has taken away are no obstacle.
pub(crate) fn clear(directory: &Path) -> Result<()> {
    let top = open(CWD, directory)?;
    let mut lifted = 0;
    for _ in 0..LOOKS_MAX {
        let mut is_empty = true;
        for entry in Dir::read_from(&top)? {
            let entry = entry?;
            let name = entry.file_name();
            if is_the_directory_itself(name) {
                continue;
            }
            is_empty = false;
            if let Some(folder) = remove_or_open(top.as_fd(), name)? {
                lift(folder.as_fd(), top.as_fd(), &mut lifted)?;
                match unlinkat(&top, name, AtFlags::REMOVEDIR) {
                    // What was made meanwhile, or missed while names changed, is removed at the next look.
                    Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        if is_empty {
            return Ok(());
        }
    }
    Err(Errno::NOTEMPTY)
}

/// Removes the files in `folder`, and moves its directories to `top`, under names by the number of those that were moved before.
fn lift(folder: BorrowedFd<'_>, top: BorrowedFd<'_>, lifted: &mut u64) -> Result<()> {
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        // It is opened for its rights alone, without which it could not be moved.
        if is_the_directory_itself(name) || remove_or_open(folder, name)?.is_none() {
            continue;
        }
        loop {
            *lifted += 1;
            match renameat(folder, name, top, format!("{LIFTED}{lifted}")) {
                Ok(()) | Err(Errno::NOENT) => break,
                // The program itself has something of this name.
                Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

fn is_the_directory_itself(name: &CStr) -> bool {
    matches!(name.to_bytes(), b"." | b"..")
}

/// Removes the file `name`, or opens it where it is a directory.
fn remove_or_open(parent: BorrowedFd<'_>, name: &CStr) -> Result<Option<OwnedFd>> {
    match unlinkat(parent, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(None),
        // A directory, in the words of Linux and of other systems.
        Err(Errno::ISDIR | Errno::PERM) => open(parent, name).map(Some),
        Err(error) => Err(error),
    }
}

/// Opens the directory `name`, and gives its owner all rights to it.
fn open(parent: BorrowedFd<'_>, name: impl Arg + Copy) -> Result<OwnedFd> {
    let way = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = match openat(parent, name, way, Mode::empty()) {
        // Root is not refused, and would follow a link that is put there in between.
        Err(Errno::ACCESS) if !geteuid().is_root() => {
            chmodat(parent, name, Mode::RWXU, AtFlags::empty())?;
            openat(parent, name, way, Mode::empty())?
        }
        opened => opened?,
    };
    fchmod(&opened, Mode::RWXU)?;
    Ok(opened)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use rustix::fs::mkdirat;

    use super::*;

    #[test]
    fn a_directory_with_more_levels_than_a_stack_holds_is_emptied() {
        const LEVELS: usize = 20_000;
        let folder = tempfile::tempdir().unwrap();
        let mut at = open(CWD, folder.path()).unwrap();
        for _ in 0..LEVELS {
            mkdirat(&at, "further", Mode::RWXU).unwrap();
            at = open(at.as_fd(), c"further").unwrap();
        }
        drop(at);
        clear(folder.path()).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn whatever_is_there_goes_and_nothing_that_links_lead_to() {
        let (folder, others) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (inside, outside) = (folder.path(), others.path());
        fs::write(outside.join("kept"), "").unwrap();
        symlink(outside, inside.join("link")).unwrap();
        fs::write(inside.join(".lifted-1"), "a name that was to be free").unwrap();
        fs::create_dir_all(inside.join("a/b/c")).unwrap();
        fs::create_dir_all(inside.join("a/d")).unwrap();
        fs::write(inside.join("a/d/file"), "").unwrap();
        symlink(outside, inside.join("a/b/c/link")).unwrap();
        for closed in ["a/b/c", "a/b", "a"] {
            fs::set_permissions(inside.join(closed), fs::Permissions::from_mode(0o000)).unwrap();
        }
        clear(inside).unwrap();
        assert_eq!(fs::read_dir(inside).unwrap().count(), 0);
        assert!(outside.join("kept").is_file());
    }

    #[test]
    fn an_empty_directory_stays_and_what_is_none_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        clear(folder.path()).unwrap();
        assert!(folder.path().is_dir());
        fs::write(folder.path().join("file"), "").unwrap();
        assert_eq!(clear(&folder.path().join("file")), Err(Errno::NOTDIR));
        assert_eq!(clear(&folder.path().join("nothing")), Err(Errno::NOENT));
    }
}
