//! Official files of a data set: repository, commit, sizes and digests, from the `sources.yaml` of each benchmark.

use anyhow::Context;
use regatta_proto::{BenchmarkName, Digest};
use serde::Deserialize;

use crate::benchmarks;
use crate::exit::BadConfiguration;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sources {
    pub(super) repositories: Vec<Repository>,
    /// Parts of the data set that cannot be fetched, each with how to come by it.
    pub(super) by_hand: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Repository {
    /// `OWNER/NAME`.
    pub(super) repository: String,
    pub(super) commit: String,
    pub(super) licence: String,
    pub(super) files: Vec<SourceFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SourceFile {
    /// Path in the repository, and in a copy.
    pub(super) path: String,
    pub(super) bytes: u64,
    pub(super) sha256: Digest,
}

impl Sources {
    /// The official files of the built-in benchmark `name`.
    ///
    /// # Errors
    /// [`BadConfiguration`] when there is no such benchmark.
    pub(super) fn of(name: &BenchmarkName) -> anyhow::Result<Self> {
        let text = benchmarks::sources(name).ok_or_else(|| {
            BadConfiguration(format!(
                "{}; a benchmark of your own has its data in its folder, and nothing is fetched",
                crate::data::unknown(name)
            ))
        })?;
        serde_yaml_ng::from_str(text).with_context(|| format!("failed to read the sources of {name}"))
    }

    /// All files, each with its repository.
    pub(super) fn files(&self) -> impl Iterator<Item = (&Repository, &SourceFile)> {
        self.repositories.iter().flat_map(|repository| repository.files.iter().map(move |file| (repository, file)))
    }
}

impl SourceFile {
    /// Difference of `content` from the official file, as the end of a sentence about it; `None` where there is none.
    pub(super) fn difference(&self, content: &[u8]) -> Option<String> {
        if content.len() as u64 != self.bytes {
            return Some(format!("has {} bytes, not {}", content.len(), self.bytes));
        }
        let digest = Digest::of(content);
        (digest != self.sha256).then(|| format!("has the SHA-256 {digest}, not {}", self.sha256))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::benchmarks::BENCHMARKS;

    #[test]
    fn every_benchmark_has_official_files_that_its_loader_reads_at_paths_that_are_addresses_too() {
        for benchmark in BENCHMARKS.all() {
            let name = benchmark.name();
            let sources = Sources::of(&name).unwrap();
            let mut paths = BTreeSet::new();
            for (repository, file) in sources.files() {
                let path = &file.path;
                assert!(benchmark.wants(path), "{name}: {path}");
                assert!(paths.insert(path), "{name}: {path} is there twice");
                assert!(path.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c)), "{name}: {path}");
                assert!(!path.split('/').any(|part| part.is_empty() || part.starts_with('.')), "{name}: {path}");
                assert_eq!(repository.commit.len(), 40, "{name}");
            }
            assert!(!paths.is_empty(), "{name}");
        }
    }

    #[test]
    fn the_pages_of_the_benchmarks_name_the_same_commits() {
        let pages = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/benchmarks");
        for benchmark in BENCHMARKS.all() {
            let name = benchmark.name();
            let page = std::fs::read_to_string(pages.join(format!("{name}.md"))).unwrap();
            for repository in Sources::of(&name).unwrap().repositories {
                assert!(page.contains(&repository.repository), "{name}: {}", repository.repository);
                assert!(page.contains(&repository.commit), "{name}: {}", repository.commit);
            }
        }
    }

    #[test]
    fn an_unknown_benchmark_is_told_with_the_one_that_may_have_been_meant() {
        let error = Sources::of(&"worfbnech".parse().unwrap()).unwrap_err();
        assert!(error.downcast_ref::<BadConfiguration>().is_some());
        assert!(error.to_string().contains("did you mean \"worfbench\"?"), "{error}");
    }

    #[test]
    fn a_file_differs_by_its_size_or_by_its_digest() {
        let file = SourceFile { path: "a.json".to_owned(), bytes: 3, sha256: Digest::of(b"abc") };
        assert_eq!(file.difference(b"abc"), None);
        assert_eq!(file.difference(b"abcd").as_deref(), Some("has 4 bytes, not 3"));
        assert!(file.difference(b"abd").is_some_and(|difference| difference.starts_with("has the SHA-256 ")));
    }
}
