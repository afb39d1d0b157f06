//! Annotations of a deployment's sweep: an object each beside its results, never changed, so that neither two people nor two coordinators lose one.
//!
//! The names of the objects begin with the time, so that their order is that of a file's lines.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use jiff::SignedDuration;
use lru::LruCache;
use regatta_backends::{BlobError, Blobs};
use regatta_proto::{Digest, SweepId};

use super::{Annotation, Annotations};

/// Most annotations of a sweep; pages read all of them.
pub(crate) const STORED_MAX: usize = 2_000;
/// Objects that are read at once for one page.
const READ_AT_ONCE: usize = 32;
/// Most bytes of objects that are kept in memory, of all sweeps: twice what the longest notes of a sweep take.
const KEPT_BYTES_MAX: usize = 64 << 20;
/// Memory of an object beside its key and content.
const ENTRY_BYTES: usize = 200;

/// Folder of the objects among the files of a sweep, with its last slash.
pub const FOLDER: &str = "annotations/";

fn folder(sweep: &SweepId) -> String {
    format!("sweeps/{sweep}/{FOLDER}")
}

/// Objects that were read, by key. None is ever changed, so that a page reads those alone that a listing has and this does not.
pub(crate) struct ReadObjects {
    kept: Mutex<Kept>,
    bytes_max: usize,
}

struct Kept {
    objects: LruCache<String, Bytes>,
    /// Memory that they take.
    bytes: usize,
}

impl Default for ReadObjects {
    fn default() -> Self {
        Self::of_at_most(KEPT_BYTES_MAX)
    }
}

impl ReadObjects {
    fn of_at_most(bytes_max: usize) -> Self {
        Self { kept: Mutex::new(Kept { objects: LruCache::unbounded(), bytes: 0 }), bytes_max }
    }

    fn get(&self, key: &str) -> Option<Bytes> {
        self.locked().objects.get(key).cloned()
    }

    /// Keeps a copy of an object, and forgets those that were not read for the longest time where all do not fit. What came over a connection is a
    /// piece of a buffer that would be kept with it, and may be much larger.
    fn keep(&self, key: &str, object: &Bytes) {
        let object = Bytes::copy_from_slice(object);
        let mut kept = self.locked();
        kept.bytes += memory_of(key, &object);
        if let Some((key, before)) = kept.objects.push(key.to_owned(), object) {
            kept.bytes = kept.bytes.saturating_sub(memory_of(&key, &before));
        }
        while kept.bytes > self.bytes_max {
            let Some((key, oldest)) = kept.objects.pop_lru() else { break };
            kept.bytes = kept.bytes.saturating_sub(memory_of(&key, &oldest));
        }
    }

    fn locked(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn memory_of(key: &str, object: &Bytes) -> usize {
    key.len() + object.len() + ENTRY_BYTES
}

/// The annotations of one sweep.
#[derive(Clone)]
pub(crate) struct OfSweep {
    blobs: Blobs,
    sweep: SweepId,
    read: Arc<ReadObjects>,
}

impl fmt::Display for OfSweep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the annotations of {}", self.sweep)
    }
}

impl OfSweep {
    /// Annotations of `sweep` in `blobs`. Objects in `read` are not read again.
    pub(crate) const fn new(blobs: Blobs, sweep: SweepId, read: Arc<ReadObjects>) -> Self {
        Self { blobs, sweep, read }
    }

    /// Reads the annotations, those of other coordinators too: the store is asked which there are.
    pub(crate) async fn read(&self) -> Result<Annotations, BlobError> {
        let (blobs, read) = (&self.blobs, &self.read);
        let mut keys = blobs.list(&folder(&self.sweep)).await?;
        keys.sort_unstable();
        let lines = stream::iter(keys).map(|key| async move {
            if let Some(object) = read.get(&key) {
                return Ok(Some(object));
            }
            let object = blobs.get(&key).await?;
            if let Some(object) = &object {
                read.keep(&key, object);
            }
            Ok::<Option<Bytes>, BlobError>(object)
        });
        let lines: Vec<Option<Bytes>> = lines.buffered(READ_AT_ONCE).try_collect().await?;
        let lines: Vec<Bytes> = lines.into_iter().flatten().collect();
        Ok(Annotations::parse(&lines.join(b"\n".as_slice())))
    }

    /// Adds `annotation`, which has a time.
    pub(crate) async fn add(&self, annotation: &Annotation) -> Result<(), StoredError> {
        let line = serde_json::to_vec(annotation).map_err(io::Error::from)?;
        let at = annotation.at.map_or(0, |at| at.as_nanosecond());
        let key = format!("{}{at:020}-{}.json", folder(&self.sweep), Digest::of(&line).short());
        Ok(self.blobs.put(&key, line.into()).await?)
    }
}

/// `annotation` with a time after those of the person's annotations that are `known`, though another coordinator's clock may have been ahead.
pub(crate) fn after(known: &Annotations, annotation: Annotation) -> Annotation {
    let before = known.lines.iter().filter(|(_, of)| of.by == annotation.by).filter_map(|(_, of)| of.at).max();
    let next = before.and_then(|at| at.checked_add(SignedDuration::from_nanos(1)).ok());
    Annotation { at: annotation.at.max(next), ..annotation }
}

/// An annotation that was not stored.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoredError {
    #[error("failed to write the annotation as JSON")]
    Line(#[from] io::Error),
    #[error("failed to store the annotation")]
    Store(#[from] BlobError),
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::future::BoxFuture;
    use jiff::Timestamp;
    use regatta_backends::faults::{Fate, Trouble, Troubles};

    use super::*;

    /// Lets every call happen, and counts them.
    #[derive(Default)]
    struct Calls(AtomicUsize);

    impl Fate for Calls {
        fn before(&self) -> BoxFuture<'_, Result<(), Trouble>> {
            self.0.fetch_add(1, Ordering::SeqCst);
            Box::pin(std::future::ready(Ok(())))
        }
    }

    /// Annotations of a sweep, as one coordinator sees them.
    fn of(sweep: &str, blobs: &Blobs) -> OfSweep {
        OfSweep::new(blobs.clone(), sweep.parse().unwrap(), Arc::default())
    }

    fn annotation(second: i64, by: &str, mark: &str) -> Annotation {
        let at = Timestamp::from_second(second).unwrap();
        let line = format!(
            r#"{{"at":"{at}","by":"{by}","benchmark":"b","setting":"s","model":"e/m","item":"i","mark":"{mark}"}}"#
        );
        serde_json::from_str(&line).unwrap()
    }

    #[tokio::test]
    async fn what_people_say_at_once_is_all_there_and_the_last_word_of_each_counts() {
        let blobs = Blobs::memory();
        let stored = of("s", &blobs);
        // In another order than that of their times, as from two coordinators.
        let said = [(9, "ann", "unsure"), (10, "ann", "right"), (10, "bob", "wrong"), (8, "ann", "wrong")];
        for (second, by, mark) in said {
            stored.add(&annotation(second, by, mark)).await.unwrap();
        }
        let all = stored.read().await.unwrap();
        assert_eq!((all.lines.len(), all.unreadable.len()), (4, 0));
        let latest = all.latest();
        assert_eq!(latest.len(), 1, "{latest:?}");
        let people = latest.values().next().unwrap();
        let marks: Vec<_> = people.values().map(|(_, of)| (of.by.as_str(), of.mark.unwrap().as_str())).collect();
        assert_eq!(marks, [("ann", "right"), ("bob", "wrong")]);
        assert!(of("another", &blobs).read().await.unwrap().lines.is_empty());
    }

    #[tokio::test]
    async fn who_changes_an_annotation_has_the_last_word_though_the_clock_is_behind() {
        let stored = of("s", &Blobs::memory());
        for (second, mark) in [(60, "wrong"), (10, "right"), (90, "unsure")] {
            let known = stored.read().await.unwrap();
            stored.add(&after(&known, annotation(second, "ann", mark))).await.unwrap();
            let all = stored.read().await.unwrap();
            let said =
                all.latest().into_values().flat_map(std::collections::BTreeMap::into_values).map(|(_, of)| of.mark);
            assert_eq!(said.collect::<Vec<_>>(), [annotation(0, "ann", mark).mark]);
        }
        let bob = after(&stored.read().await.unwrap(), annotation(20, "bob", "right"));
        assert_eq!(bob, annotation(20, "bob", "right"), "nobody else's time counts");
    }

    #[tokio::test]
    async fn a_page_reads_what_is_new_alone_and_has_what_others_say_meanwhile() {
        let (blobs, calls) = (Blobs::memory(), Arc::new(Calls::default()));
        let others = of("s", &blobs);
        let mine = of("s", &blobs.troubled(Troubles::new(calls.clone())));
        for second in 0..40 {
            others.add(&annotation(second, "ann", "wrong")).await.unwrap();
        }
        let read = async || {
            let before = calls.0.load(Ordering::SeqCst);
            let lines = mine.read().await.unwrap().lines.len();
            (lines, calls.0.load(Ordering::SeqCst) - before)
        };
        assert_eq!(read().await, (40, 41), "a listing, and each object");
        assert_eq!(read().await, (40, 1), "a listing");
        others.add(&annotation(40, "bob", "right")).await.unwrap();
        assert_eq!(read().await, (41, 2), "a listing, and the object that is new");
        for key in blobs.list("sweeps/s/").await.unwrap() {
            blobs.delete(&key).await.unwrap();
        }
        assert_eq!(read().await, (0, 1), "what is removed is not shown from memory");
    }

    #[test]
    fn an_object_that_is_kept_keeps_no_buffer_that_it_was_a_piece_of() {
        let (read, buffer) = (ReadObjects::default(), Bytes::from(vec![b'{'; 8 << 10]));
        read.keep("k", &buffer.slice(..100));
        assert!(buffer.is_unique() && read.get("k").is_some_and(|object| object.len() == 100));
    }

    #[tokio::test]
    async fn objects_that_do_not_fit_in_memory_are_read_again() {
        let blobs = Blobs::memory();
        let two = 2 * (ENTRY_BYTES + 250);
        let stored = OfSweep::new(blobs, "s".parse().unwrap(), Arc::new(ReadObjects::of_at_most(two)));
        for second in 0..10 {
            stored.add(&annotation(second, "ann", "wrong")).await.unwrap();
        }
        for _ in 0..2 {
            assert_eq!(stored.read().await.unwrap().lines.len(), 10);
            let kept = stored.read.locked();
            assert!(kept.bytes <= two && !kept.objects.is_empty(), "{} bytes", kept.bytes);
            let memory: usize = kept.objects.iter().map(|(key, object)| memory_of(key, object)).sum();
            assert_eq!(kept.bytes, memory);
        }
    }
}
