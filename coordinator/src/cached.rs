//! Removal of cached responses that are old.
//!
//! They are counted by their age alone: nobody notes when one was used, since a session would have to write for every answer that it reads. A
//! sweep that would have used one asks again and pays for it. One that only replays could not, so nothing is removed while such a sweep runs, or
//! while nobody can tell whether one does.

use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use regatta_backends::blobs::response_folder;
use regatta_backends::{BlobError, Blobs, DatedObject};
use regatta_catalog::read_lock;
use regatta_proto::{CacheMode, Digest, SweepId, causes};
use serde::{Deserialize, Serialize};

use crate::problems::Problems;
use crate::retention::{AT_ONCE, Undeleted, delete_at_once};
use crate::{Coordinator, CoordinatorError};

/// Old responses after which a request ends: clients and proxies lose patience.
const REMOVED_AT_ONCE: u64 = 5_000;
/// Responses of any age after which a request ends.
const LISTED_AT_ONCE: usize = 200_000;

/// A wish to remove cached responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CachedWish {
    /// Responses go that were written longer ago than so many days.
    pub days: u32,
    /// Folder to begin with, as [`OldResponses::next`] of the request before names it. A request that begins later than with the first one looks
    /// at nothing else.
    #[serde(default)]
    pub from: u8,
}

/// Cached responses that were removed, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OldResponses {
    /// Number of responses.
    pub objects: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Folder that the next request begins with; absent once all were looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u8>,
}

impl OldResponses {
    /// Adds the result of a further request.
    pub fn add(&mut self, more: &Self) {
        self.objects += more.objects;
        self.bytes += more.bytes;
        self.next = more.next;
    }

    /// `true` if none went or would go, and none are left to look at.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    fn count(&mut self, object: &DatedObject) {
        self.objects += 1;
        self.bytes += object.bytes;
    }
}

/// Moment before which responses are old that are kept for so many days; the first one that a clock can show if that is none.
#[must_use]
pub fn kept_since(now: Timestamp, days: u32) -> Timestamp {
    now.checked_sub(SignedDuration::from_hours(24 * i64::from(days))).unwrap_or(Timestamp::MIN)
}

/// Removes the responses of a folder that were written before `before`, or counts them. Returns the number of those of any age.
///
/// # Errors
/// When the store cannot be listed, or some objects cannot be deleted; the others are.
pub fn remove_old_responses<'a>(
    blobs: &'a Blobs,
    folder: u8,
    before: Timestamp,
    is_applied: bool,
    found: &'a mut OldResponses,
) -> BoxFuture<'a, Result<usize, CoordinatorError>> {
    Box::pin(async move {
        let listed = blobs.list_dated(&response_folder(folder)).await?;
        let count = listed.len();
        let old: Vec<DatedObject> = listed.into_iter().filter(|object| is_old(object, before)).collect();
        if !is_applied {
            old.iter().for_each(|object| found.count(object));
            return Ok(count);
        }
        let mut failed: Vec<BlobError> = Vec::new();
        for some in old.chunks(AT_ONCE) {
            let keys: Vec<String> = some.iter().map(|object| object.key.clone()).collect();
            for (object, result) in some.iter().zip(delete_at_once(blobs, &keys).await) {
                match result {
                    Ok(()) => found.count(object),
                    Err(error) => failed.push(error),
                }
            }
            if failed.len() >= AT_ONCE {
                break;
            }
        }
        Undeleted::check(failed)?;
        Ok(count)
    })
}

/// `true` for a response that was written before `before`. Files of others in folders of the same names are none, and what has no age stays.
fn is_old(object: &DatedObject, before: Timestamp) -> bool {
    let name = object.key.rsplit('/').next().unwrap_or(&object.key);
    name.parse::<Digest>().is_ok() && object.written_at.is_some_and(|at| at < before)
}

impl Coordinator {
    /// Removes old responses, or says which these would be, until so many are done as one request may.
    pub(crate) async fn remove_cached(&self, wish: CachedWish, is_applied: bool) -> (OldResponses, Problems) {
        let (mut found, mut problems) = (OldResponses::default(), Problems::default());
        if let Err(error) = self.go_through_cached(wish, is_applied, &mut found, &mut problems).await {
            problems.note(format!("failed to remove cached responses: {}", causes(&error)));
        }
        let OldResponses { objects, bytes, next: _ } = found;
        if is_applied && objects > 0 {
            tracing::info!(objects, bytes, "old cached responses are removed");
        }
        (found, problems)
    }

    async fn go_through_cached(
        &self,
        wish: CachedWish,
        is_applied: bool,
        found: &mut OldResponses,
        problems: &mut Problems,
    ) -> Result<(), CoordinatorError> {
        if let Some(name) = self.neighbour().await? {
            problems.note(format!(
                "another database uses this bucket and prefix ({name}), and sweeps of it may replay cached responses, so none is removed; give each \
                 a prefix of its own, or delete this object if the other database is gone"
            ));
            return Ok(());
        }
        let (before, mut listed) = (kept_since(self.clock.now(), wish.days), 0);
        for folder in wish.from..=u8::MAX {
            // Each time: a sweep may have been submitted meanwhile.
            if let Some(sweep) = self.replaying().await? {
                problems.note(format!(
                    "cached responses stay while sweep {sweep} runs, which only replays them or whose lock cannot be read; the next removal once it has \
                     ended takes them"
                ));
                return Ok(());
            }
            listed += remove_old_responses(self.catalog.blobs(), folder, before, is_applied, found).await?;
            if found.objects >= REMOVED_AT_ONCE || listed >= LISTED_AT_ONCE {
                found.next = folder.checked_add(1);
                return Ok(());
            }
        }
        Ok(())
    }

    /// A sweep that has not ended and cannot ask for what is not cached, or may be such a one.
    async fn replaying(&self) -> Result<Option<SweepId>, CoordinatorError> {
        for row in self.ledger.sweeps().await?.into_iter().filter(|row| !row.state.is_end()) {
            match read_lock(self.catalog.blobs(), &row.lock).await {
                Ok(lock) if lock.cache != CacheMode::Replay => {}
                Err(error) if error.is_outage() => return Err(error.into()),
                Ok(_) | Err(_) => return Ok(Some(row.id)),
            }
        }
        Ok(None)
    }
}
