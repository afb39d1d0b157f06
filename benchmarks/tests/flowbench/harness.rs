//! Data sets for the tests.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use regatta_benchmarks::{Benchmark, Suite, find};
use regatta_proto::{FileSet, Setting};

pub(crate) fn flowbench() -> &'static dyn Benchmark {
    find(&"flowbench".parse().unwrap()).unwrap()
}

pub(crate) fn setting(name: &str) -> Setting {
    name.parse().unwrap()
}

/// Files that the benchmark wants, or all when `every`.
fn read_folder(root: &Path, every: bool) -> FileSet {
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
            if every || flowbench().wants(&name) {
                files.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    files
}

pub(crate) fn miniature() -> Arc<dyn Suite> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/data/flowbench");
    flowbench().load(&read_folder(&root, false)).unwrap()
}

/// The folder with the data and golden cases, if there is one.
pub(crate) fn shared() -> Option<PathBuf> {
    let root = std::env::var_os("REGATTA_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"), PathBuf::from);
    let folder = root.join("benchmarks/flowbench");
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: no data at {} (set REGATTA_SHARED)", folder.display());
    None
}

pub(crate) fn shared_files(shared: &Path) -> FileSet {
    read_folder(&shared.join("data"), false)
}

pub(crate) fn case_files(shared: &Path, case: &str) -> FileSet {
    read_folder(&shared.join("golden").join(case), true)
}
