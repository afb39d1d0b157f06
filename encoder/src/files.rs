//! Reads the files of a model directory, and computes the digest over all that was read.

use crate::EncoderError;
use regatta_files::read_within;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Largest file of a model, in bytes: it is in memory while the model is loaded.
const FILE_BYTES_MAX: u64 = 4 << 30;

/// Reads files below one directory and digests each: its name, its length and its bytes, in the order of reading.
/// That order is fixed by the code, so equal directories have equal digests wherever they lie.
pub(crate) struct ModelFiles {
    directory: PathBuf,
    digest: Sha256,
}

impl ModelFiles {
    pub(crate) fn new(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), digest: Sha256::new() }
    }

    /// Path of a file of this directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Reads a file that must exist; `advice` ends the error message if it does not.
    pub(crate) fn bytes(&mut self, name: &str, advice: &'static str) -> Result<Vec<u8>, EncoderError> {
        let path = self.path(name);
        let bytes =
            read_within(&path, FILE_BYTES_MAX).map_err(|source| EncoderError::Unreadable { path, source, advice })?;
        self.digest.update(name.as_bytes());
        self.digest.update([0]);
        self.digest.update((bytes.len() as u64).to_le_bytes());
        self.digest.update(&bytes);
        Ok(bytes)
    }

    /// Reads a JSON file that must exist.
    pub(crate) fn json<T: DeserializeOwned>(&mut self, name: &str, advice: &'static str) -> Result<T, EncoderError> {
        let bytes = self.bytes(name, advice)?;
        serde_json::from_slice(&bytes).map_err(|source| EncoderError::Malformed { path: self.path(name), source })
    }

    /// Reads a JSON file that may be absent, but must be readable if it exists.
    pub(crate) fn optional_json<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>, EncoderError> {
        match self.json(name, "make it readable") {
            Err(EncoderError::Unreadable { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
            result => result.map(Some),
        }
    }

    /// SHA-256 over everything read, in lower-case hex.
    pub(crate) fn digest(self) -> String {
        hex::encode(self.digest.finalize())
    }
}
