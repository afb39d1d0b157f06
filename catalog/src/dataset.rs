//! Data sets in Blobs: a manifest that names every file by content, and the files.

use bytes::Bytes;
use futures::future::BoxFuture;
use regatta_backends::Blobs;
use regatta_proto::{Digest, FileSet, Snapshot};

use crate::CatalogError;

/// Stores `files` content-addressed and returns the digest of their manifest. Files already stored are not sent again.
///
/// # Errors
/// When Blobs cannot be written.
pub fn store_dataset<'a>(blobs: &'a Blobs, files: &'a FileSet) -> BoxFuture<'a, Result<Digest, CatalogError>> {
    Box::pin(async move {
        for (_, content) in files.iter() {
            blobs.put_content(content.clone()).await?;
        }
        store_manifest(blobs, &files.snapshot()).await
    })
}

/// Stores the manifest of files that are stored already.
///
/// # Errors
/// When Blobs cannot be written.
pub fn store_manifest<'a>(blobs: &'a Blobs, snapshot: &'a Snapshot) -> BoxFuture<'a, Result<Digest, CatalogError>> {
    Box::pin(async move {
        let digest = snapshot.digest();
        blobs.put(&manifest_key(&digest), Bytes::from(serde_json::to_vec(snapshot)?)).await?;
        Ok(digest)
    })
}

/// Reads a stored data set; every file is checked against its digest.
///
/// # Errors
/// When the manifest or a file is missing or damaged.
pub fn load_dataset<'a>(blobs: &'a Blobs, digest: &'a Digest) -> BoxFuture<'a, Result<FileSet, CatalogError>> {
    Box::pin(async move {
        let snapshot = read_manifest(blobs, digest).await?;
        let mut files = FileSet::from_origin(format!("data set {}", digest.short()));
        for file in snapshot.files {
            files.insert(file.path, blobs.get_content(&file.digest).await?);
        }
        Ok(files)
    })
}

/// The manifest that has `digest`.
pub(crate) async fn read_manifest(blobs: &Blobs, digest: &Digest) -> Result<Snapshot, CatalogError> {
    let key = manifest_key(digest);
    let manifest = blobs.get(&key).await?.ok_or(CatalogError::Missing { key: key.clone() })?;
    let snapshot: Snapshot = serde_json::from_slice(&manifest)?;
    if snapshot.digest() != *digest {
        return Err(CatalogError::Damaged { key });
    }
    Ok(snapshot)
}

pub(crate) fn manifest_key(digest: &Digest) -> String {
    format!("datasets/{digest}.json")
}
