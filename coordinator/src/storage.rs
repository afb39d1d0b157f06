//! Objects that people store and refer to: charged to their owners before they are stored, and kept from removal before they are looked for.
//!
//! An embedded run keeps no record of objects: its files are one person's, and nothing removes them.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::path::Path;

use regatta_backends::blobs::content_key;
use regatta_backends::{LedgerError, ObjectState, ObjectUses};
use regatta_catalog::{CatalogError, Input, InputKind, Sweep, store_manifest, sweep_inputs};
use regatta_proto::{Digest, OwnerName, Snapshot, SweepLock};

use crate::{Coordinator, CoordinatorError, PlanError, Submission};

impl Coordinator {
    /// Stores a file that `owner` has uploaded: the `bytes` bytes at `path`, which have this digest. To be run to its end, whatever becomes of
    /// the request: a charge is taken back by whoever has made it.
    pub(crate) async fn store_upload(
        &self,
        owner: &OwnerName,
        digest: &Digest,
        path: &Path,
        bytes: u64,
    ) -> Result<(), CoordinatorError> {
        let put = self.catalog.blobs().put_content_file(digest, path, bytes);
        self.store_charged(Some(owner), (content_key(digest), bytes), put).await
    }

    /// Stores a manifest of `owner`.
    pub(crate) async fn store_manifest(
        &self,
        snapshot: &Snapshot,
        owner: Option<&OwnerName>,
    ) -> Result<Digest, CoordinatorError> {
        let key = Input { kind: InputKind::Manifest, digest: snapshot.digest() }.key();
        let bytes = serde_json::to_vec(snapshot)?.len() as u64;
        self.store_charged(owner, (key, bytes), store_manifest(self.catalog.blobs(), snapshot)).await
    }

    /// Stores the lock of a sweep of `owner`, and returns the sweep.
    pub(crate) async fn store_lock(
        &self,
        lock: &SweepLock,
        owner: Option<&OwnerName>,
    ) -> Result<std::sync::Arc<Sweep>, CoordinatorError> {
        let bytes = lock.to_bytes()?;
        let key = Input { kind: InputKind::Lock, digest: Digest::of(&bytes) }.key();
        self.store_charged(owner, (key, bytes.len() as u64), self.catalog.store(lock)).await
    }

    /// Stores a document of `owner` by its digest, which is returned.
    pub(crate) async fn store_document(
        &self,
        document: Vec<u8>,
        owner: Option<&OwnerName>,
    ) -> Result<Digest, CoordinatorError> {
        let (key, bytes) = (content_key(&Digest::of(&document)), document.len() as u64);
        self.store_charged(owner, (key, bytes), self.catalog.blobs().put_content(document.into())).await
    }

    /// Charges `owner` for an object, has `put` store it, and takes the charge back if that fails.
    async fn store_charged<T, E>(
        &self,
        owner: Option<&OwnerName>,
        (key, bytes): (String, u64),
        put: impl Future<Output = Result<T, E>>,
    ) -> Result<T, CoordinatorError>
    where
        CoordinatorError: From<E>,
    {
        if !self.config.queue_survives {
            return Ok(put.await?);
        }
        self.begin_uses(owner, BTreeMap::from([(key.clone(), Some(bytes))]), true).await?;
        let stored = put.await.map_err(CoordinatorError::from);
        self.end_uses(owner, &[key], stored).await
    }

    /// Refers to the files of a submission of `owner`, which are stored and have the sizes that it says.
    pub(crate) async fn refer_to_files(
        &self,
        submission: &Submission,
        owner: Option<&OwnerName>,
    ) -> Result<(), CoordinatorError> {
        let keys: BTreeSet<String> = submission.contents().map(content_key).collect();
        // Before they are looked for: a file that is there after this stays there.
        let unknown = self.begin_references(owner, &keys).await?;
        let checked = async {
            let mut sizes = self.check_sizes(submission).await?;
            sizes.retain(|key, _| unknown.contains(key));
            self.record_objects(owner, sizes).await
        };
        self.end_references(owner, keys, &unknown, checked.await).await.map(drop)
    }

    /// Refers to the inputs of a sweep of `owner`, and returns their keys.
    pub(crate) async fn refer_to_inputs(
        &self,
        sweep: &Sweep,
        owner: Option<&OwnerName>,
    ) -> Result<BTreeSet<String>, CoordinatorError> {
        if !self.config.queue_survives {
            return Ok(BTreeSet::new());
        }
        let blobs = self.catalog.blobs();
        let inputs = sweep_inputs(blobs, &sweep.digest).await.map_err(|error| match error {
            // Planned, and removed before it was entered.
            CatalogError::Missing { key } => LedgerError::ObjectRemoved { key }.into(),
            error => CoordinatorError::from(error),
        })?;
        let keys: BTreeSet<String> = inputs.iter().map(Input::key).collect();
        let unknown = self.begin_references(owner, &keys).await?;
        let recorded = async {
            let mut sizes = BTreeMap::new();
            for key in &unknown {
                let size = blobs.size(key).await?.ok_or_else(|| LedgerError::ObjectRemoved { key: key.clone() })?;
                sizes.insert(key.clone(), size);
            }
            self.record_objects(owner, sizes).await
        };
        self.end_references(owner, keys, &unknown, recorded.await).await
    }

    /// Ends references to objects as `result` says, and returns their keys. Objects that were `unknown` are recorded last and all at once: after a
    /// failure no use of theirs was begun here, and one that is pending belongs to an upload, whose charge stays.
    async fn end_references(
        &self,
        owner: Option<&OwnerName>,
        keys: BTreeSet<String>,
        unknown: &BTreeSet<String>,
        result: Result<(), CoordinatorError>,
    ) -> Result<BTreeSet<String>, CoordinatorError> {
        let is_begun = |key: &&String| result.is_ok() || !unknown.contains(*key);
        let begun: Vec<String> = keys.iter().filter(is_begun).cloned().collect();
        self.end_uses(owner, &begun, result).await?;
        Ok(keys)
    }

    /// Begins to refer to objects, and returns those that the ledger does not know.
    async fn begin_references(
        &self,
        owner: Option<&OwnerName>,
        keys: &BTreeSet<String>,
    ) -> Result<BTreeSet<String>, CoordinatorError> {
        let objects = keys.iter().map(|key| (key.clone(), None)).collect();
        Ok(self.begin_uses(owner, objects, false).await?.into_iter().collect())
    }

    /// Adds objects that are stored to the ledger, which does not know them: an earlier version has stored them, or a person.
    pub(crate) async fn record_objects(
        &self,
        owner: Option<&OwnerName>,
        sizes: BTreeMap<String, u64>,
    ) -> Result<(), CoordinatorError> {
        if sizes.is_empty() {
            return Ok(());
        }
        let objects = sizes.into_iter().map(|(key, bytes)| (key, Some(bytes))).collect();
        self.begin_uses(owner, objects, false).await.map(drop)
    }

    async fn begin_uses(
        &self,
        owner: Option<&OwnerName>,
        objects: BTreeMap<String, Option<u64>>,
        is_upload: bool,
    ) -> Result<Vec<String>, CoordinatorError> {
        let (quota, at) = (self.quotas.of(owner).storage, self.clock.now());
        Ok(self.ledger.begin_uses(ObjectUses { owner: owner.cloned(), objects, is_upload, quota, at }).await?)
    }

    /// Ends uses of objects as `result` says, and returns that.
    async fn end_uses<T>(
        &self,
        owner: Option<&OwnerName>,
        keys: &[String],
        result: Result<T, CoordinatorError>,
    ) -> Result<T, CoordinatorError> {
        let Some(owner) = owner else { return result };
        let ended = self.ledger.end_uses(owner, keys, result.is_ok()).await;
        match result {
            Ok(value) => {
                ended?;
                Ok(value)
            }
            Err(error) => {
                if let Err(problem) = ended {
                    tracing::warn!(%owner, error = %problem, "failed to take a charge for storage back; it ends once it was not used for as long as such objects are kept");
                }
                Err(error)
            }
        }
    }

    /// Sizes by key of the files of `submission`, which are stored. They have the sizes that their manifests say: what is loaded is what was
    /// allowed.
    async fn check_sizes(&self, submission: &Submission) -> Result<BTreeMap<String, u64>, CoordinatorError> {
        let blobs = self.catalog.blobs();
        let missing = |field: String, file: String, key: &str| {
            let problem = format!(
                "{file} ({key}) is not stored: it was never uploaded, or was removed since because nothing referred to it; upload it again, as \
                 `regatta submit` does"
            );
            PlanError::Field { field, problem }
        };
        let mut sizes = BTreeMap::new();
        for (name, snapshot) in &submission.data {
            let field = format!("data.{name}");
            for file in &snapshot.files {
                let key = content_key(&file.digest);
                let found = match sizes.get(&key) {
                    Some(size) => *size,
                    None => {
                        let size = blobs.size(&key).await?;
                        size.ok_or_else(|| missing(field.clone(), format!("{:?}", file.path), &key))?
                    }
                };
                if found != file.size {
                    let problem =
                        format!("{:?} is said to have {} bytes, and has others; submit it again", file.path, file.size);
                    return Err(PlanError::Field { field, problem }.into());
                }
                sizes.insert(key, found);
            }
        }
        for (name, digest) in &submission.recorded {
            let key = content_key(digest);
            let size = blobs.size(&key).await?;
            let size = size.ok_or_else(|| missing(format!("endpoints.{name}.path"), "its file".to_owned(), &key))?;
            sizes.insert(key, size);
        }
        Ok(sizes)
    }

    /// `true` if the content with this digest is stored, and not about to be removed.
    pub(crate) async fn has_content(&self, digest: &Digest) -> Result<bool, CoordinatorError> {
        let key = content_key(digest);
        let states = self.ledger.object_states(std::slice::from_ref(&key)).await?;
        let is_going = match states.get(&key) {
            Some(ObjectState::Removing) => true,
            Some(ObjectState::Stored) | None => false,
        };
        Ok(!is_going && self.catalog.blobs().size(&key).await?.is_some())
    }
}
