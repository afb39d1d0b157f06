//! Records of the splits: JSONL and CSV, and Parquet as the JSONL that it has become.

mod parquet_file;
mod read_csv;
mod read_jsonl;

use std::collections::BTreeMap;

use minijinja::context;
use minijinja::value::Serde;
use regatta_benchmarks::source_location::SourceLocation;
use regatta_benchmarks::{DataError, RemoteFile};
use regatta_proto::FileSet;
use serde_json::{Map, Value};

use crate::definition::{DataFile, Definition, Name, Source};

/// Most records of a split.
pub(crate) const RECORDS_MAX: usize = 1_000_000;
/// Largest record, in bytes.
pub(crate) const RECORD_BYTES_MAX: usize = 4 << 20;
/// Most columns of a record.
const COLUMNS_MAX: usize = 1000;
/// Deepest nesting of a record's values.
pub(crate) const DEPTH_MAX: usize = 32;
/// Names that templates give a meaning of their own.
const RESERVED: [&str; 4] = ["row", "setting", "replies", "gold"];

/// A line of a split.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    /// Line in the file, from 1.
    pub(crate) line: usize,
    /// Columns, in the order of the file.
    pub(crate) fields: Map<String, Value>,
    /// The same for templates: the columns, and all of them as `row`.
    pub(crate) variables: minijinja::Value,
}

/// A split.
#[derive(Debug, Clone)]
pub(crate) struct Split {
    pub(crate) path: String,
    pub(crate) records: Vec<Record>,
}

/// Splits by name.
pub(crate) type Splits = BTreeMap<String, Split>;

/// The form of a data file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Jsonl,
    Csv,
    Parquet,
}

impl Format {
    fn of(path: &str) -> Option<Self> {
        match path.rsplit_once('.')?.1 {
            "jsonl" => Some(Self::Jsonl),
            "csv" => Some(Self::Csv),
            "parquet" => Some(Self::Parquet),
            _ => None,
        }
    }
}

/// Refuses what is no path of a file in the benchmark's folder.
pub(crate) fn check_inside(path: &str) -> Result<(), String> {
    let is_inside =
        !path.is_empty() && !path.contains('\\') && path.split('/').all(|part| !matches!(part, "" | "." | ".."));
    if is_inside { Ok(()) } else { Err(format!("{path:?} must be the path of a file in the benchmark's folder")) }
}

/// Path that the file of a split has in the data set.
fn path_of(source: &Source, split: &Name, file: &DataFile) -> Result<String, DataError> {
    let field = format!("data.{split}");
    let path = match file {
        DataFile::Inside(path) => check_inside(path).map(|()| path.clone()),
        DataFile::Fetched(fetched) => fetched.path(),
    };
    let path = path.map_err(|problem| source.problem(&field, problem))?;
    if Format::of(&path).is_none() {
        let problem = format!("{path:?} must end in .jsonl, .csv or .parquet; convert other formats");
        return Err(source.problem(&field, problem));
    }
    Ok(path)
}

/// Files of the folder that the definition names, each once.
///
/// # Errors
/// When a path leads out of the folder, or the format is unknown.
pub(crate) fn files(source: &Source, definition: &Definition) -> Result<Vec<String>, DataError> {
    let mut paths = Vec::new();
    for (split, file) in definition.data.iter() {
        let path = path_of(source, split, file)?;
        if matches!(file, DataFile::Inside(_)) && !paths.contains(&path) {
            paths.push(path);
        }
    }
    Ok(paths)
}

/// Files that the definition names by their addresses, each once.
///
/// # Errors
/// When an address is none of a file, the format is unknown, or two files would lie at the same place.
pub(crate) fn remote(source: &Source, definition: &Definition) -> Result<Vec<RemoteFile>, DataError> {
    let mut found: Vec<RemoteFile> = Vec::new();
    for (split, file) in definition.data.iter() {
        let path = path_of(source, split, file)?;
        let DataFile::Fetched(fetched) = file else { continue };
        match found.iter().find(|other| other.path == path) {
            None => found.push(RemoteFile { path, url: fetched.url.clone(), sha256: fetched.sha256 }),
            Some(other) if other.sha256 == fetched.sha256 => {}
            // Its name has the beginning of the digest alone.
            Some(_) => {
                let problem = "another file has the same name and a SHA-256 that begins as this one's; give one of them another name";
                return Err(source.problem(&format!("data.{split}"), problem));
            }
        }
    }
    Ok(found)
}

/// Content that the data set has of the file at `path`.
///
/// # Errors
/// When it is Parquet that cannot be read.
pub(crate) fn as_stored(origin: &str, path: &str, content: Vec<u8>) -> Result<Vec<u8>, DataError> {
    match Format::of(path) {
        Some(Format::Parquet) => parquet_file::as_jsonl(&SourceLocation::file(origin, path), content),
        Some(Format::Jsonl | Format::Csv) | None => Ok(content),
    }
}

/// `true` if the files of all splits are in the data set.
///
/// # Errors
/// As [`files`].
pub(crate) fn are_there(source: &Source, definition: &Definition, files: &FileSet) -> Result<bool, DataError> {
    for (split, file) in definition.data.iter() {
        if files.get(&path_of(source, split, file)?).is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Reads all splits.
///
/// # Errors
/// With file and line of what is malformed.
pub(crate) fn read(source: &Source, definition: &Definition, files: &FileSet) -> Result<Splits, DataError> {
    let mut splits = Splits::new();
    for (split, file) in definition.data.iter() {
        let path = path_of(source, split, file)?;
        let Some(content) = files.get(&path) else {
            return Err(DataError::MissingFile {
                origin: files.origin().to_owned(),
                path,
                hint: format!("the split {split} of benchmark.yaml names it"),
            });
        };
        let file = SourceLocation::file(files.origin(), &path);
        let records = match Format::of(&path) {
            Some(Format::Csv) => read_csv::read(&file, content)?,
            Some(Format::Parquet) if content.starts_with(parquet_file::MAGIC) => {
                let problem =
                    "is Parquet still; `run`, `check` and `submit` make JSONL of it when they read the folder";
                return Err(file.problem(problem));
            }
            Some(Format::Jsonl | Format::Parquet) | None => read_jsonl::read(&file, content)?,
        };
        if records.is_empty() {
            return Err(file.problem("holds no records"));
        }
        splits.insert(split.to_string(), Split { path, records });
    }
    Ok(splits)
}

/// The record in `line` (from 1), if it keeps the limits.
fn record(
    file: &SourceLocation<'_>,
    line: usize,
    bytes: usize,
    fields: Map<String, Value>,
) -> Result<Record, DataError> {
    let place = file.line(line - 1);
    if bytes > RECORD_BYTES_MAX {
        return Err(place.problem(format!("has {bytes} bytes, at most {RECORD_BYTES_MAX} are read")));
    }
    if fields.len() > COLUMNS_MAX {
        return Err(place.problem(format!("has {} columns, at most {COLUMNS_MAX} are read", fields.len())));
    }
    for (name, value) in &fields {
        if RESERVED.contains(&name.as_str()) {
            let problem = "has a name that templates give another meaning; call it otherwise";
            return Err(place.error(name, problem));
        }
        if is_deeper(value, DEPTH_MAX) {
            return Err(place.error(name, format!("is nested deeper than {DEPTH_MAX} levels")));
        }
    }
    let row = minijinja::Value::from(Serde(&fields));
    Ok(Record { line, variables: context! { row => row.clone(), ..row }, fields })
}

fn too_many(file: &SourceLocation<'_>) -> DataError {
    file.problem(format!("has more than {RECORDS_MAX} records"))
}

/// `true` if `value` has more than `levels` levels of lists and objects.
pub(crate) fn is_deeper(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(values) => levels == 0 || values.iter().any(|value| is_deeper(value, levels - 1)),
        Value::Object(fields) => levels == 0 || fields.values().any(|value| is_deeper(value, levels - 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests;
