//! Files that grow by whole lines, which several processes may add at once and people may edit in between.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use crate::{FILE_MODE, folder_of, no_follow, read_within};

/// Times that a file is opened again because an editor has put another one in its place meanwhile.
const REPLACED: usize = 8;

/// Adds `line` to the file at `path`, whole or not at all, and returns only once it would survive a loss of power. The file is made, for
/// this user alone, where there is none.
///
/// An end without a newline, as a process leaves it that dies while it writes, becomes a line of its own.
///
/// # Errors
/// When the file cannot be written or would have more than `bytes_max` bytes, when it is a link or no regular file, or when `line` has a
/// newline in it.
pub fn append_line(path: &Path, line: &str, bytes_max: u64) -> io::Result<()> {
    if line.contains('\n') {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a line has no newline in it"));
    }
    let mut file = open_locked(path)?;
    let before = file.metadata()?.len();
    let mut text = Vec::with_capacity(line.len() + 2);
    if !ends_a_line(&mut file, before)? {
        text.push(b'\n');
    }
    text.extend_from_slice(line.as_bytes());
    text.push(b'\n');
    if before.saturating_add(text.len() as u64) > bytes_max {
        return Err(io::Error::other(format!("it would be larger than {bytes_max} bytes, which is the limit")));
    }
    if let Err(error) = file.write_all(&text).and_then(|()| file.sync_all()) {
        // Under the lock nobody has written after the half that may be there. Where that stays too, the next line begins behind it.
        let _ = file.set_len(before);
        return Err(error);
    }
    if before == 0 {
        File::open(folder_of(path))?.sync_all()?;
    }
    Ok(())
}

/// Reads the file at `path`, which grows by lines; `None` where there is none.
///
/// # Errors
/// When it cannot be read, has more than `bytes_max` bytes, or is a link or no regular file.
pub fn read_lines_within(path: &Path, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    match refuse_others(path) {
        Ok(()) => read_within(path, bytes_max).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The file at `path`, opened to be added to while nobody else does.
fn open_locked(path: &Path) -> io::Result<File> {
    for _ in 0..REPLACED {
        match refuse_others(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut options = File::options();
        let file = options.create(true).read(true).append(true).mode(FILE_MODE).custom_flags(no_follow()).open(path)?;
        file.lock()?;
        // Editors save by a rename: what is written to the file of before would be lost.
        let opened = file.metadata()?;
        if fs::symlink_metadata(path).is_ok_and(|named| (named.dev(), named.ino()) == (opened.dev(), opened.ino())) {
            return Ok(file);
        }
    }
    Err(io::Error::other("another file takes its place again and again"))
}

/// Refuses what is there but no regular file: to open a pipe waits for somebody, and a link may lead anywhere.
fn refuse_others(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path)?.is_file() {
        true => Ok(()),
        false => Err(io::Error::other("it is a link, or no regular file")),
    }
}

fn ends_a_line(file: &mut File, length: u64) -> io::Result<bool> {
    if length == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(SeekFrom::Start(length - 1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn lines_are_added_to_a_private_file_up_to_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        assert_eq!(read_lines_within(&path, 100).unwrap(), None);
        append_line(&path, "one", 8).unwrap();
        append_line(&path, "two", 8).unwrap();
        let error = append_line(&path, "three", 8).unwrap_err().to_string();
        assert!(error.contains("larger than 8 bytes"), "{error}");
        assert_eq!(read_lines_within(&path, 8).unwrap().unwrap(), b"one\ntwo\n");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(append_line(&path, "a\nb", 100).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn a_line_that_a_crash_has_cut_stays_and_does_not_swallow_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        fs::write(&path, "one\nha").unwrap();
        append_line(&path, "two", 100).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\nha\ntwo\n");
    }

    #[test]
    fn lines_of_many_at_once_are_all_there_and_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let path = &path;
                scope.spawn(move || {
                    for number in 0..25 {
                        append_line(path, &format!("{writer} {number} {}", "x".repeat(5000)), 1 << 20).unwrap();
                    }
                });
            }
        });
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 100);
        assert!(text.lines().all(|line| line.ends_with(&"x".repeat(5000)) && line.len() < 5010));
    }

    #[test]
    fn a_link_or_a_folder_in_its_place_is_refused_and_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let victim = folder.path().join("victim");
        fs::write(&victim, "precious\n").unwrap();
        let link = folder.path().join("link");
        symlink(&victim, &link).unwrap();
        for path in [link.as_path(), folder.path()] {
            let error = append_line(path, "one", 100).unwrap_err().to_string();
            assert_eq!(error, "it is a link, or no regular file");
            assert!(read_lines_within(path, 100).is_err());
        }
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious\n");
    }
}
