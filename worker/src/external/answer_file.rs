//! The answer that a command leaves in a file, where what it prints is a log.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};

use super::pipes::Head;

/// Variable that tells a command the file's name.
pub(super) const VARIABLE: &str = "REGATTA_ANSWER_FILE";
/// Name of the file in the directory of a start.
const NAME: &str = "answer";

/// The file in the directory `home` of a start.
pub(super) fn path(home: &Path) -> PathBuf {
    home.join(NAME)
}

/// As much of the file as is stored, at most `bytes_max`; `None` if the agent has left none. A link is none: it might lead to what only
/// the worker may read. Blocks, but not for long.
pub(super) fn read(home: &Path, bytes_max: usize) -> Option<Head> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    // The directory is the agent's own, which may have put a link in its place.
    let home = openat(CWD, home, flags | OFlags::DIRECTORY, Mode::empty()).ok()?;
    // A pipe would have no end to wait for.
    let file = File::from(openat(&home, NAME, flags | OFlags::NONBLOCK, Mode::empty()).ok()?);
    let known = file.metadata().ok()?;
    if !known.is_file() || known.nlink() != 1 {
        return None;
    }
    let mut written = Vec::new();
    file.take(bytes_max as u64 + 1).read_to_end(&mut written).ok()?;
    let mut answer = Head::new(bytes_max);
    answer.take(&written);
    Some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_in_the_place_of_the_directory_leads_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let (home, link) = (folder.path().join("home"), folder.path().join("link"));
        std::fs::create_dir(&home).unwrap();
        std::fs::write(path(&home), "an answer").unwrap();
        std::os::unix::fs::symlink(&home, &link).unwrap();
        assert_eq!(read(&home, 100).map(|answer| answer.text().0).as_deref(), Some("an answer"));
        assert!(read(&link, 100).is_none());
    }
}
