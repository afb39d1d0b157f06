//! Test support for all benchmarks: reading data sets and golden cases, driving sessions without a pipeline,
//! comparing golden files.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "only tests use it, where a panic is a failure and a skipped test says so"
)]

mod differential;
mod driving;
mod golden;
mod judged;
mod paper_tables;

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use regatta_benchmarks::{Benchmark, Suite};
use regatta_proto::{FileSet, Setting};
use serde_json::Value;

pub use self::differential::differ;
pub use self::driving::{answered, drive, drive_agent, drive_with, ended, session_of_agent};
pub use self::golden::{score_cases, score_every_case};
pub use self::judged::{SimulatedJudge, judged_values};
pub use self::paper_tables::{assert_complete, text_as_shown, text_of_tables};

/// Reads the files below `root` that `benchmark` wants, or all of them without a benchmark.
///
/// # Panics
/// If a folder or file cannot be read.
#[must_use]
pub fn read_folder(root: &Path, benchmark: Option<&dyn Benchmark>) -> FileSet {
    let mut files = FileSet::from_origin(root.file_name().unwrap().to_string_lossy());
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            if benchmark.is_none_or(|benchmark| benchmark.wants(&name)) {
                files.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// Returns the folder `examples` of the repository.
#[must_use]
pub fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// Reads the miniature data set of `benchmark`.
///
/// # Panics
/// If it is missing.
#[must_use]
pub fn miniature(benchmark: &dyn Benchmark) -> FileSet {
    read_folder(&examples().join("data").join(benchmark.name().as_str()), Some(benchmark))
}

/// Loads the miniature data set of `benchmark`.
///
/// # Panics
/// If it is missing or cannot be loaded.
#[must_use]
pub fn load_miniature(benchmark: &dyn Benchmark) -> Arc<dyn Suite> {
    benchmark.load(&miniature(benchmark)).unwrap()
}

/// Reads the published data of `benchmark`; `None` where [`shared`] has none.
///
/// # Panics
/// If a file cannot be read.
#[must_use]
pub fn published(benchmark: &dyn Benchmark) -> Option<FileSet> {
    Some(read_folder(&shared(benchmark.name().as_str())?.join("data"), Some(benchmark)))
}

/// Loads the published data of `benchmark`; `None` where [`shared`] has none.
///
/// # Panics
/// If they cannot be loaded.
#[must_use]
pub fn load_published(benchmark: &dyn Benchmark) -> Option<Arc<dyn Suite>> {
    Some(benchmark.load(&published(benchmark)?).unwrap())
}

/// Parses the name of a setting.
///
/// # Panics
/// If it is none.
#[must_use]
pub fn setting(name: &str) -> Setting {
    name.parse().unwrap()
}

/// Parses a JSON file.
///
/// # Panics
/// If it cannot be read, with its path.
#[must_use]
pub fn document(path: &Path) -> Value {
    let content = std::fs::read(path).unwrap_or_else(|error| unreadable(path, &error));
    serde_json::from_slice(&content).unwrap_or_else(|error| unreadable(path, &error))
}

/// Parses the lines of a JSONL file that are not empty.
///
/// # Panics
/// If it cannot be read, with its path and the number of the line.
#[must_use]
pub fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| unreadable(path, &error));
    let parse = |(number, line): (usize, &str)| {
        serde_json::from_str::<Value>(line).unwrap_or_else(|error| unreadable(path, &format!("line {number}: {error}")))
    };
    (1..).zip(text.lines()).filter(|(_, line)| !line.is_empty()).map(parse).collect()
}

/// Fails the test: golden files are many, and an error alone does not say which one is meant.
fn unreadable(path: &Path, problem: &dyn Display) -> ! {
    panic!("failed to read {}: {problem}", path.display());
}

/// Returns the folder with the published data and the golden cases of `benchmark`. Prints a note and returns `None`
/// if it does not exist.
#[must_use]
pub fn shared(benchmark: &str) -> Option<PathBuf> {
    let root = std::env::var_os("REGATTA_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let folder = root.join("benchmarks").join(benchmark);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: no data at {} (set REGATTA_SHARED)", folder.display());
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "failed to read nowhere/expected.json: ")]
    fn a_missing_golden_file_is_named() {
        let _ = document(Path::new("nowhere/expected.json"));
    }

    #[test]
    #[should_panic(expected = "predictions.jsonl: line 3: ")]
    fn a_line_that_is_no_json_is_named_and_empty_ones_are_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("predictions.jsonl");
        std::fs::write(&path, "{}\n\n{").unwrap();
        let _ = lines(&path);
    }
}
