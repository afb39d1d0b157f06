//! Reads a benchmark's files from a directory.

use std::path::Path;

use anyhow::{Context, bail};
use regatta_benchmarks::Benchmark;
use regatta_proto::{BenchmarkName, FileSet, did_you_mean};

use crate::benchmarks::BENCHMARKS;

/// Largest single file, in bytes.
const FILE_BYTES_MAX: u64 = 256 << 20;
/// Deepest nesting of folders that is looked at.
const DEPTH_MAX: usize = 8;

/// The benchmark of this name.
pub(crate) fn benchmark(name: &BenchmarkName) -> anyhow::Result<&'static dyn Benchmark> {
    BENCHMARKS.find(name).with_context(|| {
        let known = BENCHMARKS.names();
        let meant = did_you_mean(name.as_str(), known.split(", "));
        format!("unknown benchmark {:?}; known: {known}{meant}", name.as_str())
    })
}

/// Reads the files below `directory` that `wanted` accepts.
pub(crate) fn read_files(directory: &Path, wanted: &dyn Fn(&str) -> bool) -> anyhow::Result<FileSet> {
    if !directory.is_dir() {
        bail!("{} is not a directory", directory.display());
    }
    let mut files = FileSet::from_origin(directory.display().to_string());
    collect(directory, "", wanted, &mut files, 0)?;
    Ok(files)
}

/// Reads the data set of benchmark `name`.
pub(crate) fn read_dataset(name: &BenchmarkName, directory: &Path) -> anyhow::Result<FileSet> {
    let benchmark = benchmark(name)?;
    let files = read_files(directory, &|path| benchmark.wants(path))
        .with_context(|| format!("failed to read the data of {name}; give its directory with --data {name}=DIR"))?;
    if files.iter().next().is_none() {
        bail!(
            "{} holds no file that belongs to {name}; give its data directory with --data {name}=DIR",
            directory.display()
        );
    }
    Ok(files)
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
            if kind.len() > FILE_BYTES_MAX {
                bail!("{} has {} bytes, at most {FILE_BYTES_MAX} are read", entry.path().display(), kind.len());
            }
            let content =
                std::fs::read(entry.path()).with_context(|| format!("failed to read {}", entry.path().display()))?;
            files.insert(path, content);
        }
    }
    Ok(())
}
