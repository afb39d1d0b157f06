//! Data sets in Blobs: a manifest that names every file by content, and the files.

use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use regatta_backends::{BlobError, Blobs};
use regatta_proto::{Digest, FileSet, Snapshot};

use crate::CatalogError;

/// Readings of a file before the data set cannot be read.
const READS: u32 = 4;
/// First pause before a file is read again; each is twice the one before.
const READ_AGAIN_AFTER: Duration = Duration::from_millis(50);

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
            files.insert(file.path, read_file(blobs, &file.digest).await?);
        }
        Ok(files)
    })
}

/// Reads one file of a data set. A store that does not answer is asked again for this one alone: of many files some would fail in every
/// reading of all.
async fn read_file(blobs: &Blobs, digest: &Digest) -> Result<Bytes, BlobError> {
    let mut pause = READ_AGAIN_AFTER;
    for _ in 1..READS {
        match blobs.get_content(digest).await {
            Err(error) if error.is_outage() => tokio::time::sleep(pause).await,
            read => return read,
        }
        pause *= 2;
    }
    blobs.get_content(digest).await
}

/// The manifest that has `digest`.
///
/// # Errors
/// When it is missing or damaged.
pub fn read_manifest<'a>(blobs: &'a Blobs, digest: &'a Digest) -> BoxFuture<'a, Result<Snapshot, CatalogError>> {
    Box::pin(async move {
        let key = manifest_key(digest);
        let manifest = blobs.get(&key).await?.ok_or(CatalogError::Missing { key: key.clone() })?;
        let snapshot: Snapshot = serde_json::from_slice(&manifest)?;
        if snapshot.digest() != *digest {
            return Err(CatalogError::Damaged { key });
        }
        Ok(snapshot)
    })
}

pub(crate) fn manifest_key(digest: &Digest) -> String {
    format!("datasets/{digest}.json")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use futures::FutureExt;
    use regatta_backends::faults::{Fate, Trouble, Troubles};

    use super::*;

    /// Of so many calls the last fails.
    struct EveryNth(u32, AtomicU32);

    impl Fate for EveryNth {
        fn before(&self) -> BoxFuture<'_, Result<(), Trouble>> {
            let number = self.1.fetch_add(1, Ordering::Relaxed) + 1;
            async move { if number.is_multiple_of(self.0) { Err(Trouble) } else { Ok(()) } }.boxed()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_data_set_of_many_files_is_read_although_some_reads_fail() {
        let blobs = Blobs::memory();
        let mut files = FileSet::from_origin("a test");
        for number in 0..100 {
            files.insert(format!("{number}.json"), format!("[{number}]"));
        }
        let digest = store_dataset(&blobs, &files).await.unwrap();
        let failing = |nth| blobs.troubled(Troubles::new(Arc::new(EveryNth(nth, AtomicU32::new(0)))));
        assert_eq!(load_dataset(&failing(5), &digest).await.unwrap().iter().count(), 100);
        let away = load_dataset(&failing(1), &digest).await.unwrap_err();
        assert!(away.is_outage(), "{away}");
    }
}
