//! Reads a benchmark's files from a directory.

mod remote;

use std::path::Path;

use anyhow::{Context, bail};
use regatta_benchmarks::Benchmark;
use regatta_proto::{BenchmarkName, FileSet};

use crate::benchmarks::BENCHMARKS;

/// Largest single file, in bytes.
const FILE_BYTES_MAX: u64 = 256 << 20;
/// Most bytes of further files that a benchmark names at once, as the images of its records: all of them are in memory.
const FURTHER_BYTES_MAX: u64 = 2 << 30;
/// Deepest nesting of folders that is looked at.
const DEPTH_MAX: usize = 8;

/// The benchmark of this name; one that is not built in is what its data declares.
pub(crate) fn benchmark(name: &BenchmarkName) -> anyhow::Result<&'static dyn Benchmark> {
    BENCHMARKS.find(name).with_context(|| unknown(name))
}

/// The built-in benchmark of this name.
pub(crate) fn built_in(name: &BenchmarkName) -> anyhow::Result<&'static dyn Benchmark> {
    BENCHMARKS.find_built_in(name).with_context(|| unknown(name))
}

/// Says that there is no built-in benchmark `name`, and which one may have been meant.
pub(crate) fn unknown(name: &BenchmarkName) -> String {
    format!("unknown benchmark {:?}; {}", name.as_str(), BENCHMARKS.known(name.as_str()))
}

/// Reads the files below `directory` that `wanted` accepts.
pub(crate) fn read_files(directory: &Path, wanted: &dyn Fn(&str) -> bool) -> anyhow::Result<FileSet> {
    if !directory.is_dir() {
        bail!("{} is not a directory; name the folder that holds the files", directory.display());
    }
    let mut files = FileSet::from_origin(directory.display().to_string());
    collect(directory, "", wanted, &mut files, 0)?;
    Ok(files)
}

/// Reads the data set of benchmark `name`.
pub(crate) fn read_dataset(name: &BenchmarkName, directory: &Path) -> anyhow::Result<FileSet> {
    let benchmark = benchmark(name)?;
    let declares_none = || {
        let directory = directory.display();
        format!("{}; and {directory} has no benchmark.yaml, which would declare another one", unknown(name))
    };
    let is_built_in = BENCHMARKS.find_built_in(name).is_some();
    // Where a built-in one was meant, the directory is as misspelt as its name, or was right.
    if !is_built_in && !directory.is_dir() && BENCHMARKS.nearest(name.as_str()).is_some() {
        bail!(declares_none());
    }
    let context = || format!("failed to read the data of {name}; give its directory with --data {name}=DIR");
    let mut files = read_files(directory, &|path| benchmark.wants(path)).with_context(context)?;
    if files.iter().next().is_none() {
        if !is_built_in {
            bail!(declares_none());
        }
        bail!(
            "{} holds no file that belongs to {name}; give its data directory with --data {name}=DIR",
            directory.display()
        );
    }
    read_further(benchmark, directory, &mut files)?;
    for remote in benchmark.remote_files(&files)? {
        let content = remote::content(directory, &remote)?;
        let content = benchmark.as_stored(&files, &remote.path, content)?;
        files.insert(remote.path, content);
    }
    // Of a benchmark with images, the records name these.
    read_further(benchmark, directory, &mut files)?;
    Ok(files)
}

/// Adds the further files that those read so far name.
fn read_further(benchmark: &dyn Benchmark, directory: &Path, files: &mut FileSet) -> anyhow::Result<()> {
    // One that is not there is told when the data set is loaded.
    let is_to_be_read = |path: &String| files.get(path).is_none() && directory.join(path).is_file();
    let paths: Vec<String> = benchmark.further_files(files)?.into_iter().filter(is_to_be_read).collect();
    let sizes = paths.iter().filter_map(|path| std::fs::metadata(directory.join(path)).ok());
    let bytes = sizes.fold(0_u64, |bytes, file| bytes.saturating_add(file.len()));
    if bytes > FURTHER_BYTES_MAX {
        bail!(
            "the benchmark in {} names files of {bytes} bytes in all, at most {FURTHER_BYTES_MAX} are read; use fewer or smaller ones",
            directory.display()
        );
    }
    for path in paths {
        let content = benchmark.as_stored(files, &path, read_file(&directory.join(&path))?)?;
        files.insert(path, content);
    }
    Ok(())
}

/// The content of a file that is not too large.
pub(crate) fn read_file(path: &Path) -> anyhow::Result<Vec<u8>> {
    let context = || format!("failed to read {}", path.display());
    let bytes = std::fs::metadata(path).with_context(context)?.len();
    if bytes > FILE_BYTES_MAX {
        bail!("{} has {bytes} bytes, at most {FILE_BYTES_MAX} are read", path.display());
    }
    std::fs::read(path).with_context(context)
}

fn collect(
    directory: &Path,
    prefix: &str,
    wanted: &dyn Fn(&str) -> bool,
    files: &mut FileSet,
    depth: usize,
) -> anyhow::Result<()> {
    let context = || format!("failed to read {}", directory.display());
    for entry in std::fs::read_dir(directory).with_context(context)? {
        let entry = entry.with_context(context)?;
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
        let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        let kind =
            std::fs::metadata(entry.path()).with_context(|| format!("failed to read {}", entry.path().display()))?;
        if kind.is_dir() && depth < DEPTH_MAX {
            collect(&entry.path(), &path, wanted, files, depth + 1)?;
        } else if kind.is_file() && wanted(&path) {
            files.insert(path, read_file(&entry.path())?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const TEXT: &str = "v: 1\ndata: { test: test.jsonl }\nprompt:\n  turns:\n    - images: \"{{ p }}\"\n    - user: \"{{ q }}\"\nscorers:\n  right: { exact: { gold: x } }\n";

    #[test]
    fn images_that_would_fill_the_memory_are_refused_before_one_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let names: Vec<String> = (0..9).map(|number| format!("{number}.png")).collect();
        for name in &names {
            fs::File::create(at(name)).unwrap().set_len(FILE_BYTES_MAX).unwrap();
        }
        fs::write(at("benchmark.yaml"), TEXT).unwrap();
        fs::write(at("test.jsonl"), serde_json::json!({"q": "What is it?", "p": names.join("\n")}).to_string())
            .unwrap();
        let refused = read_dataset(&BenchmarkName::new("mine").unwrap(), folder.path()).unwrap_err();
        assert!(refused.to_string().contains("names files of 2415919104 bytes in all"), "{refused:#}");
    }
}
