//! The file of a run's annotations.

use std::io;
use std::path::Path;

use super::{Annotation, Annotations};

/// Name of the file in a run's directory.
pub const FILE_NAME: &str = "annotations.jsonl";

/// Largest file of annotations, in bytes: some 40,000 with a line of words each. It is read for every page.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Reads the annotations in the file at `path`; none where there is no file.
///
/// # Errors
/// When the file cannot be read, is too large, or a link.
pub fn read(path: &Path) -> io::Result<Annotations> {
    let Some(bytes) = regatta_files::read_lines_within(path, FILE_BYTES_MAX)? else {
        return Ok(Annotations::default());
    };
    Ok(Annotations::parse(&bytes))
}

/// Adds `annotation` to the file at `path`, and returns once it is durable.
///
/// # Errors
/// When the file cannot be written, is full, or a link.
pub fn append(path: &Path, annotation: &Annotation) -> io::Result<()> {
    regatta_files::append_line(path, &serde_json::to_string(annotation)?, FILE_BYTES_MAX)
}
