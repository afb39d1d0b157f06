//! The answer that a command leaves in a file, where what it prints is a log.

use std::fs::OpenOptions;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

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
    // A pipe would have no end to wait for.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path(home)).ok()?;
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
