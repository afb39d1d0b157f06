//! Stored objects of which the ledger has no row: those of versions without a record of objects, and of people.

use std::collections::BTreeMap;

use futures::future::join_all;

use super::references::input_of;
use crate::retention::AT_ONCE;
use crate::{Coordinator, CoordinatorError};

/// Most objects that one request records: it must end before clients and proxies lose patience.
const RECORDED_AT_ONCE: usize = 5_000;
/// Objects that the ledger is asked for at once.
const CHUNK: usize = 500;
/// Folders of the blob store whose objects are known by their digests.
const FOLDERS: [&str; 3] = ["content", "datasets", "locks"];

impl Coordinator {
    /// Adds some of the objects to the ledger that it does not know, as nobody's: those that versions without a record of objects have stored.
    /// They count as used now, so that they are kept for a while even if nothing refers to them. Only where a person asks for it: in a bucket that is
    /// shared by mistake, as with the copy of a deployment, they may be another's. Returns `true` if some are left for the next request.
    ///
    /// # Errors
    /// When a store fails.
    pub(crate) async fn record_unknown(&self) -> Result<bool, CoordinatorError> {
        if self.config.keep_unused.is_none() {
            return Ok(false);
        }
        // What is another database's would be nobody's here, and go once that one's name is gone.
        if self.neighbour().await?.is_some() {
            return Ok(false);
        }
        let mut room = RECORDED_AT_ONCE;
        // By their first digit, because a listing is in memory.
        for prefix in FOLDERS.iter().flat_map(|folder| (0..16).map(move |digit| format!("{folder}/{digit:x}"))) {
            let mut keys = self.catalog.blobs().list(&prefix).await?;
            keys.retain(|key| input_of(key).is_some());
            for some in keys.chunks(CHUNK) {
                let known = self.ledger.object_states(some).await?;
                let mut unknown: Vec<&String> = some.iter().filter(|key| !known.contains_key(*key)).collect();
                let is_full = unknown.len() > room;
                unknown.truncate(room);
                self.record_objects(None, self.sizes(&unknown).await?).await?;
                if is_full {
                    return Ok(true);
                }
                room -= unknown.len();
            }
        }
        Ok(false)
    }

    /// Sizes of those of the objects that are there still.
    async fn sizes(&self, keys: &[&String]) -> Result<BTreeMap<String, u64>, CoordinatorError> {
        let mut sizes = BTreeMap::new();
        for some in keys.chunks(AT_ONCE) {
            let found = join_all(some.iter().map(|key| self.catalog.blobs().size(key))).await;
            for (key, size) in some.iter().zip(found) {
                if let Some(bytes) = size? {
                    sizes.insert((*key).clone(), bytes);
                }
            }
        }
        Ok(sizes)
    }
}
