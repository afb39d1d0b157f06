//! Benchmarks whose functions a program answers. Definition, settings, metrics and splits are those of declared benchmarks.

mod items;
mod messages;
mod opening;
mod scores;
mod suite;
mod world;

use regatta_benchmarks::DataError;

use crate::data::check_inside;
use crate::definition::{FILE, Source};

pub(crate) use self::suite::CodedSuite;

/// Files of the folder that a benchmark with a program needs, each once: its data, its `files`, and those words of its `program` that may
/// be files. Of these, one that is not there is none.
///
/// # Errors
/// When a path leads out of the folder.
pub(crate) fn files(source: &Source) -> Result<Vec<String>, DataError> {
    let definition = source.read_coded()?;
    let mut paths: Vec<String> = Vec::new();
    for (split, path) in definition.data.iter() {
        check_inside(path).map_err(|problem| source.problem(&format!("data.{split}"), problem))?;
        paths.push(path.clone());
    }
    for (at, path) in definition.files.iter().enumerate() {
        check_inside(path).map_err(|problem| source.problem(&format!("files[{at}]"), problem))?;
        paths.push(path.clone());
    }
    paths.extend(definition.program.iter().filter(|word| may_be_file(word)).cloned());
    let mut seen = std::collections::BTreeSet::new();
    paths.retain(|path| path != FILE && seen.insert(path.clone()));
    Ok(paths)
}

/// `true` for words such as `benchmark.py` and `src/main.js`.
fn may_be_file(word: &str) -> bool {
    !word.starts_with('-') && check_inside(word).is_ok()
}

#[cfg(test)]
mod tests;
