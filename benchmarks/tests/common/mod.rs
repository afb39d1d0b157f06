//! Files of data sets and golden cases, for the tests of every benchmark.

use std::path::{Path, PathBuf};

use regatta_benchmarks::Benchmark;
use regatta_proto::FileSet;

/// The files below `root` that `benchmark` wants, or all when there is none.
pub(crate) fn read_folder(root: &Path, benchmark: Option<&dyn Benchmark>) -> FileSet {
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

/// The folder with the data and golden cases of `benchmark`, if there is one.
pub(crate) fn shared(benchmark: &str) -> Option<PathBuf> {
    let root = std::env::var_os("REGATTA_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"), PathBuf::from);
    let folder = root.join("benchmarks").join(benchmark);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: no data at {} (set REGATTA_SHARED)", folder.display());
    None
}
