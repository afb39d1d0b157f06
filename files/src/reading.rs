//! Reading of files that others named, within a limit.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Reads the regular file at `path`, or the one that a link there leads to.
///
/// # Errors
/// When it cannot be read, has more than `bytes_max` bytes, or is a folder, a pipe or a device.
pub fn read_within(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    // Before it is opened, because to open a pipe waits for somebody who writes to it.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(io::Error::other(format!("it is larger than {bytes_max} bytes, which is the limit")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_the_limit_and_what_is_no_file_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, b"four").unwrap();
        assert_eq!(read_within(&file, 4).unwrap(), b"four");
        assert!(read_within(&file, 3).unwrap_err().to_string().contains("larger than 3 bytes"));
        for other in [folder.path(), Path::new("/dev/zero")] {
            let error = read_within(other, 1000).unwrap_err().to_string();
            assert_eq!(error, "it is no regular file", "{}", other.display());
        }
        assert_eq!(read_within(&folder.path().join("none"), 1).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
