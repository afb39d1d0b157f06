//! The official data and the miniature set, for unit tests.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use regatta_proto::FileSet;
use serde_json::Value;

use super::{Data, Prompts, load, wants};

/// Returns the folder with the published data and golden cases, if it exists.
pub(crate) fn shared() -> Option<PathBuf> {
    regatta_benchmark_testing::shared("orchestrationbench")
}

/// Reads the files below a folder that belong to the data set.
pub(crate) fn folder(root: &Path) -> FileSet {
    let mut files = FileSet::from_origin("the data");
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if wants(&name) {
                files.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// Returns the official data with the official prompts, loaded once.
pub(crate) fn official() -> Option<&'static Data> {
    static DATA: OnceLock<Option<Data>> = OnceLock::new();
    DATA.get_or_init(|| Some(load(&folder(&shared()?.join("data"))).unwrap())).as_ref()
}

/// Returns the miniature set with our own prompts, loaded once.
pub(crate) fn miniature() -> &'static Data {
    static DATA: OnceLock<Data> = OnceLock::new();
    DATA.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data/orchestrationbench");
        let data = load(&folder(&root)).unwrap();
        assert_eq!(data.prompts, Prompts::default(), "it has no prompts");
        data
    })
}

/// Parses a JSONL file.
pub(crate) fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

impl Data {
    /// Finds a scenario by its name, such as `EN/1`.
    pub(crate) fn named(&self, name: &str) -> &super::Scenario {
        self.scenarios.iter().find(|scenario| scenario.name() == name).unwrap()
    }
}
