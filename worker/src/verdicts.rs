//! Recorded verdicts of this process: each content is read once, whichever endpoints of whichever sweeps name it, and kept while one of them
//! is open.
//!
//! They are not counted in the process's byte budget: that hands bytes on from session to session, and verdicts stay for as long as a sweep.
//! Strangers' verdicts would take the sessions' share for days.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use regatta_backends::Blobs;
use regatta_llm::{RecordedVerdicts, VERDICTS_BYTES_MAX, VERDICTS_KEPT_MAX};
use regatta_proto::Digest;
use tokio::sync::{Semaphore, SemaphorePermit};

/// Longest time to read verdicts from a store, so that one that does not answer is told of, and makes room for other reads.
const READ_MAX: Duration = Duration::from_secs(120);
/// Most bytes of content that are being read and parsed at once: two of the largest.
const LOADING_MAX: u64 = 2 * VERDICTS_BYTES_MAX;
/// Most memory of all verdicts that are kept, in bytes: two of the largest.
const ALL_KEPT_MAX: u64 = 2 * VERDICTS_KEPT_MAX;

/// Recorded verdicts by the digest of their content.
pub(crate) struct Verdicts {
    blobs: Blobs,
    /// KiB of content that may be loaded further.
    loading: Semaphore,
    /// Most memory of all that are kept, in bytes.
    kept_max: u64,
    entries: Mutex<BTreeMap<Digest, Entry>>,
}

#[derive(Default)]
struct Entry {
    /// Held by whoever loads it.
    turn: Arc<tokio::sync::Mutex<()>>,
    verdicts: Weak<RecordedVerdicts>,
}

impl Verdicts {
    pub(crate) fn new(blobs: Blobs) -> Self {
        let loading = Semaphore::new(kib(LOADING_MAX) as usize);
        Self { blobs, loading, kept_max: ALL_KEPT_MAX, entries: Mutex::default() }
    }

    /// The verdicts with the content `digest`; errors name them as `file`.
    ///
    /// # Errors
    /// When they are not stored, the store fails or does not answer, they are malformed, or there is no room for them.
    pub(crate) async fn read(&self, digest: &Digest, file: &str) -> anyhow::Result<Arc<RecordedVerdicts>> {
        let turn = self.entries().entry(*digest).or_default().turn.clone();
        let _turn = turn.lock().await;
        if let Some(known) = self.entries().get(digest).and_then(|entry| entry.verdicts.upgrade()) {
            return Ok(known);
        }
        let content = tokio::time::timeout(READ_MAX, self.content(digest, file)).await;
        let (content, _loading) =
            content.with_context(|| format!("{file} was not read within {} s", READ_MAX.as_secs()))??;
        let parsing = {
            let file = file.to_owned();
            tokio::task::spawn_blocking(move || RecordedVerdicts::parse(&file, &content))
        };
        let verdicts = Arc::new(parsing.await??);
        let mut entries = self.entries();
        self.check_room(&entries, verdicts.kept_bytes(), file)?;
        entries.retain(|_, entry| entry.verdicts.strong_count() > 0 || Arc::strong_count(&entry.turn) > 1);
        entries.entry(*digest).or_default().verdicts = Arc::downgrade(&verdicts);
        Ok(verdicts)
    }

    /// Reads the content, once there is room for it among those that are being loaded.
    async fn content(&self, digest: &Digest, file: &str) -> anyhow::Result<(Bytes, SemaphorePermit<'_>)> {
        let size = self.blobs.content_size(digest).await?;
        let bytes = size.with_context(|| format!("{file} is not stored under its digest {digest}"))?;
        anyhow::ensure!(
            bytes <= VERDICTS_BYTES_MAX,
            "{file} has {bytes} bytes, at most {VERDICTS_BYTES_MAX} bytes of recorded verdicts are read"
        );
        self.check_room(&self.entries(), 1, file)?;
        let loading = self.loading.acquire_many(kib(bytes)).await?;
        Ok((self.blobs.get_content(digest).await?, loading))
    }

    /// Refuses `more` bytes of verdicts where those of `entries` leave no room for them.
    fn check_room(&self, entries: &BTreeMap<Digest, Entry>, more: u64, file: &str) -> anyhow::Result<()> {
        let kept: u64 = entries.values().filter_map(|entry| Some(entry.verdicts.upgrade()?.kept_bytes())).sum();
        anyhow::ensure!(
            kept + more <= self.kept_max,
            "there is no room for {file}: recorded verdicts take {kept} bytes of this process's memory, and may take {} bytes; it is read \
             when other sweeps have ended",
            self.kept_max
        );
        Ok(())
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<Digest, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn kib(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn verdicts_without_room_are_refused_until_others_are_used_no_more() {
        let blobs = Blobs::memory();
        let line = |number| format!(r#"{{"pred_texts": ["a"], "gold_texts": ["{number}"], "sim": [[0.5]]}}"#);
        let mut digests = Vec::new();
        for number in 0..3 {
            digests.push(blobs.put_content(line(number).into()).await.unwrap());
        }
        let mut verdicts = Verdicts::new(blobs);
        let first = verdicts.read(&digests[0], "first.jsonl").await.unwrap();
        verdicts.kept_max = first.kept_bytes() * 2;
        let second = verdicts.read(&digests[1], "second.jsonl").await.unwrap();
        let error = verdicts.read(&digests[2], "third.jsonl").await.unwrap_err().to_string();
        assert!(error.starts_with("there is no room for third.jsonl: recorded verdicts take "), "{error}");
        assert!(Arc::ptr_eq(&second, &verdicts.read(&digests[1], "another.jsonl").await.unwrap()));
        drop(first);
        verdicts.read(&digests[2], "third.jsonl").await.unwrap();
        assert_eq!(verdicts.entries().len(), 2, "what nobody uses is forgotten");
    }
}
