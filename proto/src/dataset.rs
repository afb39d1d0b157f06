//! Files of a benchmark in memory, and their content-addressed snapshot.

use std::collections::BTreeMap;

use bytes::Bytes;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Digest;

/// Files by path relative to the benchmark's data directory, with `/` as separator.
#[derive(Debug, Clone, Default)]
pub struct FileSet {
    files: BTreeMap<String, Bytes>,
    /// Source of the files, for error messages: a directory, or the snapshot's digest.
    origin: String,
}

impl FileSet {
    /// An empty set of files from `origin`.
    #[must_use]
    pub fn from_origin(origin: impl Into<String>) -> Self {
        Self { files: BTreeMap::new(), origin: origin.into() }
    }

    /// Adds a file.
    pub fn insert(&mut self, path: impl Into<String>, content: impl Into<Bytes>) {
        self.files.insert(path.into(), content.into());
    }

    /// Content of the file at `path`.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&Bytes> {
        self.files.get(path)
    }

    /// Paths and contents, sorted by path.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Bytes)> {
        self.files.iter().map(|(path, content)| (path.as_str(), content))
    }

    /// Source of the files, for error messages.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The manifest of all files with their digests.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let files = self
            .iter()
            .map(|(path, content)| FileEntry {
                path: path.to_owned(),
                digest: Digest::of(content),
                size: content.len() as u64,
            })
            .collect();
        Snapshot { files }
    }
}

/// One file of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct FileEntry {
    /// Path within the data directory.
    pub path: String,
    /// Digest of the content.
    pub digest: Digest,
    /// Size in bytes.
    pub size: u64,
}

/// Manifest of a data set when the sweep was planned, so that every worker reads the same bytes at any time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Snapshot {
    /// Files sorted by path.
    pub files: Vec<FileEntry>,
}

impl Snapshot {
    /// Digest of the manifest, which identifies all files.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of_parts(self.files.iter().flat_map(|file| [file.path.as_bytes(), file.digest.bytes().as_slice()]))
    }
}
