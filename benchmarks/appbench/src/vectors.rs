//! Golden vectors and official data, for the tests of the parts.

use std::path::{Path, PathBuf};

use regatta_proto::FileSet;
use serde_json::Value;

use super::data::{Data, load, wants};

/// The folder with data and golden cases beside the project, if there is one.
pub(crate) fn shared() -> Option<PathBuf> {
    regatta_benchmark_testing::shared("appbench")
}

/// The official data set, if it is there.
pub(crate) fn data() -> Option<Data> {
    let files = files(&shared()?.join("data"));
    Some(load(&files).unwrap_or_else(|error| unreachable!("{error}")))
}

/// The miniature data set.
pub(crate) fn miniature() -> Data {
    let files = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data/appbench"));
    load(&files).unwrap_or_else(|error| unreachable!("{error}"))
}

/// The files of a data set below a folder.
pub(crate) fn files(root: &Path) -> FileSet {
    let mut set = FileSet::from_origin(root.file_name().unwrap_or_default().to_string_lossy());
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if wants(&name) {
                set.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    set
}

/// A JSON file.
pub(crate) fn document(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// A JSONL file.
pub(crate) fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
