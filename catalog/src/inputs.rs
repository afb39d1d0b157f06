//! Inputs of a sweep by digest: its lock, the manifests of its data sets, their files, and recorded verdicts. A store that has all of them
//! is enough to read the sweep.

use std::collections::BTreeSet;

use bytes::Bytes;
use futures::future::BoxFuture;
use regatta_backends::Blobs;
use regatta_backends::blobs::content_key;
use regatta_proto::{Digest, Snapshot, SweepLock};
use serde::{Deserialize, Serialize};

use crate::CatalogError;
use crate::catalog::{lock_key, read_lock};
use crate::dataset::{manifest_key, read_manifest};

/// Kind of an input, which says where it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputKind {
    /// The lock of the sweep.
    Lock,
    /// List of the files of a data set.
    Manifest,
    /// A file of a data set, or recorded verdicts.
    Content,
}

/// One input of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Kind.
    pub kind: InputKind,
    /// Digest that it is known by.
    pub digest: Digest,
}

impl Input {
    /// Key of the input in the blob store.
    #[must_use]
    pub fn key(&self) -> String {
        match self.kind {
            InputKind::Lock => lock_key(&self.digest),
            InputKind::Manifest => manifest_key(&self.digest),
            InputKind::Content => content_key(&self.digest),
        }
    }

    /// Inputs that `lock` names: manifests, which name files in turn, and recorded verdicts. One that is named twice comes twice.
    pub fn of_lock(lock: &SweepLock) -> impl Iterator<Item = Self> {
        let manifests = lock.benchmarks.values().map(|benchmark| (InputKind::Manifest, benchmark.dataset));
        let recorded = lock.endpoints.values().filter_map(|endpoint| endpoint.content);
        let recorded = recorded.map(|digest| (InputKind::Content, digest));
        manifests.chain(recorded).map(|(kind, digest)| Self { kind, digest })
    }

    /// Inputs that `manifest` names.
    pub fn of_manifest(manifest: &Snapshot) -> impl Iterator<Item = Self> {
        manifest.files.iter().map(|file| Self { kind: InputKind::Content, digest: file.digest })
    }
}

/// The inputs of the sweep whose lock has the digest `lock`, once each, the lock first.
///
/// # Errors
/// When the lock or a manifest is missing, damaged, or of another version.
pub fn sweep_inputs<'a>(blobs: &'a Blobs, lock: &'a Digest) -> BoxFuture<'a, Result<Vec<Input>, CatalogError>> {
    Box::pin(async move {
        let mut inputs = BTreeSet::from([Input { kind: InputKind::Lock, digest: *lock }]);
        let named: Vec<Input> = Input::of_lock(&read_lock(blobs, lock).await?).collect();
        for input in named {
            // Benchmarks may share a data set.
            if inputs.insert(input) && input.kind == InputKind::Manifest {
                inputs.extend(Input::of_manifest(&read_manifest(blobs, &input.digest).await?));
            }
        }
        Ok(inputs.into_iter().collect())
    })
}

/// Reads an input.
///
/// # Errors
/// When it is missing or damaged.
pub fn read_input<'a>(blobs: &'a Blobs, input: &'a Input) -> BoxFuture<'a, Result<Bytes, CatalogError>> {
    Box::pin(async move {
        let key = match input.kind {
            InputKind::Content => return Ok(blobs.get_content(&input.digest).await?),
            InputKind::Lock | InputKind::Manifest => input.key(),
        };
        let bytes = blobs.get(&key).await?.ok_or_else(|| CatalogError::Missing { key: key.clone() })?;
        check(input, &key, &bytes)?;
        Ok(bytes)
    })
}

/// Stores an input that was read elsewhere.
///
/// # Errors
/// When `bytes` do not have its digest, or Blobs cannot be written.
pub fn store_input<'a>(blobs: &'a Blobs, input: &'a Input, bytes: Bytes) -> BoxFuture<'a, Result<(), CatalogError>> {
    Box::pin(async move {
        let key = input.key();
        check(input, &key, &bytes)?;
        match input.kind {
            InputKind::Content => blobs.put_content(bytes).await.map(drop)?,
            InputKind::Lock | InputKind::Manifest => blobs.put(&key, bytes).await?,
        }
        Ok(())
    })
}

/// Refuses bytes that do not have the digest of `input`. A manifest is known by what it lists, the others by their bytes.
fn check(input: &Input, key: &str, bytes: &Bytes) -> Result<(), CatalogError> {
    let found = match input.kind {
        InputKind::Lock | InputKind::Content => Digest::of(bytes),
        InputKind::Manifest => serde_json::from_slice::<Snapshot>(bytes)?.digest(),
    };
    if found == input.digest { Ok(()) } else { Err(CatalogError::Damaged { key: key.to_owned() }) }
}
