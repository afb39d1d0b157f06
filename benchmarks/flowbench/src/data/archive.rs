//! Downloaded archives, unpacked in memory and within limits.

use std::io::{Cursor, Read};

use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::SourceLocation;
use zip::ZipArchive;

use super::files::Kind;

/// Greatest number of entries of an archive.
const ENTRIES_MAX: usize = 20_000;
/// Greatest total size in bytes of the files of all archives of a data set when unpacked, as much as a data set without
/// archives may have. The synthetic set has 67 million.
pub(super) const UNPACKED_BYTES_MAX: u64 = 256 << 20;

/// Unpacks the files of the archive at `path` that belong to the data set. Their paths are `path` followed by the
/// path within the archive, and sorted. Their bytes are taken off `left`, which all archives of a data set share.
///
/// # Errors
/// If the archive is damaged or encrypted, or exceeds the limits when unpacked.
pub(super) fn unpack(
    file: &SourceLocation<'_>,
    path: &str,
    content: &[u8],
    left: &mut u64,
) -> Result<Vec<(String, Vec<u8>)>, DataError> {
    let mut archive = ZipArchive::new(Cursor::new(content))
        .map_err(|error| file.problem(format!("is no readable archive: {error}")))?;
    if archive.len() > ENTRIES_MAX {
        return Err(file.problem(format!("holds {} entries, at most {ENTRIES_MAX} are read", archive.len())));
    }
    let mut files = Vec::new();
    for position in 0..archive.len() {
        let unreadable = |error: &dyn std::fmt::Display| file.problem(format!("entry {}: {error}", position + 1));
        let entry = archive.by_index(position).map_err(|error| unreadable(&error))?;
        let name = entry.name().map(|name| format!("{path}/{name}")).map_err(|error| unreadable(&error))?;
        if entry.is_dir() || !matches!(Kind::of(&name), Some(kind) if kind != Kind::Archive) {
            continue;
        }
        // The sizes in the directory are not trusted: one byte more than the limit is read, and must not be there.
        let mut unpacked = Vec::new();
        entry.take(left.saturating_add(1)).read_to_end(&mut unpacked).map_err(|error| unreadable(&error))?;
        let length = unpacked.len() as u64;
        *left = left.checked_sub(length).ok_or_else(|| {
            file.problem(format!(
                "unpacks to more than what is left of the {UNPACKED_BYTES_MAX} bytes that all archives of a data set may unpack to; leave \
                 out records that are not needed"
            ))
        })?;
        files.push((name, unpacked));
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Write as _;

    use zip::write::SimpleFileOptions;

    use super::*;

    pub(in crate::data) fn packed(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, content) in files {
            writer.start_file(*name, SimpleFileOptions::default()).unwrap_or_else(|error| unreachable!("{error}"));
            writer.write_all(content).unwrap_or_else(|error| unreachable!("{error}"));
        }
        writer.finish().map(Cursor::into_inner).unwrap_or_default()
    }

    fn names(content: &[u8], mut left: u64) -> Result<Vec<String>, String> {
        let file = SourceLocation::file("here", "turn_data.zip");
        let files = unpack(&file, "turn_data.zip", content, &mut left).map_err(|error| error.to_string())?;
        Ok(files.into_iter().map(|(name, _)| name).collect())
    }

    #[test]
    fn only_files_of_the_data_set_are_unpacked_in_the_order_of_their_paths() {
        let content =
            packed(&[("turn_data/b.jsonl", b"2"), ("notes.txt", b"x"), ("__MACOSX/a.jsonl", b"x"), ("a.jsonl", b"1")]);
        assert_eq!(
            names(&content, 100),
            Ok(vec!["turn_data.zip/a.jsonl".to_owned(), "turn_data.zip/turn_data/b.jsonl".to_owned()])
        );
    }

    #[test]
    fn archives_that_unpack_to_more_than_all_may_together_are_refused() {
        let content = packed(&[("a.jsonl", &[b'x'; 60]), ("b.jsonl", &[b'y'; 41])]);
        assert!(names(&content, 101).is_ok());
        let said = names(&content, 100).unwrap_or_else(|error| vec![error]);
        let refused = "here: turn_data.zip, whole file: unpacks to more than what is left of the 268435456 bytes";
        assert!(said[0].starts_with(refused), "{said:?}");
        let (file, mut left) = (SourceLocation::file("here", "turn_data.zip"), 201);
        assert!(unpack(&file, "turn_data.zip", &content, &mut left).is_ok());
        assert_eq!(left, 100);
        assert!(unpack(&file, "session_data.zip", &content, &mut left).is_err());
    }

    #[test]
    fn a_damaged_archive_is_an_error_of_its_file() {
        let mut content = packed(&[("a.jsonl", &[b'x'; 600])]);
        let said = names(&content[..content.len() / 2], 1000).unwrap_or_else(|error| vec![error]);
        assert!(said[0].starts_with("here: turn_data.zip, whole file: is no readable archive"), "{said:?}");
        // The first byte of the packed content, behind a header of 30 bytes and the name.
        content[30 + "a.jsonl".len()] ^= 0xff;
        let said = names(&content, 1000).unwrap_or_else(|error| vec![error]);
        assert!(said[0].starts_with("here: turn_data.zip, whole file: entry 1"), "{said:?}");
    }
}
