//! Objects in memory, for simulations.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures::{StreamExt as _, stream};

use super::{BlobError, DatedObject, LISTED_KEYS_MAX, ObjectStream};
use crate::faults::{Trouble, Troubles};

/// Objects in memory, as seen by one of the processes that share them.
#[derive(Debug, Clone)]
pub struct MemoryBlobs {
    objects: Arc<Mutex<BTreeMap<String, Bytes>>>,
    troubles: Option<Troubles>,
}

impl MemoryBlobs {
    pub(super) fn new() -> Self {
        Self { objects: Arc::default(), troubles: None }
    }

    pub(super) fn troubled(&self, troubles: Troubles) -> Self {
        Self { objects: Arc::clone(&self.objects), troubles: Some(troubles) }
    }

    pub(super) fn place(key: &str) -> String {
        format!("memory:{key}")
    }

    pub(super) async fn put(&self, key: &str, bytes: Bytes) -> Result<(), BlobError> {
        self.call("write", key, |objects| drop(objects.insert(key.to_owned(), bytes))).await
    }

    pub(super) async fn get(&self, key: &str) -> Result<Option<Bytes>, BlobError> {
        self.call("read", key, |objects| objects.get(key).cloned()).await
    }

    pub(super) async fn open(&self, key: &str) -> Result<Option<ObjectStream>, BlobError> {
        let bytes = self.get(key).await?;
        let whole =
            |bytes: Bytes| ObjectStream { bytes: bytes.len() as u64, pieces: stream::iter([Ok(bytes)]).boxed() };
        Ok(bytes.map(whole))
    }

    pub(super) async fn delete(&self, key: &str) -> Result<(), BlobError> {
        if self.troubles.as_ref().is_some_and(|troubles| troubles.keeps(key)) {
            return Err(failed("delete", key, Trouble));
        }
        self.call("delete", key, |objects| drop(objects.remove(key))).await
    }

    pub(super) async fn size(&self, key: &str) -> Result<Option<u64>, BlobError> {
        self.call("look at", key, |objects| objects.get(key).map(|bytes| bytes.len() as u64)).await
    }

    pub(super) async fn list(&self, prefix: &str) -> Result<Vec<String>, BlobError> {
        let keys: Vec<String> = self
            .call("list", prefix, |objects| {
                objects
                    .range(prefix.to_owned()..)
                    .map(|(key, _)| key.clone())
                    .take_while(|key| key.starts_with(prefix))
                    .collect()
            })
            .await?;
        if keys.len() > LISTED_KEYS_MAX {
            return Err(BlobError::TooMany { place: Self::place(prefix), limit: LISTED_KEYS_MAX });
        }
        Ok(keys)
    }

    /// Without times, because simulations have a clock of their own.
    pub(super) async fn list_dated(&self, prefix: &str) -> Result<Vec<DatedObject>, BlobError> {
        let keys = self.list(prefix).await?;
        let objects = self.locked();
        let dated = |key: String| {
            let bytes = objects.get(&key)?.len() as u64;
            Some(DatedObject { key, bytes, written_at: None })
        };
        Ok(keys.into_iter().filter_map(dated).collect())
    }

    async fn call<T>(
        &self,
        action: &'static str,
        key: &str,
        body: impl FnOnce(&mut BTreeMap<String, Bytes>) -> T + Send,
    ) -> Result<T, BlobError> {
        let away = |trouble: Trouble| failed(action, key, trouble);
        let Some(troubles) = &self.troubles else { return Ok(body(&mut self.locked())) };
        troubles.before().await.map_err(away)?;
        let value = body(&mut self.locked());
        troubles.after().await.map_err(away)?;
        Ok(value)
    }

    fn locked(&self) -> MutexGuard<'_, BTreeMap<String, Bytes>> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn failed(action: &'static str, key: &str, trouble: Trouble) -> BlobError {
    BlobError::Io { action, path: MemoryBlobs::place(key).into(), source: std::io::Error::other(trouble) }
}
