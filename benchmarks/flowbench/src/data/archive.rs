//! Downloaded archives, unpacked in memory and within limits.

use std::io::{Cursor, Read};

use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::SourceLocation;
use regatta_memory::parsed_bytes;
use zip::ZipArchive;

use super::files::Kind;

/// Greatest number of entries of an archive.
const ENTRIES_MAX: usize = 20_000;
/// Greatest total size in bytes of the files of all archives of a data set when unpacked, as much as a data set without
/// archives may have. The synthetic set has 67 million.
const UNPACKED_BYTES_MAX: u64 = 256 << 20;
/// Greatest memory in bytes that these files may take once they are parsed, where small values take a hundred times their text. Those of the
/// synthetic set count as 500 million.
const PARSED_BYTES_MAX: u64 = 1 << 30;
/// Begins an entry in the directory of an archive.
const DIRECTORY_ENTRY: &[u8] = b"PK\x01\x02";

/// Bytes that the archives of a data set may still take.
#[derive(Debug)]
pub(super) struct Room {
    unpacked: u64,
    parsed: u64,
}

impl Room {
    pub(super) const fn of_a_data_set() -> Self {
        Self { unpacked: UNPACKED_BYTES_MAX, parsed: PARSED_BYTES_MAX }
    }

    /// Bytes of the files that were unpacked.
    pub(super) const fn taken(&self) -> u64 {
        UNPACKED_BYTES_MAX - self.unpacked
    }
}

/// Memory that the file takes once it is parsed, in bytes; an upper bound.
fn memory(name: &str, content: &[u8]) -> u64 {
    match name.ends_with(".jsonl") {
        true => content.split(|byte| *byte == b'\n').map(parsed_bytes).sum(),
        false => parsed_bytes(content),
    }
}

/// Unpacks the files of the archive at `path` that belong to the data set. Their paths are `path` followed by the
/// path within the archive, and sorted. Their bytes are taken off `room`, which all archives of a data set share.
///
/// # Errors
/// If the archive is damaged or encrypted, or exceeds the limits when unpacked.
pub(super) fn unpack(
    file: &SourceLocation<'_>,
    path: &str,
    content: &[u8],
    room: &mut Room,
) -> Result<Vec<(String, Vec<u8>)>, DataError> {
    // Before it is opened, which takes some hundred bytes for each entry, and the largest file has room for five million.
    let entries = content.windows(DIRECTORY_ENTRY.len()).filter(|bytes| *bytes == DIRECTORY_ENTRY).count();
    if entries > ENTRIES_MAX {
        return Err(file.problem(format!("holds {entries} entries, at most {ENTRIES_MAX} are read")));
    }
    let mut archive = ZipArchive::new(Cursor::new(content))
        .map_err(|error| file.problem(format!("is no readable archive: {error}")))?;
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
        entry.take(room.unpacked.saturating_add(1)).read_to_end(&mut unpacked).map_err(|error| unreadable(&error))?;
        let length = unpacked.len() as u64;
        room.unpacked = room.unpacked.checked_sub(length).ok_or_else(|| {
            file.problem(format!(
                "unpacks to more than what is left of the {UNPACKED_BYTES_MAX} bytes that all archives of a data set may unpack to; leave \
                 out records that are not needed"
            ))
        })?;
        room.parsed = room.parsed.checked_sub(memory(&name, &unpacked)).ok_or_else(|| {
            file.problem(format!(
                "takes more than what is left of the {PARSED_BYTES_MAX} bytes of memory that all archives of a data set may take once they \
                 are parsed; leave out records that are not needed"
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

    fn room(unpacked: u64) -> Room {
        Room { unpacked, ..Room::of_a_data_set() }
    }

    fn names(content: &[u8], left: u64) -> Result<Vec<String>, String> {
        names_within(content, room(left))
    }

    fn names_within(content: &[u8], mut room: Room) -> Result<Vec<String>, String> {
        let file = SourceLocation::file("here", "turn_data.zip");
        let files = unpack(&file, "turn_data.zip", content, &mut room).map_err(|error| error.to_string())?;
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
        let (file, mut room) = (SourceLocation::file("here", "turn_data.zip"), room(201));
        assert!(unpack(&file, "turn_data.zip", &content, &mut room).is_ok());
        assert_eq!(room.unpacked, 100);
        assert!(unpack(&file, "session_data.zip", &content, &mut room).is_err());
    }

    #[test]
    fn archives_of_small_values_count_with_the_memory_that_these_take() {
        let numbers = format!("[{}]\n", vec!["0"; 1000].join(","));
        let content = packed(&[("a.jsonl", numbers.repeat(3).as_bytes())]);
        let within = |parsed: u64| names_within(&content, Room { parsed, ..Room::of_a_data_set() });
        let one = parsed_bytes(numbers.trim_end().as_bytes());
        assert!(one > 100 * 1000, "{one}");
        assert!(within(3 * one).is_ok());
        let said = within(3 * one - 1).unwrap_or_else(|error| vec![error]);
        let refused = "here: turn_data.zip, whole file: takes more than what is left of the 1073741824 bytes of memory";
        assert!(said[0].starts_with(refused), "{said:?}");
    }

    #[test]
    fn an_archive_of_too_many_entries_is_refused_before_it_is_opened() {
        let said = names(&DIRECTORY_ENTRY.repeat(ENTRIES_MAX + 1), 1000).unwrap_or_else(|error| vec![error]);
        assert_eq!(said, ["here: turn_data.zip, whole file: holds 20001 entries, at most 20000 are read"]);
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
